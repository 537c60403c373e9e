"""A collector of OpenTelemetry: python3 collector.py FILE. Takes spans as OTLP over HTTP in JSON and appends what comes
to FILE, a line of JSON each: path, fields and body. Prints its port. While there is a file FILE.broken, it answers
503."""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class Collector(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        broken = os.path.exists(sys.argv[1] + ".broken")
        if not broken:
            got = {"path": self.path, "fields": {k.lower(): v for k, v in self.headers.items()}, "body": json.loads(body)}
            with open(sys.argv[1], "a", encoding="utf-8") as file:
                file.write(json.dumps(got) + "\n")
        self.send_response(503 if broken else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Collector)
print(server.server_port, flush=True)
server.serve_forever()
