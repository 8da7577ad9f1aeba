#!/usr/bin/env python3
"""Every language has every sentence, with the same values in it and as many plurals as it needs."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOP = Path(__file__).parents[2]
LITERAL = re.compile(r'\bn?gettext\(\s*"((?:[^"\\]|\\.)*)"')
STRING = re.compile(r'^(msgid|msgid_plural|msgstr(?:\[\d\])?) "(.*)"$', re.M)
VALUE = re.compile(r"\{\w+\}|\$\(\w+\)")


def say(*command):
    done = subprocess.run(command, cwd=TOP, env={**os.environ, "GETTEXTDATADIRS": str(TOP / "po")}, text=True,
                          capture_output=True, check=True)
    return done.stdout


class Translations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.template = Path(cls.place.name) / "all.pot"
        arguments = re.findall(r"'(--(?:from|keyword)[^']*)'", (TOP / "po/meson.build").read_text())
        say("xgettext", *arguments, "--no-wrap", "-f", "po/POTFILES", "-o", str(cls.template))
        cls.sentences = cls.template.read_text()

    def test_every_file_with_sentences_is_listed_and_every_sentence_is_found(self):
        listed = set((TOP / "po/POTFILES").read_text().split())
        for file in sorted((TOP / "applet/src").rglob("*.rs")) + sorted((TOP / "applet/ui").glob("*.ui")):
            text = file.read_text()
            sentences = LITERAL.findall(text) if file.suffix == ".rs" else []
            if sentences or 'translatable="yes"' in text:
                self.assertIn(str(file.relative_to(TOP)), listed)
            for sentence in sentences:
                self.assertIn(f'msgid "{sentence}"', self.sentences)

    def test_every_language_is_complete(self):
        for language in (TOP / "po/LINGUAS").read_text().split():
            with self.subTest(language):
                merged = Path(self.place.name) / f"{language}.po"
                say("msgmerge", "-q", "--no-wrap", f"po/{language}.po", str(self.template), "-o", str(merged))
                say("msgfmt", "--check", "-o", "/dev/null", str(merged))
                for which in ("--untranslated", "--only-fuzzy"):
                    self.assertEqual(say("msgattrib", which, "--no-obsolete", str(merged)), "")
                for entry in merged.read_text().split("\n\n")[1:]:
                    strings = STRING.findall(entry)
                    if entry.startswith("#~") or not strings:
                        continue
                    wanted = set(VALUE.findall(strings[0][1]))
                    for name, text in strings:
                        # "Once" needs no number.
                        if name.startswith("msgstr[") and strings[0][1] == "Once":
                            continue
                        if name.startswith("msgstr"):
                            self.assertEqual(set(VALUE.findall(text)), wanted, text)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
