# Many WebSockets at once, more than R has connections for: each sends so many messages and reads as many back, then
# half of them close and the others only leave. Prints how many messages came back.
#   python3 many-sockets.py PORT PATH SOCKETS MESSAGES

import socket, struct, sys

port, path, count, messages = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
request = (
    f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def frame(opcode, payload):
    return struct.pack(">BB4x", 0x80 | opcode, 0x80 | len(payload)) + payload


lines = []
for _ in range(count):
    line = socket.create_connection(("127.0.0.1", port))
    line.sendall(request.encode())
    lines.append((line, line.makefile("rb")))
for _, answer in lines:
    assert answer.readline().startswith(b"HTTP/1.1 101 ")
    while answer.readline() != b"\r\n":
        pass
texts = [str(n).encode() for n in range(messages)]
for line, _ in lines:
    line.sendall(b"".join(frame(1, text) for text in texts))
back = 0
for _, answer in lines:
    for text in texts:
        expected = struct.pack(">BB", 0x81, len(text)) + text
        assert answer.read(len(expected)) == expected
        back += 1
for n, (line, answer) in enumerate(lines):
    if n % 2:
        line.sendall(frame(8, struct.pack(">H", 1000)))
        assert answer.read(2)[0] == 0x88
    line.close()
print(back)
