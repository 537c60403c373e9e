/*
 * drover.h: HTTP handlers in C and C++, called by drover without R.
 *
 * A package has `LinkingTo: drover`, includes this header, and registers its handlers in its R_init_package(); an app
 * names them in dr_get_cpp() and its sisters. There is nothing to link with: all that a handler may call is given to
 * it.
 *
 * Two interfaces. Part 1 is drover's own: a request is asked for what is wanted of it, nothing is copied, an answer may
 * come later and from another thread. Part 2 has the signatures of drogonR's C handlers, for code that was written for
 * those.
 *
 * For both:
 *   - A handler must not call R, nor anything that does: R has one thread, and it is not this one.
 *   - A handler that is registered as `inline` runs on an I/O thread and must not block: all connections of the thread
 *     wait for it. Others run on a pool of `cpp_workers` threads and may take their time. Several calls of one handler
 *     run at once.
 *   - Signals are blocked in these threads. C++ exceptions are caught: the client gets 500, the log the text of what().
 *     pthread_exit(), a longjmp() out of a handler and its like are errors that end the process.
 *   - A crash ends the process that the handler runs in. That is a worker process where there are some, and costs the
 *     requests that it had begun; it is the session itself under dr_serve(workers = 1).
 *   - Clients never see what went wrong inside; the log does.
 *
 * C99 and C++11.
 */
#ifndef DROVER_H
#define DROVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------------------------------------------------------------
 * Part 1: drover's interface
 * ------------------------------------------------------------------------------------------------------------------ */

/* The version of the table `drover_api`. Versions only ever add members at its end: code that was compiled against this
 * one works with all later ones. Code that wants to use what a later version has, and run with earlier ones, asks
 * DROVER_HAS(). */
#define DROVER_API_VERSION 5

/* Whether the table that was given has this member: if (DROVER_HAS(api, mark)) api->mark(req, "db", 1000); */
#define DROVER_HAS(api, member) ((api)->size >= offsetof(drover_api, member) + sizeof((api)->member))

/* A run of bytes that is not ended by a NUL. `ptr` is NULL for what is not there, and not NULL for what is there and
 * empty. */
typedef struct drover_bytes {
  const char *ptr;
  size_t len;
} drover_bytes;

/* One request and its answer. Known by its address only. */
typedef struct drover_request drover_request;

/* A WebSocket: names one, and is never read. It is good in every thread and for ever: what is called with one that is
 * closed has no effect and returns DROVER_GONE. */
typedef struct drover_socket drover_socket;

typedef struct drover_api drover_api;

/* What the functions of the table return. Nothing happens in the other cases than DROVER_OK. */
typedef enum drover_code {
  DROVER_OK = 0,
  /* no client waits for the answer: it has disconnected, or the request's time is over */
  DROVER_GONE = 1,
  /* the client is behind, or another thread is just sending, and this call must not wait: try again later */
  DROVER_FULL = 2,
  /* there is an answer already, or an end of it */
  DROVER_DONE = 3,
  /* an argument that cannot be: see the function. Or it came out of turn, as send() before begin(). */
  DROVER_INVALID = 4
} drover_code;

/* Levels of log(). */
typedef enum drover_level {
  DROVER_INFO = 0,
  DROVER_WARN = 1,
  DROVER_ERROR = 2
} drover_level;

/* Times in nanoseconds by the clock of now_ns(). Set `size` to sizeof(drover_times) before the call. */
typedef struct drover_times {
  size_t size;
  /* when the request was there, complete with its body */
  uint64_t received_ns;
  /* when the handler was called; an inline handler is called at once: for it, both are the time of its first times() */
  uint64_t started_ns;
  /* when the request's time is over; 0 for never, and when that is not known here, as in inline handlers */
  uint64_t deadline_ns;
} drover_times;

/*
 * A handler. `data` is the argument `data` of dr_get_cpp(): NULL; what an external pointer points at; or the address of
 * a drover_bytes that describes a raw vector or string. It is shared by all calls, which run at once.
 *
 * It answers in one of these ways, and returns 0:
 *   - by respond(), respond_static(), respond_owned() or fail();
 *   - by begin(), send() as often as it likes, and end(), which its return stands for if it is missing;
 *   - later: by defer(), and one of the above with the handle that it got from there.
 *
 * To return anything but 0, or to throw, is to fail: the client gets 500, or the end of its connection if a response
 * had begun; the log gets the reason. What was answered before stays. To return 0 without any of the above is to fail,
 * too.
 *
 * `req` is good until the handler returns, in the thread that the handler was called in. The handles of defer() are
 * good in every thread until they are released, after the answer and after the client has gone, too: what is called
 * with them too late has no effect and returns DROVER_DONE or DROVER_GONE.
 */
