-- What wrk sends, and how it reports. The request is fixed before the run (no Lua code per request), and comes from the
-- environment: BENCH_METHOD, BENCH_BODY, BENCH_TYPE. Read by R/client.R.

wrk.method = os.getenv("BENCH_METHOD")

local body = os.getenv("BENCH_BODY")
if body ~= nil and body ~= "" then
  wrk.body = body
  wrk.headers["Content-Type"] = os.getenv("BENCH_TYPE")
end

-- One line of name=value pairs; times in microseconds.
function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    "result requests=%d duration=%d p50=%d p99=%d bad_status=%d socket_errors=%d timeouts=%d\n",
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write, errors.timeout))
end
