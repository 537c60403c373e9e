#!/bin/sh
# Opens the pages of examples in Chromium, with the package that is installed in .Rlib: tools/browser.sh [--pictures]
# [NAME...], see tests/browser/run.py. A stage of tools/test.sh. Chromium is Debian's; playwright, which drives it, goes
# to .cache in the tree, and where it cannot be fetched this says so and is skipped.

. "$(dirname "$0")/lib.sh"
tools/setup.sh browser
tools/python-programs.sh
python="$root/.cache/playwright/bin/python"
if [ ! -x "$python" ]; then
  echo "skipped: playwright cannot be fetched"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
fi
# nothing is written beside the sources
exec env PYTHONDONTWRITEBYTECODE=1 "$python" tests/browser/run.py "$@"
