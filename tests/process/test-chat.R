# The example of a language model, by the package of Python that its users have.

chat <- file.path(root, "inst/examples/chat")

test("the package openai talks to the example chat, with and without streams", function() {
  python <- file.path(root, ".cache/openai/bin/python")
  if (!file.exists(python)) skip("the package openai could not be fetched")
  server <- serve(file.path(chat, "app.R"), workers = 2)
  # R's own libraries are not for Python
  ran <- processx::run(python, c(file.path(chat, "client.py"), server$url), error_on_status = FALSE, timeout = 120,
    env = c("current", LD_LIBRARY_PATH = ""))
  lines <- strsplit(ran$stdout, "\n")[[1L]]
  told <- paste(c(lines, ran$stderr), collapse = "\n")
  expect(identical(lines[c(1L, 3:5)], c(
    "models: ['river']", "streamed the same: True", "short: length 3 True", "404 there is no model `sea`; there is `river`"
  )), told)
  expect(grepl("^whole: Begins in the town", lines[2L]), told)
  expect(length(lines) == 6L && grepl("^400 `messages` must be an array", lines[6L]), told)
}, ways = 1L)
