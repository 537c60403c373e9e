# An API with keys: each key has its quota, guesses of passwords are few, and one address cannot have it all.

library(drover)

app <- dr_app()
dr_get(app, "/forecast", function(req) list(rain = 0.2))
dr_post(app, "/login/<user>", function(req) dr_abort(401, "wrong password"))

# A token bucket: bursts of three, and one more request every twenty seconds.
dr_rate_limit(app, 3, "1m", "token_bucket", routes = "/forecast", key = dr_key_header("X-Api-Key"))
dr_rate_limit(app, 2, "1m", routes = "/login", key = dr_key_param("user"))
dr_rate_limit(app, 1000, "1m", scope = "global", key = "address")

dr_serve(app, port = as.integer(Sys.getenv("PORT", "8080")), block = TRUE)
