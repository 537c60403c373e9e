# What servers and workers keep in memory when something large has passed through them. See
# results/2026-11-26-buffers.md. Not for what plain requests take: run-edge.py.
#   R_LIBS=.Rlib python3 benchmarks/run-buffers.py [PATTERN]     PATTERN: of the names of cases

import base64, os, re, shutil, signal, socket, struct, subprocess, sys, tempfile, time

from servers import drover_program, tree, wait_until_it_answers

PORT = 18095
APP = """
library(drover)
app <- dr_app()
dr_get(app, "/ping", function(req) "pong")
dr_get(app, "/text", function(req) strrep("x", 200e6))
dr_get(app, "/json", function(req) rep(strrep("y", 97), 2e6))
dr_get(app, "/raw", function(req) raw(200e6))
dr_get(app, "/hundred", function(req) strrep("x", 1e5))
dr_get(app, "/twenty", function(req) raw(20e6))
dr_post(app, "/body", function(req) as.character(length(req$raw)))
chunk <- as.raw(rep(1:10, 1e5))
dr_get(app, "/stream", function(req) {
  dr_stream(function(state, cancelled) list(chunk = chunk, state = state + 1, done = state >= 999), state = 0)
})
answer <- function(conn, msg) dr_ws_send(conn, if (length(msg) > 30e6) "got it" else msg)
dr_ws(app, "/ws", on_message = answer, max_message = "60MB")
app
"""


def url(path):
    return f"http://127.0.0.1:{PORT}{path}"


def get(path, bytes):
    def case():
        command = ["curl", "-s", "-o", "/dev/null", "-w", "%{size_download}", url(path)]
        assert subprocess.run(command, capture_output=True, text=True).stdout == str(bytes)
    return case


def body():
    with tempfile.NamedTemporaryFile() as file:
        file.truncate(200_000_000)
        command = ["curl", "-s", "-H", "Expect:", "--data-binary", "@" + file.name, url("/body")]
        assert subprocess.run(command, capture_output=True, text=True).stdout == "200000000"


def read_exactly(connection, n):
    parts = []
    while n > 0:
        part = connection.recv(min(n, 1 << 20))
        assert part, "the server has gone"
        parts.append(part)
        n -= len(part)
    return b"".join(parts)


def say(connection, message):
    # a mask of zeroes leaves it as it is
    connection.sendall(b"\x82\xff" + struct.pack(">Q", len(message)) + b"\0\0\0\0" + message)


def hear(connection):
    first, length = read_exactly(connection, 2)
    if length == 127:
        length = struct.unpack(">Q", read_exactly(connection, 8))[0]
    message = read_exactly(connection, length)
    assert first in (0x81, 0x82), message
    return message


def connect():
    connection = socket.create_connection(("127.0.0.1", PORT))
    key = base64.b64encode(os.urandom(16)).decode()
    connection.sendall((f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n").encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += read_exactly(connection, 1)
    return connection


# Connections stay open: what they hold is of interest, too.
def there():
    connection = connect()
    say(connection, bytes(50_000_000))
    assert hear(connection) == b"got it"
    return connection


def and_back():
    connection = connect()
    message = os.urandom(1 << 20) * 24
    say(connection, message)
    assert hear(connection) == message
    return connection


def kept_alive(target, fill, answer):
    def case():
        connections = [socket.create_connection(("127.0.0.1", PORT)) for _ in range(1000)]
        for connection in connections:
            connection.sendall(f"GET {target} HTTP/1.1\r\nHost: h\r\nX-Long: {fill}\r\n\r\n".encode())
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += read_exactly(connection, 1)
            assert read_exactly(connection, len(answer)) == answer
        return connections
    return case


CASES = [
    ("text of 200 MB", get("/text", 200_000_000)), ("JSON of 200 MB", get("/json", 200_000_001)),
    ("raw vector of 200 MB", get("/raw", 200_000_000)), ("raw vector of 20 MB", get("/twenty", 20_000_000)),
    ("body of 200 MB", body), ("WebSocket, 50 MB there", there),
    ("WebSocket, 24 MB there and back", and_back), ("stream of 1 GB", get("/stream", 10**9)),
    ("1,000 connections, heads of 7 kB", kept_alive("/ping", "x" * 7000, b"pong")),
    ("1,000 connections, bodies of 100 kB", kept_alive("/hundred", "", b"x" * 100_000)),
]


def anonymous(pid):
    """MB of its own: what is not of files, nor shared. Pages of the zygote that are not written to count."""
    return int(re.search(r"\nRssAnon:\s+(\d+)", open(f"/proc/{pid}/status").read())[1]) / 1000


def measure(drover, folder, case):
    app = os.path.join(folder, "app.R")
    open(app, "w").write(APP)
    command = [drover, "serve", app, "--workers=1", f"--port={PORT}", "--log=none", "--max-body=300MB", "--timeout=120"]
    server = subprocess.Popen(command)
    try:
        wait_until_it_answers(url("/ping"))
        worker = tree(server.pid)[-1]
        pids = (server.pid, worker)
        get("/ping", 4)()
        time.sleep(3)
        before = [anonymous(pid) for pid in pids]
        held = case()
        after = []
        for pause in (0.2, 3, 12):
            time.sleep(pause)
            after.append([anonymous(pid) for pid in pids])
        assert tree(server.pid)[-1] == worker
        del held
        return before, after
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(20)


def main():
    folder, drover = tempfile.mkdtemp(), drover_program()
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    print(f"{'MB':34} server: before, at once, 3 s, 15 s         worker")
    for name, case in CASES:
        if not re.search(pattern, name):
            continue
        before, after = measure(drover, folder, case)
        columns = ["".join(f"{moment[i]:8.1f}" for moment in [before] + after) for i in (0, 1)]
        print(f"{name:34}{columns[0]}    {columns[1]}", flush=True)
    shutil.rmtree(folder)


main()