typedef int (*drover_handler_t)(drover_request *req, const drover_api *api, void *data);

/*
 * Registers a handler of this interface, in the package's R_init_package(): DROVER_REGISTER("package", "name",
 * handler), after #include <R_ext/Rdynload.h>. `name` is a literal. dr_get_cpp() then knows by itself which interface
 * the handler has, and the compiler that it has it. Handlers of part 2 are registered by R_RegisterCCallable(), as for
 * drogonR.
 */
#define DROVER_REGISTER(package, name, handler) \
  do { \
    drover_handler_t drover_registered = (handler); \
    R_RegisterCCallable((package), DROVER_TAG name, (DL_FUNC)(void (*)(void))drover_registered); \
  } while (0)

/* What names of such handlers begin with; that no other name does tells them apart. */
#define DROVER_TAG "drover_handler_t:"

/*
 * The table of functions. It is the same for all calls and lives as long as the process; keep its address if you like.
 * Texts that are given (`const char *` without a length) end with a NUL and are copied.
 */
struct drover_api {
  /* sizeof(drover_api), for DROVER_HAS() */
  size_t size;
  /* DROVER_API_VERSION of the drover that runs */
  uint32_t version;

  /* --- The request. What is returned belongs to drover, and is good as long as `req` is. Nothing is copied. --- */

  /* as sent: "GET" */
  drover_bytes (*method)(drover_request *req);
  /* percent-decoded, UTF-8, without query; holds no NUL */
  drover_bytes (*path)(drover_request *req);
  /* as sent: path and query */
  drover_bytes (*target)(drover_request *req);
  /* as sent, without the '?'; ptr is NULL when there is no '?' */
  drover_bytes (*query)(drover_request *req);
  /* the first header field of this name, in any case; for cookies, which may come in several, there is cookie() */
  drover_bytes (*header)(drover_request *req, const char *name);
  size_t (*header_count)(drover_request *req);
  /* header fields in the order in which they came; names are in lower case. Returns 1, or 0 when `at` is past the
   * last one. */
  int (*header_at)(drover_request *req, size_t at, drover_bytes *name, drover_bytes *value);
  /* the value of a placeholder of the route, percent-decoded */
  drover_bytes (*param)(drover_request *req, const char *name);
  size_t (*param_count)(drover_request *req);
  /* in the order of the route's pattern */
  drover_bytes (*param_at)(drover_request *req, size_t at);
  /* the value of the first cookie of this name, as sent, without the quotes that it may be in */
  drover_bytes (*cookie)(drover_request *req, const char *name);
  /* All of it. A large one waits in a file, which is mapped when this is first called; ptr is NULL when that failed, as
   * it does once the request is answered or its time is over. */
  drover_bytes (*body)(drover_request *req);
  /* the client's address as text */
  drover_bytes (*remote_addr)(drover_request *req);
  uint16_t (*remote_port)(drover_request *req);
  /* names the request in logs and error bodies, where it is in hexadecimal */
  uint64_t (*id)(drover_request *req);
  int (*is_http2)(drover_request *req);

  /* --- The answer at once --- */

  /*
   * `status` is 200 to 599. `content_type`: NULL for that of the route or, if it has none, application/octet-stream; ""
   * for none. `len` is at most 1 GiB; `data` may be NULL when it is 0. The usual content types cost nothing.
   * DROVER_INVALID: a status, content type or length that cannot be. DROVER_DONE, DROVER_GONE: as above. The handler
   * may go on working after it; outside of inline handlers the response is on its way.
   */
  int (*respond)(drover_request *req, int status, const char *content_type, const void *data, size_t len);
  /* Without copying: `data` must stay as it is as long as the process lives. */
  int (*respond_static)(drover_request *req, int status, const char *content_type, const void *data, size_t len);
  /* Without copying: `data` must not change until the server calls release(arg). It does so exactly once, for every
   * return code: when the response was sent or given up, on any thread, perhaps before this function returns. release()
   * must be quick. */
  int (*respond_owned)(drover_request *req, int status, const char *content_type, const void *data, size_t len,
                       void (*release)(void *arg), void *arg);
  /* A header field for the response; call it before the answer. A name may be added several times. DROVER_INVALID:
   * characters that are not allowed (control characters, above all); Content-Type, which has its own argument; and
   * those that are the server's: Content-Length, Transfer-Encoding, Connection, Keep-Alive, Upgrade, TE, Trailer. */
  int (*add_header)(drover_request *req, const char *name, const char *value);
  /* An error in the form of drover's own; `status` is 400 to 599, `detail` (or NULL) is for the client. In a response
   * that has begun: it is broken off, so that the client knows that it is not whole. */
  int (*fail)(drover_request *req, int status, const char *detail);

