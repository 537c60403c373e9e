# How long a client that connects waits for the first byte of a stream's body, beside a plain response, in turns: alone,
# while 1,000 Server-Sent Events streams of an event a second are opened on one worker, and beside those. See
# results/2026-11-23-streams.md. Not for how streams go on: trials.
#   R_LIBS=.Rlib python3 benchmarks/first-byte.py RUNS        (a limit of 4,096 descriptors: ulimit -n)

import os, random, shutil, signal, socket, statistics, subprocess, sys, tempfile, time

from servers import drover_program, wait_until_it_answers

PORT, STREAMS, CALM = 18096, 1000, 300
APP = """
library(drover)
app <- dr_app()
dr_get(app, "/plain", function(req) "text")
dr_get(app, "/stream", function(req) dr_stream(function(state, cancelled) {
  list(chunk = "text", state = state + 1)
}, state = 0, min_interval = 1))
dr_get(app, "/sse", function(req) dr_stream_sse(function(state, cancelled) {
  list(data = "text", state = state + 1)
}, state = 0, min_interval = 1))
app
"""
PATHS = ["/plain", "/stream", "/sse"]


def first_byte(path, open_streams):
    """Microseconds from the call of connect() until the first bytes of the body are here."""
    client = socket.socket()
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    began = time.perf_counter()
    client.connect(("127.0.0.1", PORT))
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    answer = b""
    while b"text" not in answer.partition(b"\r\n\r\n")[2]:
        answer += client.recv(65536)
    took = (time.perf_counter() - began) * 1e6
    if open_streams is None:
        client.close()
    else:
        open_streams.append(client)
    return took


def trial(label, times, open_streams):
    taken = {path: [] for path in PATHS}
    for _ in range(times):
        for path in random.sample(PATHS, len(PATHS)):
            taken[path].append(first_byte(path, open_streams if path == "/sse" else None))
    median = {path: statistics.median(taken[path]) for path in PATHS}
    ratios = "  ".join(f"{path} {median[path] / median['/plain']:.2f}" for path in PATHS[1:])
    print(f"{label:28} plain {median['/plain']:4.0f} us  of it: {ratios}", flush=True)


def main():
    folder = tempfile.mkdtemp()
    file = os.path.join(folder, "app.R")
    with open(file, "w", encoding="utf-8") as app:
        app.write(APP)
    drover = drover_program()
    server = subprocess.Popen([drover, "serve", file, "--workers", "1", "--port", str(PORT), "--log=none"])
    try:
        wait_until_it_answers(f"http://127.0.0.1:{PORT}/plain")
        for _ in range(int(sys.argv[1])):
            streams = []
            trial("alone", CALM, None)
            trial(f"while {STREAMS} are opened", STREAMS, streams)
            trial(f"beside {STREAMS}", CALM, None)
            for stream in streams:
                stream.close()
            time.sleep(2)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(20)
        shutil.rmtree(folder)


main()
