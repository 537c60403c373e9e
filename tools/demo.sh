#!/bin/sh
# Serves an example in the foreground: tools/demo.sh [EXAMPLE [PORT]]. Ctrl-C stops it.

. "$(dirname "$0")/lib.sh"
example=${1:-hello}
port=${2:-8080}
app="inst/examples/$example/app.R"
[ -f "$app" ] || fail "no example '$example'; there are: $(cd inst/examples && echo *)"

tools/setup.sh run
log="$library/install.log"
echo "building; the first time, this takes a few minutes (details: $log)" >&2
tools/install.sh > "$log" 2>&1 || {
  cat "$log" >&2
  fail "the package could not be built"
}
# what the example brings along; --clean, so that nothing that was built stays in the tree
for description in "inst/examples/$example"/*/DESCRIPTION; do
  [ -f "$description" ] || continue
  R CMD INSTALL --clean --library="$library" "$(dirname "$description")" >> "$log" 2>&1 || {
    cat "$log" >&2
    fail "the package of the example could not be installed"
  }
done
export PORT="$port"
exec Rscript "$app"
