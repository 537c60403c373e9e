# Ports for programs that do not take a free one by themselves, as proxies. Servers of drover listen on port 0.

# Ports that nothing listens on now.
free_ports <- function(n) {
  found <- integer()
  for (port in sample(20000:30000)) {
    socket <- tryCatch(serverSocket(port), error = function(e) NULL)
    if (is.null(socket)) next
    close(socket)
    found <- c(found, port)
    if (length(found) == n) return(found)
  }
}
