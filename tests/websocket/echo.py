"""An echo server for WebSockets that keeps the RFCs, or breaks one rule of them: echo.py PORT [RULE]

It shows that the cases of this folder can fail (prove.R), so it shares no code with what they are for. Python's
standard library only. Not fast, and not for networks: it binds 127.0.0.1. PORT 0 is a free one; the port is printed.
"""
import base64
import hashlib
import re
import socket
import struct
import sys
import threading
import zlib

RULE = sys.argv[2] if len(sys.argv) > 2 else "none"


class Failure(Exception):
    """The connection is to be failed with this code."""


def broken(rule):
    return rule == RULE


def check(wrong, code, rule):
    if wrong and not broken(rule):
        raise Failure(code)


class Connection:
    def __init__(self, sock):
        self.sock = sock
        self.file = sock.makefile("rb")
        self.deflate = None
        self.kind = None
        self.parts = []

    def read(self, count):
        data = self.file.read(count)
        if len(data) < count:
            raise EOFError
        return data

    def handshake(self):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.read(1)
        fields = {}
        for line in head.decode("latin-1").split("\r\n")[1:-2]:
            name, value = line.split(":", 1)
            fields[name.lower()] = value.strip()
        key = fields.get("sec-websocket-key", "")
        guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B1" + ("2" if broken("accept") else "1")
        answer = [
            "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Accept: " + base64.b64encode(hashlib.sha1((key + guid).encode()).digest()).decode(),
        ]
        if fields.get("sec-websocket-version") != "13" and not broken("version"):
            answer = ["HTTP/1.1 426 Upgrade Required", "Sec-WebSocket-Version: 13", "Content-Length: 0"]
        elif not re.fullmatch("[A-Za-z0-9+/]{22}==", key) and not broken("key"):
            answer = ["HTTP/1.1 400 Bad Request", "Content-Length: 0"]
        elif broken("unasked-extension"):
            answer.append("Sec-WebSocket-Extensions: permessage-deflate")
        for offer in fields.get("sec-websocket-extensions", "").split(","):
            words = [word.strip() for word in offer.split(";")]
            agreed = self.agree(words[1:]) if words[0] == "permessage-deflate" else None
            if agreed:
                answer.append("Sec-WebSocket-Extensions: " + agreed)
                break
        self.sock.sendall(("\r\n".join(answer) + "\r\n\r\n").encode())
        return answer[0].split()[1] == "101"

    def agree(self, words):
        """The answer to the parameters of an offer, or None when it has to be declined."""
        given = dict((word.split("=") + [None])[:2] for word in words)
        known = {"client_no_context_takeover", "client_max_window_bits", "server_no_context_takeover",
                 "server_max_window_bits"}
        bits = given.get("server_max_window_bits", "15")
        if (set(given) - known or bits not in map(str, range(9, 16))) and not broken("parameters"):
            return None
        self.takeover = "server_no_context_takeover" not in given
        bits = min(int(bits), 15)
        self.bits = 15 if broken("window-bits") else bits
        self.deflate = zlib.compressobj(wbits=-self.bits)
        self.inflate = zlib.decompressobj(wbits=-15)
        answer = ["permessage-deflate"]
        if not self.takeover:
            answer.append("server_no_context_takeover")
        if bits < 15:
            answer.append("server_max_window_bits=%d" % bits)
        return "; ".join(answer)

    def send(self, opcode, payload, rsv=0):
        length = len(payload)
        mask = 128 if broken("masked") else 0
        head = bytes([128 | rsv | opcode])
        if length < 126 and not broken("length"):
            head += bytes([mask | length])
        elif length < 65536:
            head += struct.pack("!BH", mask | 126, length)
        else:
            head += struct.pack("!BQ", mask | 127, length)
        # four zeros as a key change nothing
        self.sock.sendall(head + (bytes(4) if mask else b"") + payload)

    def echo(self, payload):
        if self.kind == 1 and broken("echo-letters"):
            payload = payload.decode().upper().encode()
        if broken("echo-length"):
            payload = payload[:-1]
        opcode = 3 - self.kind if broken("echo-kind") else self.kind
        if self.deflate:
            if not self.takeover and not broken("takeover"):
                self.deflate = zlib.compressobj(wbits=-self.bits)
            payload = self.deflate.compress(payload) + self.deflate.flush(zlib.Z_SYNC_FLUSH)
            if not broken("tail"):
                payload = payload[:-4]
        rsv = 64 if self.deflate and not broken("rsv1-unset") or broken("rsv1-set") else 0
        for _ in range(2 if broken("echo-twice") else 1):
            self.send(opcode, payload, rsv)

    def frame(self):
        first, second = self.read(2)
        opcode, fin, rsv = first & 15, first & 128, first & 112
        length = second & 127
        if length > 125:
            length = struct.unpack("!H" if length == 126 else "!Q", self.read(2 if length == 126 else 8))[0]
        check(length >= 1 << 63, 1002, "length-sign")
        length &= (1 << 63) - 1
        allowed = 64 if self.deflate and opcode in (1, 2) else 0
        check(rsv & ~allowed, 1002, "reserved-bits")
        check(opcode not in (0, 1, 2, 8, 9, 10), 1002, "opcodes")
        check(opcode > 7 and not fin, 1002, "control-fragments")
        check(opcode > 7 and length > 125, 1002, "control-length")
        check(not second & 128, 1002, "unmasked")
        check(opcode == 0 and self.kind is None, 1002, "continuation")
        check(opcode in (1, 2) and self.kind is not None, 1002, "interleaved")
        key = self.read(4) if second & 128 else bytes(4)
        payload = self.read(length)
        mask = (key * (length // 4 + 1))[:length]
        payload = (int.from_bytes(payload, "big") ^ int.from_bytes(mask, "big")).to_bytes(length, "big")
        return opcode, fin, rsv, payload

    def message(self, payload):
        if self.compressed and self.deflate:
            try:
                payload = self.inflate.decompress(payload + b"\0\0\xff\xff")
            except zlib.error:
                raise Failure(1007)
        if self.kind == 1:
            try:
                payload.decode()
            except UnicodeDecodeError:
                check(True, 1007, "utf-8")
        self.echo(payload)
        self.kind = None

    def close(self, payload):
        code = struct.unpack("!H", payload[:2])[0] if len(payload) > 1 else None
        known = code is None or code in (1000, 1001, 1002, 1003, *range(1007, 1015)) or 3000 <= code <= 4999
        # nobody says what these are
        check(len(payload) == 1 or not known and code not in (5000, 65535), 1002, "close-code")
        try:
            payload[2:].decode()
        except UnicodeDecodeError:
            check(True, 1007, "close-reason")
        if broken("close-unanswered"):
            return
        self.send(8, struct.pack("!H", 1001) if broken("close-other") else payload[:2])
        if broken("after-close"):
            self.send(1, b"after the Close")

    def serve(self):
        while True:
            opcode, fin, rsv, payload = self.frame()
            if opcode == 8:
                return self.close(payload)
            if opcode == 9:
                if not broken("no-pong"):
                    self.send(10, b"" if broken("pong-payload") else payload)
            elif opcode in (0, 1, 2):
                if opcode or self.kind is None:
                    self.kind, self.parts, self.compressed = opcode or 1, [], rsv
                self.parts.append(payload)
                if fin:
                    self.message(b"".join(self.parts))

    def run(self):
        try:
            if self.handshake():
                self.serve()
        except Failure as failure:
            if not broken("fails-silently-open"):
                self.send(8, struct.pack("!H", 1011 if broken("fails-other") else failure.args[0]))
        except (EOFError, OSError):
            pass
        if broken("no-end") or broken("fails-silently-open"):
            # longer than any client waits
            threading.Event().wait(600)
        try:
            self.sock.shutdown(socket.SHUT_WR)
            # what is unread would become a reset, and that might overtake the Close
            self.sock.settimeout(1)
            while self.sock.recv(65536):
                pass
        except OSError:
            pass
        self.sock.close()


listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print(listener.getsockname()[1], flush=True)
while True:
    accepted = listener.accept()[0]
    accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=Connection(accepted).run, daemon=True).start()