  /* --- The answer piece by piece --- */

  /* Sends status and header fields. Arguments as with respond(). */
  int (*begin)(drover_request *req, int status, const char *content_type);
  /* The next piece, copied. Waits until the client has taken enough of those before; but never on an I/O thread (in
   * inline handlers and on_cancel() functions), where it returns DROVER_FULL instead. DROVER_INVALID: before begin(),
   * or too long. */
  int (*send)(drover_request *req, const void *data, size_t len);
  /* The same, and never waits. */
  int (*try_send)(drover_request *req, const void *data, size_t len);
  /* The body is complete. DROVER_INVALID: before begin(). */
  int (*end)(drover_request *req);

  /* --- The answer later, from any thread --- */

  /*
   * A handle with which the request can be answered after the handler has returned. It holds all that was received.
   * Call it while the handler runs. Each handle must be released once; to call defer() with one gives another, for a
   * second thread to hold. NULL when the request was answered already.
   *
   * All functions of the table take handles. Two threads may use handles of one request at the same time: the first
   * answer counts. A request whose handle is kept without an answer is answered by the server when its time is over,
   * and the handle stays good.
   */
  drover_request *(*defer)(drover_request *req);
  /* The last use of a handle. When it was the last one of a request without answer, the client gets 500, or the end of
   * its connection if a response had begun. Only for what defer() returned. */
  void (*release)(drover_request *handle);

  /* --- Cancellation: the client no longer waits for the answer --- */

  /* 1 or 0. In an inline handler 0 until defer() or begin(). */
  int (*is_cancelled)(drover_request *req);
  /*
   * Has fn(arg) called once when that happens, on any thread, perhaps before this returns; fn must be quick and may use
   * handles. Not called any more after the answer is complete. A second one takes the place of the first; NULL only
   * removes it. When this returns, the earlier function does not run and will not be called (unless this is called by
   * that function itself): so call on_cancel(req, NULL, NULL) before you free what `arg` points at, and not while you
   * hold a lock that fn takes. DROVER_INVALID: in an inline handler before defer() or begin().
   */
  int (*on_cancel)(drover_request *req, void (*fn)(void *arg), void *arg);

  /* --- Time, and the log --- */

  /* nanoseconds since some point in the past, never going back */
  uint64_t (*now_ns)(void);
  /* see drover_times; DROVER_INVALID when its size is not set */
  int (*times)(drover_request *req, drover_times *times);
  /* An entry of the header field Server-Timing, which browsers show; call it before the answer. `name` is of letters,
   * digits and "-_." (DROVER_INVALID otherwise). */
  int (*mark)(drover_request *req, const char *name, uint64_t duration_ns);
  /* A line of the server's log, with the id of the request. `level` is a drover_level. */
  void (*log)(drover_request *req, int level, const char *text);

  /* --- WebSockets, since version 2. All may be called from any thread, and none of them waits for a client. --- */

  /* Sends a message, copied: bytes when `is_binary`, and otherwise text, which is UTF-8. A client that does not read
   * what it is sent is given up when 1 MB waits. DROVER_GONE: it is closed. DROVER_INVALID: no UTF-8, or above
   * 64 MiB. */
  int (*socket_send)(drover_socket *socket, int is_binary, const void *data, size_t len);
  /* Closes it after what was sent before. `code` is 1000, 1001, 1003, 1007 to 1013, or 3000 to 4999; `reason` (or NULL)
   * at most 123 bytes of UTF-8. DROVER_GONE; DROVER_INVALID: another code or reason. */
  int (*socket_close)(drover_socket *socket, int code, const char *reason);
  /* 1 until its handler is called for the close, then 0. */
  int (*socket_is_open)(drover_socket *socket);
  /* As conn$id in R. */
  uint64_t (*socket_id)(drover_socket *socket);
  /* What the handler keeps for it, NULL to begin with. Not drover's: free it when it is closed. */
  int (*socket_set_data)(drover_socket *socket, void *data);
  void *(*socket_data)(drover_socket *socket);
  /* It is in this room from now on, which all workers share with R's handlers; `name` (or NULL) is what it is called in
   * the list of members. It leaves all of them when it is closed. DROVER_INVALID: not a text, or an empty `room`. */
  int (*socket_join)(drover_socket *socket, const char *room, const char *name);
  int (*socket_leave)(drover_socket *socket, const char *room);
  /* Sends to all WebSockets in a room, those of R handlers included, except `except` (or NULL). DROVER_GONE: this
   * process has no server. DROVER_INVALID: as for socket_send() and socket_join(). */
  int (*broadcast)(const char *room, drover_socket *except, int is_binary, const void *data, size_t len);

