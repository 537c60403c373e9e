#ifndef DROVER_CLIENTS_H
#define DROVER_CLIENTS_H
#define R_NO_REMAP
#include <Rinternals.h>

/* .Call: begins to connect. `texts`: list(url, headers, protocols, ca), headers as names and values in turn;
 * `numbers`: timeout, max_message, ping_interval, the first pause and the longest before it is tried again, and
 * deflate. The number of the connection, or list(what is wrong, as a number, and what would be right). */
SEXP drv_ws_client_connect(SEXP texts, SEXP numbers);
/* .Call: TRUE when the message is on its way. */
SEXP drv_ws_client_send(SEXP connection, SEXP message, SEXP binary);
SEXP drv_ws_client_close(SEXP connection, SEXP code, SEXP reason);
/* .Call: the next thing that has happened: list(connection, kind, code, again, value); NULL when nothing has. */
SEXP drv_ws_client_next(void);
/* .Call: has receive_client_events() called again soon. */
SEXP drv_ws_client_wake(void);
SEXP drv_ws_client_stop(void);

#endif
