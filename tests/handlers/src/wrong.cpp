// Handlers of drover's interface that do what they should not.
#include "handlers.h"

#include <pthread.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>

int h_nonzero(drover_request *, const drover_api *, void *) { return 7; }

int h_silent(drover_request *, const drover_api *, void *) { return 0; }

int h_throw(drover_request *, const drover_api *, void *) { throw std::runtime_error("the model has no weights"); }

int h_throw_int(drover_request *, const drover_api *, void *) { throw 42; }

int h_answer_then_throw(drover_request *req, const drover_api *api, void *) {
  api->respond(req, 200, "text/plain", "answered", 8);
  throw std::runtime_error("too late");
}

int h_twice(drover_request *req, const drover_api *api, void *) {
  codes_forget();
  codes_note(api->respond(req, 200, "text/plain", "first", 5));
  codes_note(api->respond(req, 200, "text/plain", "second", 6));
  codes_note(api->fail(req, 500, "third"));
  codes_note(api->begin(req, 200, "text/plain"));
  codes_note(api->add_header(req, "x-late", "1"));
  return 0;
}

// What cannot be, one after the other, and then an answer.
int h_invalid(drover_request *req, const drover_api *api, void *) {
  codes_forget();
  codes_note(api->respond(req, 99, nullptr, "x", 1));
  codes_note(api->respond(req, 101, nullptr, "x", 1));
  codes_note(api->respond(req, 600, nullptr, "x", 1));
  codes_note(api->respond(req, 200, nullptr, nullptr, 10));
  codes_note(api->respond(req, 200, nullptr, "x", SIZE_MAX));
  codes_note(api->respond(req, 200, "text/plain\r\nx-injected: 1", "x", 1));
  codes_note(api->respond_static(req, 200, nullptr, "x", SIZE_MAX / 2));
  codes_note(api->fail(req, 200, "not an error"));
  codes_note(api->send(req, "x", 1));
  codes_note(api->end(req));
  codes_note(api->respond(nullptr, 200, nullptr, "x", 1));
  codes_note(api->respond(req, 200, "", nullptr, 0));
  return 0;
}

// For the sanitizers, which must see it.
int h_use_after_free(drover_request *req, const drover_api *api, void *) {
  // volatile, or the compiler sees it, too
  char *volatile bytes = static_cast<char *>(std::malloc(10));
  std::free(bytes);
  return api->respond(req, 200, "text/plain", *bytes == 'x' ? "x" : "y", 1);
}

// The same, when it runs twice at once: both write to one variable, without order.
int h_race(drover_request *req, const drover_api *api, void *) {
  static volatile int turns;
  for (int i = 0; i < 50; i++) {
    turns = turns + 1;
    sleep_ms(1);
  }
  return api->respond(req, 200, "text/plain", "raced", 5);
}

int h_segfault(drover_request *, const drover_api *, void *) {
  volatile int *nothing = reinterpret_cast<int *>(8);
  return *nothing;
}

int h_abort(drover_request *, const drover_api *, void *) { std::abort(); }

int h_exit(drover_request *, const drover_api *, void *) { std::_Exit(3); }

int h_end_thread(drover_request *, const drover_api *, void *) { pthread_exit(nullptr); }
