# The program of drover, and what a server with all its processes takes: for the benchmarks here that are in Python. Not
# for what is sent to it: run-edge.py, run-compression.py, first-byte.py.

import base64, glob, hashlib, hmac, os, re, subprocess, time

# An app with each policy of the edge below a path of its own.
POLICIES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "policies.R")


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


# A JWT that the app takes.
TOKEN = b64(b'{"alg":"HS256"}') + "." + b64(b'{"iss":"me","aud":"app","sub":"ada","exp":9999999999}')
TOKEN += "." + b64(hmac.new(b"s" * 64, TOKEN.encode(), hashlib.sha256).digest())


def drover_program():
    """The path of the program of the installed package."""
    r = ["Rscript", "-e", "cat(drover::dr_cli_path())"]
    return subprocess.run(r, capture_output=True, text=True, check=True).stdout


def wait_until_it_answers(url):
    """Returns when there is an answer, or after a minute."""
    for _ in range(120):
        time.sleep(0.5)
        if subprocess.run(["curl", "-s", "-o", "/dev/null", url], check=False).returncode == 0:
            return


def tree(pid):
    """The process and all that it has begun, directly or not."""
    children = "".join(open(file).read() for file in glob.glob(f"/proc/{pid}/task/*/children")).split()
    return [pid] + [one for child in children for one in tree(int(child))]


def cpu(pid):
    """Nanoseconds of all threads of a server so far."""
    files = (file for one in tree(pid) for file in glob.glob(f"/proc/{one}/task/*/schedstat"))
    return sum(int(open(file).read().split()[0]) for file in files)


def memory(pid):
    """kB of all processes of a server."""
    return sum(int(re.search(r"\nPss: +(\d+)", open(f"/proc/{one}/smaps_rollup").read())[1]) for one in tree(pid))
