#!/bin/sh
# Serves an example in the foreground: tools/demo.sh [EXAMPLE [PORT]]. Ctrl-C stops it.

. "$(dirname "$0")/lib.sh"
example=${1:-hello}
port=${2:-8080}
app="inst/examples/$example"
[ -f "$app/requests.txt" ] || fail "no example '$example'; there are: $(cd inst/examples && echo *)"

tools/setup.sh run
install_quietly "building; the first time, this takes a few minutes"
# what the example brings along; --clean, so that nothing that was built stays in the tree
for description in "inst/examples/$example"/*/DESCRIPTION; do
  [ -f "$description" ] || continue
  logged R CMD INSTALL --clean --library="$library" "$(dirname "$description")" \
    || fail "the package of the example could not be installed"
done
export PORT="$port"
# written for another server, it is served by the program
if grep -qs 'dr_serve(' "$app/app.R"; then exec Rscript "$app/app.R"; fi
exec "$library/drover/bin/drover" serve "$app"
