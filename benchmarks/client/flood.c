/* The most requests that fit through many connections to 127.0.0.1, in a closed loop: for what wrk cannot do, a
 * connection for each request, and counting only once all connections are open. Checks every answer. Not for accounts
 * of single requests: that is load.c. Built and run by ../R/flood.R.
 *
 * usage: flood [--connections N] [--close] PORT PATH ANSWER
 *   --connections N   how many at a time (default 100)
 *   --close           a connection for each request
 *   ANSWER            the body that is right, less than 1,000 bytes
 *
 * Prints "ready" when every connection has had an answer (with --close: when as many requests as connections have been
 * answered). Then each line on standard input is answered with one line, and the end of the input ends it: requests=..
 * time=.. wrong=.. broken=.. p50_us=.. p99_us=.. requests: answered rightly since the start; time: seconds since the
 * start; wrong: answers with another status or body; broken: connections that could not be opened or ended too early.
 * The percentiles, of the time from the sending of a request (with --close: from the opening of its connection) to its
 * answer, are of the answers since the line before. */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef IP_BIND_ADDRESS_NO_PORT
#define IP_BIND_ADDRESS_NO_PORT 24
#endif

struct connection {
    int fd;
    bool connecting;
    bool answered_once;
    double since;
    size_t len;
    char in[2048]; /* the answer so far */
};

static int port, connection_count = 100;
static bool close_each;
static const char *answer;
static size_t answer_len;
static char request[1024];
static size_t request_len;
static struct connection *connections;
static int poller;
static double started;
static long requests, wrong, broken;
static long answered_first; /* connections that have had an answer; with --close, answers */

/* Latencies in buckets that are 2 % wide. */
enum { BUCKETS = 1024 };
static long buckets[BUCKETS];

static double clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

static void die(const char *what)
{
    fprintf(stderr, "flood: %s: %s\n", what, strerror(errno));
    exit(2);
}

static double bucket_us(int bucket)
{
    double us = 1;
    for (int i = 0; i < bucket; i++)
        us *= 1.02;
    return us;
}

static double limits[BUCKETS];

static void note_latency(double seconds)
{
    double us = seconds * 1e6;
    int low = 0, high = BUCKETS - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (limits[middle] < us)
            low = middle + 1;
        else
            high = middle;
    }
    buckets[low]++;
}

static double quantile(double q)
{
    long all = 0, seen = 0;
    for (int i = 0; i < BUCKETS; i++)
        all += buckets[i];
    for (int i = 0; i < BUCKETS; i++) {
        seen += buckets[i];
        if ((double) seen >= q * (double) all)
            return all ? limits[i] : 0;
    }
    return 0;
}

/* The requests of a connection are one after the other, and short: one send takes them. */
static void send_request(struct connection *c)
{
    c->len = 0;
    if (!close_each)
        c->since = clock_now();
    if (send(c->fd, request, request_len, MSG_NOSIGNAL) != (ssize_t) request_len && errno != EPIPE && errno != ECONNRESET)
        die("send");
}

static void open_connection(struct connection *c)
{
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons((unsigned short) port)};
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int on = 1;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        die("socket");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    /* from 127.0.1.1 to 127.0.1.16: one address has no more ports than are used up within seconds */
    struct sockaddr_in own = {.sin_family = AF_INET};
    own.sin_addr.s_addr = htonl(0x7f000101u + (uint32_t) ((c - connections) % 16));
    setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    if (bind(c->fd, (struct sockaddr *) &own, sizeof own) != 0)
        die("bind");
    c->since = clock_now();
    c->len = 0;
    c->connecting = true;
    if (connect(c->fd, (struct sockaddr *) &server, sizeof server) != 0 && errno != EINPROGRESS)
        die("connect");
    struct epoll_event event = {.events = EPOLLOUT, .data.ptr = c};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &event) != 0)
        die("epoll_ctl");
}

static void reopen(struct connection *c)
{
    close(c->fd);
    open_connection(c);
}

