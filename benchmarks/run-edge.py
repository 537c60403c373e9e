# What policies of the edge cost: CPU time of the server for each request, beside nginx. See
# results/2026-11-27-edge.md. Not for requests that R answers, but for those with a session: run.
#   R_LIBS=.Rlib python3 benchmarks/run-edge.py ROUNDS [PATTERN]     PATTERN: of the names of cases

import base64, os, re, shutil, signal, statistics, subprocess, sys, tempfile

from servers import POLICIES, TOKEN, cpu, drover_program, wait_until_it_answers

NGINX, DROVER = 18099, 18097
CONF = """
worker_processes 1; daemon off; pid FOLDER/nginx.pid; error_log FOLDER/nginx.log;
events { worker_connections 1024; }
http { access_log off; keepalive_requests 100000000;
  server { listen 127.0.0.1:%d; default_type text/plain; location / { return 200 "ok\\n"; }
    location /long.json { root FOLDER; types { application/json json; }
      gzip on; gzip_comp_level 2; gzip_types application/json; } } }
""" % NGINX
AUTH = 'wrk.headers["Authorization"] = "%s"\n'
basic = lambda password: AUTH % ("Basic " + base64.b64encode(b"one:" + password).decode())
BASIC, GUESS, BEARER = basic(b"password"), basic(b"guess"), AUTH % ("Bearer " + TOKEN)
KEY = 'wrk.headers["X-Api-Key"] = "%s"\n'
ORIGIN = 'wrk.headers["Origin"] = "https://app.example"\n'
PREFLIGHT = ORIGIN + 'wrk.method = "OPTIONS"\nwrk.headers["Access-Control-Request-Method"] = "PUT"\n'
POST = 'wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\nwrk.body = "%s"\n'
TEN = "{" + ",".join('\\"%s\\":%d' % (name, i) for i, name in enumerate("abcdefghij")) + "}"
PACKED = 'wrk.headers["Accept-Encoding"] = "%s"\n'
KNOWN = 'wrk.headers["If-None-Match"] = "*"\n'
CASES = [
    ("nginx, return 200", None, ""), ("404, none", "/none/x", ""), ("pre-flight", "/cors/r", PREFLIGHT),
    ("429", "/refused/f/a.txt", ""), ("from the cache", "/cached/r", ""),
    ("304 from the cache", "/cached/r", KNOWN), ("from the cache, zstd", "/kept/long", PACKED % "zstd"),
    ("from the cache, br", "/kept/long", PACKED % "br"), ("static, none", "/none/f/a.txt", ""),
    ("static, none, Origin", "/none/f/a.txt", ORIGIN), ("static, csrf", "/csrf/f/a.txt", ""),
    ("static, limit by address", "/limit/f/a.txt", ""), ("static, cors, Origin", "/cors/f/a.txt", ORIGIN),
    ("static, headers", "/headers/f/a.txt", ""), ("static, all", "/all/f/a.txt", ""),
    ("401, no key", "/key/f/a.txt", ""), ("401, wrong key", "/key/f/a.txt", KEY % ("x" * 32)),
    ("401, no password", "/basic/f/a.txt", ""), ("429, wrong password", "/guessed/f/a.txt", GUESS),
    ("401, no JWT", "/jwt/f/a.txt", ""),
    ("401, wrong JWT", "/jwt/f/a.txt", BEARER[:-6] + 'xxx"\n'), 
    ("422, query", "/types/query?n=x", ""), ("422, none in the query", "/types/query", ""),
    ("422, ten in a body", "/types/body", POST % TEN.replace(":9", ":10")),
    ("400, no JSON", "/types/body", POST % TEN[:-1]),
    ("415", "/types/body", POST.replace("json", "pdf") % TEN),
    ("R, ten in the query", "/types/queries?" + "&".join(f"{name}={i}" for i, name in enumerate("abcdefghij")), ""),
    ("R, ten in a body", "/types/body", POST % TEN), ("R, the same without types", "/types/untyped", POST % TEN),
    ("static, none, X-Api-Key", "/none/f/a.txt", KEY % ("k" * 32)),
    ("static, key", "/key/f/a.txt", KEY % ("k" * 32)), ("static, none, Basic", "/none/f/a.txt", BASIC),
    ("static, password", "/basic/f/a.txt", BASIC), ("static, none, Bearer", "/none/f/a.txt", BEARER),
    ("static, JWT", "/jwt/f/a.txt", BEARER), ("R, none", "/none/r", ""), ("R, compress", "/compress/r", ""),
    ("R, compress, Accept-Encoding", "/compress/r", PACKED % "gzip, deflate, br, zstd"),
    ("R, 100 kB", "/plain/long", ""), ("R, 100 kB, zstd", "/packed/long", PACKED % "zstd"),
    ("R, 100 kB, gzip", "/packed/long", PACKED % "gzip"),
    ("nginx, the same as a file", "nginx:/long.json", ""), ("nginx, gzip", "nginx:/long.json", PACKED % "gzip"), ("R, no session", "/session/read", ""),
    ("R, session read", "/session/read", "SESSION"), ("R, session set", "/session/set", ""),
]


def main():
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)  # for nginx, whose workers are another user
    path = lambda name, text: (open(os.path.join(folder, name), "w").write(text), os.path.join(folder, name))[1]
    drover = drover_program()
    servers = [
        subprocess.Popen(["nginx", "-c", path("nginx.conf", CONF.replace("FOLDER", folder))]),
        subprocess.Popen([drover, "serve", POLICIES, "--workers", "1", "--port", str(DROVER), "--log=none",
                          "--compress=false"]),
    ]
    try:
        wait_until_it_answers(f"http://127.0.0.1:{DROVER}/none/r")
        long = ["curl", "-s", f"http://127.0.0.1:{DROVER}/plain/long"]
        path("long.json", subprocess.run(long, capture_output=True, text=True).stdout)
        pattern = sys.argv[2] if len(sys.argv) > 2 else ""
        cases = [CASES[0]] + [case for case in CASES[1:] if re.search(pattern, case[0])]
        head = ["curl", "-s", "-D-", "-o/dev/null", f"http://127.0.0.1:{DROVER}/session/set"]
        cookie = re.search(r"set-cookie: ([^;]*)", subprocess.run(head, capture_output=True, text=True).stdout)[1]
        taken = {name: [] for name, _, _ in cases}
        for _ in range(int(sys.argv[1])):
            for name, target, script in cases:
                script = script.replace("SESSION", f'wrk.headers["Cookie"] = "{cookie}"\n')
                nginx = (target or "nginx:/").startswith("nginx:")
                server, port = (servers[0], NGINX) if nginx else (servers[1], DROVER)
                url = f"http://127.0.0.1:{port}{(target or '/').removeprefix('nginx:')}"
                wrk = ["wrk", "-t1", "-c50", "-d1s"] + (["-s", path("script.lua", script)] if script else []) + [url]
                before = cpu(server.pid)
                out = subprocess.run(wrk, capture_output=True, text=True, check=True).stdout
                taken[name].append((cpu(server.pid) - before) / int(re.search(r"(\d+) requests in", out)[1]) / 1000)
        for name, all in taken.items():
            ratios = [one / other for one, other in zip(all, taken[CASES[0][0]])]
            print(f"{name:26} {statistics.median(all):6.2f} us  {statistics.median(ratios):5.2f} of nginx")
    finally:
        for server in servers:
            server.send_signal(signal.SIGTERM)
            server.wait(20)
        shutil.rmtree(folder)


main()
