# What compressing costs: latency of small requests beside answers of 100 kB of JSON, sent as they are and compressed,
# and CPU time of the server. See results/2026-11-24-compression.md.
#   R_LIBS=.Rlib python3 benchmarks/run-compression.py ROUNDS [WORKERS [PATTERN]]     PATTERN: of the names of cases

import os, re, shutil, signal, statistics, subprocess, sys, tempfile

from servers import cpu, drover_program, memory, wait_until_it_answers

PORT, SECONDS, RATE = 18096, 5, 400
APP = """
library(drover)
set.seed(1)
rows <- data.frame(id = seq_len(1300), name = paste("customer", sample(1e4, 1300)), value = round(rnorm(1300), 4),
  flag = rep(c(TRUE, FALSE), 650))
app <- dr_app()
dr_get(app, "/small", function(req) "ok")
dr_get(app, "/data", function(req) rows)
dr_post(app, "/upload", function(req) length(req$raw))
dr_compress(app)
dr_decompress(app)
app
"""
# a client with 8 connections that asks for the large answer, waits, and asks again
LARGE = 'wrk.headers["Accept-Encoding"] = "%s"\nfunction delay() return 40 end\n'
UPLOAD = """
local f = io.open("%s", "rb")
wrk.body = f:read("*a")
wrk.method = "POST"
%s
function delay() return 40 end
"""


def main():
    rounds, workers = int(sys.argv[1]), (sys.argv[2:] or ["2"])[0]
    folder = tempfile.mkdtemp()
    path = lambda name, text: (open(os.path.join(folder, name), "w").write(text), os.path.join(folder, name))[1]
    load = os.path.join(folder, "load")
    client = os.path.join(os.path.dirname(os.path.abspath(__file__)), "client", "load.c")
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-pthread", "-o", load, client], check=True)
    drover = drover_program()
    command = [drover, "serve", path("app.R", APP), "--workers", workers, "--port", str(PORT), "--log=none"]
    server = subprocess.Popen(command)
    url = f"http://127.0.0.1:{PORT}"
    curl = lambda *words: subprocess.run(["curl", "-s", *words], capture_output=True)
    try:
        wait_until_it_answers(f"{url}/small")
        plain, packed = os.path.join(folder, "plain"), os.path.join(folder, "packed")
        curl("-o", plain, f"{url}/data")
        curl("-o", packed, "-H", "Accept-Encoding: gzip", f"{url}/data")
        cases = {"alone": None, "as it is": LARGE % "identity", "gzip": LARGE % "gzip", "zstd": LARGE % "zstd, gzip"}
        cases["upload as it is"] = UPLOAD % (plain, "")
        cases["upload in gzip"] = UPLOAD % (packed, 'wrk.headers["Content-Encoding"] = "gzip"\n')
        pattern = sys.argv[3] if len(sys.argv) > 3 else ""
        # ratios are to the second
        cases = {name: case for name, case in cases.items() if name == "as it is" or re.search(pattern, name)}
        sizes = {name: len(curl("-H", f"Accept-Encoding: {name}", f"{url}/data").stdout) for name in ("gzip", "zstd")}
        print(f"{os.path.getsize(plain)} bytes of JSON; {sizes}; memory {memory(server.pid)} kB")
        seen = {name: [] for name in cases}
        for _ in range(rounds):
            for name, script in cases.items():
                before, large = cpu(server.pid), None
                if script:
                    target = url + ("/upload" if name.startswith("upload") else "/data")
                    words = ["wrk", "-t1", "-c8", f"-d{SECONDS + 1}s", "-s", path("script.lua", script), target]
                    large = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
                words = [load, "--connections", "16", "--rate", str(RATE), "--seconds", str(SECONDS)]
                words += [str(PORT), "/small"]
                out = subprocess.run(words, capture_output=True, text=True, check=True).stdout
                p50, p99 = (int(re.search(rf"{what}_us=(\d+)", out)[1]) for what in ("p50", "p99"))
                many = int(re.search(r"(\d+) requests in", large.communicate()[0])[1]) if large else 0
                seen[name].append((p50, p99, many, (cpu(server.pid) - before) / 1e6))
        for name, rows in seen.items():
            p50, p99, many, took = (statistics.median(column) for column in zip(*rows))
            ratio = statistics.median(one[1] / other[1] for one, other in zip(rows, seen["as it is"]))
            small = f"p50 {p50:6.0f} us  p99 {p99:6.0f} us ({ratio:4.2f})"
            print(f"{name:16} {small}  {many:5.0f} large  {took:6.0f} ms CPU")
        print(f"memory {memory(server.pid)} kB")
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(20)
        shutil.rmtree(folder)


main()
