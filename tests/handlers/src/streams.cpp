// Handlers of drover's interface whose responses come piece by piece.
#include "handlers.h"

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

int send_line(drover_request *req, const drover_api *api, long i) {
  char line[32];
  int n = std::snprintf(line, sizeof line, "line %ld\n", i);
  return api->send(req, line, static_cast<size_t>(n));
}

}  // namespace

// ?n=3&ms=0&type=text/csv: n lines, ms apart, or with a gate between them, as ?at=NAME
int h_stream(drover_request *req, const drover_api *api, void *) {
  drover_bytes query = api->query(req);
  char type[64];
  ask_word(query, "type", type, sizeof type);
  long n = ask_number(query, "n", 3), ms = ask_number(query, "ms", 0);
  api->add_header(req, "x-stream", "yes");
  if (api->begin(req, 200, type[0] == '\0' ? nullptr : type) != DROVER_OK) return 0;
  for (long i = 1; i <= n; i++) {
    if (send_line(req, api, i) != DROVER_OK) return 0;
    if (!stand_at(query)) sleep_ms(ms);
  }
  return api->end(req);
}

// Sends until nobody reads, and notes what it was told then; in pieces of ?n=1000 bytes.
int h_stream_endless(drover_request *req, const drover_api *api, void *) {
  std::string piece(static_cast<size_t>(ask_number(api->query(req), "n", 1000)), '.');
  codes_forget();
  int code = api->begin(req, 200, "text/plain");
  while (code == DROVER_OK) code = api->send(req, piece.data(), piece.size());
  codes_note(code);
  codes_note(api->is_cancelled(req));
  return 0;
}

int h_stream_fail(drover_request *req, const drover_api *api, void *) {
  api->begin(req, 200, "text/plain");
  send_line(req, api, 1);
  return 5;
}

int h_stream_throw(drover_request *req, const drover_api *api, void *) {
  api->begin(req, 200, "text/plain");
  send_line(req, api, 1);
  throw std::runtime_error("in the middle");
}

// Breaks it off itself, by fail().
int h_stream_break(drover_request *req, const drover_api *api, void *) {
  codes_forget();
  api->begin(req, 200, "text/plain");
  send_line(req, api, 1);
  codes_note(api->fail(req, 500, "no more"));
  codes_note(send_line(req, api, 2));
  return 0;
}

// Forgets end(), which its return stands for.
int h_stream_open(drover_request *req, const drover_api *api, void *) {
  api->begin(req, 201, "");
  return send_line(req, api, 1);
}

// Begins here, and goes on in a thread: ?n=3&ms=5&at=GATE
int h_stream_later(drover_request *req, const drover_api *api, void *) {
  drover_bytes query = api->query(req);
  long n = ask_number(query, "n", 3), ms = ask_number(query, "ms", 5);
  api->begin(req, 200, "text/plain");
  drover_request *handle = api->defer(req);
  std::thread([=] {
    stand_at(api->query(handle));
    for (long i = 1; i <= n; i++) {
      sleep_ms(ms);
      if (send_line(handle, api, i) != DROVER_OK) break;
    }
    api->end(handle);
    api->release(handle);
  }).detach();
  return 0;
}

// Everything out of turn.
int h_stream_order(drover_request *req, const drover_api *api, void *) {
  codes_forget();
  codes_note(api->send(req, "x", 1));
  codes_note(api->end(req));
  codes_note(api->begin(req, 200, "text/plain"));
  codes_note(api->begin(req, 200, "text/plain"));
  codes_note(api->respond(req, 200, "text/plain", "no", 2));
  codes_note(api->add_header(req, "x-late", "1"));
  codes_note(api->send(req, "yes", 3));
  codes_note(api->send(req, nullptr, 3));
  codes_note(api->end(req));
  codes_note(api->send(req, "x", 1));
  codes_note(api->end(req));
  return 0;
}

// Sends without waiting until there is no room, and then waits: the last code is that of the piece for which there was none.
int h_stream_full(drover_request *req, const drover_api *api, void *) {
  std::string piece(64 << 10, 'f');
  codes_forget();
  codes_note(api->begin(req, 200, "text/plain"));
  int code = DROVER_OK;
  for (int i = 0; i < 1000 && code == DROVER_OK; i++) code = api->try_send(req, piece.data(), piece.size());
  codes_note(code);
  codes_note(api->send(req, "!", 1));
  return 0;
}
