/* What R may call, in one table. */
#include "commands.h"
#include "console.h"
#include "events.h"
#include "exchange.h"
#include "fork_safety.h"
#include "inspection.h"
#include "interface.h"
#include "jobs.h"
#include "json.h"
#include "later.h"
#include "leave.h"
#include "mcp.h"
#include "natives.h"
#include "opened.h"
#include "packed_files.h"
#include "pattern.h"
#include "plain_endpoint.h"
#include "process.h"
#include "request.h"
#include "rest.h"
#include "rook.h"
#include "schema.h"
#include "secrets.h"
#include "seed.h"
#include "service.h"
#include "serving.h"
#include "session.h"
#include "shared_state.h"
#include "signals.h"
#include "stream_response.h"
#include "streams.h"
#include "tasks.h"
#include "title.h"
#include "tls.h"
#include "typed.h"
#include "uploads.h"
#include "values.h"
#include "websocket_client.h"
#include "websockets.h"
#include "worker.h"
#include "yaml.h"
#include "zygote.h"
#include <R_ext/Rdynload.h>
#include <R_ext/Visibility.h>

/* by way of void (*)(void), which the compiler knows to be any function */
#define CALL(name, function, n) {name, (DL_FUNC)(void (*)(void))(function), n}

static const R_CallMethodDef calls[] = {
    CALL("ws_client_close", drv_ws_client_close, 3),
    CALL("ws_client_connect", drv_ws_client_connect, 2),
    CALL("ws_client_next", drv_ws_client_next, 0),
    CALL("ws_client_send", drv_ws_client_send, 3),
    CALL("ws_client_stop", drv_ws_client_stop, 0),
    CALL("ws_client_wake", drv_ws_client_wake, 0),
    CALL("rest_lightly", drv_rest_lightly, 0),
    CALL("console_open", drv_console_open, 0),
    CALL("event_chunk", drv_event_chunk, 4),
    CALL("event_clock", drv_event_clock, 0),
    CALL("event_text", drv_call_event_text, 1),
    CALL("events_response", drv_events_response, 9),
    CALL("exchange_begin", drv_call_exchange_begin, 2),
    CALL("exchange_go_on", drv_call_exchange_go_on, 2),
    CALL("fields_pick", drv_pick, 2),
    CALL("fork_safety_before_serving", drv_fork_safety_before_serving, 0),
    CALL("fork_safety_came_from", drv_fork_safety_came_from, 1),
    CALL("fork_safety_found", drv_fork_safety_found, 0),
    CALL("fork_safety_watch", drv_fork_safety_watch, 0),
    CALL("hidden_patterns", drv_hidden_patterns, 1),
    CALL("inspection_address", drv_inspection_address, 1),
    CALL("inspection_begin", drv_inspection_begin, 2),
    CALL("inspection_end", drv_inspection_end, 0),
    CALL("inspection_settled", drv_inspection_settled, 2),
    CALL("inspection_until", drv_inspection_until, 1),
    CALL("json_parse", drv_call_json_parse, 4),
    CALL("json_refused", drv_call_json_refused, 1),
    CALL("json_reply", drv_call_json_reply, 5),
    CALL("json_write", drv_call_json_write, 3),
    CALL("mcp_answer", drv_call_mcp_answer, 4),
    CALL("mcp_read", drv_call_mcp_read, 2),
    CALL("mcp_receive", drv_call_mcp_receive, 3),
    CALL("natives_resolve", drv_natives_resolve, 2),
    CALL("no_httpd", drv_no_httpd, 2),
    CALL("opened_descriptor", drv_call_opened_descriptor, 1),
    CALL("opened_open", drv_call_opened_open, 2),
    CALL("pattern_parse", drv_pattern, 1),
    CALL("plain_endpoint", drv_plain_endpoint, 2),
    CALL("plain_endpoint_new", drv_plain_endpoint_new, 11),
    CALL("plumber_is_hindered", drv_plumber_is_hindered, 2),
    CALL("plain_response", drv_plain_response, 4),
    CALL("pointer_is_live", drv_pointer_is_live, 1),
    CALL("process_failed", drv_process_failed, 1),
    CALL("process_ready", drv_process_ready, 1),
    CALL("process_reports", drv_process_reports, 3),
    CALL("process_ends_server", drv_process_ends_server, 0),
    CALL("process_state", drv_process_state, 0),
    CALL("request_bind", drv_request_bind, 3),
    CALL("request_body", drv_request_body, 2),
    CALL("request_assigned_session", drv_request_assigned_session, 1),
    CALL("request_hint", drv_request_hint, 2),
    CALL("request_progress", drv_request_progress, 3),
    CALL("request_make_cell", drv_request_make_cell, 0),
    CALL("request_pick", drv_request_pick, 3),
    CALL("request_undispatched", drv_request_undispatched, 1),
    CALL("rook_host", drv_rook_host, 1),
    CALL("rook_request", drv_rook_request, 4),
    CALL("rook_response", drv_rook_response, 1),
    CALL("rook_target", drv_rook_target, 2),
    CALL("service_close", drv_service_close, 0),
    CALL("service_end", drv_service_end, 1),
    CALL("service_go_idle", drv_service_go_idle, 0),
    CALL("service_news", drv_service_news, 0),
    CALL("service_open", drv_service_open, 3),
    CALL("service_renew", drv_service_renew, 2),
    CALL("service_scale", drv_service_scale, 3),
    CALL("service_running", drv_service_running, 0),
    CALL("service_wait", drv_service_wait, 1),
    CALL("service_failed", drv_service_failed, 1),
    CALL("service_jobs", drv_service_jobs, 3),
    CALL("service_workers", drv_service_workers, 0),
    CALL("session_close", drv_session_close, 0),
    CALL("session_leave", drv_session_begin_leave, 0),
    CALL("session_drain", drv_session_begin_drain, 0),
    CALL("session_forget", drv_session_forget, 0),
    CALL("session_interrupted", drv_session_interrupted, 0),
    CALL("session_go_idle", drv_session_go_idle, 0),
    CALL("session_open", drv_session_open, 2),
    CALL("session_renew", drv_session_renew_app, 2),
    CALL("session_renewed", drv_session_renewed, 1),
    CALL("session_reopen", drv_session_reopen, 0),
    CALL("later_loaded", drv_later_loaded, 0),
    CALL("leave_when_waiting", drv_leave_when_waiting, 1),
    CALL("session_catch_signals", drv_session_catch_signals, 0),
    CALL("session_reopen_log", drv_session_reopen_log, 0),
    CALL("service_catch_signals", drv_service_catch_signals, 0),
    CALL("service_reopen_log", drv_service_reopen_log, 0),
    CALL("signals_release", drv_signals_release, 0),
    CALL("signals_take", drv_signals_take, 0),
    CALL("status_phrase", drv_phrase, 1),
    CALL("title", drv_title, 1),
    CALL("stream_response", drv_stream_response, 9),
    CALL("streams_end", drv_streams_end, 0),
    CALL("packed_files_make", drv_packed_files_make, 3),
    CALL("streams_failed", drv_streams_failed, 1),
    CALL("streams_state", drv_streams_state, 0),
    CALL("streams_write", drv_streams_write, 1),
    CALL("tasks_say", drv_tasks_say, 3),
    CALL("text_reply", drv_text_reply, 2),
    CALL("units_read", drv_units, 2),
    CALL("password_verify", drv_call_password_verify, 2),
    CALL("schema_problem", drv_call_schema_problem, 2),
    CALL("typed_object", drv_typed_object, 2),
    CALL("typed_values", drv_typed_values, 2),
    CALL("shared_state_add", drv_call_state_add, 4),
    CALL("shared_state_delete", drv_call_state_delete, 2),
    CALL("shared_state_get", drv_call_state_get, 2),
    CALL("shared_state_keys", drv_call_state_keys, 1),
    CALL("shared_state_set", drv_call_state_set, 5),
    CALL("secret_hash", drv_call_secret_hash, 2),
    CALL("text_seal", drv_call_text_seal, 4),
    CALL("text_open", drv_call_text_open, 3),
    CALL("tls_make", drv_tls_make, 1),
    CALL("uploads_make", drv_uploads_make, 1),
    CALL("uploads_remove", drv_uploads_remove, 0),
    CALL("usable_cores", drv_cores, 0),
    CALL("worker_answer", drv_worker_answer, 1),
    CALL("worker_answer_in_frame", drv_worker_answer_in_frame, 2),
    CALL("seed_want", drv_seed_want, 1),
    CALL("serving_app", drv_serving_app, 3),
    CALL("worker_guarded", drv_worker_guarded, 2),
    CALL("worker_params", drv_worker_params, 1),
    CALL("worker_take_along", drv_worker_take_along, 1),
    CALL("worker_log", drv_worker_log, 3),
    CALL("worker_run", drv_worker_run, 1),
    CALL("worker_settle", drv_worker_settle, 2),
    CALL("worker_leaves_callbacks", drv_worker_leaves_callbacks, 1),
    CALL("worker_state", drv_worker_state, 0),
    CALL("wrong_name", drv_wrong_name, 2),
    CALL("ws_broadcast", drv_websocket_broadcast, 4),
    CALL("ws_close", drv_websocket_close, 3),
    CALL("ws_connection", drv_websocket_connection, 1),
    CALL("ws_join", drv_websocket_join, 3),
    CALL("ws_leave", drv_websocket_leave, 2),
    CALL("ws_members", drv_websocket_members, 1),
    CALL("ws_rooms", drv_websocket_rooms, 0),
    CALL("cache_purge", drv_cache_purge, 2),
    CALL("job_cron_wrong", drv_job_cron_wrong, 2),
    CALL("job_ask", drv_job_ask, 2),
    CALL("job_enqueue", drv_job_enqueue, 2),
    CALL("ws_send", drv_websocket_send, 3),
    CALL("yaml", drv_yaml, 1),
    CALL("zygote_adopt", drv_zygote_adopt, 1),
    CALL("zygote_apart", drv_zygote_apart, 1),
    CALL("zygote_enter", drv_zygote_enter, 2),
    CALL("zygote_fail", drv_zygote_fail, 1),
    CALL("zygote_fork", drv_zygote_fork, 1),
    CALL("zygote_run", drv_zygote_run, 1),
    CALL("zygote_report", drv_zygote_report, 2),
    CALL("zygote_variable", drv_zygote_variable, 1),
    CALL("zygote_arguments", drv_zygote_arguments, 1),
    {NULL, NULL, 0},
};

static const R_ExternalMethodDef externals[] = {
    CALL("request_field", drv_request_field, 2),
    {NULL, NULL, 0},
};

void attribute_visible R_init_drover(DllInfo *dll) {
  drv_interface_hand_down();
  R_registerRoutines(dll, NULL, calls, NULL, externals);
  R_useDynamicSymbols(dll, FALSE);
  R_forceSymbols(dll, TRUE);
}
