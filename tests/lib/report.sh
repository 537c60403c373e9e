# shellcheck shell=bash
# How runners in shell say what has passed and what has failed; they source it, and end with `summary`. Not a program.

passed=0
failed=0

# report TITLE WRONG FILE: one test; the file is shown when something is wrong.
report() {
  if [ -z "$2" ]; then
    passed=$((passed + 1))
    echo "ok: $1"
  else
    failed=$((failed + 1))
    printf 'failed: %s: %s\n' "$1" "${2#; }"
    sed 's/^/    | /' "$3"
  fi
}

summary() {
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}
