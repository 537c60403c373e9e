# User data for the handler h_count: an external pointer to a number in C, and what it stands at.
new_counter <- function() .Call(C_new_counter)
counter_value <- function(counter) .Call(C_counter_value, counter)
