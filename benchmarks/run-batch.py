# What batches are worth: predict() of a glm for requests with a row each, one by one and in batches, with 64
# connections, and the latency of a lone request. See docs/decisions/0099.
#   R_LIBS=.Rlib python3 benchmarks/run-batch.py ROUNDS

import os, re, shutil, signal, statistics, subprocess, sys, tempfile

from servers import drover_program, wait_until_it_answers

PORT, SECONDS = 18098, 4
APP = """
library(drover)
model <- glm(am ~ wt + hp, data = mtcars, family = binomial)
estimate <- function(rows) unname(predict(model, rows, type = "response"))
row <- dr_schema(wt = dr_dbl(), hp = dr_dbl())
app <- dr_app()
dr_get(app, "/up", function(req) "up")
dr_post(app, "/single", function(body) estimate(as.data.frame(body)), body = row)
dr_post(app, "/batched", estimate, body = row, batch = dr_batch(max_size = 64))
app
"""


def main():
    rounds = int(sys.argv[1])
    folder = tempfile.mkdtemp()
    app = os.path.join(folder, "app.R")
    with open(app, "w") as file:
        file.write(APP)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "client", "request.lua")
    body = {"BENCH_METHOD": "POST", "BENCH_BODY": '{"wt":3,"hp":120}', "BENCH_TYPE": "application/json"}
    command = [drover_program(), "serve", app, "--workers", "1", "--port", str(PORT), "--log=none"]
    server = subprocess.Popen(command)
    url = f"http://127.0.0.1:{PORT}"

    def load(path, connections):
        words = ["wrk", "-t1", f"-c{connections}", f"-d{SECONDS}s", "--latency", "-s", script, url + path]
        out = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, **body}).stdout
        figures = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", out)}
        if figures["bad_status"] + figures["socket_errors"] + figures["timeouts"] > 0:
            sys.exit(f"{path}: errors: {out}")
        return figures["requests"] / figures["duration"] * 1e6, figures["p50"]

    seen = {(path, connections): [] for connections in (64, 1) for path in ("/single", "/batched")}
    try:
        wait_until_it_answers(f"{url}/up")
        for key in seen:
            load(*key)
        for _ in range(rounds):
            for key, figures in seen.items():
                figures.append(load(*key))
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(20)
        shutil.rmtree(folder)
    for (path, connections), figures in seen.items():
        each, p50 = (statistics.median(column) for column in zip(*figures))
        print(f"{path:9} {connections:2} connections: {each:7.0f} requests/s, p50 {p50:6.0f} us")
    ratio = lambda connections, column: statistics.median(
        batched[column] / single[column]
        for batched, single in zip(seen["/batched", connections], seen["/single", connections])
    )
    print(f"batched / single: {ratio(64, 0):.2f} of requests/s (wanted: 5), {ratio(1, 1):.3f} of p50 (wanted: 1.05)")


main()
