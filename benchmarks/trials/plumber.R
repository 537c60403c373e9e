# The app of the trial "plumber": the same handlers as in own.R. Served by plumber itself, and by drover in several
# ways.

#* @get /ping
function() list(ok = TRUE, time = "now")

#* @get /ping-text
#* @serializer text
function() "pong"

#* @get /sleep
function(zzz = 0) {
  Sys.sleep(as.numeric(zzz))
  list(slept = zzz)
}

#* @post /test
function(n, wait = 0) {
  Sys.sleep(wait)
  list(n = n)
}
