# Media types, as the field Content-Type has them.

# A media type without its parameters.
bare_type <- function(type) trimws(sub(";.*$", "", type))

# Of a Content-Type, without its parameters: "application/json"; NULL of none.
media_type <- function(field) if (length(field)) tolower(bare_type(field[[1L]]))

is_json_type <- function(type) type == "application/json" || endsWith(type, "+json")
