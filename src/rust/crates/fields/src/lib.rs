//! Reading the parts of a request: query, form, cookies, multipart, and the string-cache guard.
#![forbid(unsafe_code)]
