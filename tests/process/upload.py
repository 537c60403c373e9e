# A client that sends a long body whole before it looks for an answer, as http.client does: prints the status.
#   python3 upload.py URL BYTES HOW [CA]     HOW: "length", "chunks", or "message": of a WebSocket, whose code is printed

import http.client, ssl, struct, sys, urllib.parse

url, size, how = urllib.parse.urlsplit(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
if url.scheme == "https":
    context = ssl.create_default_context(cafile=sys.argv[4])
    connection = http.client.HTTPSConnection(url.netloc, context=context)
else:
    connection = http.client.HTTPConnection(url.netloc)
piece = b"b" * 50_000
pieces = (piece for _ in range(size // len(piece)))
fields = {"Content-Type": "application/octet-stream"}
if how == "message":
    connection.request("GET", url.path, headers={
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    })
    line = connection.sock
    assert line.recv(1 << 12).startswith(b"HTTP/1.1 101 ")
    line.sendall(b"\x82\xff" + struct.pack(">Q", size) + b"\0\0\0\0")
    for one in pieces:
        line.sendall(one)
    close = line.recv(1 << 12)
    assert close[0] == 0x88, close
    print(struct.unpack(">H", close[2:4])[0])
    sys.exit()
if how == "length":
    fields["Content-Length"] = str(size)
connection.request("POST", url.path, pieces, fields, encode_chunked=how == "chunks")
answer = connection.getresponse()
answer.read()
print(answer.status)
