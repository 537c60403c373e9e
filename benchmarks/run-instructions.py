# Instructions that a request takes, a plain one or one that a policy looks at, in R's thread and in the server's
# threads, counted by callgrind: the same from run to run to within one in a hundred, also on a busy machine, but
# without what the kernel does. See results/2026-11-27-instructions.md and -edge.md. Time is measured by run-edge.py
# and `make bench`.
#   RUSTFLAGS="--cfg rustix_use_libc" CARGO_PROFILE_RELEASE_STRIP=none tools/install.sh
#   R CMD INSTALL --library=.Rlib benchmarks/handlers
#   R_LIBS=.Rlib python3 benchmarks/run-instructions.py [REQUESTS [PATTERN]]
# REQUESTS of each kind, 1000 by default; PATTERN: of the names of kinds.
# The flag has `rustix` ask the C library for the time, and not the kernel's page, which ends a program in callgrind.

import glob, http.client, os, re, shutil, signal, subprocess, sys, tempfile, time

from servers import POLICIES, TOKEN

PORT = 18096
PLAIN = """
library(drover)
app <- dr_app()
dr_get(app, "/text", function(req) "Hello, world!")
dr_get(app, "/json", function(req) list(ok = TRUE))
dr_get(app, "/user/<id:int>", function(req) paste0("user ", req$params$id))
dr_post(app, "/post", function(req) list(x = req$json$x * 2, name = req$json$name))
fields <- lapply(setNames(nm = letters[1:10]), function(name) dr_int(min = 0, max = 9))
dr_post(app, "/typed", function(body) body$a, body = do.call(dr_schema, fields))
dr_get_cpp(app, "/c", "benchhandlers", "bench_text", inline = TRUE)
app
"""
JSON = {"Content-Type": "application/json"}
PAGE = {"Origin": "https://app.example"}
ASKS = PAGE | {"Access-Control-Request-Method": "PUT"}
# of each app: method, target, body, header fields, status
OF_PLAIN = {
    "text": ("GET", "/text", None, {}, 200),
    "JSON": ("GET", "/json", None, {}, 200),
    "a path parameter": ("GET", "/user/42", None, {}, 200),
    "JSON in and out": ("POST", "/post", b'{"x":[1,2,3],"name":"abc"}', JSON, 200),
    "ten fields, checked": ("POST", "/typed", b'{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":0}', JSON, 200),
    "a C handler, inline": ("GET", "/c", None, {}, 200),
}
OF_POLICIES = {
    "404": ("GET", "/none/x", None, {}, 404),
    "pre-flight": ("OPTIONS", "/cors/r", None, ASKS, 204),
    "429": ("GET", "/refused/f/a.txt", None, {}, 429),
    "file": ("GET", "/none/f/a.txt", None, {}, 200),
    "file, csrf": ("GET", "/csrf/f/a.txt", None, {}, 200),
    "file, limit by address": ("GET", "/limit/f/a.txt", None, {}, 200),
    "file, headers": ("GET", "/headers/f/a.txt", None, {}, 200),
    "file, Origin": ("GET", "/none/f/a.txt", None, PAGE, 200),
    "file, Origin, cors": ("GET", "/cors/f/a.txt", None, PAGE, 200),
    "file, Origin, all": ("GET", "/all/f/a.txt", None, PAGE, 200),
}
# secrets that are wrong in their first byte and in their last one: of each two rows the same is to come, as what a
# comparison takes must not tell how much of a guess is right
KEY = lambda key: {"X-Api-Key": key}
SIGNED = lambda signature: {"Authorization": f"Bearer {TOKEN.rpartition('.')[0]}.{signature}"}
SIGNATURE = TOKEN.rpartition(".")[2]
OF_SECRETS = {
    "key, first byte wrong": ("GET", "/key/f/a.txt", None, KEY("x" + 31 * "k"), 401),
    "key, last byte wrong": ("GET", "/key/f/a.txt", None, KEY(31 * "k" + "x"), 401),
    "JWT, first byte wrong": ("GET", "/jwt/f/a.txt", None, SIGNED("x" + SIGNATURE[1:]), 401),
    "JWT, last byte wrong": ("GET", "/jwt/f/a.txt", None, SIGNED(SIGNATURE[:-2] + "xw"), 401),
}
# R's is the first that a process has
R_THREAD = "01"


def connected(server):
    for _ in range(600):
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
        try:
            connection.connect()
            return connection
        except OSError:
            if server.poll() is not None:
                sys.exit(f"the server ended with status {server.returncode}")
            time.sleep(0.1)
    sys.exit("the server does not listen")


def ask(connection, row, times):
    method, target, body, headers, status = row
    for _ in range(times):
        connection.request(method, target, body=body, headers=headers)
        response = connection.getresponse()
        answer = response.read()
    # what is refused is not refused the first time
    if response.status != status:
        sys.exit(f"{target} answers {response.status}: {answer!r}")


def control(server, *what):
    subprocess.run(["callgrind_control", *what, str(server.pid)], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


# A file for each thread, `counts.PART-THREAD`.
def counted(folder):
    found = {"R": 0, "server": 0}
    for file in glob.glob(f"{folder}/counts*-*"):
        total = re.search(r"^(?:totals|summary): (\d+)", open(file).read(), re.M)
        thread = "R" if file.endswith("-" + R_THREAD) else "server"
        found[thread] += int(total.group(1)) if total else 0
        os.remove(file)
    return found


def measure(folder, app, rows, times):
    script = f"{folder}/serve.R"
    with open(script, "w") as file:
        file.write(f'drover::dr_serve(source("{app}")$value, port = {PORT}, log = "none")\n')
    valgrind = f"valgrind --quiet --tool=callgrind --separate-threads=yes --callgrind-out-file={folder}/counts"
    # R's script becomes valgrind, and valgrind R: all of them the process that is started here
    server = subprocess.Popen(["R", "--vanilla", "--no-echo", "-d", valgrind, "-f", script], stdin=subprocess.DEVNULL)
    try:
        connection = connected(server)
        for name, row in rows.items():
            # R compiles what is called often, and caches fill
            ask(connection, row, 300)
            control(server, "-z")
            ask(connection, row, times)
            control(server, "-d")
            found = {thread: total / times for thread, total in counted(folder).items()}
            print(f"{name:24}{found['R']:8.0f}{found['server']:8.0f}{sum(found.values()):8.0f}", flush=True)
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()


def main():
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    pattern = sys.argv[2] if len(sys.argv) > 2 else ""
    folder = tempfile.mkdtemp()
    plain = f"{folder}/plain.R"
    with open(plain, "w") as file:
        file.write(PLAIN)
    try:
        print(f"{'':24}{'R':>8}{'server':>8}{'both':>8}")
        for app, all in ((plain, OF_PLAIN), (POLICIES, OF_POLICIES | OF_SECRETS)):
            if rows := {name: row for name, row in all.items() if re.search(pattern, name)}:
                measure(folder, app, rows, times)
    finally:
        shutil.rmtree(folder)


main()
