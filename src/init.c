/* What R may call, in one table. */
#include "json.h"
#include "request.h"
#include "values.h"
#include "worker.h"
#include <R_ext/Rdynload.h>
#include <R_ext/Visibility.h>

/* by way of void (*)(void), which the compiler knows to be any function */
#define CALL(name, function, n) {name, (DL_FUNC)(void (*)(void))(function), n}

static const R_CallMethodDef calls[] = {
    CALL("json_parse", drv_call_json_parse, 4),
    CALL("json_refused", drv_call_json_refused, 1),
    CALL("json_reply", drv_call_json_reply, 4),
    CALL("json_write", drv_call_json_write, 2),
    CALL("pattern_parse", drv_pattern, 1),
    CALL("plain_response", drv_plain_response, 4),
    CALL("request_body", drv_request_body, 2),
    CALL("request_make_cell", drv_request_make_cell, 0),
    CALL("request_pick", drv_request_pick, 3),
    CALL("request_undispatched", drv_request_undispatched, 1),
    CALL("worker_answer", drv_worker_answer, 1),
    CALL("worker_drain", drv_worker_drain, 0),
    CALL("worker_fail", drv_worker_fail, 3),
    CALL("worker_guarded", drv_worker_guarded, 2),
    CALL("worker_log", drv_worker_log, 3),
    CALL("worker_run", drv_worker_run, 1),
    CALL("worker_settle", drv_worker_settle, 2),
    CALL("worker_settle_failure", drv_worker_settle_failure, 4),
    CALL("worker_start", drv_worker_start, 4),
    CALL("worker_state", drv_worker_state, 0),
    CALL("worker_stop", drv_worker_stop, 0),
    {NULL, NULL, 0},
};

static const R_ExternalMethodDef externals[] = {
    CALL("request_field", drv_request_field, 2),
    {NULL, NULL, 0},
};

void attribute_visible R_init_drover(DllInfo *dll) {
  R_registerRoutines(dll, NULL, calls, NULL, externals);
  R_useDynamicSymbols(dll, FALSE);
  R_forceSymbols(dll, TRUE);
}
