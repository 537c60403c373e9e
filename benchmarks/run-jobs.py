# What jobs cost: how many are accepted per second, with a file and in memory; how long one of no work takes from POST
# to its end; and what 100,000 waiting ones slow down. See docs/decisions/0102.
#   R_LIBS=.Rlib python3 benchmarks/run-jobs.py ROUNDS [FOLDER]
# FOLDER: where the file of jobs is, on the disk that is to be measured.

import http.client, json, os, re, shutil, signal, statistics, subprocess, sys, tempfile, time

from servers import drover_program, wait_until_it_answers

PORT, SECONDS, LONE, MANY = 18099, 4, 300, 100_000
APP = """
library(drover)
app <- dr_app()
dr_get(app, "/up", function(req) "up")
# the first one is never over, so that the others wait
dr_job(app, "/waiting", function(req) repeat Sys.sleep(1), at_once = 1, timeout = 0)
dr_job(app, "/nothing", function(req) "done")
app
"""


def main():
    rounds = int(sys.argv[1])
    folder = tempfile.mkdtemp(dir=sys.argv[2] if len(sys.argv) > 2 else None)
    try:
        app = os.path.join(folder, "app.R")
        with open(app, "w") as file:
            file.write(APP)
        for kept in ("file", "memory"):
            seen = [run(app, kept, folder) for _ in range(rounds)]
            for name in seen[0]:
                print(f"{kept:6}  {name:44} {statistics.median(one[name] for one in seen):10.2f}")
    finally:
        shutil.rmtree(folder)


def run(app, kept, folder):
    store = os.path.join(folder, f"jobs-{time.monotonic_ns()}.sqlite")
    words = [drover_program(), "serve", app, "--workers", "3", "--port", str(PORT), "--log=none"]
    words += ["--max-jobs", str(10 * MANY), "--graceful-timeout", "0.1"]
    server = subprocess.Popen(words + (["--jobs-store", store] if kept == "file" else []))
    try:
        wait_until_it_answers(f"http://127.0.0.1:{PORT}/up")
        load("/up", "GET", 2)
        few = figures()
        accepted = 0
        rates = []
        while accepted < MANY:
            rate, n = load("/waiting", "POST", SECONDS)
            rates.append(rate)
            accepted += n
        many = figures()
        return {
            "jobs accepted per second, 64 connections": rates[0],
            "the same, with the most that wait": rates[-1],
            "a job of no work, POST to its end: p50, ms": few["p50"],
            "p99, ms": few["p99"],
            f"p50 with {MANY} that wait, ms": many["p50"],
            "p99, ms, with these": many["p99"],
            "requests per second to R": few["rate"],
            "the same, with these": many["rate"],
        }
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)


def figures():
    took = sorted(lone() for _ in range(LONE))
    return {"p50": took[LONE // 2], "p99": took[LONE * 99 // 100], "rate": load("/up", "GET", SECONDS)[0]}


def lone():
    """Milliseconds from the POST of a job of no work until its client knows of its end."""
    client = http.client.HTTPConnection("127.0.0.1", PORT)
    began = time.perf_counter()
    client.request("POST", "/nothing")
    job = json.load(client.getresponse())
    client.request("GET", job["url"], headers={"Prefer": "wait=30"})
    state = json.load(client.getresponse())["state"]
    took = time.perf_counter() - began
    client.close()
    if state != "done":
        sys.exit(f"a job is {state}")
    return took * 1000


def load(path, method, seconds):
    """Requests per second, and how many."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "client", "request.lua")
    words = ["wrk", "-t1", "-c64", f"-d{seconds}s", "-s", script, f"http://127.0.0.1:{PORT}{path}"]
    body = {"BENCH_METHOD": method, "BENCH_BODY": '{"n":20}' if method == "POST" else "", "BENCH_TYPE": "application/json"}
    out = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, **body}).stdout
    got = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", out)}
    if got["bad_status"] + got["socket_errors"] + got["timeouts"] > 0:
        sys.exit(f"{path}: errors: {out}")
    return got["requests"] / got["duration"] * 1e6, got["requests"]


if __name__ == "__main__":
    main()
