test_that("the settings are those of the table, with their defaults", {
  table <- drover:::settings_table()
  given <- formals(dr_tls)
  given <- given[names(given) != "..."]
  rows <- table[table$Group == "tls" & table$Name != "tls_dev", ]
  expect_setequal(paste0("tls_", names(given)), rows$Name)
  for (name in setdiff(names(given), "cert")) {
    default <- eval(given[[name]])
    expected <- rows[paste0("tls_", name), "Default"]
    if (is.na(expected)) expect_null(default, label = name) else expect_identical(format(default[[1L]]), expected)
  }
})

test_that("arguments are checked by name", {
  expect_argument_error(dr_tls(1), "`cert` must be the path of a file, or a vector of paths, not 1")
  expect_argument_error(dr_tls("a", c("b", "c")), "`key` must be as many files as `cert` has, 1, not")
  expect_argument_error(dr_tls("a", "b", client_ca = NA), "`client_ca` must be NULL or the path of a file")
  expect_argument_error(dr_tls("a", "b", client_auth = "perhaps"), "`client_auth` must be")
  expect_argument_error(dr_tls("a", "b", min_version = "1.1"), "`min_version` must be \"1.2\" or \"1.3\"")
  expect_argument_error(dr_tls("a", "b", hsts = -1), "`hsts` must be")
  expect_argument_error(dr_tls("a", "b", hstss = 1), "`hstss` is not an argument of dr_tls\\(\\): did you mean `hsts`")
  app <- dr_get(dr_app(), "/", function() "x")
  wrong <- "`tls` must be NULL or what dr_tls\\(\\) makes, not a named list"
  expect_argument_error(dr_serve(app, tls = list(cert = "a")), wrong)
})

test_that("paths are absolute, and links are kept", {
  tls <- dr_tls(c("a.pem", "/b.pem"), c("~/a.key", "/b.key"), hsts = "1h")
  expect_identical(tls$cert, c(file.path(getwd(), "a.pem"), "/b.pem"))
  expect_identical(tls$key, c(path.expand("~/a.key"), "/b.key"))
  expect_identical(tls$hsts, 3600)
  expect_match(format(tls), "min_version +1.2", all = FALSE)
})

test_that("a certificate for development serves HTTPS", {
  folder <- withr::local_tempdir()
  tls <- dr_tls_self_signed(folder)
  expect_identical(attr(tls, "ca"), file.path(folder, "dev-ca.pem"))
  expect_identical(format(file.mode(tls$key)), "600")
  before <- readLines(tls$cert)
  expect_identical(readLines(dr_tls_self_signed(folder)$cert), before)
  server <- local_server(c(
    "app <- dr_app()",
    "dr_get(app, '/', function(req) c(list(scheme = req$scheme), req$tls))",
    "scheme <- function(env) list(status = 200L, headers = list(), body = env$rook.url_scheme)",
    "dr_mount(app, '/rook', dr_rook(list(call = scheme)))"
  ), tls = bquote(dr_tls_self_signed(.(folder))))
  answer <- http(server, "/", "--cacert", attr(tls, "ca"))
  expect_identical(answer$status, 200L)
  said <- jsonlite::fromJSON(answer$body)
  expect_identical(said[c("scheme", "protocol")], list(scheme = "https", protocol = "TLSv1.3"))
  expect_identical(http(server, "/rook/", "--cacert", attr(tls, "ca"))$body, "https")
  writeLines("", file.path(folder, "file"))
  expect_error(dr_tls_self_signed(file.path(folder, "file")), class = "drover_error_system")
})
