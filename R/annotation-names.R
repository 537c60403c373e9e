# How annotations are read, the names of annotations, serializers and parsers that plumber knows, and those that it does
# not: it passes over an unknown annotation without a word, so that its endpoint is missing. Neighbours: annotations.R
# (files that are read without the package), app-compile.R (warns for routers).

# All that plumber's parser and drover look for. Those that make endpoints come first: of several that are equally near
# to what was written, the first is suggested.
annotation_names <- function() {
  c(
    names(annotated_verbs), "filter", "serializer", "parser", "json", "html", "jpeg", "png", "svg", "preempt", "assets",
    "plumber", annotated_docs, names(annotated_hooks)
  )
}

# Tags that roxygen2 knows: people write them above functions, also with `#*`, and they mean nothing to a server.
roxygen_names <- c(
  "aliases", "author", "backref", "concept", "describeIn", "description", "details", "docType", "encoding", "eval",
  "evalNamespace", "evalRd", "example", "examples", "examplesIf", "export", "exportClass", "exportMethod",
  "exportPattern", "exportS3Method", "family", "field", "format", "import", "importClassesFrom", "importFrom",
  "importMethodsFrom", "include", "includeRmd", "inherit", "inheritDotParams", "inheritParams", "inheritSection",
  "keywords", "md", "method", "name", "noMd", "noRd", "note", "order", "param", "prop", "rawNamespace", "rawRd",
  "rdname", "references", "return", "returns", "R6method", "S3method", "section", "seealso", "slot", "source",
  "template", "templateVar", "title", "usage", "useDynLib"
)

serializer_names <- c(
  "json", "unboxedJSON", "text", "html", "csv", "tsv", "contentType", "octet", "format", "print", "cat", "rds", "null",
  "yaml", "htmlwidget", "geojson", "feather", "parquet", "device", "bmp", "jpeg", "pdf", "png", "svg", "tiff"
)

parser_names <- c(
  "json", "form", "text", "octet", "none", "all", "multi", "csv", "tsv", "yaml", "rds", "feather", "parquet", "geojson"
)

# A data frame of lines that look like an annotation and are none: line, and problem in words. `expressions`: the
# file's, with their source, if it parses: in them, as in a text of several lines, nothing is an annotation.
unknown_annotations <- function(lines, expressions = NULL) {
  tags <- sub("^#['*]\\s*@(\\w+).*$|^.*$", "\\1", lines, perl = TRUE, useBytes = TRUE)
  unknown <- nzchar(tags) & !tags %in% c(annotation_names(), roxygen_names)
  for (place in attr(expressions, "srcref")) unknown[seq(place[[1L]], place[[3L]])] <- FALSE
  problem <- function(tag) unknown_name(tag, "is no annotation of plumber", annotation_names(), "@")
  data.frame(line = which(unknown), problem = vapply(tags[unknown], problem, "", USE.NAMES = FALSE))
}

unknown_name <- function(name, problem, names, mark = "") {
  paste0(sprintf("`%s%s` %s", mark, name, problem), did_you_mean(name, names, paste0("`", mark)))
}

# Warns of the annotations that a router of plumber has passed over, in its file and in those of routers below it.
warn_of_annotations <- function(app, call) {
  for (one in app_tree(app)) if (is_plumber(one$source)) warn_of_router(one$source, call)
}

warn_of_router <- function(pr, call) {
  private <- private_of(pr)
  if (!is.null(private$filename)) {
    unknown <- unknown_annotations(private$lines, private$parsed)
    for (i in seq_len(nrow(unknown))) {
      text <- sprintf("%s, line %d: %s", basename(private$filename), unknown$line[[i]], unknown$problem[[i]])
      warning(warningCondition(text, class = "drover_warning_annotation", call = call))
    }
  }
  for (mounted in Filter(is_plumber, pr$mounts)) warn_of_router(mounted, call)
}

# For a file that gives no app: the first line that may have been meant for plumber, or nothing.
misspelt_annotation <- function(file) {
  unknown <- unknown_annotations(lines_of(file))
  unknown <- unknown[grepl("did you mean", unknown$problem, fixed = TRUE), ]
  if (nrow(unknown)) sprintf(". Line %d: %s", unknown$line[[1L]], unknown$problem[[1L]]) else ""
}

annotated_hooks <- c(workerStart = "start", workerStop = "stop")

# A data frame of the annotations right above a line: line, tag ("get"; "" for a comment) and text (what follows).
block_above <- function(lines, starts_at) {
  first <- starts_at
  while (first > 1L && grepl("^\\s*(#|$)", lines[[first - 1L]])) first <- first - 1L
  numbers <- seq_len(starts_at - first) + first - 1L
  parts <- regmatches(lines[numbers], regexec("^#['*]\\s*(?:@([A-Za-z]+)\\s*)?(.*?)\\s*$", lines[numbers], perl = TRUE))
  found <- lengths(parts) > 0L
  data.frame(
    line = numbers[found], tag = vapply(parts[found], `[[`, "", 2L), text = vapply(parts[found], `[[`, "", 3L)
  )
}

annotated_verbs <- list(
  get = "GET", post = "POST", put = "PUT", delete = "DELETE", head = "HEAD", options = "OPTIONS", patch = "PATCH",
  use = c("GET", "PUT", "POST", "DELETE", "HEAD", "OPTIONS", "PATCH")
)

type_names <- c(
  bool = "boolean", boolean = "boolean", logical = "boolean", dbl = "number", double = "number", float = "number",
  number = "number", numeric = "number", int = "integer", integer = "integer", chr = "string", str = "string",
  character = "string", string = "string"
)

# Tags that only matter here.
annotated_docs <- c(
  "param", "response", "tag", "apiTitle", "apiDescription", "apiTOS", "apiContact", "apiLicense", "apiVersion", "apiTag"
)
