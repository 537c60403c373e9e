/* What C and Rust say to each other.
 *
 * Rust never makes an R object and never lets R jump over its frames: it answers with the plain structs below, and C
 * (build.c) makes R objects of them. Neighbours: build.c (node -> SEXP), request.c (`req` objects), worker.c (the serve
 * loop), rust/crates/binding/src (the other side of every declaration here).
 */
#ifndef DROVER_RUST_H
#define DROVER_RUST_H

#include <stddef.h>
#include <stdint.h>

/* UTF-8 bytes, not NUL-terminated. ptr NULL means NA. */
typedef struct {
  const char *ptr;
  size_t len;
} drv_str;

typedef enum {
  DRV_NULL = 0, /* R NULL */
  DRV_LGL = 1,  /* data: int32_t[n], NA is INT32_MIN */
  DRV_INT = 2,  /* data: int32_t[n], NA is INT32_MIN */
  DRV_DBL = 3,  /* data: double[n], NA is R's NA_real_ */
  DRV_STR = 4,  /* data: drv_str[n] */
  DRV_RAW = 5,  /* data: uint8_t[n] */
  DRV_LIST = 6, /* data: drv_node[n] */
} drv_kind;

/* In place of the address of a text: its length is the bits of a double, to be written as as.character() does. */
extern const uint8_t drv_number;

/* What a vector of doubles is besides. */
typedef enum {
  DRV_NO_TIME = 0,
  DRV_TIME_UNZONED = 1, /* a POSIXct without the attribute tzone */
  DRV_TIME_UTC = 2,     /* with "UTC" */
  DRV_TIME_LOCAL = 3,   /* with the session's, as the last texts of it were read: drv_read_dates */
} drv_time;

/* A description of one R value. Everything it points at belongs to Rust and outlives the call that gave it. */
typedef struct drv_node {
  int32_t kind;
  int32_t ndim;         /* length of dim, 0 for none */
  size_t n;             /* number of elements */
  const void *data;     /* see drv_kind */
  const drv_str *names; /* n names, or NULL */
  const int32_t *dim;   /* ndim extents, or NULL */
  int64_t data_frame;   /* number of rows when the value is a data frame, otherwise -1 */
  const struct drv_node *row_names; /* strings or integers, or NULL where rows are numbered */
  int32_t time;         /* drv_time */
} drv_node;

/* An error's text is valid until the next error. */
typedef struct {
  int32_t status; /* HTTP status that fits; of drv_session_start: 1 listen, 2 configuration, 3 system */
  drv_str message;
} drv_error;

/* What comes with a C handler: nothing, a pointer of its package's, or bytes. */
enum { DRV_DATA_NONE = 0, DRV_DATA_POINTER = 1, DRV_DATA_BYTES = 2 };

/* A C handler. Its texts are copied; what `data` points at is R's, and lives until the engine says that no handler
 * runs. */
typedef struct {
  void (*function)(void);
  int32_t interface; /* 0 drogonR's, 1 drogonR's of streams, 2 drover's own; of WebSockets, 3 and 4 */
  int32_t data_kind;
  void *data;
  size_t data_len;
  drv_str route;         /* its method and pattern */
  drv_str content_type;  /* of streams; empty for none */
  const drv_str *params; /* names of the route's params, n_params of them */
  size_t n_params;
} drv_native;

typedef struct {
  const drv_native *all;
  size_t n;
} drv_natives;

typedef struct drv_session drv_session; /* a server whose worker is the main thread */
typedef struct drv_link drv_link;       /* where a worker takes requests and leaves replies */
typedef struct drv_cell drv_cell;       /* the request behind a `req` object */
typedef struct drv_process drv_process; /* a worker process's end of its control channel */
typedef struct drv_zygote drv_zygote;   /* a zygote's */
typedef struct drv_uploads drv_uploads; /* the folder for large bodies */
typedef struct drv_service drv_service; /* a server whose workers are processes */
struct SEXPREC;

/* session.rs. Both functions are called from I/O threads: `ring` answers 0 to have the bell's descriptor written
 * instead, `interrupt` when drv_session_is_interrupted() may have become true. */
