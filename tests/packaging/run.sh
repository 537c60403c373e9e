#!/bin/bash
# What the package does when it is built, by configure and src/Makevars.in, with programs of our own in the place of
# cargo and rustc: tests/packaging/run.sh, from the root. Ends with "N passed, N failed". Not for what they build: that
# is the stage `install`.

set -eu
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
. tests/lib/report.sh

# A package with nothing in it, and all that a system has but for Rust.
system=$folder/system
mkdir -p "$system" "$folder/package/src/rust"
cp configure "$folder/package"
cp src/Makevars.in "$folder/package/src"
for tool in sh env uname cut printf sort head sed mkdir make cat rm ls; do ln -s "$(command -v "$tool")" "$system/$tool"; done

# tools FOLDER VERSION: a cargo and a rustc there, which write down how they are called.
tools() {
  mkdir -p "$1"
  for tool in cargo rustc; do
    cat > "$1/$tool" << EOF
#!/bin/sh
if [ "\$1" = --version ]; then echo "$tool $2 (of a test)"; exit; fi
echo "$tool \$* arch=\${R_ARCH-none} home=\${CARGO_HOME:-} cflags=\${CFLAGS:-}" >> "$folder/calls"
EOF
    chmod +x "$1/$tool"
  done
}

# in_package COMMAND...: in the package, on that system.
in_package() { (cd "$folder/package" && env -i "PATH=$system" "HOME=$folder/home" "$@"); }

# check TITLE STATUS TEXT COMMAND...: how it ends, and what it says or the programs have written down.
check() {
  local title=$1 expected=$2 text=$3 status=0 wrong=""
  shift 3
  rm -f "$folder/calls"
  in_package "$@" > "$folder/output" 2>&1 || status=$?
  if [ -f "$folder/calls" ]; then cat "$folder/calls" >> "$folder/output"; fi
  if [ "$status" -ne "$expected" ]; then wrong="its exit status is $status"; fi
  if ! grep --quiet --fixed-strings -e "$text" "$folder/output"; then wrong="$wrong; there is no '$text'"; fi
  report "$title" "$wrong" "$folder/output"
}

other=$folder/other
mkdir "$other"
printf '#!/bin/sh\necho Darwin\n' > "$other/uname"
chmod +x "$other/uname"
check "another system is told what drover runs on" 1 "drover runs on Linux, and this is Darwin" \
  "PATH=$other:$system" ./configure
check "what is missing is named, and where it was looked for" 1 "no cargo on the PATH or in $folder/home/.cargo/bin" \
  ./configure
tools "$folder/home/.cargo/bin" 1.88.0
check "a toolchain that is too old is refused, with its version" 1 "cargo is version 1.88.0" ./configure
tools "$folder/home/.cargo/bin" 1.100.1
check "a toolchain in the home folder is found without the PATH" 0 "using rustc 1.100.1: $folder/home/.cargo/bin/rustc" \
  ./configure
tools "$folder/elsewhere" 1.90.0
check "that of the PATH goes before it" 0 "using cargo 1.90.0: $folder/elsewhere/cargo" \
  "PATH=$folder/elsewhere:$system" ./configure

mkdir "$folder/broken"
printf '#!/bin/sh\necho "no toolchain is chosen" >&2\nexit 1\n' > "$folder/broken/cargo"
chmod +x "$folder/broken/cargo"
check "a program that finds no toolchain is named" 1 "$folder/broken/cargo does not run" "PATH=$folder/broken:$system" \
  ./configure

# what R gives
engine=(make -s -C src -f Makevars engine SHLIB=drover.so "R_ARCH=" "CFLAGS=-of-R")
check "the engine is built as locked" 0 "cargo rustc --profile release --locked --jobs 2" "${engine[@]}"
check "the compilers are as many as make is given" 0 "--jobs 5" MAKEFLAGS=-j5 "${engine[@]}"
check "or as cargo is told" 0 "--jobs 3" CARGO_BUILD_JOBS=3 MAKEFLAGS=-j5 "${engine[@]}"
# of_loader VERSION: from now on the C library is of this version; of "" none says it.
of_loader() {
  rm -f "$system/getconf"
  if [ -n "$1" ]; then
    printf '#!/bin/sh\necho "glibc %s"\n' "$1" > "$system/getconf"
    chmod +x "$system/getconf"
  fi
}
configured=(sh -c './configure > /dev/null && exec "$@"' sh "${engine[@]}")
for version in 2.36 2.41 3.0; do
  of_loader "$version"
  check "relocations are packed for the loader of glibc $version" 0 "-- -C link-arg=-Wl,-z,pack-relative-relocs arch" \
    "${configured[@]}"
done
for version in 2.35 2.9 ""; do
  of_loader "$version"
  check "and not for that of ${version:-another library}" 0 "target -- arch" "${configured[@]}"
done
check "R's flags for C are not those of crates" 0 "home= cflags=" CFLAGS=-of-R "${engine[@]}"
check "the program knows of R's architectures" 0 "program.rs arch=/some" "${engine[@]}" "R_ARCH=/some"
vendored=(sh -c 'mkdir -p src/rust/vendor/some src/rust/target/release/build/some && exec "$@"' sh "${engine[@]}")
check "with the sources of libraries, nothing is fetched" 0 "--offline --config source.crates-io.replace-with=" \
  "${vendored[@]}"
check "nor written into the home folder" 0 "home=$folder/package/src/rust/target/home" "${vendored[@]}"
check "and what was unpacked is gone afterwards" 2 "src/rust/vendor" ls src/rust/vendor
check "with what only crates were built by" 2 "release/build" ls src/rust/target/release/build

summary
