# shellcheck shell=bash
# The shell of a session: it does what root writes into a pipe, and answers with what was said and the status.
place=/run/obey/$1
echo "session ${XDG_SESSION_ID-none}, seat ${XDG_SEAT-none}" >"$place.ready"
while IFS= read -r order <"$place.orders"; do
  {
    eval "$order"
    echo "status $?"
  } >"$place.answer" 2>&1 </dev/null
done
