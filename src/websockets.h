#ifndef DROVER_WEBSOCKETS_H
#define DROVER_WEBSOCKETS_H
#include "drover_rust.h"
#define R_NO_REMAP
#include <Rinternals.h>

/* Calls the handler of what has happened on a WebSocket, the request of `cell`: `handlers` is of R/websocket-routes.R,
 * `params` are those of its path, or NULL. What the reply is to be: the state of the connection as a raw vector, NULL
 * when it is as before, or a promise of it. */
SEXP drv_websocket_event(SEXP handlers, SEXP cell, SEXP params);

/* .Call: the connection that the request of `cell` wants to be; NULL when it wants none. */
SEXP drv_websocket_connection(SEXP cell);
/* .Call: sends a string, a raw vector or a list to a connection, as bytes if `binary`, otherwise as text. */
SEXP drv_websocket_send(SEXP connection, SEXP message, SEXP binary);
SEXP drv_websocket_close(SEXP connection, SEXP code, SEXP reason);
SEXP drv_websocket_join(SEXP connection, SEXP room, SEXP name);
SEXP drv_websocket_leave(SEXP connection, SEXP room);
/* .Call: to how many it goes. */
SEXP drv_websocket_broadcast(SEXP room, SEXP message, SEXP binary, SEXP except);
/* .Call: list(numbers, texts) of the members of a room, and of all rooms. */
SEXP drv_websocket_members(SEXP room);
SEXP drv_websocket_rooms(void);

#endif