drv_session *drv_session_start(const char *json, size_t len, drv_natives, int32_t (*ring)(void),
                               void (*interrupt)(void), drv_link **link, drv_error *error);
const drv_node *drv_session_status(drv_session *);
int32_t drv_session_wants_heap(const drv_session *);
void drv_session_heap(const drv_session *, uint32_t collections, uint32_t micros, uint64_t bytes);
int32_t drv_session_is_interrupted(const drv_session *);
/* Lines; the text lives as long as the session. */
drv_str drv_session_urls(const drv_session *);
void drv_session_reopens_log(const drv_session *);

/* The log of a session at a console: see console.c. `wake` is called from any thread; 0 when there is no further
 * record. */
void drv_console_start(void (*wake)(void));
int32_t drv_console_next(drv_str *text);
void drv_session_leave(const drv_session *);
void drv_session_drain(const drv_session *);
int32_t drv_session_drained(const drv_session *);
int32_t drv_session_renew(drv_session *, const char *json, size_t len, drv_natives, drv_error *error);
int32_t drv_session_is_renewed(drv_session *, int32_t force);
drv_link *drv_session_take_over(drv_session *, int32_t *ended, drv_error *error);
int32_t drv_session_free(drv_session *); /* 1 when no C handler runs any more */

/* link.rs */
void drv_link_free(drv_link *);
/* set in `traits`: its route has params; something that has happened on an open WebSocket */
enum { DRV_HAS_PARAMS = 1, DRV_IS_EVENT = 2 };
uint32_t drv_link_next(drv_link *, drv_cell *, int32_t *traits);
/* 1 when the next request is of the route of `first`, which runs; then `cell` has it */
int32_t drv_link_next_of(drv_link *, const drv_cell *first, drv_cell *);
uint64_t drv_link_finished(drv_link *); /* ns */
void drv_link_notify(drv_link *);
int32_t drv_link_doze(drv_link *);
void drv_give_back(void);
void drv_link_awake(const drv_link *);
int32_t drv_link_bell(const drv_link *);
void drv_link_log(const drv_link *, const drv_cell *, int32_t level, drv_str text);
void drv_link_log_printed(const drv_link *, const drv_cell *, int32_t to_stderr, drv_str text);
/* A reply is made first, which may run R code, of ALTREP classes; and then sent, if there still is a link. */
int32_t drv_reply_value(struct SEXPREC *value); /* 2: the head of a stream */
void drv_reply_failure(int32_t status, drv_str detail, struct SEXPREC *headers);
int32_t drv_reply_send(drv_link *, drv_cell *);
int32_t drv_reply_is_error(void); /* the one that was made last */
void drv_link_seed(drv_link *, const drv_cell *, const int32_t *seed, size_t len);

drv_str drv_status_phrase(int32_t status);

/* failed.rs: either may be NULL, and an id empty; the text is valid until the next call, NA for none */
drv_str drv_failed_requests(const drv_service *, const drv_session *, drv_str id);

/* jobs.rs: as for failed.rs; a state and a kind, or empty for all */
drv_str drv_jobs(const drv_service *, const drv_session *, drv_str state, drv_str kind, uint32_t most);
/* what is wrong; NA when nothing is */
drv_str drv_cron_wrong(drv_str line, drv_str zone);

/* streams.rs: streams by their numbers, from 1; 0 is none */
uint32_t drv_stream_open(drv_link *, drv_cell *, double min_interval, int32_t ends_on_drain);
uint32_t drv_stream_next(drv_link *, int32_t *last);
/* done: 0 to be called again, 1 whole, -1 broken off */
void drv_stream_called(drv_link *, uint32_t number, const uint8_t *bytes, size_t len, int32_t done);
drv_str drv_stream_trailers(drv_link *, uint32_t number, drv_str text); /* the name that cannot be there, or NA */
/* 0: the bytes are on their way; 1: some wait for the client; 2: the stream takes no more */
int32_t drv_stream_write(drv_link *, uint32_t number, const uint8_t *bytes, size_t len);
int32_t drv_stream_doze(drv_link *);
int32_t drv_stream_due_in(drv_link *, int32_t longest); /* ms */
uint32_t drv_stream_count(const drv_link *);
void drv_stream_end_early(drv_link *, int32_t all);
void drv_stream_log(const drv_link *, uint32_t number, drv_str text);

