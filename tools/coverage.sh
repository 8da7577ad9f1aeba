#!/usr/bin/env bash
# Holds the table docs/coverage.md against the tree: the files that its second and third columns name in backticks
# exist, the functions that they name are in the last file before them, and in the third column they are tests.
# usage: tools/coverage.sh [TABLE]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

awk -F '|' '
  function wrong(sentence) {
    print FILENAME ":" FNR ": " sentence
    failed = 1
  }
  # load FILE: its text, and what of it comes after the first mark of a test, once; whether it is there.
  function load(file, line, status, in_tests) {
    if (!(file in text)) {
      text[file] = tests[file] = "\n"
      while ((status = (getline line < file)) > 0) {
        if (line ~ /test\)?\]|proptest!/) in_tests = 1
        text[file] = text[file] line "\n"
        if (in_tests) tests[file] = tests[file] line "\n"
      }
      close(file)
      is_there[file] = status == 0
    }
    return is_there[file]
  }
  function hold(cell, is_test, file, name, parts, part, i) {
    parts = split(cell, part, "`")
    for (i = 2; i <= parts; i += 2) {
      name = part[i]
      if (name ~ /\// || name ~ /\.(c|h|rs|sh|toml)$/) {
        file = name
        if (!load(file)) wrong("there is no " file)
      } else if (file == "") {
        wrong("there is no file before " name)
      } else if (!is_there[file]) {
        continue
      } else if (is_test && !index(tests[file], "fn " name "(")) {
        wrong(file " has no test " name)
      } else if (!is_test && text[file] !~ "[^A-Za-z0-9_]" name "[^A-Za-z0-9_]") {
        wrong(file " has no " name)
      }
    }
  }
  !/^\|/ { is_head = 1; next }
  is_head || /^\|[-| ]*$/ { is_head = 0; next }
  NF != 5 || $4 !~ /`|open/ { wrong("a row has three columns, and the last one names a test or says that it is open") }
  { rows++; hold($3, 0); hold($4, 1) }
  END {
    if (!rows) wrong("there are no rows")
    exit failed
  }' "${1:-docs/coverage.md}"
