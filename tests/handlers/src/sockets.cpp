// Handlers of WebSockets, of both interfaces, that do as their messages say. What they hear of a close, and what threads
// of theirs are told, goes into the file "notes" of the folder MARKS.
#include "handlers.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

std::mutex notes;

void note(const std::string &line) {
  const char *marks = std::getenv("MARKS");
  if (marks == nullptr) return;
  std::lock_guard<std::mutex> lock(notes);
  if (FILE *file = std::fopen((std::string(marks) + "/notes").c_str(), "a")) {
    std::fprintf(file, "%s\n", line.c_str());
    std::fclose(file);
  }
}

std::string words(drover_bytes bytes) { return bytes.ptr == nullptr ? "" : std::string(bytes.ptr, bytes.len); }

// What is kept for a connection: the messages that came, and what it was called at the connect.
struct kept {
  long messages;
  std::string name;
};

}  // namespace

// At a connect: says "hello NAME with PROTOCOL" by param `name`, or, by the header field x-do, refuses: "fail",
// "respond", "return", "throw", "later". The first word of a message says what to do with the rest.
int s_talk(drover_socket *socket, const drover_socket_event *event, const drover_api *api, void *data) {
  auto say = [&](const std::string &line) { return api->socket_send(socket, 0, line.data(), line.size()); };
  if (event->kind == DROVER_SOCKET_CONNECT) {
    std::string todo = words(api->header(event->req, "X-Do"));
    if (todo == "fail") return api->fail(event->req, 403, "not you");
    if (todo == "respond") {
      api->add_header(event->req, "x-why", "so");
      return api->respond(event->req, 401, "text/plain", "who?", 4);
    }
    if (todo == "return") return 7;
    if (todo == "throw") throw std::runtime_error("no more seats");
    if (todo == "later" && api->defer(event->req) != nullptr) return 1;
    auto *mine = new kept{0, words(api->param(event->req, "name"))};
    api->socket_set_data(socket, mine);
    return say("hello " + mine->name + " with " + words(event->bytes));
  }
  auto *mine = static_cast<kept *>(api->socket_data(socket));
  if (event->kind == DROVER_SOCKET_CLOSE) {
    note("closed " + mine->name + " " + std::to_string(event->code) + " " + words(event->bytes) + " after " +
         std::to_string(mine->messages) + (api->socket_is_open(socket) ? " open" : "") +
         " code " + std::to_string(say("too late")));
    delete mine;
    return 0;
  }
  mine->messages++;
  if (event->is_binary) return api->socket_send(socket, 1, event->bytes.ptr, event->bytes.len);
  std::string whole = words(event->bytes), word = whole.substr(0, whole.find(' '));
  std::string rest = whole.size() > word.size() ? whole.substr(word.size() + 1) : "";
  if (word == "count") return say(std::to_string(mine->messages));
  if (word == "pid") return say(std::to_string(getpid()));
  if (word == "id") return say(std::to_string(api->socket_id(socket)));
  if (word == "data") return say(data == nullptr ? "" : words(*static_cast<drover_bytes *>(data)));
  if (word == "join") return api->socket_join(socket, rest.c_str(), mine->name.c_str());
  if (word == "leave") return api->socket_leave(socket, rest.c_str());
  if (word == "tell") return api->broadcast("room", nullptr, 0, rest.data(), rest.size());
  if (word == "others") return api->broadcast("room", socket, 0, rest.data(), rest.size());
  if (word == "close") return api->socket_close(socket, std::atoi(rest.c_str()), "as you wish");
  if (word == "return") return 7;
  if (word == "throw") throw std::runtime_error("a bad word");
  if (word == "crash") std::abort();
  if (word == "sleep") {
    sleep_ms(std::atol(rest.c_str()));
    return say("slept");
  }
  if (word == "invalid") {
    std::string codes;
    for (int code : {api->socket_send(socket, 0, "\xff", 1), api->socket_send(socket, 0, nullptr, 3),
                     api->socket_close(socket, 1005, nullptr), api->socket_close(socket, 1000, "\xff"),
                     api->socket_join(socket, "", nullptr), api->socket_join(socket, nullptr, nullptr),
                     api->broadcast(nullptr, nullptr, 0, "x", 1), api->socket_send(nullptr, 0, "x", 1)}) {
      codes += std::to_string(code) + " ";
    }
    return say(codes);
  }
  if (word == "thread") {
    // sends on when the connection is closed: that has no effect
    std::thread([socket, api] {
      int code = DROVER_OK;
      for (int i = 0; i < 200 && code == DROVER_OK; i++) {
        std::string line = "tick " + std::to_string(i);
        code = api->socket_send(socket, 0, line.data(), line.size());
        sleep_ms(10);
      }
      note("a thread was told " + std::to_string(code));
    }).detach();
    return 0;
  }
  return say(whole);
}

// Sends "hello" at a connect. "close", "thread" and "throw" as above, everything else comes back.
int ws_talk(drogonr_ws_session_t *session, drogonr_ws_event_t event, const char *msg, size_t len, int binary,
            drogonr_ws_send_fn send, drogonr_ws_close_fn close, drogonr_ws_is_connected_fn is_connected) {
  if (event == DROGONR_WS_CONNECT) return send(session, "hello", 5, 0);
  if (event == DROGONR_WS_CLOSE) {
    note(std::string("ws closed") + (is_connected(session) ? " open " : " ") + std::to_string(send(session, "x", 1, 0)));
    return 0;
  }
  std::string word(msg, len);
  if (word == "close") {
    close(session);
    close(session);
    return 0;
  }
  if (word == "throw") throw std::runtime_error("a bad word");
  if (word == "thread") {
    std::thread([=] {
      for (int i = 0; i < 500 && is_connected(session); i++) {
        send(session, "tick", 4, 0);
        sleep_ms(10);
      }
      note("a ws thread was told " + std::to_string(send(session, "x", 1, 0)));
    }).detach();
    return 0;
  }
  // what it returns is not used
  return send(session, msg, len, binary) == 0 ? 7 : -1;
}