/* events.rs: the fields of a Server-Sent Event, NA where it has none. Its text is valid until the next: NA when R has
 * to look at the fields. */
typedef struct {
  drv_str comment, event, id, retry, data;
} drv_sse;

drv_str drv_sse_text(const drv_sse *);

/* request.rs */
drv_cell *drv_cell_new(void);
void drv_cell_free(drv_cell *);
const drv_node *drv_cell_field(const drv_link *, drv_cell *, uint32_t field, drv_error *error);
void drv_cell_built(drv_cell *); /* after each drv_cell_field that gave a node */
const uint8_t *drv_cell_body(drv_cell *, size_t *len, drv_error *error);
/* NULL when there is none */
const uint8_t *drv_cell_json(const drv_cell *, uint32_t field, size_t *len);
int32_t drv_cell_asks_for(const drv_cell *, drv_str method, drv_str target);
/* The value of a header field, by its name in lower case, where it is there once, and text; how often it is there */
int32_t drv_cell_header(const drv_cell *, drv_str name, drv_str *value);
/* Whether its body is a form, whose fields are behind those of the query. */
int32_t drv_cell_has_form(const drv_cell *);
int32_t drv_cell_is_open(const drv_cell *);
int32_t drv_cell_hint(drv_link *, const drv_cell *, drv_str links);
int32_t drv_cell_progress(drv_link *, const drv_cell *, double done, double total, drv_str message);
void drv_cell_rest(drv_cell *);

/* websockets.rs */
typedef struct {
  double connection;
  int32_t kind; /* 0 connect, 1 a message of text, 2 of bytes, 3 close */
  int32_t code; /* of a close */
  drv_str state;
  drv_str text; /* of a connect the sub-protocol, of a close the reason */
} drv_event;
/* the field of a request that has the message of a WebSocket */
enum { DRV_MESSAGE_FIELD = 24 };
int32_t drv_cell_event(const drv_cell *, drv_event *);

/* commands.rs */
typedef struct {
  int32_t kind;  /* enum in commands.h */
  int32_t small; /* whether a message is bytes; the code of a close; by what is purged; what is asked of a job */
  double connection;
  drv_str room;  /* or what is purged, where a job is accepted, or which job */
  drv_str bytes; /* a message, a reason, a name, or a job */
} drv_command;
/* 1: sent; 2: sent, drv_command_answer() gets the answer; 0: there is no server; -1: a text is not UTF-8. What is asked
 * of a job is answered with raw vectors in the place of texts. */
int32_t drv_command_send(drv_link *, const drv_service *, const drv_command *);
const drv_node *drv_command_answer(drv_link *);

/* tasks.rs: the task's number; 0: there is no server; -1: the call is too long; -2: its request has been answered */
double drv_task_say(drv_link *, const drv_cell *, double timeout, drv_str call);

/* shared_state.rs: values that all workers see */
typedef struct {
  int32_t kind;   /* drv_state_kind */
  double number;  /* a double or an integer */
  drv_str bytes;  /* valid until the next call */
  double version; /* of what was read */
} drv_state_value;
typedef enum { DRV_STATE_DOUBLE = 0, DRV_STATE_INTEGER = 1, DRV_STATE_BYTES = 2 } drv_state_kind;
/* Of what they return, -1 is an error, whose status is 1 for a key or a value, 2 for too much, 3 for the system. */
/* 1: it is there, 0: it is not */
int32_t drv_state_get(drv_str name, drv_str key, drv_state_value *out, drv_error *);
/* lifetime in s, infinite for no end, negative for that of the value before; version: only if it is this one, 0 for no
 * value, negative for any. 1: it is set, 0: the version is another */
int32_t drv_state_set(drv_str name, drv_str key, const drv_state_value *, double lifetime, double version, drv_error *);
/* 1: sum is set */
int32_t drv_state_add(drv_str name, drv_str key, double by, double lifetime, double *sum, drv_error *);
/* 1: it was there, 0: it was not */
int32_t drv_state_delete(drv_str name, drv_str key, drv_error *);
/* NULL: an error */
const drv_node *drv_state_keys(drv_str name, drv_error *);

