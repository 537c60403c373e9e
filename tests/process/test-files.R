# Files that handlers open for the server: they arrive whatever becomes of their names, and nothing of them stays.

file_app <- c(
  "app <- dr_app()",
  "made <- function(size) {",
  "  file <- tempfile('made-', fileext = '.csv')",
  "  writeBin(rep_len(charToRaw('0123456789'), size), file)",
  "  file",
  "}",
  "dr_get(app, '/text', function(req) 'text')",
  "dr_get(app, '/pid', function(req) as.character(Sys.getpid()))",
  "dr_get(app, '/exit/<n:int>', function(req) {",
  "  file <- made(req$params$n)",
  "  on.exit(unlink(file))",
  "  dr_file(file)",
  "})",
  "dr_get(app, '/delete/<n:int>', function(req) dr_file(made(req$params$n), delete = TRUE))",
  "dr_get(app, '/replaced/<n:int>', function(req) dr_file(made(req$params$n), delete = TRUE))",
  "kept <- dr_file(normalizePath(Sys.getenv('R_APP')))",
  "dr_get(app, '/kept', function(req) kept)",
  "dr_get(app, '/left', function(req) length(list.files(tempdir(), 'made-')))",
  "dr_use(app, function(req, nxt) {",
  "  answer <- nxt()",
  "  if (startsWith(req$path, '/replaced')) return(dr_text(rawToChar(answer$body)))",
  "  dr_set_header(answer, 'X-Middle', 'yes')",
  "})",
  "app"
)

curl_text <- function(server, path, ...) {
  processx::run("curl", c("-s", "-i", "--max-time", "60", ..., paste0(server$url, path)), error_on_status = FALSE)$stdout
}

test_every_worker("a file that was removed is sent, in ranges and by HEAD, and nothing stays", function(start) {
  server <- start(write_app(file_app))
  for (path in c("/exit/10", "/delete/10")) {
    whole <- curl_text(server, path)
    expect(grepl("^HTTP/1.1 200", whole) && endsWith(whole, "\r\n\r\n0123456789"), path, ": ", whole)
    expect(grepl("content-type: text/csv", whole, ignore.case = TRUE), path, " has another type: ", whole)
    expect(grepl("last-modified: ", whole, ignore.case = TRUE) && grepl("etag: ", whole, ignore.case = TRUE), whole)
    expect(grepl("x-middle: yes", whole, ignore.case = TRUE), "middleware: ", whole)
    part <- curl_text(server, path, "-r", "2-4")
    expect(grepl("^HTTP/1.1 206", part) && endsWith(part, "\r\n\r\n234"), "range: ", part)
    head <- curl_text(server, path, "--head")
    expect(grepl("content-length: 10\r", head, ignore.case = TRUE), "HEAD: ", head)
    fresh <- curl_text(server, path, "-H", "If-Modified-Since: Thu, 01 Jan 2037 00:00:00 GMT")
    expect(grepl("^HTTP/1.1 304", fresh), "condition: ", fresh)
  }
  long <- curl_text(server, "/exit/3000000")
  expect(nchar(sub(".*?\r\n\r\n", "", long)) == 3000000, "a long one: ", nchar(long))
  expect(endsWith(curl_text(server, "/replaced/10"), "0123456789"), "middleware does not see the file")
  # kept and sent again: by its path from the second time on
  for (i in 1:3) expect(grepl("^HTTP/1.1 200", curl_text(server, "/kept")), "kept, ", i)
  expect(endsWith(curl_text(server, "/left"), "\r\n\r\n0"), "files are left: ", curl_text(server, "/left"))

  for (path in c("/exit/100000", "/delete/3000000", "/replaced/1000")) {
    load(server, path, connections = 8, hang_up = 5, seconds = 1)
    # more than may be open at once
    expect_account(load(server, path, connections = 8, requests = 100))
  }
  # what was dropped unsent goes when R collects garbage, at the latest when 64 are open
  held <- function(pid) sum(grepl("made-", Sys.readlink(list.files(file.path("/proc", pid, "fd"), full.names = TRUE))))
  # a session that has no processes beside it runs handlers itself
  is_worker <- function(pid) pid != server$pid || nrow(family()) == 1L
  few <- function() all(vapply(family()$pid, function(pid) held(pid) <= if (is_worker(pid)) 65L else 0L, NA))
  expect(within(few), "files are held open: ", toString(vapply(family()$pid, held, 1L)))
})
