#!/bin/sh
# Builds the site of the package with pkgdown, without the network: tools/site.sh [FOLDER], by default ./site. A stage
# of tools/test.sh builds it into a folder that goes: a topic or a page that no index has, or a dead link, is an error;
# a picture is a link, too.

. "$(dirname "$0")/lib.sh"
tools/setup.sh site
site=$(realpath --canonicalize-missing "${1:-site}")
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z DESCRIPTION NAMESPACE LICENSE NEWS.md _pkgdown.yml R man | xargs -0 cp --parents --target-directory "$copy"
Rscript tools/vignettes.R "$copy"
# topics and articles need nothing that is compiled; examples are run by R CMD check
SITE="$site" Rscript -e '
  options(pkgdown.internet = FALSE, warn = 1)
  # it would ask CRAN where the pages of packages are that are named in the text
  utils::assignInNamespace("CRAN_urls", function() data.frame(Package = character(), URL = character()), "downlit")
  # an R of its own for each page, none of which has code to run, takes most of the time
  utils::assignInNamespace("r_safe", function(func, args, ...) do.call(func, args), "callr")
  package <- pkgdown::as_pkgdown(commandArgs(TRUE), override = list(destination = Sys.getenv("SITE")))
  pkgdown::check_pkgdown(package)
  pkgdown::build_site(package, examples = FALSE, new_process = FALSE, install = FALSE, preview = FALSE, devel = FALSE)
' "$copy"
Rscript -e '
  site <- commandArgs(TRUE)
  pages <- list.files(site, "\\.html$", recursive = TRUE)
  dead <- unlist(lapply(pages, function(page) {
    html <- xml2::read_html(file.path(site, page))
    hrefs <- xml2::xml_text(xml2::xml_find_all(html, "//a/@href | //img/@src"))
    hrefs <- unique(sub("[?#].*", "", hrefs[!grepl("^([a-z]+:|//)", hrefs)]))
    missing <- hrefs[nzchar(hrefs) & !file.exists(file.path(site, dirname(page), hrefs))]
    if (length(missing)) paste0(page, ": ", missing)
  }))
  cat(sprintf("%d pages\n", length(pages)))
  if (length(dead)) cat("dead links:", dead, sep = "\n  ")
  quit(status = length(dead) > 0L)
' "$site"
