# Commands of the program that need R: `drover routes FILE` runs R -e 'drover:::command_main()' --args routes FILE. What
# is asked for goes to standard output, all else to standard error. Neighbours: command-routes.R, command-doctor.R,
# command-mcp.R, command-new.R, command-openapi.R, command-docker.R, command-compress.R, command-replay.R; the program's
# own side is the crate `cli`.

command_main <- function(arguments = commandArgs(trailingOnly = TRUE)) {
  status <- tryCatch(
    run_command(arguments[[1L]], arguments[-1L]),
    drover_error = function(error) {
      message("drover: ", conditionMessage(error))
      1L
    }
  )
  quit(save = "no", status = status)
}

# The exit status.
run_command <- function(command, arguments) {
  switch(command,
    routes = command_routes(arguments), check = command_check(arguments), doctor = command_doctor(),
    openapi = command_openapi(arguments), mcp = command_mcp(arguments),
    new = command_new(arguments), docker = command_docker(arguments), version = command_version(),
    compress = command_compress(arguments[[1L]]), replay = command_replay(arguments)
  )
}

command_version <- function() {
  cat(
    "drover ", format(utils::packageVersion("drover")), "\n", R.version.string, ", ", R.home(), "\npackage: ",
    system.file(package = "drover"), "\n", sep = ""
  )
  0L
}
