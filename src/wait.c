/* How the main thread sleeps while it serves, or looks after workers: R's own input handlers are served, too. */
#include "wait.h"
#include <R_ext/eventloop.h>
#include <poll.h>
#include <unistd.h>

int drv_wait_for(int bell, int control, int timeout_ms, int stdin_too) {
  struct pollfd fds[64];
  nfds_t n = 0;
  if (bell >= 0) fds[n++] = (struct pollfd){bell, POLLIN, 0};
  nfds_t own = n;
  if (control >= 0) fds[n++] = (struct pollfd){control, POLLIN, 0};
  for (InputHandler *h = R_InputHandlers; h && n < 64; h = h->next) {
    if (h->fileDescriptor < 0 || (h->fileDescriptor == STDIN_FILENO && !stdin_too)) continue;
    fds[n++] = (struct pollfd){h->fileDescriptor, POLLIN, 0};
  }
  if (poll(fds, n, timeout_ms) <= 0) return 0;
  for (nfds_t i = own; i < n; i++) {
    if (fds[i].revents) return 1;
  }
  return 0;
}

void drv_run_input_handlers(void) {
  fd_set *ready = R_checkActivity(0, 1);
  if (ready) R_runHandlers(R_InputHandlers, ready);
}
