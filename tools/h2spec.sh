#!/bin/sh
# Builds h2spec, pinned by tests/h2spec/go.mod and go.sum, and runs it: a stage of tools/test.sh. Where its source
# cannot be fetched it says so and is skipped; a source that is not the pinned one is a failure.
# Not for judging what h2spec finds: tests/h2spec/run.R.

. "$(dirname "$0")/lib.sh"

program="$root/src/rust/target/h2spec/h2spec"
# what the user has set for other work does not count here, and no other version of Go is fetched
export GOFLAGS=-mod=readonly GOTOOLCHAIN=local GO111MODULE=on CGO_ENABLED=0
mkdir -p "${program%/*}"
cd tests/h2spec

if ! command -v go > /dev/null 2>&1; then
  echo "skipped: there is no Go"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
fi
if ! fetched=$(timeout 120 go mod download 2>&1); then
  echo "$fetched"
  case "$fetched" in
    *"SECURITY ERROR"* | *"checksum mismatch"*) fail "the source of h2spec is not the one that go.sum names" ;;
  esac
  echo "skipped: the source of h2spec cannot be fetched"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
fi
go build -trimpath -buildvcs=false -o "$program" github.com/summerwind/h2spec/cmd/h2spec
cd "$root"
exec Rscript tests/h2spec/run.R "$program"
