#!/bin/bash
# Linters of what is not Rust, and of comments: tools/lint.sh [c|r|shell|width|words]...; all without arguments. Clippy
# has the Rust code, and is a stage of its own. Each linter but `words` counts as one test; any finding fails it.

. "$(dirname "$0")/lib.sh"
passed=0
failed=0

# check NAME COMMAND...: fails when the command fails or prints anything.
check() {
  local name=$1 output
  shift
  if output=$("$@" 2>&1) && [ -z "$output" ]; then
    passed=$((passed + 1))
    echo "ok: $name"
  else
    failed=$((failed + 1))
    printf 'not ok: %s\n%s\n' "$name" "$output"
  fi
}

# The warnings that users' compilers are spared, and gcc's search for paths to leaks and null pointers.
compiler() {
  local file flags
  flags="-std=gnu11 -O2 -fPIC -Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes -Wwrite-strings -Wformat=2"
  for file in src/*.c; do
    # -Wno-cast-function-type: functions of other packages come as DL_FUNC, and to cast them is the way to use them
    # shellcheck disable=SC2046,SC2086 # lists of words
    gcc $flags -Wno-cast-function-type -fanalyzer $(R CMD config --cppflags) -c "$file" -o /dev/null
  done
}

# shellcheck disable=SC2016 # $ is R's
r_code() {
  Rscript --vanilla -e '
    files <- list.files(c("R", "inst/examples", "inst/templates"), "\\.R$", recursive = TRUE, full.names = TRUE)
    for (file in files) {
      for (lint in lintr::lint(file)) {
        cat(sprintf("%s:%d: %s\n", file, lint$line_number, lint$message))
      }
    }'
}

shell_scripts() {
  git ls-files -z | xargs -0 grep --null --files-with-matches --null-data --perl-regexp --text '\A#!/bin/(ba)?sh' |
    xargs -0 shellcheck --external-sources --source-path=SCRIPTDIR
}

# Comments, in all languages, and code in C: of other code, rustfmt and lintr see to the width.
width_is_kept() {
  git ls-files -z '*.rs' '*.c' '*.h' '*.R' '*.sh' '*.toml' |
    LC_ALL=C.UTF-8 xargs -0 grep --with-filename --line-number --extended-regexp '^.{121}' |
    grep --extended-regexp '^(src/[^:]*[.][ch]:|[^:]*:[0-9]+:[[:space:]]*(//|# |/?[*]))' ||
    true # nothing found
}

# A signal that processx sends may lose the status of a process that ends at once: it reaps it then, and forgets that.
signals_are_sent_by_tools() { git grep --line-number --extended-regexp '[$](signal|interrupt)[(]' -- '*.R' || true; }

# Tests wait by tests/lib/wait.R. Apps may be slow; and what stands in a string is R code of an app.
# shellcheck disable=SC2016 # $ is R's
tests_do_not_sleep() {
  git ls-files -z 'tests/*.R' ':!tests/lib' ':!tests/plumber/apps' ':!tests/*/app.R' ':!tests/process/*-app.R' |
    xargs -0 Rscript --vanilla -e '
    for (file in commandArgs(TRUE)) {
      tokens <- getParseData(parse(file, keep.source = TRUE, encoding = "UTF-8"))
      lines <- tokens$line1[tokens$text == "Sys.sleep" & grepl("^SYMBOL", tokens$token)]
      cat(sprintf("%s:%d: Sys.sleep: within(), never(), let_pass() or a gate (tests/lib)\n", file, lines), sep = "")
    }'
}

# Comments that are new since the commit SINCE (HEAD) and have words that ours had too many of: to be looked at, and not
# refused.
show_words() {
  git diff --unified=0 "${SINCE:-HEAD}" -- '*.rs' '*.c' '*.h' '*.R' '*.sh' ':!tools/lint.sh' |
    awk '/^[+][+][+] / { file = substr($2, 3); next } /^[+]/ { print file ": " substr($0, 2) }' |
    grep --extended-regexp --ignore-case '(//|# |/?[*]).*\b(who|nobody|so many|whatever|be it|be they)\b' ||
    true # nothing found
}

if [ $# -eq 0 ]; then set -- c r shell width words; fi
for what in "$@"; do
  case $what in
    c)
      check "C: gcc -fanalyzer" compiler
      check "C: cppcheck" cppcheck --quiet --enable=warning,performance,portability --std=c11 --max-configs=1 \
        --inline-suppr --library=tools/lint/r.cfg --suppress=toomanyconfigs --error-exitcode=1 src
      ;;
    r)
      check "R: lintr" r_code
      check "R: tests do not sleep" tests_do_not_sleep
      check "R: signals are sent by tools::pskill()" signals_are_sent_by_tools
      ;;
    shell) check "shell: shellcheck" shell_scripts ;;
    width) check "lines of at most 120 characters" width_is_kept ;;
    words) show_words ;;
    *) fail "unknown code '$what': c, r, shell, width or words" ;;
  esac
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
