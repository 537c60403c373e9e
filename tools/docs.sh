#!/bin/bash
# Makes what is generated from other files: man/ and NAMESPACE from the comments in R/, inst/THIRD-PARTY from the lock
# file.
#   tools/docs.sh           writes them anew
#   tools/docs.sh --check   a stage of tools/test.sh: they are what they were made of
# Not for the site: tools/site.sh.

. "$(dirname "$0")/lib.sh"

# roxygen FOLDER: in the package that is there. `source`: nothing is compiled for it.
roxygen() { (cd "$1" && Rscript -e 'roxygen2::roxygenise(".", load_code = "source")'); }

if [ "${1:-}" != --check ]; then
  tools/setup.sh test
  tools/web.sh
  roxygen .
  exec Rscript tools/notices.R
fi

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r DESCRIPTION NAMESPACE R man "$copy"
status=0
roxygen "$copy" > "$copy/roxygen.log" 2>&1 || {
  cat "$copy/roxygen.log"
  status=1
}
if grep --ignore-case "^x \|warning" "$copy/roxygen.log"; then status=1; fi
for made in NAMESPACE man; do diff --recursive --unified=1 "$made" "$copy/$made" || status=1; done
if [ "$status" -eq 0 ]; then
  echo "ok: man/ and NAMESPACE are those of the comments in R/"
  echo "1 passed, 0 failed"
else
  echo "not ok: man/ and NAMESPACE are not those of the comments in R/: run \`make docs\`"
  echo "0 passed, 1 failed"
fi
tools/web.sh
Rscript tools/notices.R --check || status=1
exit "$status"
