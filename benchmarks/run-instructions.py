# Instructions that a plain request takes, in R's thread and in the server's threads, counted by callgrind: the same from
# run to run to within one in a hundred, also on a busy machine, but without what the kernel does. See
# results/2026-11-27-instructions.md. Time is measured by run-edge.py and `make bench`.
#   RUSTFLAGS="--cfg rustix_use_libc" CARGO_PROFILE_RELEASE_STRIP=none tools/install.sh
#   R CMD INSTALL --library=.Rlib benchmarks/handlers
#   R_LIBS=.Rlib python3 benchmarks/run-instructions.py [REQUESTS]     of each kind; 1000 by default
# The flag has `rustix` ask the C library for the time, and not the kernel's page, which ends a program in callgrind.

import glob, http.client, os, re, shutil, signal, subprocess, sys, tempfile, time

PORT = 18096
APP = f"""
library(drover)
app <- dr_app()
dr_get(app, "/text", function(req) "Hello, world!")
dr_get(app, "/json", function(req) list(ok = TRUE))
dr_get(app, "/user/<id:int>", function(req) paste0("user ", req$params$id))
dr_post(app, "/post", function(req) list(x = req$json$x * 2, name = req$json$name))
dr_get_cpp(app, "/c", "benchhandlers", "bench_text", inline = TRUE)
dr_serve(app, port = {PORT})
"""
JSON = {"Content-Type": "application/json"}
ROWS = {
    "text": ("GET", "/text", None, {}),
    "JSON": ("GET", "/json", None, {}),
    "a path parameter": ("GET", "/user/42", None, {}),
    "JSON in and out": ("POST", "/post", b'{"x":[1,2,3],"name":"abc"}', JSON),
    "a C handler, inline": ("GET", "/c", None, {}),
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
    for _ in range(times):
        connection.request(row[0], row[1], body=row[2], headers=row[3])
        response = connection.getresponse()
        body = response.read()
        if response.status != 200:
            sys.exit(f"{row[1]} answers {response.status}: {body!r}")


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


def main():
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    folder = tempfile.mkdtemp()
    script = f"{folder}/app.R"
    with open(script, "w") as file:
        file.write(APP)
    valgrind = f"valgrind --quiet --tool=callgrind --separate-threads=yes --callgrind-out-file={folder}/counts"
    # R's script becomes valgrind, and valgrind R: all of them the process that is started here
    server = subprocess.Popen(["R", "--vanilla", "--no-echo", "-d", valgrind, "-f", script], stdin=subprocess.DEVNULL)
    try:
        connection = connected(server)
        print(f"{'':22}{'R':>8}{'server':>8}{'both':>8}")
        for name, row in ROWS.items():
            # R compiles what is called often, and caches fill
            ask(connection, row, 300)
            control(server, "-z")
            ask(connection, row, times)
            control(server, "-d")
            found = {thread: total / times for thread, total in counted(folder).items()}
            print(f"{name:22}{found['R']:8.0f}{found['server']:8.0f}{sum(found.values()):8.0f}", flush=True)
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
        shutil.rmtree(folder)


main()
