# The end of a server, however it came. Neighbours: serve-control.R, for dr_stop().

# The stop hooks, last first, and everything about the last server forgotten.
end_serving <- function() {
  apps <- server$apps
  worker_stop <- server$worker_stop
  unlink(server$files)
  options(server$options)
  .Call(C_uploads_remove)
  rm(list = ls(server), envir = server)
  for (one in apps) one$serving <- FALSE
  for (hook in worker_stop) run_stop_hook(hook, "on_worker_stop")
  for (one in rev(apps)) {
    for (hook in rev(one$on_stop)) run_stop_hook(hook, "stop hook")
  }
}