  /* --- TLS and the client's identity, since version 3. As for the request above. --- */

  /* 1 when the client came by TLS, to the server or to a proxy that is trusted */
  int (*is_https)(drover_request *req);
  /* What TLS negotiated with the peer that connected: "protocol", "cipher", "server_name", and of the client's
   * certificate "client_subject", "client_issuer", "client_fingerprint", "client_serial" and "client_not_after", as
   * req$tls in R. ptr is NULL for a value that is absent, and for all of them in cleartext. */
  drover_bytes (*tls)(drover_request *req, const char *name);
  /* The client's identity, if a policy of the app has established it, as a JSON object: {"scheme":"jwt","user":"ada",
   * "claims":{...}}, as req$auth in R. Otherwise ptr is NULL. */
  drover_bytes (*auth)(drover_request *req);

  /* --- Since version 4. --- */

  /* What stands before path and target for clients, such as "/app", as req$base_path in R; empty when that is
   * nothing. */
  drover_bytes (*base_path)(drover_request *req);

  /* --- Sessions (dr_session() in R), since version 5. --- */

  /* What the app keeps with the client, a JSON object such as {"user":"ada"}, as req$session in R. ptr is NULL when
   * that is nothing: without a cookie, with one that is forged or over, and where no session covers the path. */
  drover_bytes (*session)(drover_request *req);
  /* Has the client keep this JSON object of at most 2900 bytes with the answer; NULL ends its session. Call it before
   * the answer; the last call counts. What is no object or too long, or a path without sessions, is found when the
   * answer leaves: the client gets 500 instead, the log says why. An answer by fail() changes no session.
   * DROVER_INVALID: an empty text. */
  int (*set_session)(drover_request *req, const char *json);

  /* Later versions add members here. */
};

/* What has happened on a WebSocket. */
typedef enum drover_socket_kind {
  /* a client wants to connect */
  DROVER_SOCKET_CONNECT = 0,
  /* a whole message has come */
  DROVER_SOCKET_MESSAGE = 1,
  /* it is closed, by whichever side */
  DROVER_SOCKET_CLOSE = 2
} drover_socket_kind;

typedef struct drover_socket_event {
  /* sizeof(drover_socket_event) of the drover that runs */
  size_t size;
  /* a drover_socket_kind */
  int kind;
  /* of a message: whether it is bytes, and not text */
  int is_binary;
  /* of a close: its code; 1005 when the client gave none, 1006 when it left without a word */
  int code;
  /* a message; the reason of a close; of a connect the sub-protocol that was chosen, empty for none. Good until the
   * handler returns. */
  drover_bytes bytes;
  /* of a connect: the request that it begins with, for its fields, params, cookies and address. NULL otherwise. */
  drover_request *req;
} drover_socket_event;

/*
 * A handler of WebSockets, for dr_ws_cpp(). It is called on the thread that has the connection, or in a worker process
 * on the thread of its C handlers: it must return at once, and leave what takes time to threads of its own, which may
 * send. All that happens on one connection comes in order, one at a time, and in one process; that of different ones at
 * the same time.
 *
 * It returns 0. To refuse a client that wants to connect, answer `req` by respond() or fail(). Anything but 0, and an
 * exception, is logged: it refuses a client with 500, and changes nothing for one that is connected.
 */
typedef int (*drover_socket_handler_t)(drover_socket *socket, const drover_socket_event *event, const drover_api *api,
                                       void *data);

/* As DROVER_REGISTER(). */
#define DROVER_REGISTER_SOCKET(package, name, handler) \
  do { \
    drover_socket_handler_t drover_registered = (handler); \
    R_RegisterCCallable((package), DROVER_SOCKET_TAG name, (DL_FUNC)(void (*)(void))drover_registered); \
  } while (0)

