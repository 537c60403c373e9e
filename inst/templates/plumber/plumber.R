# {{name}}: `drover serve .`, then open http://127.0.0.1:8080; its description is at /__docs__/

#* @apiTitle {{name}}

#* Says hello
#* @get /
#* @serializer text
function() "Hello from {{name}}\n"

#* The square of a number
#* @param n:int The number
#* @get /square/<n:int>
#* @serializer unboxedJSON
function(n) list(n = n, square = n^2)

#* The mean of some numbers
#* @param numbers:[dbl] The numbers
#* @post /mean
#* @serializer unboxedJSON
function(numbers, res) {
  if (!is.numeric(numbers)) {
    res$status <- 422L
    return(list(error = "send {\"numbers\": [1, 2, 3]}"))
  }
  list(mean = mean(numbers))
}
