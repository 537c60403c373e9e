/* WebSockets by the thousand, from one thread.
 *
 *   websocket echo PORT PATH CONNECTIONS SECONDS BYTES   each sends a message, waits for it, and sends the next
 *   websocket idle PORT PATH CONNECTIONS SECONDS         each is opened, and waits
 *   websocket room PORT PATH CONNECTIONS ROUNDS          one sends a message that all receive, ROUNDS times
 *
 * echo prints: messages/s, and the times from a message to its echo in microseconds: median, 99th percentile, longest.
 * idle prints how many are open, at once, and how many of them in the end. room prints for each round the milliseconds
 * until the last one has it. Compression is offered. Frames of the client are masked with zeros, which costs it nothing
 * and the server the same.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 20000, BUFFER = 1 << 17, SAMPLES = 1 << 22 };

struct connection {
  int fd;
  size_t missing; /* of the message that comes */
  double sent;
};

static struct connection all[MOST];
static int n, epoll;
static char message[BUFFER], input[BUFFER];
static size_t message_len;
static float *times;
static size_t n_times;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

static void die(const char *what) {
  perror(what);
  exit(1);
}

/* A text message of `len` bytes, framed as by a client. */
static void make_message(size_t len) {
  size_t at = 0;
  message[at++] = (char)0x81;
  if (len < 126) {
    message[at++] = (char)(0x80 | len);
  } else {
    message[at++] = (char)(0x80 | 126);
    message[at++] = (char)(len >> 8);
    message[at++] = (char)len;
  }
  memset(message + at, 0, 4);
  memset(message + at + 4, 'x', len);
  message_len = at + 4 + len;
}

static void open_one(struct connection *c, int port, const char *path) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  c->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address)) die("connect");
  int one = 1;
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  char request[512], answer[1024];
  int len = snprintf(request, sizeof request,
                     "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                     "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                     "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
                     path);
  if (write(c->fd, request, (size_t)len) != len) die("write");
  size_t got = 0;
  while (got < sizeof answer - 1) {
    ssize_t r = read(c->fd, answer + got, 1);
    if (r <= 0) die("read");
    got += (size_t)r;
    if (got >= 4 && !memcmp(answer + got - 4, "\r\n\r\n", 4)) break;
  }
  answer[got] = 0;
  if (strncmp(answer, "HTTP/1.1 101", 12)) {
    fprintf(stderr, "no WebSocket: %s", answer);
    exit(1);
  }
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event)) die("epoll");
}

static void send_message(struct connection *c) {
  c->sent = now();
  if (write(c->fd, message, message_len) != (ssize_t)message_len) die("write");
}

/* Reads what is there. How many messages have come to their end, control frames not counted; -1 when the connection
 * has. */
static int read_messages(struct connection *c) {
  ssize_t got = recv(c->fd, input, sizeof input, MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return 0;
  if (got <= 0) return -1;
  int whole = 0;
  size_t at = 0;
  while (at < (size_t)got) {
    if (c->missing) {
      size_t take = c->missing < (size_t)got - at ? c->missing : (size_t)got - at;
      c->missing -= take;
      at += take;
      if (!c->missing) whole++;
      continue;
    }
    /* a head that is cut does not happen here: messages are short, and come one at a time */
    unsigned char opcode = (unsigned char)input[at] & 15, code = (unsigned char)input[at + 1] & 127;
    size_t len = code, head = 2;
    if (code == 126) {
      len = (size_t)((unsigned char)input[at + 2] << 8 | (unsigned char)input[at + 3]);
      head = 4;
    }
    at += head;
    if (opcode >= 8) {
      at += len;
      continue;
    }
    c->missing = len;
    if (!len) whole++;
  }
  return whole;
}

static int by_size(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static void echo(double seconds) {
  times = malloc(SAMPLES * sizeof *times);
  struct epoll_event events[1024];
  double began = now(), end = began + seconds;
  size_t done = 0;
  for (int i = 0; i < n; i++) send_message(&all[i]);
  while (now() < end) {
    int ready = epoll_wait(epoll, events, 1024, 100);
    for (int i = 0; i < ready; i++) {
      struct connection *c = events[i].data.ptr;
      int whole = read_messages(c);
      if (whole < 0) die("a connection has ended");
      for (; whole > 0; whole--) {
        if (n_times < SAMPLES) times[n_times++] = (float)(1e6 * (now() - c->sent));
        done++;
        send_message(c);
      }
    }
  }
  double took = now() - began;
  qsort(times, n_times, sizeof *times, by_size);
  printf("%.0f %.0f %.0f %.0f\n", (double)done / took, times[n_times / 2], times[n_times * 99 / 100],
         times[n_times - 1]);
}

static int until(double end, int wanted) {
  struct epoll_event events[1024];
  int got = 0;
  while (got < wanted && now() < end) {
    int ready = epoll_wait(epoll, events, 1024, 100);
    for (int i = 0; i < ready; i++) {
      struct connection *c = events[i].data.ptr;
      int whole = read_messages(c);
      if (whole < 0) {
        epoll_ctl(epoll, EPOLL_CTL_DEL, c->fd, NULL);
        n--;
        continue;
      }
      got += whole;
    }
  }
  return got;
}

int main(int argc, char **argv) {
  if (argc < 6) {
    fprintf(stderr, "websocket echo|idle|room PORT PATH CONNECTIONS SECONDS|ROUNDS [BYTES]\n");
    return 2;
  }
  int port = atoi(argv[2]), wanted = atoi(argv[4]);
  double last = atof(argv[5]);
  if (wanted < 1 || wanted > MOST) return 2;
  make_message(argc > 6 ? (size_t)atoi(argv[6]) : 32);
  epoll = epoll_create1(0);
  for (n = 0; n < wanted; n++) open_one(&all[n], port, argv[3]);
  if (!strcmp(argv[1], "echo")) {
    echo(last);
  } else if (!strcmp(argv[1], "idle")) {
    printf("%d\n", n);
    fflush(stdout);
    until(now() + last, 1 << 30);
    printf("%d\n", n);
  } else {
    for (int round = 0; round < (int)last; round++) {
      double began = now();
      send_message(&all[0]);
      int got = until(began + 30, wanted);
      printf("%.1f %d\n", 1000 * (now() - began), got);
      fflush(stdout);
    }
  }
  return 0;
}
