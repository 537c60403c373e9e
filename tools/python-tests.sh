#!/bin/sh
# Runs tests that are written in Python, with the package that is installed in .Rlib: stages of tools/test.sh.
#
#   tools/python-tests.sh openapi [NAME...]               public programs judge and use the descriptions of the examples
#   tools/python-tests.sh browser [--pictures] [NAME...]  the pages of examples in Chromium, which is Debian's
#
# See tests/openapi/run.py and tests/browser/run.py. What they need of the Python registry goes to .cache in the tree,
# and where it cannot be fetched this says so and is skipped.

. "$(dirname "$0")/lib.sh"
what=${1:-}
case $what in
  openapi) programs=openapi ;;
  browser)
    programs=playwright
    tools/setup.sh browser
    ;;
  *) fail "unknown tests '$what': openapi or browser" ;;
esac
shift
tools/python-programs.sh
python="$root/.cache/$programs/bin/python"
if [ ! -x "$python" ]; then
  echo "skipped: $programs and what belongs to it cannot be fetched"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
fi
# nothing is written beside the sources
exec env PYTHONDONTWRITEBYTECODE=1 "$python" "tests/$what/run.py" "$@"
