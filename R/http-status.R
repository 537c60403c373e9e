# The phrases of HTTP statuses, for print methods and for conditions without a message of their own. The engine has the
# table, as it writes them on status lines.

# "Not Found" for 404; for a status without a phrase of its own, that of its class (RFC 9110, section 15).
status_phrase <- function(status) .Call(C_status_phrase, as.integer(status))
