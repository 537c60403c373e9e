#!/bin/bash
# Runs the tests of the crate `native` under AddressSanitizer and ThreadSanitizer: Rust, the trampolines in C++ and the
# handlers of tests/handlers are all compiled for them. tools/sanitize.sh [address|thread]; both without arguments.
#
# -Zsanitizer is not stable: RUSTC_BOOTSTRAP has the compiler take it all the same, for these builds only. The standard
# library is not compiled anew, for which its source would be needed; sanitize/std-sync.c tells ThreadSanitizer what it
# cannot see there. A toolchain without the runtimes is told of, and counts as skipped. That a sanitizer sees anything
# is tested first, with errors.

. "$(dirname "$0")/lib.sh"
folder=${CARGO_TARGET_DIR:-$root/src/rust/target}/sanitize
library_of_std() { echo "$(rustc --print target-libdir)"/libstd-*.so; }

# The mangled name of a function of the standard library, by the end of its pattern.
name_in_std() {
  nm --dynamic --defined-only "$(library_of_std)" | awk '{ print $3 }' | grep --extended-regexp "$1"
}

# Compiles std-sync.c; prints the linker's flags for it. Fails when the standard library names its functions otherwise.
std_sync() {
  local lock read write wait timeout once symbol
  lock=$(name_in_std '3sys4sync5mutex5futex.*5Mutex14lock_contended$') || return 1
  read=$(name_in_std '3sys4sync6rwlock5futex.*6RwLock14read_contended$') || return 1
  write=$(name_in_std '3sys4sync6rwlock5futex.*6RwLock15write_contended$') || return 1
  wait=$(name_in_std '3sys4sync7condvar5futex.*7Condvar4wait$') || return 1
  timeout=$(name_in_std '3sys4sync7condvar5futex.*7Condvar12wait_timeout$') || return 1
  once=$(name_in_std '3sys4sync4once5futex.*4Once4call$') || return 1
  cc -c -O1 "-DLOCK=$lock" "-DREAD=$read" "-DWRITE=$write" "-DWAIT=$wait" "-DWAIT_TIMEOUT=$timeout" "-DONCE=$once" \
    tools/sanitize/std-sync.c -o "$folder/std-sync.o" || return 1
  printf -- '-Clink-arg=%s' "$folder/std-sync.o"
  for symbol in "$lock" "$read" "$write" "$wait" "$timeout" "$once" __tsan_atomic64_fetch_sub; do
    printf -- ' -Clink-arg=-Wl,--wrap=%s' "$symbol"
  done
}

# tests ARGUMENT...: cargo test of `native`, with what `sanitizer` and `link` say.
tests() {
  # -rdynamic: the handlers, which are loaded, find the sanitizer's functions in the program.
  # --test-threads=1: libtest's own threads are not compiled for the sanitizers.
  env RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=$sanitizer -Cunsafe-allow-abi-mismatch=sanitizer -Clink-arg=-rdynamic $link" \
    CFLAGS="-fsanitize=$sanitizer -g" CXXFLAGS="-fsanitize=$sanitizer -g" \
    TSAN_OPTIONS="suppressions=$root/tools/sanitize/thread.supp" \
    cargo test --manifest-path src/rust/Cargo.toml --package native --test handlers --locked --quiet \
    --target "$(rustc -vV | sed -n 's/^host: //p')" --target-dir "$folder/$sanitizer" -- --test-threads=1 "$@"
}

# sees CANARY TEXT: a test that is wrong on purpose has to be found so.
sees() {
  if tests --ignored --exact "canary::$1" > "$folder/canary.log" 2>&1 || ! grep --quiet "$2" "$folder/canary.log"; then
    cat "$folder/canary.log"
    echo "the sanitizer does not see what canary::$1 does wrong"
    echo "0 passed, 1 failed"
    return 1
  fi
  echo "what canary::$1 does wrong was seen"
  echo "1 passed, 0 failed"
}

mkdir -p "$folder"
status=0
if [ $# -eq 0 ]; then set -- address thread; fi
for sanitizer in "$@"; do
  printf '\n-- %s\n' "$sanitizer"
  case $sanitizer in
    address) runtime=asan canary=memory text='ERROR: AddressSanitizer: heap-use-after-free' link='' ;;
    thread) runtime=tsan canary=threads text='WARNING: ThreadSanitizer: data race' ;;
    *) fail "unknown sanitizer '$sanitizer': address or thread" ;;
  esac
  if ! ls "$(rustc --print target-libdir)"/librustc-*_rt.$runtime.a > /dev/null 2>&1; then
    echo "SKIPPED: this Rust toolchain has no runtime for the sanitizer '$sanitizer' (rustup's has one, on x86-64 and ARM)"
    echo "0 passed, 0 failed, 1 skipped"
    continue
  fi
  if [ "$sanitizer" = thread ] && ! link=$(std_sync); then
    echo "SKIPPED: tools/sanitize/std-sync.c does not know the standard library of this Rust toolchain: $(rustc --version)"
    echo "0 passed, 0 failed, 1 skipped"
    continue
  fi
  sees "$canary" "$text" && tests || status=1
done
exit "$status"
