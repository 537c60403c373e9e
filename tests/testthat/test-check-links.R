links_of <- function(links) dr_get(dr_app(), "/", function(req) "", early_hints = links)$routes[[1L]]$early_hints

test_that("links are as RFC 8288 writes them", {
  for (link in c(
    "</app.css>; rel=preload; as=style", "<https://cdn.example>;rel=preconnect", "</a>; rel = \"preload prefetch\"",
    "</f.woff2>; rel=preload; as=font; crossorigin", "</a,b?c=d&e=%20#f>; REL=next; title=\"a; \\\"b\\\"\"",
    "<//[::1]:80/x>; title*=UTF-8''%C3%A9; rel=next"
  )) {
    expect_identical(links_of(link), list(link))
  }
  expect_identical(links_of(c("<a>; rel=next", "<b>; rel=prev")), list("<a>; rel=next", "<b>; rel=prev"))
  expect_null(links_of(NULL))
})

test_that("what is no link is refused, and shown", {
  right <- "`early_hints` must be NULL or links such as \"</app.css>; rel=preload; as=style\", a string for each, not "
  for (wrong in c(
    "/app.css", "</app.css>", "</app.css>; as=style", "<>; rel=preload", "</a b>; rel=next", "</a>; rel=\"next",
    "</a>; rel=next\r\nX: y", "</a>; rel=next\n", "</\u00e9>; rel=next", "</a>; rel=next, </b>; rel=next",
    "</a>; rel=a b", ""
  )) {
    expect_argument_error(links_of(wrong), paste0(right, encodeString(wrong, quote = "\"")), fixed = TRUE)
  }
  expect_argument_error(links_of(c("</a>; rel=next", "x")), paste0(right, "\"x\""), fixed = TRUE)
  expect_argument_error(links_of(NA_character_), paste0(right, "NA"), fixed = TRUE)
  expect_argument_error(links_of(character()), paste0(right, "a character vector of length 0"), fixed = TRUE)
  expect_argument_error(links_of(list("</a>; rel=next")), paste0(right, "an unnamed list"), fixed = TRUE)
})

test_that("links are few, and not long", {
  bounds <- "`early_hints` must be at most 32 links, of 4096 bytes together, not a character vector of length"
  expect_length(links_of(rep("</a>; rel=next", 32)), 32L)
  expect_argument_error(links_of(rep("</a>; rel=next", 33)), bounds)
  long <- paste0("</", strrep("a", 2033), ">; rel=next")
  expect_length(links_of(c(long, long)), 2L)
  expect_argument_error(links_of(c(long, long, "</a>; rel=next")), bounds)
})
