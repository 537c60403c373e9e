# Fresh R processes instead of forks: how they are started, and how they get an app that exists in this session only.
# Neighbours: worker-zygote.R (what such a process runs), serve-file.R (apps in files, which need no saving).

# A program for the supervisor to start, as JSON. `arguments` are those of zygote_main(); `options` further ones of R.
program_source <- function(arguments, options = NULL) {
  libraries <- unique(c(dirname(system.file(package = "drover")), .libPaths()))
  plain_json(list(
    program = file.path(R.home("bin"), "R"),
    args = as.list(c(
      "--no-echo", "--no-restore", "--no-save", options, "-e", "drover:::zygote_main()", "--args", arguments
    )),
    env = list(list("R_LIBS", paste(libraries, collapse = .Platform$path.sep)))
  ))
}

# The option of R for the size of its heap when it starts, for an app that needs the package plumber. With plumber
# loaded the heap has this size anyway; growing there takes several full collections, and a quarter of the time to load.
# Other apps would only have larger workers. The program `drover` does the same (the crate `cli`, r.rs).
heap_for <- function(file, kind) {
  found <- tryCatch(find_app(file, kind), error = function(error) NULL)
  if (identical(found$kind, "plumber")) "--min-nsize=1000k"
}

# Saves `x` in a file that only this user can read. R removes it when the session ends at the latest.
private_file <- function(x, pattern) {
  file <- tempfile(pattern, fileext = ".rds")
  mask <- Sys.umask("077")
  on.exit(Sys.umask(mask))
  saveRDS(x, file, compress = FALSE)
  file
}

# What a process needs to be like this session: the app and its hooks, the variables of the global environment, which
# functions use, the packages that are attached, and the session's arguments. The file's path.
save_object <- function(app, on_worker_start, on_worker_stop, call) {
  globals <- setdiff(ls(globalenv(), all.names = TRUE), ".Random.seed")
  attached <- rev(sub("^package:", "", grep("^package:", search(), value = TRUE)))
  object <- list(
    app = app, on_worker_start = on_worker_start, on_worker_stop = on_worker_stop, libraries = .libPaths(),
    packages = attached, globals = mget(globals, envir = globalenv()), arguments = commandArgs()
  )
  refuse <- function(why) {
    stop_drover("argument", paste0(
      "start = \"spawn\" needs an app that can be saved and loaded by another process: ", why,
      ". Open it in `on_worker_start`, or use start = \"fork\""
    ), call = call, argument = "app")
  }
  tryCatch(
    serialize(object[c("app", "on_worker_start", "on_worker_stop")], NULL, refhook = function(x) {
      # a connection to a database or a model of another package: memory of this process
      if (typeof(x) == "externalptr" && .Call(C_pointer_is_live, x)) {
        stop("it holds a pointer into this session's memory")
      }
      NULL
    }),
    error = function(error) refuse(conditionMessage(error))
  )
  tryCatch(private_file(object, "drover-app-"), error = function(error) refuse(conditionMessage(error)))
}

# In the process: list(app, on_worker_start, on_worker_stop).
load_object <- function(file) {
  object <- readRDS(file)
  # the session's, as forks of it have them
  .Call(C_zygote_arguments, object$arguments)
  .libPaths(object$libraries)
  for (package in object$packages) library(package, character.only = TRUE)
  list2env(object$globals, envir = globalenv())
  object[c("app", "on_worker_start", "on_worker_stop")]
}