/* websocket_client.rs: WebSockets to other servers */
typedef struct {
  drv_str url;
  const drv_str *headers; /* names and values in turn, n_headers in all */
  size_t n_headers;
  const drv_str *protocols;
  size_t n_protocols;
  drv_str ca; /* a file, or empty */
  double timeout, max_message, ping_interval; /* s, bytes, s */
  double reconnect[2]; /* s: the first pause and the longest, 0 for never */
  int32_t deflate;
} drv_target;
typedef struct {
  double connection;
  int32_t kind;  /* 0 open, 1 a message of text, 2 of bytes, 3 closed, 4 never was open */
  int32_t code;  /* of a close, or the status of an answer */
  double again;  /* s after which it is tried again, or -1 */
  drv_str bytes; /* a sub-protocol, a message or a reason */
} drv_happened;
/* the connection's number; -1: wrong URL, -2: wrong header field, -3: the system refuses; then `problem` says more */
double drv_websocket_client_connect(const drv_target *, void (*wake)(void), drv_str *problem);
/* 1: on its way; 0: no such connection, or too much waits; -1: a text is not UTF-8 */
int32_t drv_websocket_client_send(double connection, int32_t is_text, drv_str bytes);
int32_t drv_websocket_client_close(double connection, int32_t code, drv_str reason);
int32_t drv_websocket_client_next(drv_happened *);
void drv_websocket_client_stop(void);

/* process.rs */
int32_t drv_process_fd(const drv_process *);
int32_t drv_process_logs_what_is_printed(const drv_process *);
/* serves C handlers, if there is a link for them; 0 and an error when that cannot be. All signals are blocked
 * meanwhile */
int32_t drv_process_serve_c(drv_process *, drv_natives, drv_error *error);
int32_t drv_process_c_has_ended(drv_process *); /* none begins, none runs */
int32_t drv_process_wants_heap(const drv_process *);
/* Garbage collections since it was told last, what they took, and bytes that are allocated. 0: not taken. */
int32_t drv_process_report_heap(const drv_process *, uint32_t collections, uint32_t micros, uint64_t bytes);
void drv_process_report_ready(const drv_process *);
void drv_process_report_failed(const drv_process *, drv_str why);
/* 0 none, 1 stop, 2 the server has ended, 3 an inspection: its number, 1 stacks or 2 objects, ms, us of an interval */
int32_t drv_process_order(drv_process *, uint32_t asked[4]);
int32_t drv_process_report(const drv_process *, uint32_t number, drv_str text, int32_t failed); /* 0: not taken */
int32_t drv_process_is_interrupted(const drv_process *);

/* zygote.rs. Of drv_zygote_channel: the server's end, then the zygote's. */
int32_t drv_zygote_channel(int32_t *fds);
drv_zygote *drv_zygote_new(int32_t fd, drv_str settings, int32_t is_fresh, drv_error *error);
void drv_zygote_free(drv_zygote *);
int32_t drv_zygote_fd(const drv_zygote *);
int32_t drv_zygote_loaded(drv_zygote *, const char *app, size_t len, drv_error *error);
void drv_zygote_holds(const drv_zygote *, drv_str what);
void drv_zygote_load_failed(const drv_zygote *, drv_str why);
int32_t drv_zygote_order(drv_zygote *, uint32_t asked[3]); /* enum todo in zygote.c */
drv_process *drv_zygote_worker(drv_zygote *, drv_link **link, drv_error *error);
void drv_zygote_made(drv_zygote *, uint32_t pid, drv_str why);
void drv_zygote_exited(const drv_zygote *, uint32_t worker, uint32_t pid, uint32_t status);

/* tls.rs. Has a certificate for development in that folder; 0 and an error when none can be made */
int drv_tls_self_signed(drv_str folder, drv_error *error);

/* exchange.rs */
typedef struct drv_exchange drv_exchange;
drv_exchange *drv_exchange_begin(drv_str path, const uint8_t *request, size_t len, drv_error *error);
int32_t drv_exchange_go_on(drv_exchange *); /* 1: the answer is whole */
drv_str drv_exchange_answer(const drv_exchange *);
void drv_exchange_free(drv_exchange *);
/* schema.rs. 1 when something is wrong, which is where an error would be; a value without an address is none */
int32_t drv_schema_problem(drv_str schema, drv_str value, drv_error *answer);

