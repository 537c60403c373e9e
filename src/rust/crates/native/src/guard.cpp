// Trampolines through which Rust calls what users wrote: C++ exceptions stop here, as they must not get into Rust.
// Neighbour: guard.rs, which declares these.
//
// Each returns 0 when the call returned, with its result in *result, and 1 when it threw, with a text about it in `what`.

#include "drover.h"

#include <cstdio>
#include <cstdlib>
#include <exception>

#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

namespace {

void describe(const char *text, char *what, size_t size) {
  // cut to the size, and ended
  if (size > 0) std::snprintf(what, size, "%s", text);
}

template <typename Call>
int guarded(char *what, size_t size, Call call) {
  try {
    call();
    return 0;
#if defined(__GLIBCXX__)
  } catch (abi::__forced_unwind &) {
    // pthread_exit() or pthread_cancel(): it would unwind the server's own frames, and cannot be stopped
    std::fputs("drover: a C handler has ended the thread that it was called in; the process cannot go on\n", stderr);
    std::abort();
#endif
  } catch (const std::exception &error) {
    describe(error.what(), what, size);
  } catch (...) {
    describe("something that is not a std::exception", what, size);
  }
  return 1;
}

}  // namespace

extern "C" {

int drover_guard_handler(drover_handler_t handler, drover_request *req, const drover_api *api, void *data, int *result,
                         char *what, size_t size) {
  return guarded(what, size, [&] { *result = handler(req, api, data); });
}

int drover_guard_unary(drogonr_unary_handler_t handler, const char *body, size_t body_len, const char *query,
                       const char *const *params, size_t params_n, const char *const *headers, size_t headers_n,
                       char **out_body, size_t *out_len, int *out_status, char **out_content_type, int *result,
                       char *what, size_t size) {
  return guarded(what, size, [&] {
    *result = handler(body, body_len, query, params, params_n, headers, headers_n, out_body, out_len, out_status,
                      out_content_type);
  });
}

int drover_guard_stream(drogonr_stream_handler_t handler, const char *body, size_t body_len, const char *query,
                        const char *const *params, size_t params_n, const char *const *headers, size_t headers_n,
                        drogonr_stream_session_t *session, drogonr_send_chunk_fn send, drogonr_close_stream_fn close,
                        drogonr_is_cancelled_fn is_cancelled, char **out_content_type, int *result, char *what,
                        size_t size) {
  return guarded(what, size, [&] {
    *result = handler(body, body_len, query, params, params_n, headers, headers_n, session, send, close, is_cancelled,
                      out_content_type);
  });
}

int drover_guard_socket(drover_socket_handler_t handler, drover_socket *socket, const drover_socket_event *event,
                        const drover_api *api, void *data, int *result, char *what, size_t size) {
  return guarded(what, size, [&] { *result = handler(socket, event, api, data); });
}

int drover_guard_ws(drogonr_ws_handler_t handler, drogonr_ws_session_t *session, int event, const char *msg, size_t len,
                    int binary, drogonr_ws_send_fn send, drogonr_ws_close_fn close,
                    drogonr_ws_is_connected_fn is_connected, char *what, size_t size) {
  return guarded(what, size, [&] {
    handler(session, static_cast<drogonr_ws_event_t>(event), msg, len, binary, send, close, is_connected);
  });
}

int drover_guard_callback(void (*callback)(void *), void *arg, char *what, size_t size) {
  return guarded(what, size, [&] { callback(arg); });
}

}  // extern "C"
