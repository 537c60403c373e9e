#ifndef DROVER_REQUEST_H
#define DROVER_REQUEST_H
#include "drover_rust.h"
#define R_NO_REMAP
#include <Rinternals.h>

/* Fields of a `req` object: those of rust/crates/binding/src/request.rs, and `json`. */
#define DRV_FIELDS 25

/* A new `req` object. Not protected. */
SEXP drv_request_new(void);
/* The engine's side of a `req` object's cell. */
drv_cell *drv_request_cell(SEXP cell);
/* The external pointer that a `req` object's fields share: `req`'s identity for C. */
SEXP drv_request_pointer(SEXP req);
/* Forgets the values of all fields: the cell has another request now. */
void drv_request_reset(SEXP cell);
/* Sets the params of the request that `req` now stands for; when they cannot be had, signals why. */
void drv_request_set_params(SEXP req, SEXP cell, int has_params);
/* The params of the request of a cell. Not protected. */
SEXP drv_request_params(SEXP cell);
/* Whether `req`, bound once, is as it was made, so that it can serve the next request. */
int drv_request_is_pristine(SEXP req);

/* .External2 of an active binding, function(value): the field of a cell, or, when `value` is given, its value from now
 * on. */
SEXP drv_request_field(SEXP call, SEXP op, SEXP args, SEXP frame);
/* .Call: active bindings of these names; the object bit off. */
SEXP drv_request_bind(SEXP req, SEXP names, SEXP functions);
SEXP drv_request_undispatched(SEXP req);
/* A field of any `req` object by its name, also of one that a test made. Not protected. */
SEXP drv_request_value(SEXP req, const char *name);

/* Where a value of a request may be: PLACES in R/typed-handler.R. */
typedef enum { DRV_NOWHERE, DRV_PATH, DRV_QUERY, DRV_HEADER, DRV_COOKIE, DRV_REQUEST } drv_place;
/* The values there by their names, a list or a character vector; NULL where only R can tell. Not protected. */
SEXP drv_request_values(SEXP req, drv_place place);

/* A header field by its name in lower case, NA where it is not there; and the bytes of the body. Both live until R code
 * runs. */
drv_str drv_request_header(SEXP req, const char *name);
drv_str drv_request_bytes(SEXP req);

/* `req$auth`; NULL of a request that a test made without it */
SEXP drv_request_auth(SEXP req);
/* `req$base_path`; "" of a request that a test made without it */
SEXP drv_request_base_path(SEXP req);
/* .Call: the value of one name in field `number`; the body, read as `as` says. */
SEXP drv_request_pick(SEXP req, SEXP number, SEXP name);
SEXP drv_request_body(SEXP req, SEXP as);
/* Has the client told of links, one string with line feeds in between, ahead of the response. Whether the server was
 * told so. */
SEXP drv_request_hint(SEXP req, SEXP links);
SEXP drv_request_progress(SEXP req, SEXP numbers, SEXP message);
SEXP drv_request_assigned_session(SEXP req);
SEXP drv_request_make_cell(void);
/* Whether it is, unchanged, a request with this method for this target, as sent, without a body. */
int drv_request_asks_for(SEXP req, SEXP method, SEXP target);

#endif
