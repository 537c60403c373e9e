#!/bin/bash
# Tries the package of `make release` that needs no compiler: tools/try-release.sh [SUITE [MIRROR SCRIPT]]
# A bare system is made in a temporary folder by debootstrap (SUITE of Debian, "bookworm" by default; OPTIONS in the
# environment are further ones of debootstrap), with R and the packages that drover imports, and nothing else. There,
# without a network, the package is installed, and an app is asked: of the program with two workers, and of a session of
# R. As root.

. "$(dirname "$0")/lib.sh"
suite=${1:-bookworm}
shift || true
package=$(ls drover_*_R_*.tar.gz 2> /dev/null) || fail "there is no package to try: make release"
[ "$(id -u)" -eq 0 ] || fail "this needs root"
command -v debootstrap > /dev/null || apt-get install -y debootstrap

system=$(mktemp -d)
trap 'rm -rf "$system"' EXIT

echo "$suite is unpacked (details: $library/try-release.log)" >&2
log="$library/try-release.log"
: > "$log"
# shellcheck disable=SC2086 # several options
logged debootstrap --variant=minbase ${OPTIONS:-} "$suite" "$system" "$@"
inside() { chroot "$system" env LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
cp /etc/resolv.conf "$system/etc/resolv.conf"
logged inside apt-get update
logged inside apt-get install -y --no-install-recommends r-base-core r-cran-jsonlite r-cran-later curl
for tool in gcc cc cargo rustc make; do
  if inside sh -c "command -v $tool" > /dev/null; then fail "$suite has $tool, so that this would show nothing"; fi
done

cp "$package" "$system/root/"
cat > "$system/root/app.R" << 'APP'
library(drover)
app <- dr_app()
dr_get(app, "/pid", function(req) list(pid = Sys.getpid()))
app
APP
cat > "$system/root/try.sh" << 'TRY'
set -e
cd /root
# asks until there is an answer, for half a minute
ask() {
  curl --silent --show-error --fail --retry 60 --retry-delay 1 --retry-max-time 30 --retry-connrefused "$1"
  echo
}
R --version | head -n 1
R CMD INSTALL "$(ls drover_*.tar.gz)"
program=$(Rscript -e 'cat(drover::dr_cli_path())')
"$program" --version
"$program" serve app.R --port 8080 --workers 2 > served.log 2>&1 &
ask http://127.0.0.1:8080/pid
kill -TERM $!
wait $!
cat served.log
Rscript -e 'drover::dr_serve(source("app.R")$value, port = 8081)' > session.log 2>&1 &
ask http://127.0.0.1:8081/pid
kill -TERM $!
wait $! || true
cat session.log
TRY
# A network of its own, in which there is nothing but this machine; and processes of its own, all of which end with it.
unshare --net --pid --mount --fork --kill-child sh -c "ip link set lo up && mount -t proc proc '$system/proc' &&
  exec chroot '$system' env LC_ALL=C.UTF-8 sh /root/try.sh"
echo "$package: installed without a compiler and without a network, and served, on $suite"