/* Takes the answer apart. -1: not one; 0: not whole yet; 1: right; 2: whole and wrong. */
static int judge(struct connection *c)
{
    c->in[c->len] = 0;
    char *end = strstr(c->in, "\r\n\r\n");
    if (end == NULL)
        return c->len + 1 < sizeof c->in ? 0 : -1;
    long length = -1;
    for (char *line = strstr(c->in, "\r\n"); line != NULL && line < end; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, "content-length:", 15) == 0)
            length = strtol(line + 17, NULL, 10);
    }
    size_t head = (size_t) (end + 4 - c->in);
    if (length < 0 || head + (size_t) length >= sizeof c->in)
        return -1;
    if (c->len < head + (size_t) length)
        return 0;
    bool right = strncmp(c->in, "HTTP/1.1 200 ", 13) == 0 && (size_t) length == answer_len &&
                 memcmp(end + 4, answer, answer_len) == 0 && c->len == head + (size_t) length;
    return right ? 1 : 2;
}

/* Those that are kept begin with their second request now. */
static void all_answered(void)
{
    printf("ready\n");
    fflush(stdout);
    for (int i = 0; i < connection_count && !close_each; i++)
        send_request(&connections[i]);
}

static void on_event(struct connection *c, uint32_t events)
{
    if (c->connecting) {
        if (events & (EPOLLERR | EPOLLHUP)) {
            broken++;
            reopen(c);
            return;
        }
        c->connecting = false;
        send_request(c);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        if (epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event) != 0)
            die("epoll_ctl");
        return;
    }
    ssize_t n = recv(c->fd, c->in + c->len, sizeof c->in - 1 - c->len, 0);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        broken++;
        reopen(c);
        return;
    }
    c->len += (size_t) n;
    int verdict = judge(c);
    if (verdict == 0)
        return;
    if (verdict < 0) {
        wrong++;
        reopen(c);
        return;
    }
    if (verdict == 1)
        requests++;
    else
        wrong++;
    note_latency(clock_now() - c->since);
    if (!c->answered_once || close_each) {
        c->answered_once = true;
        if (++answered_first == connection_count)
            all_answered();
        if (!close_each)
            return; /* the next one when all are there: a busy server is slow to accept */
    }
    /* the answer is whole: whether the server closes first or this client does is a matter of microseconds */
    if (close_each)
        reopen(c);
    else
        send_request(c);
}

static void tell(void)
{
    printf("requests=%ld time=%.6f wrong=%ld broken=%ld p50_us=%.0f p99_us=%.0f\n", requests, clock_now() - started, wrong,
           broken, quantile(0.5), quantile(0.99));
    fflush(stdout);
    memset(buckets, 0, sizeof buckets);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"connections", required_argument, NULL, 'c'}, {"close", no_argument, NULL, 'x'}, {NULL, 0, NULL, 0}};
    int which;
    while ((which = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (which) {
        case 'c': connection_count = atoi(optarg); break;
        case 'x': close_each = true; break;
        default: return 2;
        }
    }
    if (argc - optind != 3 || connection_count < 1 || strlen(argv[optind + 2]) >= 1000) {
        fprintf(stderr, "usage: flood [--connections N] [--close] PORT PATH ANSWER\n");
        return 2;
    }
    port = atoi(argv[optind]);
    answer = argv[optind + 2];
    answer_len = strlen(answer);
    request_len = (size_t) snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n",
                                    argv[optind + 1], close_each ? "Connection: close\r\n" : "");
    if (request_len >= sizeof request) {
        fprintf(stderr, "flood: the path is too long\n");
        return 2;
    }
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    for (int i = 0; i < BUCKETS; i++)
        limits[i] = bucket_us(i);
    connections = calloc((size_t) connection_count, sizeof *connections);
    poller = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event input = {.events = EPOLLIN, .data.ptr = NULL};
    if (connections == NULL || poller < 0 || epoll_ctl(poller, EPOLL_CTL_ADD, STDIN_FILENO, &input) != 0)
        die("start");
    started = clock_now();
    long opened = 0;
    for (;;) {
        /* not all at once: what a listener cannot take within its backlog waits a second for the next attempt */
        while (opened < connection_count && opened - answered_first < 256)
            open_connection(&connections[opened++]);
        struct epoll_event events[512];
        int n = epoll_wait(poller, events, 512, -1);
        if (n < 0 && errno != EINTR)
            die("epoll_wait");
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr != NULL) {
                on_event(events[i].data.ptr, events[i].events);
                continue;
            }
            char line[64];
            ssize_t got = read(STDIN_FILENO, line, sizeof line);
            if (got == 0)
                return 0;
            if (got > 0)
                tell();
        }
    }
}
