# What `--workers auto` does beside a fixed number of workers, one for each processor: how long 100 requests take that
# come at once, whose handlers wait for 0.5 s, or compute for 20 ms; and how many workers there are at their end. See
# results/2026-11-29-auto.md.
#   R_LIBS=.Rlib python3 benchmarks/run-auto.py [ROUNDS]

import os, statistics, subprocess, sys, tempfile, threading, time, urllib.request

from servers import drover_program, wait_until_it_answers

PORT = 18095
AT_ONCE = 100
APP = """
library(drover)
app <- dr_app()
dr_get(app, "/", function(req) Sys.getpid())
dr_get(app, "/wait", function(req) {
  Sys.sleep(0.5)
  Sys.getpid()
})
dr_get(app, "/compute", function(req) {
  until <- proc.time()[[1L]] + 0.02
  while (proc.time()[[1L]] < until) sqrt(runif(1e3))
  Sys.getpid()
})
app
"""


# Seconds until all are answered, and how many workers have answered.
def all_at_once(path):
    pids, failures = [], []

    def ask():
        try:
            pids.append(urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}", timeout=60).read())
        except OSError as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(AT_ONCE)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        sys.exit(f"{path}: {failures[0]}")
    return time.monotonic() - began, len(set(pids))


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    cores = len(os.sched_getaffinity(0))
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        app = os.path.join(folder, "app.R")
        with open(app, "w") as file:
            file.write(APP)
        for _ in range(rounds):
            # a server for each: workers of one round are not there for the next
            for workers in (str(cores), "auto"):
                for path in ("/wait", "/compute"):
                    server = subprocess.Popen([drover_program(), "serve", app, "--port", str(PORT), "--workers", workers,
                                               "--log=none"], stderr=subprocess.DEVNULL)
                    try:
                        wait_until_it_answers(f"http://127.0.0.1:{PORT}/")
                        found.setdefault((workers, path), []).append(all_at_once(path))
                    finally:
                        server.terminate()
                        server.wait()
    for (workers, path), taken in found.items():
        seconds, used = zip(*taken)
        print(f"{workers:5} {path:9} {statistics.median(seconds):6.2f} s ({min(seconds):.2f} to {max(seconds):.2f}), "
              f"{statistics.median(used):.0f} workers")


main()
