# What a call of a tool costs beside a request for the same function as a route: CPU time of the server for each, and
# calls per second, as a table. Not for tools that do something: their time is their own.
#   R_LIBS=.Rlib python3 benchmarks/run-mcp.py ROUNDS [SECONDS]

import json, os, signal, statistics, subprocess, sys, tempfile

from servers import cpu, drover_program, wait_until_it_answers

PORT = 18093
APP = """
library(drover)
app <- dr_app()
dr_get(app, "/empty", function(req) "ok", operation_id = "route", summary = "A route")
dr_post(app, "/typed", function(x) list(x = x), params = list(x = dr_int()))
empty <- dr_tool(function() "ok", "empty", "Does nothing")
echo <- dr_tool(function(x) list(x = x), "echo", "Gives x", list(x = dr_int(min = 0)))
dr_mcp(app, tools = list(empty, echo))
app
"""
NEW = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": NEW, "io.modelcontextprotocol/clientCapabilities": {}}


def message(method, **params):
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def call(name, **arguments):
    return message("tools/call", name=name, arguments=arguments)


def newest(asked):
    """The same message in the newest version: with `_meta`, and with header fields that say the same."""
    asked = json.loads(json.dumps(asked))
    asked["params"]["_meta"] = META
    named = asked["params"].get("name")
    return asked, [f"MCP-Protocol-Version: {NEW}", f"Mcp-Method: {asked['method']}"] + ([f"Mcp-Name: {named}"] if named else [])


CASES = [
    ("the route", "/empty", None, []), ("typed route", "/typed?x=1", {}, []),
    ("the tool", "/mcp", call("empty"), []), ("the tool, 2026-07-28", "/mcp", *newest(call("empty"))),
    ("a tool with an argument", "/mcp", call("echo", x=1), []), ("a route as a tool", "/mcp", call("route"), []),
    ("tools/list", "/mcp", message("tools/list"), []), ("ping", "/mcp", message("ping"), []),
    ("an error: no such tool", "/mcp", call("none"), []),
]


def load(path, body, fields, seconds):
    """Sends requests by four connections for so long, and gives how many were answered, in which time. They must all be answered with 200."""
    script = ["wrk.method = 'POST'", "wrk.headers['Content-Type'] = 'application/json'"] if body is not None else []
    script += [f"wrk.body = [[{json.dumps(body)}]]"] if body is not None else []
    script += ["wrk.headers['%s'] = '%s'" % tuple(field.split(": ")) for field in fields]
    script += ["function done(s) io.write(string.format('%d %d %f', s.requests, s.errors.status, s.duration / 1e6)) end"]
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write("\n".join(script))
        file.flush()
        command = ["wrk", "-t1", "-c4", f"-d{seconds}s", "-s", file.name, f"http://127.0.0.1:{PORT}{path}"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")[-1]
    answered, errors, seconds = said.split()
    assert int(errors) == 0, f"{path}: {errors} errors"
    return int(answered), float(seconds)


def main():
    rounds = int(sys.argv[1])
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    with tempfile.TemporaryDirectory() as folder:
        app = os.path.join(folder, "app.R")
        open(app, "w").write(APP)
        command = [drover_program(), "serve", app, "--port", str(PORT), "--workers", "2", "--log-level", "warn"]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            wait_until_it_answers(f"http://127.0.0.1:{PORT}/empty")
            measured = {name: [] for name, *_ in CASES}
            for _ in range(rounds):
                for name, path, body, fields in CASES:
                    before = cpu(server.pid)
                    answered, took = load(path, body, fields, seconds)
                    measured[name].append(((cpu(server.pid) - before) / answered / 1000, answered / took))
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()
    direct = statistics.median(us for us, _ in measured["the route"])
    print("| | CPU per request | of the route | per second |\n|---|---|---|---|")
    for name, all in measured.items():
        us = statistics.median(us for us, _ in all)
        print(f"| {name} | {us:.1f} us | {us / direct:.1f} | {statistics.median(rate for _, rate in all):.0f} |")


main()
