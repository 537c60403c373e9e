// Handlers of drover's interface that answer after they have returned, from threads of their own.
#include "handlers.h"

#include <atomic>
#include <cstring>
#include <thread>

// ?ms=20, or ?at=NAME
int h_later(drover_request *req, const drover_api *api, void *) {
  long ms = ask_number(api->query(req), "ms", 20);
  drover_request *handle = api->defer(req);
  std::thread([=] {
    if (!stand_at(api->query(handle))) sleep_ms(ms);
    drover_bytes path = api->path(handle);
    api->mark(handle, "later", static_cast<uint64_t>(ms) * 1000000);
    api->respond(handle, 200, "text/plain", path.ptr, path.len);
    api->release(handle);
  }).detach();
  return 0;
}

// Two threads answer at once: one of them is told that it is too late. Who is last notes so, after both codes: a 100.
int h_later_twice(drover_request *req, const drover_api *api, void *) {
  codes_forget();
  auto *left = new std::atomic<int>(2);
  // both before the first answer: after it, there is nothing to defer
  drover_request *handles[] = {api->defer(req), api->defer(req)};
  for (drover_request *handle : handles) {
    std::thread([=] {
      codes_note(api->respond(handle, 200, "text/plain", "once", 4));
      api->release(handle);
      if (left->fetch_sub(1) == 1) {
        delete left;
        codes_note(100);
      }
    }).detach();
  }
  return 0;
}

// Answers when nobody waits any more.
int h_later_cancelled(drover_request *req, const drover_api *api, void *) {
  codes_forget();
  drover_request *handle = api->defer(req);
  std::thread([=] {
    for (int i = 0; i < 24000 && !api->is_cancelled(handle); i++) sleep_ms(5);
    codes_note(api->respond(handle, 200, "text/plain", "too late", 8));
    codes_note(api->fail(handle, 500, "too late"));
    api->release(handle);
  }).detach();
  return 0;
}

// Answers from the function that is called when nobody waits any more, and releases its handle there.
int h_later_on_cancel(drover_request *req, const drover_api *api, void *) {
  struct job {
    drover_request *handle;
    const drover_api *api;
  };
  codes_forget();
  auto *it = new job{api->defer(req), api};
  return api->on_cancel(
      req,
      [](void *arg) {
        auto *it = static_cast<job *>(arg);
        codes_note(it->api->is_cancelled(it->handle));
        codes_note(it->api->respond(it->handle, 200, "text/plain", "too late", 8));
        it->api->release(it->handle);
        delete it;
      },
      it);
}

// Keeps its handle for ever. In a variable, so that it does not count as leaked.
int h_never(drover_request *req, const drover_api *api, void *) {
  static std::atomic<drover_request *> kept[1024];
  static std::atomic<unsigned> n;
  kept[n++ % 1024] = api->defer(req);
  return 0;
}

// Gives up without an answer.
int h_dropped(drover_request *req, const drover_api *api, void *) {
  drover_request *handle = api->defer(req);
  std::thread([=] { api->release(handle); }).detach();
  return 0;
}

// Fails after it has given the request to a thread, whose answer is then too late.
int h_defer_then_fail(drover_request *req, const drover_api *api, void *) {
  codes_forget();
  drover_request *handle = api->defer(req);
  auto *failed = new std::atomic<bool>(false);
  std::thread([=] {
    while (!*failed) sleep_ms(1);
    delete failed;
    // the handler returns meanwhile
    sleep_ms(50);
    codes_note(api->respond(handle, 200, "text/plain", "too late", 8));
    api->release(handle);
  }).detach();
  *failed = true;
  return 3;
}