/* mcp/mod.rs. NULL and an error for what cannot be read; a handle is to be closed */
typedef struct {
  const drv_str *names, *schemas;
  size_t n;
} drv_mcp_tools;
typedef struct {
  uint32_t max_depth;
  size_t max_collisions;
} drv_mcp_bounds;
/* header fields of a POST, and the versions that are spoken: mcp/envelope.rs */
typedef struct {
  drv_str content_type, origin, version, method, name, accept, session;
  const drv_str *versions;
  size_t n;
} drv_mcp_fields;
void *drv_mcp_open(const uint8_t *text, size_t len, const drv_mcp_tools *, const drv_mcp_fields *,
                   const drv_mcp_bounds *, const drv_node **root, drv_error *error);
void drv_mcp_close(void *read);
int32_t drv_mcp_answer(drv_str id, drv_str body, int32_t is_json, int32_t objects_only, drv_str end, drv_error *answer);

/* secrets.rs. The hash is where an error would be; 0 when that says why there is none */
int drv_secret_hash(drv_str secret, int is_token, drv_error *answer);
int drv_password_verify(drv_str password, drv_str hash);
/* a text is where an error would be; 0 when there is none */
int drv_text_seal(drv_str key, drv_str purpose, drv_str text, double seconds, drv_error *answer);
int drv_text_open(drv_str key, drv_str purpose, drv_str sealed, drv_error *answer);

/* packed_files.rs. Packs a file into another; its size, 0 when it would not be smaller, -1 and an error */
double drv_file_pack(drv_str from, drv_str encoding, drv_str to, drv_error *error);

/* uploads.rs. NULL and an error when there can be none beneath that folder */
drv_uploads *drv_uploads_new(drv_str beneath, drv_error *error);
drv_str drv_uploads_path(const drv_uploads *);
void drv_uploads_free(drv_uploads *);

/* fork_safety.rs. What was found is where an error would be. */
void drv_held_watch(void);
void drv_held_came_from(drv_str place);
void drv_held_found(drv_error *answer);
void drv_held_before_serving(void);
void drv_held_close_later(int32_t keep);
void drv_held_drop(void); /* in a fork: using what was found is an error from now on */

/* service.rs. A source is a zygote when `pid` is not 0, otherwise a program. `wake` is called from another thread. */
typedef struct {
  int32_t fd, pid;
  drv_str program; /* JSON */
} drv_source;
drv_service *drv_service_start(drv_str settings, drv_str options, const drv_source *, void (*wake)(void),
                               drv_error *error);
void drv_service_free(drv_service *);
/* Lines; the text lives as long as the service. */
drv_str drv_service_urls(const drv_service *);
void drv_service_reopens_log(const drv_service *);
const drv_node *drv_service_event(drv_service *);
const drv_node *drv_service_status(drv_service *);
const drv_node *drv_service_no_status(void);
int32_t drv_service_source(const drv_service *, const drv_source *, int32_t adopt, drv_error *error);
int32_t drv_service_rescale(const drv_service *, int32_t n_min, int32_t n_max, drv_str pool, drv_error *error);
void drv_service_stop(const drv_service *, double graceful_timeout);

/* strings.rs */
void drv_strings_begin(void);
int32_t drv_strings_want_room(void);
void drv_strings_have_room(uint64_t ns);
int32_t drv_strings_collide(void);
void drv_strings_walked(uint64_t ns);

/* r/interface.rs. What is given lives as long as the process. */
struct drv_interface;
void drv_interface_give(const struct drv_interface *);

/* units.rs */
double drv_units_read(drv_str text, int32_t time);
int32_t drv_usable_cores(void);

/* pattern.rs */
const drv_node *drv_pattern_parse(const char *text, size_t len, drv_error *error);
void drv_patterns_hidden(const drv_str *texts, size_t n, int32_t *hidden_by);

/* yaml.rs */
const drv_node *drv_yaml_of_json(drv_str json, drv_error *error);

#endif
