#!/bin/sh
# Has public programs judge and use the descriptions of the examples, with the package that is installed in .Rlib:
# tools/openapi.sh [NAME...], see tests/openapi/run.py. A stage of tools/test.sh. The programs go to .cache in the tree,
# and where they cannot be fetched this says so and is skipped.

. "$(dirname "$0")/lib.sh"
tools/python-programs.sh
python="$root/.cache/openapi/bin/python"
if [ ! -x "$python" ]; then
  echo "skipped: openapi-spec-validator, schemathesis and openapi-python-client cannot be fetched"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
fi
# nothing is written beside the sources
exec env PYTHONDONTWRITEBYTECODE=1 "$python" tests/openapi/run.py "$@"
