# A plumber file, as it is: drover serve plumber.R, then open http://127.0.0.1:8080/__docs__/

#* @apiTitle Orders

#* Counts requests
#* @filter count
function(req, res) {
  counted <<- counted + 1L
  res$setHeader("X-Counted", as.character(counted))
  plumber::forward()
}

counted <- 0L

#* Whether it is there
#* @get /ping
function() list(ok = TRUE)

#* An order
#* @param id:int The number of the order
#* @get /orders/<id:int>
#* @serializer unboxedJSON
function(id, res) {
  if (id > 100L) {
    res$status <- 404L
    return(list(error = "there is no such order"))
  }
  list(id = id, total = id * 1.5)
}

#* The sum of two numbers
#* @post /sum
function(a, b) list(sum = as.numeric(a) + as.numeric(b))

#* A picture
#* @get /plot
#* @serializer svg
function(n = 10) plot(seq_len(as.integer(n)))

#* Fails
#* @get /fail
function() stop("the database is away")

#* Answers later, while others are answered
#* @get /later
#* @serializer text
function() promises::then(promises::promise_resolve("in a while\n"), toupper)
