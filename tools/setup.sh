#!/bin/sh
# Installs the Debian packages that are missing for a purpose: tools/setup.sh [run|test|browser|site|bench|profile].
# Quiet and quick when nothing is missing. Not for building the package: tools/install.sh.

. "$(dirname "$0")/lib.sh"
purpose=${1:-run}

# To build and load the package. r-base-dev brings the C compiler that cargo links with, too.
packages="r-base-core r-base-dev r-cran-jsonlite r-cran-later"
case "$purpose" in
  run) packages="$packages r-cran-promises" ;; # the example "async"
  test) packages="$packages r-cran-promises r-cran-testthat r-cran-processx r-cran-withr r-cran-curl curl nghttp2-client nginx-light
    haproxy procps shellcheck cppcheck r-cran-lintr r-cran-roxygen2 r-cran-httpuv r-cran-plumber r-cran-rook r-cran-rserve r-cran-yaml
    r-cran-future r-cran-shiny r-cran-rmarkdown
    python3-prometheus-client python3-jsonschema testssl.sh slowhttptest" ;;
  browser) packages="$packages chromium python3-venv" ;;
  site) packages="$packages r-cran-pkgdown pandoc" ;;
  bench) packages="$packages r-cran-httpuv r-cran-plumber r-cran-rserve r-cran-processx curl nginx-light wrk" ;;
  profile) packages="$packages linux-perf" ;;
  *) fail "unknown purpose '$purpose': run, test, browser, site, bench or profile" ;;
esac

# h2spec, a stage of the tests, is built by Go: by the one that is there, or by Debian's
if [ "$purpose" = test ] && ! command -v go > /dev/null 2>&1; then packages="$packages golang-go"; fi

# Debian's own cargo is too old for the engine; the one that its browsers are built with is not. A toolchain that is
# there is used.
command -v cargo > /dev/null 2>&1 || packages="$packages cargo-web rustc-web"

# The pages of the server itself are built by npm (tools/web.sh); one that is there is used.
command -v npm > /dev/null 2>&1 || packages="$packages nodejs npm"

missing=""
for package in $packages; do
  state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2> /dev/null || true)
  [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

command -v apt-get > /dev/null 2>&1 || fail "not a Debian system; install what these packages hold:$missing"
echo "installing$missing" >&2
as_root true
log="$library/setup.log"

# The tests run nginx, not as a service: where no policy exists already, dpkg is told not to start any.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'as_root rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" > /dev/null
  as_root chmod +x "$policy"
fi

# shellcheck disable=SC2086 # a list of words
{ as_root apt-get update && as_root env DEBIAN_FRONTEND=noninteractive \
  apt-get install --yes --no-install-recommends $missing; } > "$log" 2>&1 || {
  cat "$log" >&2
  if [ "$missing" = " nodejs npm" ]; then exit 0; fi # tools/web.sh says what is missing then
  fail "could not install:$missing"
}
