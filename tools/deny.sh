#!/bin/sh
# Checks the engine's libraries by deny.toml with cargo-deny, which is built when it is not there: licences, bans and
# sources, and known faults where RustSec's list of them can be fetched. Not a stage of tools/test.sh, as it needs the
# network and some minutes the first time; the stage `docs` checks licences and sources without it.

. "$(dirname "$0")/lib.sh"
tools="$root/src/rust/target/tools"
PATH="$PATH:$tools/bin"
if ! cargo deny --version > /dev/null 2>&1; then
  echo "building cargo-deny, which takes some minutes" >&2
  cargo install --locked --quiet --root "$tools" cargo-deny@0.20.2
fi
deny() { cargo deny --manifest-path src/rust/Cargo.toml --config "$root/deny.toml" check "$@"; }
status=0
deny --hide-inclusion-graph licenses bans sources || status=1
if log=$(deny advisories 2>&1); then
  echo "$log"
elif echo "$log" | grep --quiet "failed to fetch advisory database"; then
  echo "advisories were not checked: RustSec's list of them cannot be fetched" >&2
else
  echo "$log"
  status=1
fi
exit "$status"
