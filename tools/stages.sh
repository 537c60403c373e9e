# shellcheck shell=bash
# The stages of tools/test.sh: what each installs before, and runs. Not a program: test.sh sources it, and has stage().

# package_stage LANE NAME SECONDS COMMAND...: a stage that tests the installed package, which is this tree's.
package_stage() {
  local lane=$1 name=$2 seconds=$3
  shift 3
  # shellcheck disable=SC2016 # for the shell of the stage
  stage "$lane" "$name" "$seconds" bash -c '
    if [ ! -d "$R_LIBS_DROVER/drover" ]; then echo "not run: the package is not installed"; exit 1; fi
    exec "$@"' "$name" "$@"
}
export R_LIBS_DROVER=$library

# has COMMAND...: whether a tool is there.
has() { "$@" > /dev/null 2>&1; }

# full_stage, full_package_stage: those that --quick leaves out.
full_stage() { if [ "$quick" = no ]; then stage "$@"; fi; }
full_package_stage() { if [ "$quick" = no ]; then package_stage "$@"; fi; }

# skipped LANE NAME REASON: a stage that cannot be run here.
skipped() { stage "$1" "$2" 0 sh -c "echo 'skipped: $3'; echo '0 passed, 0 failed, 1 skipped'"; }

manifest=(--manifest-path src/rust/Cargo.toml)

# not a stage: sudo may ask for a password
tools/setup.sh test || {
  echo "0 passed, 1 failed"
  exit 1
}
if [ "$quick" = no ] && is_selected browser; then tools/setup.sh browser || true; fi # the stage says what is missing
# nor is this: stages that read what cargo has fetched run beside those that build. Without the network, they say so.
cargo fetch "${manifest[@]}" --locked --quiet --target "$(rustc -vV | sed -n 's/^host: //p')" || true

# The same for programs that are not in Debian.
tools/python-programs.sh || true

# The lane `engine`: what needs no installed package.
if has cargo fmt --version; then
  # shellcheck disable=SC2016 # for the shell of the stage
  stage engine fmt 60 sh -c '
    cargo fmt "$@" --all --check &&
      rustfmt --check --edition 2021 --config-path src/rust src/program.rs' fmt "${manifest[@]}"
else
  skipped engine fmt "this Rust toolchain has no rustfmt"
fi
stage engine architecture 120 Rscript tests/architecture/run.R
# What becomes of stages that fail.
stage engine suite 120 tests/lib/run.sh
stage engine packaging 60 tests/packaging/run.sh
full_stage engine docs 120 tools/docs.sh --check
full_stage engine lint 300 tools/lint.sh
full_stage engine site 800 tools/site.sh "$work/site"
# The engine's tests are compiled once, by clippy, which is rustc with more lints, where this toolchain has it.
compiler=()
if has clippy-driver --version; then
  compiler=(env RUSTC_WORKSPACE_WRAPPER=clippy-driver)
  stage engine clippy 700 "${compiler[@]}" tools/cargo-test.sh "${manifest[@]}" --workspace --all-targets --no-run
else
  skipped engine clippy "this Rust toolchain has no clippy"
fi
stage engine cargo-test 800 "${compiler[@]}" tools/cargo-test.sh "${manifest[@]}" --workspace
# In a folder of its own: the flag is for all crates, and would have the others built anew each time.
full_stage engine loom 200 env RUSTFLAGS="--cfg loom" tools/cargo-test.sh "${manifest[@]}" --package shm --lib \
  --target-dir src/rust/target/loom
full_stage engine sanitize 400 tools/sanitize.sh
# The corpora of the fuzz targets; looking for more is `make fuzz`. Built where the engine's tests are: most of what it
# takes is there already.
full_stage engine fuzz-replay 400 tools/cargo-test.sh --manifest-path tests/fuzz/Cargo.toml \
  --target-dir src/rust/target

# The lane `install`. Warnings of the C compiler are errors here, not at the user's.
# The compiler is that of the engine's tests, which then find the crates that they have in common with the package.
[ "$BUILD" = test ] || compiler=()
stage install install 1000 "${compiler[@]}" env R_MAKEVARS_USER="$root/tools/Makevars.strict" tools/install.sh

# The lanes of the installed package, one as long as the other. Their tests wait more than they compute, and JOBS is how
# many of a stage are run at once: as many as keep two cores busy to the end. In a hurry the longest are left out.
full_package_stage process process 2000 env JOBS=3 Rscript tests/process/run.R
if [ "$quick" = yes ]; then
  package_stage package testthat 300 env JOBS=2 \
    Rscript tests/testthat-run.R '^(?!faults|json-read|.*-(faults|floods|later|times)$)'
else
  package_stage package testthat 1100 env JOBS=2 Rscript tests/testthat-run.R
fi
full_package_stage package examples 260 Rscript tests/examples/run.R
full_package_stage package conformance 600 Rscript tests/conformance/run.R
# Messages and frames of WebSockets, as a client sends them that may break every rule.
full_package_stage process websocket 360 Rscript tests/websocket/run.R
full_package_stage process h2spec 120 tools/h2spec.sh
# The same requests to plumber or httpuv, and to drover.
full_package_stage package plumber 240 Rscript tests/plumber/run.R
# Public programs judge and use the descriptions of the examples.
full_package_stage process openapi 220 tools/python-tests.sh openapi
# The official conformance suite of the Model Context Protocol.
full_package_stage process mcp 60 tests/mcp/run.sh
full_package_stage process browser 300 tools/python-tests.sh browser
full_package_stage process fuzz-json 60 Rscript tests/fuzz/json.R
