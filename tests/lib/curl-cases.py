# Whether curl.R sends what the program curl sends, for all words that it knows but those of HTTP/2, and gives what
# comes back: python3 -B tests/lib/curl-cases.py, from the root. Says what differs, and nothing when all is the same.

import json, os, socket, subprocess, sys, tempfile, threading

CASES = [
    [], ["-H", "X-A: b", "-H", "X-A: c"], ["-H", "Host: x"], ["-H", "Accept:"], ["-H", "X;"], ["-X", "DELETE"],
    ["-d", "a=1", "-d", "b=2"], ["-d", ""], ["-d", "@FILE"], ["--data-binary", "@FILE"], ["--data-binary", "@LONG"], ["-u", "a:b"], ["-A", "me"],
    ["--json", '{"a":1}'], ["--json", "[]", "-X", "PUT", "-H", "X: y"], ["-H", "Content-Type:", "-d", "x"],
    ["-d", "x" * 100_000], ["--path-as-is"], ["--http1.0"], ["--http1.1"], ["--interface", "127.0.0.1"], ["-k"],
    ["--cacert", "FILE"],
]
ANSWER = b"HTTP/1.1 103 Early Hints\r\nA: 1\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 9\r\nB: 2\r\n\r\ncut"


def request_of(connection):
    """All bytes of the request that comes, its fields in the order of the alphabet."""
    got = b""
    while b"\r\n\r\n" not in got:
        got += connection.recv(65536)
    head, body = got.split(b"\r\n\r\n", 1)
    first, *fields = head.split(b"\r\n")
    length = next((int(f[15:]) for f in fields if f.lower().startswith(b"content-length:")), 0)
    if b"Expect: 100-continue" in fields:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    while len(body) < length:
        body += connection.recv(65536)
    return [first, sorted(fields), body]


def main():
    folder = tempfile.TemporaryDirectory()
    file = os.path.join(folder.name, "file")
    with open(file, "w") as out:
        out.write("a\nbb\r\nb\n")
    # from a megabyte on the program waits for "100 Continue"
    long = os.path.join(folder.name, "long")
    with open(long, "w") as out:
        out.write("x" * 2_000_000)
    cases = [[word.replace("FILE", file).replace("LONG", long) for word in words] for words in CASES]
    listener = socket.create_server(("127.0.0.1", 0))
    url = "http://127.0.0.1:%d/a/../b%%2f?x=1" % listener.getsockname()[1]
    came = []

    def listen():
        while True:
            connection, _ = listener.accept()
            with connection:
                came.append(request_of(connection))
                connection.sendall(ANSWER)

    threading.Thread(target=listen, daemon=True).start()
    for words in cases:
        subprocess.run(["curl", "-s", "--max-time", "30", *words, url], stdout=subprocess.DEVNULL)
    by_program = came[:]
    came.clear()
    # one R for all, which reads them from a file as one is too long for the command line
    with open(os.path.join(folder.name, "cases"), "w") as out:
        json.dump(cases, out)
    code = """
      source("tests/lib/curl.R")
      arguments <- commandArgs(TRUE)
      for (words in jsonlite::fromJSON(arguments[[1]], simplifyVector = FALSE)) {
        came <- curl_here(arguments[[2]], unlist(words), 30)
        stopifnot(identical(came$status, 201L), identical(rawToChar(came$raw), "cut"), length(came$error) == 1L,
          c("A: 1", "B: 2") %in% came$head)
      }
      stopifnot(is.null(curl_here(arguments[[2]], c("-H", "A: b", "--unknown"), 30)))
    """
    subprocess.run(["Rscript", "--vanilla", "-e", code, os.path.join(folder.name, "cases"), url], check=True)
    for words, program, here in zip(cases, by_program, came, strict=True):
        if program != here:
            print(words, "\n program:", str(program)[:500], "\n here:   ", str(here)[:500])
            sys.exit(1)


main()
