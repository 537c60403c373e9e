# The server of the protocol cases behind TLS, for a client that speaks none: haproxy takes bytes in cleartext and
# passes them on over TLS, as they are. Not for certificates and handshakes: tests/process/test-tls.R.

# The floods and resets that are played over TLS as well, where each record is a read of its own: by the numbers of
# their files in frames/.
over_tls <- c(400, 401, 402, 403, 500, 501, 504, 505, 506, 507, 510, 700)

has_relay <- function() nzchar(Sys.which("haproxy"))

# Starts a server with TLS and what stands before it: as start_server(), with ports of the relay for HTTP/2 (`port`) and
# HTTP/1.1 (`plain_port`), and `relay`, its pid.
start_tls_server <- function(settings = character(), open_files = NULL) {
  server <- start_server(c(settings, tls = "1"), open_files = open_files)
  behind <- server$port
  folder <- tempfile("relay-")
  dir.create(folder)
  server[c("port", "plain_port")] <- free_ports(2L)
  listen <- function(name, port, alpn) c(
    paste("listen", name), sprintf("  bind 127.0.0.1:%d", port),
    sprintf("  server s 127.0.0.1:%d ssl verify none alpn %s", behind, alpn)
  )
  writeLines(c(
    "global", "  maxconn 2000", "defaults", "  mode tcp", "  timeout connect 10s", "  timeout client 1m",
    "  timeout server 1m", listen("h2", server$port, "h2"), listen("h1", server$plain_port, "http/1.1")
  ), file.path(folder, "haproxy.cfg"))
  pid_file <- file.path(folder, "pid")
  # in the background, when it listens
  status <- system2("haproxy", c("-D", "-q", "-p", pid_file, "-f", file.path(folder, "haproxy.cfg")))
  if (status != 0L) {
    end_server(server)
    stop("haproxy does not start")
  }
  server$relay <- as.integer(readLines(pid_file))
  server
}

end_tls_server <- function(server) {
  tools::pskill(server$relay)
  end_server(server)
}
