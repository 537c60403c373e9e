# Static files under attack: whatever the target names, nothing outside of the mount and nothing hidden is ever sent.
# Not here: what static files do for honest clients (ranges, ETag, types).

root <- withr::local_tempdir(.local_envir = teardown_env())
site <- file.path(root, "site")
dir.create(file.path(site, "sub", "deeper"), recursive = TRUE)
dir.create(file.path(site, ".git"))
dir.create(file.path(root, "site-secret"))
writeLines("public", file.path(site, "ok.txt"))
writeLines("public", file.path(site, "sub", "a.txt"))
secret <- c(
  file.path(root, "secret.txt"), file.path(root, "site-secret", "s.txt"), file.path(site, ".hidden"), file.path(site, ".git", "config"),
  file.path(site, "sub", ".env")
)
for (path in secret) writeLines("top-secret", path)
file.symlink("sub/a.txt", file.path(site, "link-in.txt"))
file.symlink("../secret.txt", file.path(site, "link-out.txt"))
file.symlink(file.path(root, "secret.txt"), file.path(site, "link-absolute.txt"))
file.symlink("..", file.path(site, "link-parent"))
file.symlink("/", file.path(site, "link-slash"))
file.symlink("loop", file.path(site, "loop"))
file.symlink("../../secret.txt", file.path(site, "sub", "link-up.txt"))
system2("mkfifo", file.path(site, "fifo"))

server <- local_server(c(
  "app <- dr_app()",
  sprintf("dr_static(app, '/files', '%s')", site),
  "dr_get(app, '/alive', function(req) 'alive')",
  sprintf("setwd('%s')", root)
), frame = teardown_env())

attacks <- c(
  "/files/../secret.txt", "/files/../../secret.txt", "/files/sub/../../secret.txt", "/files/./../secret.txt", "/files/.//..//secret.txt",
  "/files/%2e%2e/secret.txt", "/files/%2e%2e%2fsecret.txt", "/files/..%2fsecret.txt", "/files/%2E%2E%2Fsecret.txt", "/files/.%2e/secret.txt",
  "/files/%252e%252e/secret.txt", "/files/..%252fsecret.txt", "/files/..\\secret.txt", "/files/..%5csecret.txt", "/files/%5c..%5csecret.txt",
  "/files/%c0%ae%c0%ae/secret.txt", "/files/..%c0%afsecret.txt", "/files/%uff0e%uff0e/secret.txt", "/files/..;/secret.txt", "/files/..%00/secret.txt",
  "/files/ok.txt%00", "/files/ok.txt%00.html", "/files/%00", "/files/..%0d%0a/secret.txt", "/files/....//secret.txt", "/files/..../secret.txt",
  "/files/.../secret.txt", "/files//etc/passwd", "/files///etc/passwd", "/files/%2fetc%2fpasswd", "/files/C:/secret.txt", "/files/file:///etc/passwd",
  "/files/~/secret.txt", "/files/~root/.profile", "/files-secret/s.txt", "/site-secret/s.txt", "/files/../site-secret/s.txt", "/files..%2fsite-secret/s.txt",
  "/files../secret.txt", "/secret.txt", "/site/.hidden", "/files/.hidden", "/files/%2ehidden", "/files/.git/config", "/files/.git/", "/files/%2egit%2fconfig",
  "/files/sub/.env", "/files/sub/..env", "/files/link-out.txt", "/files/link-absolute.txt", "/files/link-parent/secret.txt", "/files/link-parent/site-secret/s.txt",
  "/files/link-slash/etc/passwd", "/files/loop", "/files/sub/link-up.txt", "/files/fifo", "/files", "/files/", "/files/sub", "/files/sub/", "/files/sub/deeper/",
  "/files/ok.txt/", "/files/ok.txt/x", "/files/ok.txt/../../secret.txt", "/files/.", "/files/..", "/files/%2e", "/files/%2e%2e",
  "//files/../secret.txt", "/./files/../secret.txt", "/../secret.txt", "/%2e%2e/secret.txt", "/FILES/../secret.txt",
  paste0("/files/", strrep("a", 4000)), paste0("/files/", strrep("a/", 2000)), paste0("/files/", strrep("../", 1000), "etc/passwd"),
  paste0("/files/", strrep("sub/../", 500), "../secret.txt"), "/files/%", "/files/%2", "/files/%zz", paste0("/files/", intToUtf8(0xe9)), "/files/%ff%fe"
)

test_that("no target reaches a file outside of the mount, a hidden file, a directory or a fifo", {
  for (target in attacks) {
    response <- fetch(server, target)
    expect_false(is.null(response), label = paste("no answer to", target))
    expect_true(response$status %in% c(301L, 302L, 307L, 308L, 400L, 403L, 404L, 414L, 431L), label = paste(target, "->", response$status))
    expect_false(grepl("top-secret|root:|a\\.txt", response$text, useBytes = TRUE), label = paste(target, "leaks"))
    if (response$status >= 400L) expect_false(grepl(root, response$text, fixed = TRUE, useBytes = TRUE), label = paste(target, "tells the path"))
    location <- response$headers["location"]
    if (!is.na(location)) expect_match(location, "^/[^/]", label = paste(target, "redirects within the site"))
  }
  expect_identical(fetch(server, "/alive")$text, "alive")
})

test_that("the same through HTTP/2 and through absolute targets", {
  for (target in c("/files/../secret.txt", "/files/%2e%2e%2fsecret.txt", "/files/.hidden", "/files/link-out.txt", "/files/fifo")) {
    response <- http(server, target, "--http2-prior-knowledge")
    expect_true(response$status %in% c(400L, 403L, 404L), label = target)
    expect_false(grepl("top-secret", response$body))
    absolute <- fetch(server, paste0("http://localhost", target))
    expect_true(absolute$status %in% c(400L, 403L, 404L), label = target)
    expect_false(grepl("top-secret", absolute$text))
  }
})

test_that("what is inside of the mount is served", {
  expect_identical(fetch(server, "/files/ok.txt")$text, "public\n")
  expect_identical(fetch(server, "/files/sub/a.txt")$text, "public\n")
  expect_identical(fetch(server, "/files/link-in.txt")$text, "public\n")
  expect_identical(fetch(server, "/files/%6fk.txt")$text, "public\n")
})

test_that("static files have no other methods", {
  for (method in c("POST", "PUT", "DELETE", "PATCH")) {
    expect_true(fetch(server, "/files/ok.txt", method, body = "x")$status %in% c(404L, 405L), label = method)
  }
  expect_identical(readLines(file.path(site, "ok.txt")), "public")
})
