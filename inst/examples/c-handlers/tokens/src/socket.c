/* A handler of WebSockets: for each word that comes, one that may follow it, as a field that completes what is typed
 * needs it. What it keeps for a connection is how many it has answered. */
#include "tokens.h"
#include <stdio.h>
#include <stdlib.h>

int tokens_next(drover_socket *socket, const drover_socket_event *event, const drover_api *api, void *data) {
  const model *m = data;
  if (event->kind == DROVER_SOCKET_CONNECT) {
    long *answered = calloc(1, sizeof *answered);
    if (answered == NULL) return 1; /* the client gets 500 */
    api->socket_set_data(socket, answered);
    return api->socket_send(socket, 0, "say a word", 10);
  }
  long *answered = api->socket_data(socket);
  if (event->kind == DROVER_SOCKET_CLOSE) {
    free(answered);
    return 0;
  }
  int word = model_word(m, event->bytes.ptr, event->bytes.len);
  int next = word < 0 ? -1 : model_next(m, word, (double)(++*answered % 97) / 97.0);
  char answer[96];
  int len = snprintf(answer, sizeof answer, "%s", next < 0 ? "" : model_text(m, next));
  return api->socket_send(socket, 0, answer, (size_t)len);
}
