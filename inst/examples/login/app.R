# A login page: who has logged in is kept in a session, an encrypted cookie, so that any worker knows it.
# Try: browse to http://127.0.0.1:8080, name ada, password correct-horse
library(drover)

# a file or database in an app of yours; hashes are made with dr_password_hash()
users <- c(ada = dr_password_hash("correct-horse"))
nobodys <- dr_password_hash("of no one")

# with every server another key: an app of yours reads it with dr_session(app, file = )
key <- paste(readBin("/dev/urandom", "raw", 32L), collapse = "")

page <- function(..., status = 200L) {
  head <- c("<!DOCTYPE html><title>Login</title><link rel=icon href=data:,>",
    "<meta name=viewport content=width=device-width>")
  dr_html(paste(c(head, ...), collapse = ""), status)
}
form <- function(message = "") {
  paste0(
    message, "<form method=post action=/login><input name=name placeholder=Name autocomplete=username>",
    "<input name=password type=password placeholder=Password autocomplete=current-password>",
    "<button>Log in</button></form>"
  )
}
escape <- function(text) gsub("<", "&lt;", gsub("&", "&amp;", text, fixed = TRUE), fixed = TRUE)

app <- dr_app()

dr_get(app, "/", function(req) {
  user <- req$session$user
  if (is.null(user)) return(page(form()))
  page("<p>Hello ", escape(user), "!</p><form method=post action=/logout><button>Log out</button></form>")
})

dr_post(app, "/login", function(req) {
  name <- req$form$name
  password <- req$form$password
  if (is.null(name) || is.null(password)) return(page(form("<p>Name and password, please.</p>"), status = 422L))
  known <- name %in% names(users)
  # for nobody as well: it takes as long
  right <- dr_password_verify(password, if (known) users[[name]] else nobodys)
  if (!known || !right) return(page(form("<p>Wrong name or password.</p>"), status = 401L))
  dr_session_set(dr_redirect("/", 303L), list(user = name))
})

dr_post(app, "/logout", function(req) dr_session_set(dr_redirect("/", 303L), NULL))

dr_session(app, keys = key, max_age = "8h")
# forms of other sites are refused, and guesses are few
dr_csrf(app)
dr_rate_limit(app, 10, "1m", key = "address", routes = "/login")
dr_security_headers(app, content_security_policy = "default-src 'self'; img-src data:; form-action 'self'")

dr_serve(app, port = as.integer(Sys.getenv("PORT", 8080)), workers = 2L)
