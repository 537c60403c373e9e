# A page with a form, whose users have cookies: other sites' pages cannot send it, nor show it in a frame.

library(drover)

app <- dr_app()
dr_get(app, "/", function(req) {
  dr_set_cookie(dr_html("<form method=post action=/transfer><button>Pay</button></form>\n"), "user", "ada")
})
dr_post(app, "/transfer", function(req) paste("paid by", dr_cookie(req, "user")))
# one page may be shown elsewhere: what a handler sets itself stays
dr_get(app, "/widget", function(req) dr_html("<b>3 left</b>\n", headers = list("X-Frame-Options" = "ALLOWALL")))

dr_csrf(app, trusted = "https://shop.example.org")
dr_security_headers(app, content_security_policy = "default-src 'self'; form-action 'self'")

dr_serve(app, port = as.integer(Sys.getenv("PORT", "8080")), block = TRUE)
