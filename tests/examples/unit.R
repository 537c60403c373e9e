# What systemd would do with the unit that `drover systemd` prints, without systemd: its commands are run.

check_unit <- function(report) {
  program <- system.file("bin", "drover", package = "drover")
  app <- file.path("inst", "examples", "hello", "app.R")
  lines <- strsplit(processx::run(program, c("systemd", app, "--", "--port", "0"))$stdout, "\n")[[1L]]
  setting <- function(name) sub("^[^=]*=", "", grep(paste0("^", name, "="), lines, value = TRUE))
  server <- start_program(strsplit(setting("ExecStart"), " ")[[1L]], c(PORT = "0"), cleanup_tree = TRUE)
  on.exit(server$process$kill_tree())
  report("drover systemd: ExecStart serves", if (is.null(server$url)) server$log())
  if (is.null(server$url)) return(invisible())
  answer <- function() {
    processx::run("curl", c("-s", "--max-time", round(patience()), paste0(server$url, "/hello/Ada")))$stdout
  }
  report("drover systemd: the app answers", if (!identical(answer(), "Hello, Ada!\n")) answer())
  processx::run("sh", c("-c", setting("ExecReload")), env = c("current", MAINPID = as.character(server$process$get_pid())))
  reloaded <- within(function() any(grepl("generation 2 serves", server$log())))
  report("drover systemd: ExecReload reloads", if (!reloaded) server$log())
  # what systemctl stop sends, to the server alone
  tools::pskill(server$process$get_pid(), tools::SIGTERM)
  server$process$wait(patience() * 1000)
  status <- server$process$get_exit_status()
  report("drover systemd: TERM ends it", if (!identical(status, 0L)) paste("its exit status was", status))
}
