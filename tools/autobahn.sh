#!/bin/sh
# Runs Autobahn's test suite for WebSockets, all 517 cases, against an echo app of drover: tools/autobahn.sh; or
# against another server, or some cases only: tools/autobahn.sh --url ws://127.0.0.1:9001/echo '12.1.*' 7.1.1
# The suite is a program of Python 2.7, of the Python registry; it is kept in .cache inside the tree, with its report.
# Where it cannot be had the script says so and is skipped. PYTHON2 in the environment names another interpreter.
# Not for judging what the suite finds: tests/websocket/autobahn.R.

. "$(dirname "$0")/lib.sh"

version=25.10.1
folder="$root/.cache/autobahn-$version"
report="$root/.cache/autobahn-report"
pins="$root/tests/websocket/autobahn.txt"

skip() {
  echo "skipped: $*"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
}

# A program that is called python2.7 need not work: pyenv puts one there that only says which versions it has.
is_python2() { "$1" -c 'import sys, ssl, zlib; sys.exit(sys.version_info[:2] != (2, 7))' > /dev/null 2>&1; }

find_python2() {
  for candidate in "${PYTHON2:-python2.7}" python2 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/2.7*/bin/python; do
    if is_python2 "$candidate"; then
      echo "$candidate"
      return
    fi
  done
}

python=$(find_python2)
if [ -z "$python" ]; then
  skip "there is no Python 2.7, which Autobahn's suite needs (pyenv install 2.7.18, or PYTHON2=/path/to/python2.7)"
fi

# Its packages are those of a user whose home is the folder: this needs no virtualenv, which Python 2.7 lacks.
export PYTHONUSERBASE="$folder"
unset PYTHONPATH PYTHONNOUSERSITE PYTHONHOME
program="$folder/bin/wstest"
if ! cmp -s "$pins" "$folder/installed"; then
  rm -rf "$folder"
  mkdir -p "$folder"
  log="$root/.cache/autobahn-install.log"
  if ! timeout 600 "$python" -m pip --disable-pip-version-check install --user --ignore-installed --no-cache-dir \
    --no-warn-script-location --requirement "$pins" > "$log" 2>&1; then
    rm -rf "$folder"
    skip "Autobahn's suite cannot be fetched or built (details: $log)"
  fi
  cp "$pins" "$folder/installed"
fi
exec Rscript tests/websocket/autobahn.R "$program" "$report" "$@"
