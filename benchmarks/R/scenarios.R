# The scenarios: what is requested and what must come back, from ../scenarios/<name>.dcf. Not for sending it: client.R.
#
# Fields of such a file: Title; Method; Path; Body and Type (of a request with a body); Answer, the body that every
# server must give, or Answer-File, a file of the static folder with it; Asked, the most CPU time per request that
# drover may take, as a multiple of nginx's.

read_scenarios <- function(root, static_dir, wanted) {
  files <- list.files(file.path(root, "scenarios"), "[.]dcf$", full.names = TRUE)
  names(files) <- sub("[.]dcf$", "", basename(files))
  unknown <- setdiff(wanted, names(files))
  if (length(unknown) > 0L) fail("no such scenario: ", toString(unknown), "; there are ", toString(names(files)))
  order <- c("text", "json", "param", "post", "static")
  files <- files[c(intersect(order, names(files)), setdiff(names(files), order))]
  if (!is.null(wanted)) files <- files[names(files) %in% wanted]
  lapply(stats::setNames(names(files), names(files)), function(name) {
    fields <- as.list(read.dcf(files[[name]])[1, ])
    answer <- fields[["Answer"]]
    if (is.null(answer)) answer <- paste(readLines(file.path(static_dir, fields[["Answer-File"]])), collapse = "\n")
    list(
      name = name, title = fields$Title, method = fields$Method, path = fields$Path, body = fields$Body,
      type = fields$Type, answer = answer, asked = as.numeric(fields$Asked)
    )
  })
}

# The folder that servers serve files from, with one file of 10,000 bytes.
write_static_dir <- function(dir) {
  dir.create(dir)
  line <- paste0(strrep("0123456789", 9L), "abcdefghi\n")
  cat(strrep(line, 100L), file = file.path(dir, "file.txt"))
  dir
}
