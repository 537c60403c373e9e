# deploy/drover.service: what systemd would do with it, without systemd. Its commands are run, with paths of this machine.

check_unit <- function(report) {
  lines <- readLines(file.path("deploy", "drover.service"))
  setting <- function(name) sub("^[^=]*=", "", grep(paste0("^", name, "="), lines, value = TRUE))
  words <- strsplit(setting("ExecStart"), " ")[[1L]]
  here <- c(
    "/usr/local/bin/drover" = system.file("bin", "drover", package = "drover"),
    "/srv/app/app.R" = normalizePath(file.path("inst", "examples", "hello", "app.R")), "8080" = "0"
  )
  for (path in names(here)) {
    if (!path %in% words) return(report("deploy/drover.service", paste("ExecStart does not have", path)))
    words[words == path] <- here[[path]]
  }
  server <- start_command(words)
  on.exit(server$process$kill_tree())
  report("deploy/drover.service: ExecStart serves", if (is.null(server$url)) server$log())
  if (is.null(server$url)) return(invisible())
  answer <- function() processx::run("curl", c("-s", "--max-time", "10", paste0(server$url, "/hello/Ada")))$stdout
  report("deploy/drover.service: the app answers", if (!identical(answer(), "Hello, Ada!\n")) answer())
  processx::run("sh", c("-c", setting("ExecReload")), env = c("current", MAINPID = as.character(server$process$get_pid())))
  reloaded <- wait_for(function() any(grepl("generation 2 serves", server$log())), 20)
  report("deploy/drover.service: ExecReload reloads", if (!reloaded) server$log())
  # what systemctl stop sends, to the server alone
  server$process$signal(tools::SIGTERM)
  server$process$wait(10000)
  status <- server$process$get_exit_status()
  report("deploy/drover.service: TERM ends it", if (!identical(status, 0L)) paste("its exit status was", status))
}
