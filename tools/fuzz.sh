#!/bin/bash
# Looks for inputs that break a fuzz target (tests/fuzz): tools/fuzz.sh [TARGET...]; all targets without arguments.
# MINUTES (10) is how long that takes in all; with MERGE=1 what was found and covers more goes to the corpora in the
# tree. Prints a table, and fails on a crash, a hang or a leak, whose input is then in tests/fuzz/artifacts.
#
# Coverage and sanitizers need flags that are not stable: see sanitize.sh, which gets them in the same way. Without the
# runtime of AddressSanitizer, which rustup's toolchain has, the targets run without it.

. "$(dirname "$0")/lib.sh"

fuzz=$root/tests/fuzz
grown=$fuzz/target/corpus
artifacts=$fuzz/artifacts
work=$(mktemp -d)
cores=${CORES:-$(nproc)}
running=()
end_running() {
  for pid in "${running[@]:-}"; do if [ -n "$pid" ]; then kill "$pid" 2> /dev/null || true; fi; done
  rm -rf "$work"
}
trap end_running EXIT
trap 'exit 130' INT TERM

host=$(rustc -vV | sed -n 's/^host: //p')
flags="-Ccodegen-units=1 -Cpasses=sancov-module"
for option in level=4 inline-8bit-counters pc-table trace-compares; do flags+=" -Cllvm-args=-sanitizer-coverage-$option"; done
if ls "$(rustc --print target-libdir)"/librustc-*_rt.asan.a > /dev/null 2>&1; then
  flags+=" -Zsanitizer=address -Cunsafe-allow-abi-mismatch=sanitizer"
else
  echo "without AddressSanitizer, for which this Rust toolchain has no runtime"
fi
(
  cd "$fuzz"
  RUSTC_BOOTSTRAP=1 RUSTFLAGS=$flags cargo build --release --package libfuzzer --locked --quiet \
    --target "$host" --target-dir target/libfuzzer
) || fail "the fuzz targets are not built"
programs=$fuzz/target/libfuzzer/$host/release

# run TARGET OPTION...: the target under libFuzzer, with the limits that every run has.
run() {
  local target=$1
  shift
  mkdir -p "$artifacts/$target"
  exec nice -n 15 "$programs/$target" -max_len=4096 -timeout=10 -rss_limit_mb=2048 -detect_leaks=1 \
    -artifact_prefix="$artifacts/$target/" "$@"
}

# sees CANARY TEXT: a target that is wrong on purpose has to be found so.
sees() {
  if (run "$1" -runs=5000000 -seed=1) > "$work/$1.log" 2>&1 || ! grep --quiet "$2" "$work/$1.log"; then
    tail -n 30 "$work/$1.log"
    fail "the fuzzer does not see what is wrong with $1"
  fi
  rm -r "${artifacts:?}/$1"
}
sees canary_panic "reached what is hidden"
if [[ $flags == *sanitizer=address* ]]; then sees canary_leak "detected memory leaks"; fi

if [ $# -eq 0 ]; then
  for folder in "$fuzz"/corpus/*/; do set -- "$@" "$(basename "$folder")"; done
fi
if [ "$cores" -gt $# ]; then cores=$#; fi
seconds=$((${MINUTES:-10} * 60 * cores / $#))
if [ "$seconds" -lt 1 ]; then seconds=1; fi
echo "$# targets, $seconds seconds each, $cores at a time"

failed=0
for target in "$@"; do
  if [ "${#running[@]}" -ge "$cores" ]; then
    wait -n || true
    mapfile -t running < <(jobs -pr)
  fi
  mkdir -p "$grown/$target"
  rm -rf "${artifacts:?}/$target"
  (run "$target" -max_total_time="$seconds" -print_final_stats=1 "$grown/$target" "$fuzz/corpus/$target") \
    > "$work/$target.log" 2>&1 &
  running+=($!)
done
wait || true
running=()

row='%-14s %12s %9s %7s %8s\n'
# shellcheck disable=SC2059 # the format is for all rows
printf "$row" target executions coverage corpus crashes
for target in "$@"; do
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$target.log")
  crashes=$(find "$artifacts/$target" -type f | wc -l)
  # shellcheck disable=SC2059
  printf "$row" "$target" "${executions:--}" "$(grep -o 'cov: [0-9]*' "$work/$target.log" | tail -n 1 | cut -c 6-)" \
    "$(find "$grown/$target" -type f | wc -l)" "$crashes"
  if [ -z "$executions" ] || [ "$crashes" -gt 0 ]; then
    failed=$((failed + 1))
    cp "$work/$target.log" "$artifacts/$target.log"
  fi
done
if [ "$failed" -gt 0 ]; then fail "$failed targets failed: see tests/fuzz/artifacts"; fi

if [ "${MERGE:-0}" = 1 ]; then
  for target in "$@"; do
    mkdir "$work/$target"
    # inputs that a developer has named stay, even if others cover the same code
    find "$fuzz/corpus/$target" -type f -not -regex '.*/[0-9a-f]*' -exec cp -t "$work/$target" {} +
    # by edges alone, and not by how often each is passed: that is far fewer files
    (run "$target" -merge=1 -use_counters=0 "$work/$target" "$fuzz/corpus/$target" "$grown/$target") > "$work/$target.log" 2>&1 ||
      fail "$target: the corpora are not merged: $(tail -n 1 "$work/$target.log")"
    rm -rf "${fuzz:?}/corpus/$target"
    mv "$work/$target" "$fuzz/corpus/$target"
    printf '%-14s %5d files, %7d bytes\n' "$target" "$(find "$fuzz/corpus/$target" -type f | wc -l)" \
      "$(find "$fuzz/corpus/$target" -type f -printf '%s\n' | awk '{ n += $1 } END { print n + 0 }')"
  done
fi
