# Many small apps on one machine: what they take when nobody asks for them, and how long the first answer of one takes
# that has to be loaded for it. The same apps in a server each, with one worker, for comparison. See
# docs/several-apps.md.
#   R_LIBS=.Rlib python3 benchmarks/run-apps.py APPS [ROUNDS]

import os, re, shutil, signal, statistics, subprocess, sys, tempfile, time, urllib.request

from servers import drover_program, memory, tree, wait_until_it_answers

PORT = 18097
APP = 'library(drover)\napp <- dr_app()\ndr_get(app, "/", function(req) "here")\napp\n'


def start(program, words, log):
    return subprocess.Popen([program, "serve", *words], stdout=log, stderr=subprocess.STDOUT, start_new_session=True)


def end(server):
    server.send_signal(signal.SIGTERM)
    server.wait(60)


def asked(path, port=PORT):
    """Seconds until there is an answer."""
    began = time.perf_counter()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
        assert answer.read() == b"here"
    return time.perf_counter() - began


def folder_of(apps):
    folder = tempfile.mkdtemp(prefix="apps-")
    for i in range(apps):
        os.mkdir(f"{folder}/app{i}")
        with open(f"{folder}/app{i}/app.R", "w") as file:
            file.write(APP)
    return folder


def together(program, apps):
    """Memory in kB at first, and when all have been asked for and rest; seconds of first answers, loads, second ones."""
    folder = folder_of(apps)
    with open(f"{folder}/log", "w+") as log:
        words = [folder, "--port", str(PORT), "--workers", "0-1", "--max-age", "2", "--check-unused", "0.5"]
        server = start(program, words, log)
        wait_until_it_answers(f"http://127.0.0.1:{PORT}/")
        before = memory(server.pid)
        first, second = [], []
        for i in range(apps):
            first.append(asked(f"/app{i}/"))
            second.append(asked(f"/app{i}/"))
        while len(tree(server.pid)) > 1:
            time.sleep(0.2)
        after = memory(server.pid)
        end(server)
        log.seek(0)
        loads = [float(found) for found in re.findall(r"loaded in ([0-9.]+) s", log.read())]
    shutil.rmtree(folder)
    return before, after, first, loads, second


def apart(program):
    """Memory in kB of one app in a server with one worker."""
    folder = folder_of(1)
    with open(f"{folder}/log", "w") as log:
        server = start(program, [f"{folder}/app0", "--port", str(PORT), "--workers", "1"], log)
        wait_until_it_answers(f"http://127.0.0.1:{PORT}/")
        taken = memory(server.pid)
        end(server)
    shutil.rmtree(folder)
    return taken


def main():
    apps, rounds = int(sys.argv[1]), int((sys.argv + ["1"])[2])
    program = drover_program()
    print(f"{apps} apps, {rounds} rounds\n")
    print("| | at first, MB | all asked and at rest, MB | first answer, ms | of that loading, ms | later, ms | a server each, MB |")
    print("|---|---|---|---|---|---|---|")
    for number in range(rounds):
        before, after, first, loads, second = together(program, apps)
        one = apart(program)
        times = " | ".join(f"{1000 * statistics.median(of):.1f}" for of in (first, loads, second))
        print(f"| round {number + 1} | {before / 1024:.1f} | {after / 1024:.1f} | {times} | {apps * one / 1024:.0f} |", flush=True)


main()
