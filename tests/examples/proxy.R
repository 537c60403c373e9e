# inst/deploy/nginx.conf, with a real nginx before a real app. What only the operator can know is put in: names, paths,
# ports and a certificate.

# nginx's configuration for a test: ours as an include, with everything nginx writes below `folder`.
write_proxy_config <- function(folder, app_port, http_port, https_port) {
  config <- paste(readLines(file.path("inst", "deploy", "nginx.conf")), collapse = "\n")
  change <- function(from, to) {
    if (!grepl(from, config, fixed = TRUE)) stop("inst/deploy/nginx.conf does not have: ", from)
    config <<- gsub(from, to, config, fixed = TRUE)
  }
  change("127.0.0.1:8080", paste0("127.0.0.1:", app_port))
  change("listen 80;", sprintf("listen 127.0.0.1:%d;", http_port))
  change("listen 443 ssl http2;", sprintf("listen 127.0.0.1:%d ssl http2;", https_port))
  change("/etc/ssl/example.org", folder)
  change("/srv/app/public", file.path(folder, "public"))
  temp <- sprintf("%s_temp_path %s;", c("client_body", "proxy", "fastcgi", "uwsgi", "scgi"), folder)
  writeLines(c(
    "daemon off;", "worker_processes 1;", if (Sys.info()[["user"]] == "root") "user root;",
    sprintf("pid %s/nginx.pid;", folder), "error_log stderr warn;", "events {}", "http {", "access_log off;", temp, config, "}"
  ), file.path(folder, "nginx.conf"))
}

check_proxy <- function(report) {
  nginx <- Sys.which("nginx")
  if (!nzchar(nginx) && file.exists("/usr/sbin/nginx")) nginx <- "/usr/sbin/nginx"
  if (!nzchar(nginx)) return(cat("skipped: inst/deploy/nginx.conf (there is no nginx)\n"))
  folder <- tempfile("proxy-")
  dir.create(file.path(folder, "public"), recursive = TRUE)
  writeLines("from nginx", file.path(folder, "public", "a.txt"))
  app <- start_app(file.path("inst", "examples", "hello", "app.R"))
  proxy <- NULL
  on.exit({
    if (!is.null(proxy)) proxy$kill_tree()
    app$process$kill_tree()
    unlink(folder, recursive = TRUE)
  })
  processx::run("openssl", c(
    "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=example.org",
    "-keyout", file.path(folder, "privkey.pem"), "-out", file.path(folder, "fullchain.pem")
  ))
  ports <- free_ports(2L)
  write_proxy_config(folder, sub(".*:", "", app$url), ports[[1L]], ports[[2L]])
  log <- file.path(folder, "log")
  proxy <- processx::process$new(nginx, c("-c", file.path(folder, "nginx.conf")), stderr = log)
  url <- function(scheme, path) sprintf("%s://example.org:%d%s", scheme, ports[[if (scheme == "https") 2L else 1L]], path)
  curl <- function(...) {
    to <- sprintf("example.org:%d:127.0.0.1", ports)
    processx::run("curl", c(
      "-s", "-k", "--max-time", round(patience()), "--resolve", to[[1L]], "--resolve", to[[2L]], ...
    ), error_on_status = FALSE)$stdout
  }
  up <- within(function() nzchar(curl(url("https", "/"))))
  report("inst/deploy/nginx.conf: nginx takes it", if (!up) readLines(log))
  expect <- function(what, got, right) {
    if (!identical(got, right)) report(what, paste("got:", encodeString(got))) else report(what, NULL)
  }
  expect("inst/deploy/nginx.conf: a request reaches R", curl(url("https", "/hello/Ada")), "Hello, Ada!\n")
  expect(
    "inst/deploy/nginx.conf: plain HTTP is redirected",
    curl("-o", "/dev/null", "-w", "%{http_code} %{redirect_url}", url("http", "/x")), "301 https://example.org/x"
  )
  expect("inst/deploy/nginx.conf: public files come from nginx", curl(url("https", "/public/a.txt")), "from nginx\n")
}
