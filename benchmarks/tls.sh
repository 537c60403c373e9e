#!/bin/bash
# What TLS costs, against nginx with OpenSSL and the same key, in turns within one run: processor time for a
# request on kept connections (TLS 1.3, and in cleartext) and of HTTP/2 with 32 streams, for a full handshake, and
# memory of an idle connection. Needs nginx, wrk, h2load, openssl, python3, the installed package (R_LIBS) and
# `R CMD INSTALL benchmarks/handlers`, whose answers are C handlers'.
#
#   benchmarks/tls.sh [SECONDS OF EACH MEASUREMENT] [ROUNDS]
#
# Not for throughput: client and servers share the processors, and what is compared is what a server used of them.
set -eu
seconds=${1:-5} rounds=${2:-3}
work=$(mktemp -d)
cd "$work"
program=$(Rscript -e 'cat(system.file("bin", "drover", package = "drover"))')
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 2 \
  -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2> openssl.log
chmod 600 key.pem
cat > app.R <<'APP'
library(drover)
app <- dr_app()
dr_get(app, "/", function(req) "Hello, world")
dr_get_cpp(app, "/c", "benchhandlers", "bench_text", inline = TRUE)
app
APP
cat > nginx.conf <<CONF
worker_processes 1;
daemon off;
pid $work/nginx.pid;
error_log $work/error.log;
events { worker_connections 8192; }
http {
  access_log off;
  keepalive_requests 100000000;
  keepalive_timeout 600s;
  server {
    listen 127.0.0.1:9443 ssl http2;
    listen 127.0.0.1:9080;
    ssl_certificate $work/cert.pem;
    ssl_certificate_key $work/key.pem;
    ssl_protocols TLSv1.3;
    location / { default_type text/plain; return 200 "Hello, world"; }
  }
}
CONF
nginx -c "$work/nginx.conf" -p "$work" 2> nginx.log & nginx=$!
flags="--workers 1 --keep-alive 600 --max-connections 20000"
# shellcheck disable=SC2086
"$program" serve app.R --port 9444 --tls-cert cert.pem --tls-key key.pem $flags 2> tls.log & tls=$!
# shellcheck disable=SC2086
"$program" serve app.R --port 9081 $flags 2> plain.log & plain=$!
trap 'kill $nginx $tls $plain; wait; rm -rf "$work"' EXIT
for log in tls.log plain.log; do until grep -q listening $log; do sleep 0.1; done; done

# ns of processor time of a process and its descendants; of a process alone
used() { python3 - "$@" <<'PY'
import os, sys
def children(pid):
    out = []
    for task in os.listdir(f"/proc/{pid}/task"):
        for child in open(f"/proc/{pid}/task/{task}/children").read().split():
            out += [child] + children(child)
    return out
def used(pid):
    return sum(int(open(f"/proc/{pid}/task/{t}/schedstat").read().split()[0]) for t in os.listdir(f"/proc/{pid}/task"))
pids = [sys.argv[1]] + (children(sys.argv[1]) if sys.argv[2] == "all" else [])
print(sum(used(pid) for pid in pids))
PY
}

# requests NAME PID WHICH URL: CPU per request
requests() {
  local before after count
  before=$(used "$2" "$3")
  count=$(wrk -t1 -c32 -d"${seconds}s" "$4" | sed -n 's/ *\([0-9]*\) requests in.*/\1/p')
  after=$(used "$2" "$3")
  echo "$1 $(((after - before) / count)) ns/request $((count / seconds)) requests/s"
}

# streams NAME PID URL: CPU per request of HTTP/2, 8 connections with 32 streams each
streams() {
  local before after count
  before=$(used "$2" one)
  count=$(h2load -t1 -c8 -m32 -D"$seconds" "$3" | sed -n 's/^requests: .* \([0-9]*\) succeeded.*/\1/p')
  after=$(used "$2" one)
  echo "$1 $(((after - before) / count)) ns/request $((count / seconds)) requests/s"
}

# handshakes NAME PID PORT: CPU per full handshake, as of clients that make nothing else
handshakes() {
  local before after count
  before=$(used "$2" one)
  count=$(openssl s_time -connect "127.0.0.1:$3" -new -time "$seconds" -tls1_3 2> /dev/null |
    sed -n 's/^\([0-9]*\) connections in .* real.*/\1/p')
  after=$(used "$2" one)
  echo "$1 $(((after - before) / count)) ns/handshake $((count / seconds)) handshakes/s"
}

# idle NAME PID PORT NUMBER: memory per connection, of NUMBER idle ones after one request each
idle() { python3 - "$@" <<'PY'
import socket, ssl, sys, time
name, pid, port, number = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
context = ssl.create_default_context(cafile="cert.pem")
def private():
    return sum(int(l.split()[1]) for l in open(f"/proc/{pid}/smaps_rollup") if l.startswith("Private_"))
def one(ask):
    s = context.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="localhost")
    if ask:
        s.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        s.recv(1000)
    return s
first = [one(True) for _ in range(50)]
time.sleep(1)
before = private()
all = [one(True) for _ in range(number)]
time.sleep(3)
print(f"{name} {(private() - before) / number:.1f} kB/idle connection ({number})")
PY
}

worker=$(tr -d " " < "/proc/$nginx/task/$nginx/children")
for ((round = 1; round <= rounds; round++)); do
  requests nginx-tls "$worker" one https://127.0.0.1:9443/
  requests drover-tls-all "$tls" all https://127.0.0.1:9444/
  requests drover-tls-server "$tls" one https://127.0.0.1:9444/
  requests drover-tls-c "$tls" one https://127.0.0.1:9444/c
  requests nginx-plain "$worker" one http://127.0.0.1:9080/
  requests drover-plain-all "$plain" all http://127.0.0.1:9081/
  requests drover-plain-server "$plain" one http://127.0.0.1:9081/
  requests drover-plain-c "$plain" one http://127.0.0.1:9081/c
  streams nginx-h2 "$worker" https://127.0.0.1:9443/
  streams drover-h2-c "$tls" https://127.0.0.1:9444/c
  handshakes nginx "$worker" 9443
  handshakes drover "$tls" 9444
done
idle nginx "$worker" 9443 2000
idle drover "$tls" 9444 2000
