/* Slow clients: COUNT connections to 127.0.0.1, each of which sends a little now and then and never completes. One that
 * the server closes is opened anew, until the time is over. For their cost to other clients see ../R/trials-crowd.R;
 * for a few slow clients of every kind, tests/process/test-slow-clients.R.
 *
 * usage: slow MODE PORT COUNT SECONDS INTERVAL_MS
 *   headers    a request whose header section grows by a byte in each interval
 *   bodies     a request whose body grows by a byte in each interval
 *   handshake  nothing at all, to a server that waits for a TLS handshake
 * Prints "open" when COUNT are open, and at the end "ended=N shortest_ms=MS longest_ms=MS refused=N lost=N": how many
 * the server has closed and how soon, how many could not connect, and how many of the last ones the server has still
 * not closed after LATE_MS more. */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Addresses that they come from, so that ports do not run out: 127.0.0.3 and so on. */
#define ADDRESSES 8
/* How long the last ones are waited for. */
#define LATE_MS 20000
/* How long the first ones are spread over: slow clients are no flood of connections. Those that come in the place of
 * others are as many in each second. */
#define COMING_MS 10000

struct client {
  int fd;
  uint64_t since;
  uint64_t next;
};

static const char *mode;
static int port, poll_fd;
static uint64_t ended, longest, shortest = UINT64_MAX, refused;

static uint64_t now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t) time.tv_sec * 1000 + (uint64_t) time.tv_nsec / 1000000;
}

/* The clock of a header section begins with its first byte: it is sent at once. */
static int begin(int fd) {
  static const char headers[] = "GET /text HTTP/1.1\r\nHost: a\r\nX: ";
  static const char bodies[] = "POST /test HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n";
  if (mode[0] == 'h' && mode[1] == 'a') return 0;
  const char *text = mode[0] == 'h' ? headers : bodies;
  return send(fd, text, strlen(text), MSG_NOSIGNAL) < 0 ? -1 : 0;
}

static void open_client(struct client *client, size_t number, uint64_t interval) {
  struct sockaddr_in from = {.sin_family = AF_INET}, to = {.sin_family = AF_INET, .sin_port = htons((uint16_t) port)};
  struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = client};
  int yes = 1;
  from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 2 + (uint32_t) (number % ADDRESSES));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  client->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (client->fd < 0) {
    perror("socket");
    exit(1);
  }
  setsockopt(client->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
  if (bind(client->fd, (struct sockaddr *) &from, sizeof from) ||
      connect(client->fd, (struct sockaddr *) &to, sizeof to) || begin(client->fd)) {
    close(client->fd);
    client->fd = -1;
    refused++;
    return;
  }
  fcntl(client->fd, F_SETFL, O_NONBLOCK);
  client->since = now_ms();
  /* spread over the interval */
  client->next = client->since + 1 + (number * 7919) % interval;
  epoll_ctl(poll_fd, EPOLL_CTL_ADD, client->fd, &event);
}

static void end_client(struct client *client) {
  uint64_t lived = now_ms() - client->since;
  close(client->fd);
  client->fd = -1;
  ended++;
  if (lived > longest) longest = lived;
  if (lived < shortest) shortest = lived;
}

int main(int argc, char **argv) {
  if (argc != 6) {
    fprintf(stderr, "usage: slow headers|bodies|handshake PORT COUNT SECONDS INTERVAL_MS\n");
    return 2;
  }
  mode = argv[1];
  port = atoi(argv[2]);
  size_t count = (size_t) atoi(argv[3]), open = 0;
  uint64_t begun = now_ms(), end = begun + (uint64_t) atoi(argv[4]) * 1000, interval = (uint64_t) atoi(argv[5]);
  uint64_t opened = 0;
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  struct client *clients = calloc(count, sizeof *clients);
  struct epoll_event events[256];
  char bytes[4096];
  int said = 0;
  poll_fd = epoll_create1(0);
  if (!clients || poll_fd < 0) return 1;
  for (size_t i = 0; i < count; i++) clients[i].fd = -1;
  for (;;) {
    uint64_t now = now_ms();
    int is_over = now >= end;
    /* those that may have been opened by now */
    uint64_t due = (now - begun) * count / COMING_MS + 1;
    if (is_over && (open == 0 || now >= end + LATE_MS)) break;
    for (size_t i = 0; i < count; i++) {
      struct client *client = &clients[i];
      if (client->fd < 0) {
        if (is_over || opened >= due) continue;
        open_client(client, i, interval);
        opened++;
        open += client->fd >= 0;
      } else if (now >= client->next && mode[1] != 'a') {
        client->next += interval;
        /* an end is told by epoll */
        if (send(client->fd, "a", 1, MSG_NOSIGNAL) < 0 && errno != EAGAIN) continue;
      }
    }
    if (!said && open == count) {
      said = 1;
      printf("open\n");
      fflush(stdout);
    }
    int ready = epoll_wait(poll_fd, events, 256, 10);
    for (int i = 0; i < ready; i++) {
      struct client *client = events[i].data.ptr;
      ssize_t got;
      while ((got = recv(client->fd, bytes, sizeof bytes, 0)) > 0) continue;
      if (got == 0 || (got < 0 && errno != EAGAIN)) {
        end_client(client);
        open--;
      }
    }
  }
  printf("ended=%llu shortest_ms=%llu longest_ms=%llu refused=%llu lost=%zu\n", (unsigned long long) ended,
         (unsigned long long) (ended ? shortest : 0), (unsigned long long) longest, (unsigned long long) refused, open);
  return 0;
}
