files_to_compress <- function() {
  dir <- tempfile()
  dir.create(file.path(dir, "deep"), recursive = TRUE)
  writeLines(rep("body { color: black }", 500), file.path(dir, "style.css"))
  writeLines(rep("more of the same", 500), file.path(dir, "deep", "a.txt"))
  writeLines(rep("hidden", 500), file.path(dir, ".secret"))
  writeLines("short", file.path(dir, "short.txt"))
  set.seed(1)
  writeBin(as.raw(sample(0:255, 5000, TRUE)), file.path(dir, "noise.bin"))
  dir
}

test_that("files are compressed beside their originals, and sent so", {
  dir <- files_to_compress()
  Sys.chmod(file.path(dir, "style.css"), "600")
  made <- dr_compress_files(dir)
  expect_identical(made$file, rep(c("deep/a.txt", "style.css"), each = 3L))
  expect_identical(made$encoding, rep(c("br", "zstd", "gzip"), 2L))
  paths <- file.path(dir, paste0(made$file, c(".br", ".zst", ".gz")))
  expect_identical(as.numeric(file.size(paths)), made$compressed)
  expect_true(all(made$compressed < made$size))
  expect_identical(format(file.mode(file.path(dir, "style.css.gz"))), "600")
  expect_identical(readLines(file.path(dir, "style.css.gz")), readLines(file.path(dir, "style.css")))
  expect_length(list.files(dir, all.files = TRUE, recursive = TRUE), 5L + 6L)

  server <- local_server(sprintf("app <- dr_static(dr_app(), '/files', '%s')", dir))
  for (encoding in c("br", "zstd", "gzip")) {
    sent <- tempfile()
    head <- processx::run("curl", c(
      "-s", "-o", sent, "-D", "-", "-H", paste("Accept-Encoding:", encoding), paste0(server$url, "/files/style.css")
    ))$stdout
    expect_match(head, paste0("content-encoding: ", encoding, "\r"), fixed = TRUE)
    expect_identical(readBin(sent, "raw", 1e5), readBin(paste0(
      file.path(dir, "style.css"), drover:::file_suffixes[[encoding]]
    ), "raw", 1e5))
  }
})

test_that("what is up to date stays, and what is out of date goes", {
  dir <- files_to_compress()
  expect_identical(nrow(dr_compress_files(dir, "gzip")), 2L)
  expect_identical(nrow(dr_compress_files(dir, "gzip")), 0L)
  file <- file.path(dir, "style.css")
  Sys.setFileTime(file, Sys.time() + 10)
  expect_identical(dr_compress_files(dir, "gzip")$file, "style.css")
  set.seed(2)
  writeBin(as.raw(sample(0:255, 5000, TRUE)), file)
  Sys.setFileTime(file, Sys.time() + 20)
  expect_identical(nrow(dr_compress_files(dir, "gzip")), 0L)
  expect_false(file.exists(paste0(file, ".gz")))
})

test_that("wrong arguments are named, and what cannot be written", {
  expect_argument_error(dr_compress_files("/nowhere"), "`dir` must be the path of a folder that exists")
  dir <- files_to_compress()
  expect_argument_error(dr_compress_files(dir, "deflate"), "`encodings` must be out of")
  expect_argument_error(dr_compress_files(dir, min_size = -1), "`min_size` must be")
  dir.create(file.path(dir, "style.css.gz", "in the way"), recursive = TRUE)
  Sys.setFileTime(file.path(dir, "style.css"), Sys.time() + 10)
  expect_error(dr_compress_files(dir, "gzip"), "a file cannot be compressed: .*style.css.gz", class = "drover_error_system")
})