#define DROVER_SOCKET_TAG "drover_socket_handler_t:"

/* --------------------------------------------------------------------------------------------------------------------
 * Part 2: the signatures of drogonR
 *
 * Inputs belong to drover and are good until the handler returns. `body` is not ended by a NUL, and may hold some.
 * `query` is as sent, without '?'; NULL if empty. `path_params`: values in the order of the pattern, decoded; NULL if
 * there are none. `headers`: names, in lower case, and values in turn; `headers_n` counts pairs. Cookies are there, in
 * "cookie".
 *
 * What is put into *out_body and *out_content_type comes from malloc() and is freed by drover, also after a failure.
 * ------------------------------------------------------------------------------------------------------------------ */

/*
 * A response at once. To begin with, *out_status is 200 and the others are NULL and 0. Without *out_content_type the
 * response is application/octet-stream. *out_body may be NULL when *out_len is 0.
 *
 * 500 for the client, and the reason for the log, when: it returns anything but 0; it throws; *out_len is above 1 GiB,
 * or more than malloc() has given for *out_body (on Linux, where it can be asked); *out_status is not 200 to 599;
 * *out_content_type holds characters that a header field must not.
 */
typedef int (*drogonr_unary_handler_t)(const char *body, size_t body_len, const char *query,
                                       const char *const *path_params, size_t path_params_n,
                                       const char *const *headers, size_t headers_n, char **out_body, size_t *out_len,
                                       int *out_status, char **out_content_type);

/* An open stream. Good until the handler returns, in its thread and in others that it waits for. */
typedef struct drogonr_stream_session_t drogonr_stream_session_t;

/* Sends a copy. Waits until the client has taken enough of what was sent before. 0, or -1 when the client has gone or
 * the stream is closed. */
typedef int (*drogonr_send_chunk_fn)(drogonr_stream_session_t *session, const char *data, size_t len);

/* The body is complete. A second time it does nothing. */
typedef void (*drogonr_close_stream_fn)(drogonr_stream_session_t *session);

/* 1 when the client no longer waits for the stream, else 0. */
typedef int (*drogonr_is_cancelled_fn)(drogonr_stream_session_t *session);

/*
 * A response with status 200, piece by piece. *out_content_type is read when the first piece is sent, or at the end if
 * there is none; without it the response has the content type of the route. The return of the handler closes the
 * stream.
 *
 * When it returns anything but 0 or throws: 500 if nothing was sent, and else the response is broken off. Runs on the
 * pool.
 */
typedef int (*drogonr_stream_handler_t)(const char *body, size_t body_len, const char *query,
                                        const char *const *path_params, size_t path_params_n,
                                        const char *const *headers, size_t headers_n, drogonr_stream_session_t *session,
                                        drogonr_send_chunk_fn send, drogonr_close_stream_fn close,
                                        drogonr_is_cancelled_fn is_cancelled, char **out_content_type);

/* What has happened on a WebSocket. */
typedef enum drogonr_ws_event_t {
  DROGONR_WS_CONNECT = 0,
  DROGONR_WS_MESSAGE = 1,
  DROGONR_WS_CLOSE = 2
} drogonr_ws_event_t;

/* A connection: a drover_socket. */
typedef struct drogonr_ws_session_t drogonr_ws_session_t;

/* These three may be called from any thread, at any time. Sends a copy: 0, or -1 when the connection is closed, or the
 * text is not UTF-8. */
typedef int (*drogonr_ws_send_fn)(drogonr_ws_session_t *session, const char *data, size_t len, int binary);

/* Closes it, after what was sent before. A second time it does nothing. */
typedef void (*drogonr_ws_close_fn)(drogonr_ws_session_t *session);

/* 1, or 0 once it is closed. */
typedef int (*drogonr_ws_is_connected_fn)(drogonr_ws_session_t *session);

/*
 * A handler of WebSockets, for dr_ws_cpp(): as a drover_socket_handler_t, but it cannot refuse a client. `msg` is NULL
 * but for messages. What it returns is not used; an exception is logged.
 */
typedef int (*drogonr_ws_handler_t)(drogonr_ws_session_t *session, drogonr_ws_event_t event, const char *msg, size_t len,
                                    int binary, drogonr_ws_send_fn send, drogonr_ws_close_fn close,
                                    drogonr_ws_is_connected_fn is_connected);

#ifdef __cplusplus
}
#endif

#endif /* DROVER_H */
