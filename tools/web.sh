#!/bin/sh
# Builds the pages of the server itself, web/, into inst/web/, from where they are installed with the package. Quick
# when nothing has changed. Where npm or what it fetches cannot be had, inst/web/missing.txt says why, this says so,
# too, and the package is built without the pages: the server then answers with that reason in their place.
#
# Not for installing npm itself: tools/setup.sh.

. "$(dirname "$0")/lib.sh"
out=inst/web
mkdir -p "$out" .cache
# several stages of the tests want them at the same time
exec 9> "$root/.Rlib/web.lock"
flock 9

sources=$(find web -path web/node_modules -prune -o -type f -print | LC_ALL=C sort | xargs sha256sum | sha256sum)
if [ -d web/node_modules ] && [ "$sources" = "$(cat "$out/sources.txt" 2> /dev/null)" ]; then exit 0; fi
rm -rf "${out:?}"/*
log="$library/web.log"

# without REASON: the package is built without the pages.
without() {
  rm -rf "${out:?}"/*
  echo "$1" > "$out/missing.txt"
  echo "$0: the pages of the server itself (web/) are not built: $1 (details: $log)" >&2
  exit 0
}

: > "$log"
command -v npm > /dev/null 2>&1 || without "npm was not found when the package was built"
# where the registry is not reached, npm would try for minutes
(cd web && timeout 300 npm ci --cache "$root/.cache/npm" --prefer-offline --fetch-retries 1 --fetch-timeout 30000) \
  >> "$log" 2>&1 || without "the npm packages that it is made of could not be fetched when the package was built"
# mistakes in the sources are errors: the tree must not be without its pages unnoticed
logged web/node_modules/.bin/tsc --project web || fail "web/ has errors of types"
logged node web/build.mjs "$out" || fail "web/ could not be built"
echo "$sources" > "$out/sources.txt"
