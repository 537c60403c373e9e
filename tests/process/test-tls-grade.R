# What testssl.sh finds of a server with TLS: protocols, ciphers, forward secrecy, header fields, and the attacks that
# have names. Against nginx with what was usual twenty years ago as well, so that it is known to find something. Not for
# what our own clients see of TLS: that is test-tls.R, which also makes the certificates.

# The findings of testssl.sh: a data frame of id, severity and finding.
find_faults <- function(port, ..., seconds = 300) {
  if (!nzchar(Sys.which("testssl"))) skip("there is no testssl.sh")
  report <- tempfile("testssl-", fileext = ".json")
  client <- start_client("testssl", c("--quiet", "--color", "0", "--warnings", "off", "--jsonfile", report, ...,
    paste0("127.0.0.1:", port)), stdout = "|", stderr = "2>&1")
  # what it writes is read, so that it never waits for that
  output <- character()
  ended <- within(function() {
    output <<- c(output, client$read_output_lines())
    !client$is_alive()
  }, seconds)
  expect(ended, "testssl.sh has not ended after ", seconds, " s; it wrote\n", tail(output, 5L))
  expect(file.exists(report), "testssl.sh made no report:\n", paste(tail(output, 20L), collapse = "\n"))
  jsonlite::fromJSON(report)
}

# Severities from which on a finding counts: all but these are faults.
harmless <- c("OK", "INFO")

# Faults that are none of the server, and why.
excused <- c(
  # the openssl that testssl.sh is run with
  engine_problem = "No engine or GOST support",
  # the client chooses among ciphers of the same strength, as it knows which is fast on its processor
  cipher_order = "NOT a cipher order configured",
  # with TLS 1.3, testssl.sh hangs up before it has a ticket to resume with; test-tls.R resumes sessions
  sessionresumption_ticket = "connect problem",
  # the certificate of a test, by an authority of its own
  cert_chain_of_trust = "failed", cert_revocation = "Neither CRL nor OCSP", DNS_CAArecord = "--"
)

# Findings that must be there, each with what it must say: a report without them says nothing.
right <- c(
  SSLv2 = "not offered", SSLv3 = "not offered", TLS1 = "not offered", TLS1_1 = "not offered", TLS1_2 = "offered",
  TLS1_3 = "offered with final", ALPN_HTTP2 = "h2", cipherlist_NULL = "not offered", cipherlist_aNULL = "not offered",
  cipherlist_EXPORT = "not offered", cipherlist_LOW = "not offered", cipherlist_3DES_IDEA = "not offered",
  cipherlist_AVERAGE = "not offered", cipherlist_STRONG = "offered", PFS = "offered",
  protocol_negotiated = "Default protocol TLS1.3", HSTS_time = "180 days", X.Content.Type.Options = "nosniff",
  heartbleed = "not vulnerable", CCS = "not vulnerable", ticketbleed = "not vulnerable", ROBOT = "not vulnerable",
  secure_renego = "supported", secure_client_renego = "not vulnerable", CRIME_TLS = "not vulnerable",
  BREACH = "not vulnerable", POODLE_SSL = "not vulnerable", fallback_SCSV = "no protocol below TLS 1.2",
  SWEET32 = "not vulnerable", FREAK = "not vulnerable", DROWN = "not vulnerable", LOGJAM = "not vulnerable",
  BEAST = "not vulnerable", LUCKY13 = "not vulnerable", RC4 = "not vulnerable"
)

# What is wrong with these findings: lines, none when nothing is.
faults <- function(found, right) {
  said <- found$finding[match(names(right), gsub("-", ".", found$id, fixed = TRUE))]
  is_right <- !is.na(said) & mapply(grepl, right, said, fixed = TRUE)
  worse <- found[!found$severity %in% harmless, ]
  reason <- unname(excused[worse$id])
  is_excused <- !is.na(reason) & mapply(grepl, reason, worse$finding, fixed = TRUE)
  c(
    sprintf("%s is '%s', not '%s'", names(right)[!is_right], said[!is_right], right[!is_right]),
    sprintf("%s: %s: %s", worse$severity, worse$id, worse$finding)[!is_excused]
  )
}

test("testssl.sh finds nothing wrong with a server", function() {
  may_take(400)
  # one that ends soon is a fault
  if (!file.exists(pem("graded.pem"))) certify("graded", "localhost", c("DNS:localhost", "IP:127.0.0.1"), days = 90)
  server <- serve_tls(pem("graded.pem", "graded.key"), workers = "1-1", tls_hsts = "180d")
  found <- find_faults(server$port, "-p", "-s", "-f", "-P", "-S", "-h", "-U", "--add-ca", pem("ca.pem"))
  wrong <- faults(found, right)
  expect(!length(wrong), paste(wrong, collapse = "\n    "))
}, ways = 1)

test("testssl.sh finds what is wrong with a server of old", function() {
  may_take(200)
  folder <- tempfile("nginx-")
  dir.create(folder)
  port <- free_ports(1L)
  writeLines(c(
    "daemon off; master_process off; error_log stderr; pid nginx.pid;",
    "events {}",
    "http { access_log off; server {",
    sprintf("  listen 127.0.0.1:%d ssl;", port),
    sprintf("  ssl_certificate %s; ssl_certificate_key %s;", pem("server.pem"), pem("server.key")),
    "  ssl_protocols TLSv1 TLSv1.1 TLSv1.2; ssl_ciphers ALL:COMPLEMENTOFALL@SECLEVEL=0;",
    "} }"
  ), file.path(folder, "nginx.conf"))
  nginx <- start_client("nginx", c("-p", folder, "-c", "nginx.conf"), stdout = NULL, stderr = NULL)
  is_there <- function() processx::run("openssl", c("s_client", "-connect", paste0("127.0.0.1:", port)), stdin = NULL,
    error_on_status = FALSE, timeout = 60)$status == 0L
  expect(within(is_there), "nginx does not listen")
  wrong <- faults(find_faults(port, "-p", "-s"), right[c("TLS1", "TLS1_1", "TLS1_3", "cipherlist_aNULL")])
  for (fault in c("TLS1 is", "TLS1_1 is", "TLS1_3 is", "cipherlist_aNULL is", "CRITICAL: cipherlist_aNULL: offered")) {
    expect(any(startsWith(wrong, fault)), "no '", fault, "' in\n    ", paste(wrong, collapse = "\n    "))
  }
  expect(nginx$is_alive(), "nginx has ended")
}, ways = 1)
