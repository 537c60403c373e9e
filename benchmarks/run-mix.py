# Quick requests beside slow ones: what both take where short requests pass long ones (`express`), where they do not, and
# in a perfect queue in front of as many workers. Requests come at random times, the same for all; slow ones wait, or
# compute. See results/2026-11-29-mix.md.
#   R_LIBS=.Rlib python3 benchmarks/run-mix.py [SECONDS] [ROUNDS]

import asyncio, heapq, os, random, statistics, subprocess, sys, tempfile, time

from servers import drover_program, wait_until_it_answers

PORT = 18096
APP = """
library(drover)
# CPU time, as clocks of processes have it: of long requests
computes <- function(seconds) {
  until <- proc.time()[[1L]] + seconds
  while (proc.time()[[1L]] < until) sqrt(runif(1e3))
  "done"
}
app <- dr_app()
dr_get(app, "/", function(req) "here")
dr_get(app, "/quick", function(req) {
  until <- Sys.time() + 0.001
  while (Sys.time() < until) sqrt(runif(10))
  "done"
})
dr_get(app, "/waits", function(req) {
  Sys.sleep(0.4)
  "done"
})
dr_get(app, "/computes", function(req) computes(0.4))
app
"""
# workers, quick requests and slow ones a second, what slow ones do; each takes 1 ms or 400 ms
MIXES = [(4, 100, 8, "/waits"), (2, 100, 2, "/computes")]


def arrivals(seconds, quick, slow, path, seed):
    """Times and paths of requests, in order."""
    draw = random.Random(seed)
    all = []
    for rate, to in [(quick, "/quick"), (slow, path)]:
        at = draw.expovariate(rate)
        while at < seconds:
            all.append((at, to))
            at += draw.expovariate(rate)
    return sorted(all)


def perfect(requests, workers):
    """Milliseconds that each takes where it has the first worker that is free, in the order in which they come."""
    free, taken = [0.0] * workers, []
    for at, path in requests:
        begins = max(at, heapq.heappop(free))
        ends = begins + (0.001 if path == "/quick" else 0.4)
        heapq.heappush(free, ends)
        taken.append((path, 1000 * (ends - at)))
    return taken


async def ask(path):
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    if not answer.startswith(b"HTTP/1.1 200 "):
        sys.exit(f"{path}: {answer[:200]}")


async def measure(requests):
    start, taken = time.monotonic(), []

    async def one(at, path):
        await asyncio.sleep(start + at - time.monotonic())
        await ask(path)
        # from when it was to be sent: a client that is late is no better server
        taken.append((path, 1000 * (time.monotonic() - start - at)))

    await asyncio.gather(*(one(at, path) for at, path in requests))
    return taken


def row(name, rounds):
    quick = [sorted(ms for path, ms in taken if path == "/quick") for taken in rounds]
    slow = [[ms for path, ms in taken if path != "/quick"] or [0] for taken in rounds]
    slow = [statistics.mean(one) for one in slow]
    p99 = [one[len(one) * 99 // 100] for one in quick]
    p50 = [statistics.median(one) for one in quick]
    print(f"  {name:12} quick: p50 {statistics.median(p50):7.2f} ms, p99 {statistics.median(p99):7.2f} "
          f"({min(p99):.2f} to {max(p99):.2f}) ms; slow: mean {statistics.median(slow):7.1f} ms", flush=True)


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    program = drover_program()
    with tempfile.TemporaryDirectory() as folder:
        app = os.path.join(folder, "app.R")
        with open(app, "w") as file:
            file.write(APP)
        for workers, quick, slow, path in MIXES:
            print(f"{workers} workers, {quick} quick requests and {slow} slow ones a second; slow ones: {path}")
            found = {"express": [], "in order": [], "perfect": [], "no slow ones": []}
            for seed in range(rounds):
                requests = arrivals(seconds, quick, slow, path, seed)
                found["perfect"].append(perfect(requests, workers))
                only_quick = [one for one in requests if one[1] == "/quick"]
                for name, option, sent in [("express", [], requests), ("in order", ["--express=false"], requests),
                                           ("no slow ones", [], only_quick)]:
                    server = subprocess.Popen([program, "serve", app, "--port", str(PORT), "--workers", str(workers),
                                               "--log=none", *option], stderr=subprocess.DEVNULL)
                    try:
                        wait_until_it_answers(f"http://127.0.0.1:{PORT}/")
                        # each route once: how long they take is not known before
                        for known in ("/quick", path):
                            asyncio.run(ask(known))
                        found[name].append(asyncio.run(measure(sent)))
                    finally:
                        server.terminate()
                        server.wait()
            for name, taken in found.items():
                row(name, taken)


main()
