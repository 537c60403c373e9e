# shellcheck shell=sh
# What the scripts in tools/ share; they source it. Not a program.
# It moves to the root of the repository, finds cargo, and names the library that the package is installed into.

set -eu
cd "$(dirname "$0")/.."
root=$PWD

cargo_home=${CARGO_HOME:-$HOME/.cargo}
command -v cargo > /dev/null 2>&1 || PATH="$PATH:$cargo_home/bin"

fail() {
  echo "$0: $*" >&2
  exit 1
}

# Inside the tree, so that nothing is changed in the user's own library. BUILD in the environment says how the engine is
# built (install.sh), each in a folder of its own.
build=${BUILD:-release}
case $build in
  release) library="$root/.Rlib" ;;
  test) library="$root/.Rlib/test" ;;
  *) fail "BUILD is release or test, not '$build'" ;;
esac
mkdir -p "$library"
export R_LIBS="$library${R_LIBS:+:$R_LIBS}"

# Errors of the tests compare texts, so messages must be in one language, and text must be UTF-8.
export LC_ALL=C.UTF-8 LANGUAGE=en

# Builds and installs the package; what that prints is in the file $log. `$1` is told first.
install_quietly() {
  log="$library/install.log"
  echo "$1 (details: $log)" >&2
  : > "$log"
  logged tools/install.sh || fail "the package could not be built"
}

# Runs a command that writes to $log, which is shown when it fails.
logged() {
  "$@" >> "$log" 2>&1 || {
    cat "$log" >&2
    return 1
  }
}

# As root, or with sudo where there is one.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo > /dev/null 2>&1; then
    sudo "$@"
  else
    fail "this needs root or sudo: $*"
  fi
}
