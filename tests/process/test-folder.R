# An app in a file finds what is beside it, wherever the server was started, and after a reload.

beside <- function() {
  folder <- tempfile("app-folder-")
  dir.create(file.path(folder, "www"), recursive = TRUE)
  saveRDS(42, file.path(folder, "model.rds"))
  writeLines("beside", file.path(folder, "note.txt"))
  writeLines("static", file.path(folder, "www", "page.txt"))
  write_app(c(
    "model <- readRDS('model.rds')", "app <- dr_app()", "dr_static(app, '/www', 'www')",
    "dr_get(app, '/model', function(req) model)", "dr_get(app, '/note', function(req) dr_file('note.txt'))",
    "dr_get(app, '/later', function(req) readLines('note.txt'))", "app"
  ), file.path(folder, "app.R"))
}

ways_to_load <- list(
  "drover serve" = function(file) serve(file, workers = 2),
  "drover serve, a relative path" = function(file) {
    run <- sprintf("cd %s && exec \"$@\"", shQuote(dirname(dirname(file))))
    serve(file.path(basename(dirname(file)), "app.R"), workers = 1, wrapper = c("sh", "-c", run, "sh"))
  },
  "dr_run()" = function(file) serve_session(sprintf("dr_run(%s, port = 0L, workers = 2L, block = TRUE)", deparse(file))),
  "dr_run(start = 'spawn')" = function(file) {
    serve_session(sprintf("dr_run(%s, port = 0L, workers = 2L, start = 'spawn', block = TRUE)", deparse(file)))
  }
)

for (way in names(ways_to_load)) local({
  way <- way
  test(paste("relative paths of an app in a file are those of its folder:", way), function() {
    file <- beside()
    server <- ways_to_load[[way]](file)
    look <- function() {
      for (path in c("/model", "/note", "/later", "/www/page.txt")) {
        answer <- ask(server, path)
        expect(answer$status == "200", path, ": status ", answer$status)
      }
    }
    look()
    writeLines("new", file.path(dirname(file), "note.txt"))
    send_signal(server$pid, tools::SIGHUP)
    expect(logged(server, "reloaded: "), "no reload")
    look()
    for (path in c("/note", "/later")) expect(grepl("new", ask(server, path)$body), path, " is what it was")
  })
})
