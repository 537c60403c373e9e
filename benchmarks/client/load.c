/* Sends requests over keep-alive connections to 127.0.0.1 and accounts for every single one: answered with which
 * status, or lost in which way. For tests that kill things, and for benchmarks that must know when each request was
 * due. Not for the most requests per second: that is wrk. Built and run by ../R/load.R and
 * ../../tests/process/client.R.
 *
 * usage: load [options] PORT PATH [PATH2]
 *   --connections N   keep-alive connections (default 1)
 *   --from N          from the address 127.0.0.N (default 1)
 *   --rate R          open loop: R requests per second fall due, regardless of earlier ones; each takes the next
 *                     free connection, and its latency counts from its due time. Without --rate the loop is closed:
 *                     each connection sends its next request when it has its answer
 *   --requests N      stop after N requests
 *   --seconds S       stop after S seconds
 *   --share F         share of requests that go to PATH2 (default 0.5), evenly spread
 *   --body TEXT       POST this, as JSON, instead of a GET
 *   --echo            a PATH may have {n}: it becomes the number of the request, and the body of a 200 must be that
 *                     number, or a path that ends with it, so that an answer to another request is noticed
 *   --hang-up MS      reset the connection that long after each request was sent, if the answer is not there
 *   --patience S      an answer that is not there after this counts as lost (default 30)
 *   --record FILE     write every request to FILE, as CSV
 * Stops sending also on SIGINT and SIGTERM, then waits for the answers that are due.
 *
 * Prints "sending" when the first request has ended, answered or not, and at the end one line per path: path=1
 *   sent=.. answered=.. s200=.. s502=.. reset=.. cut=.. lost=.. hung_up=.. wrong=.. unasked=.. refused=.. seconds=..
 *   mean_us=.. p50_us=.. p99_us=.. max_us=.. sent is answered + reset + cut + lost + hung_up. reset: the connection
 *   ended before the first byte of the answer; cut: within it; wrong: of the answered ones, 200 with another body than
 *   --echo wants; unasked: connections that received an answer without a request, or something that is not HTTP;
 *   refused: attempts to connect that failed (nothing was sent; the client tries again). Latencies are those of answers
 *   with 2xx, in microseconds. */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* What became of a request: a status, or one of these. */
enum { PENDING = 0, RESET = -1, CUT = -2, LOST = -3, HUNG_UP = -4 };

struct request {
    double due, sent, end; /* seconds since the start */
    int outcome;
    int connection;
    bool second; /* to PATH2 */
    bool wrong;
};

enum state { CLOSED, CONNECTING, IDLE, WAITING };
enum part { HEAD, COUNTED, UNTIL_CLOSE, CHUNK_SIZE, CHUNK_DATA, CHUNK_END, TRAILER };

struct connection {
    int fd;
    enum state state;
    double retry;   /* CLOSED: not before this */
    long request;   /* WAITING: index of it */
    char out[1024]; /* what is still to be sent of it, when the socket took only a part */
    size_t out_len, out_sent;
    enum part part;
    char line[8192]; /* the head so far, or the line so far of a chunked body */
    size_t line_len;
    long long left; /* bytes that the body, or the chunk, still has */
    int status;
    bool close; /* "Connection: close" */
    char body[32]; /* its first bytes */
    size_t body_len;
};

static int port, connection_count = 1;
static uint32_t from_host = 1;
static const char *paths[2], *body_text;
static double rate, seconds, share = 0.5, hang_up, patience = 30;
static long most_requests = -1;
static bool echo;
static const char *record_file;

static struct request *requests;
static long request_count, request_room;
static struct connection *connections;
static long refused, unasked;
static long outstanding;
static int poller;
static double started; /* on the monotonic clock */
static volatile sig_atomic_t stop_asked;
static bool ended_one;

static double clock_seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

static double now(void)
{
    return clock_seconds(CLOCK_MONOTONIC) - started;
}

static void die(const char *what)
{
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(2);
}

static void on_signal(int signal)
{
    (void) signal;
    stop_asked = 1;
}

/* ---- connections ---- */

static void close_connection(struct connection *c, double retry)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    c->state = CLOSED;
    c->retry = retry;
}

static void watch(struct connection *c, int how, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = c};
    if (epoll_ctl(poller, how, c->fd, &event) != 0)
        die("epoll_ctl");
}

static void refuse(struct connection *c)
{
    refused++;
    /* soon enough to notice when a server is back, and not so often that it costs */
    close_connection(c, now() + 0.01);
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
    if (from_host != 1) {
        struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl((127u << 24) + from_host)};
        setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
        if (bind(c->fd, (struct sockaddr *) &own, sizeof own) != 0)
            die("bind");
    }
    if (connect(c->fd, (struct sockaddr *) &server, sizeof server) == 0) {
        c->state = IDLE;
        watch(c, EPOLL_CTL_ADD, EPOLLIN);
    } else if (errno == EINPROGRESS) {
        c->state = CONNECTING;
        watch(c, EPOLL_CTL_ADD, EPOLLOUT);
    } else {
        refuse(c);
    }
}

/* ---- requests ---- */

static void finish(struct connection *c, int outcome)
{
    struct request *r = &requests[c->request];
    r->outcome = outcome;
    r->end = now();
    outstanding--;
    if (!ended_one) {
        ended_one = true;
        printf("sending\n");
        fflush(stdout);
    }
}

/* The connection ended, or was ended, while its request waited. */
static void fail(struct connection *c, int outcome)
{
    finish(c, outcome);
    close_connection(c, 0);
}

/* Tries to send what is left. The answer may come before all is sent, and is read all the same. */
static void push(struct connection *c)
{
    while (c->out_sent < c->out_len) {
        ssize_t n = send(c->fd, c->out + c->out_sent, c->out_len - c->out_sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            watch(c, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
            return;
        }
        if (n < 0) {
            /* an answer may be there that was sent before the connection was closed: reading will tell */
            c->out_sent = c->out_len;
            break;
        }
        c->out_sent += (size_t) n;
    }
    watch(c, EPOLL_CTL_MOD, EPOLLIN);
}

static void send_request(struct connection *c, double due)
{
    if (request_count == request_room) {
        request_room = request_room ? request_room * 2 : 4096;
        requests = realloc(requests, (size_t) request_room * sizeof *requests);
        if (requests == NULL)
            die("memory");
    }
    long number = request_count++;
    bool second = paths[1] != NULL && (long) ((double) (number + 1) * share) > (long) ((double) number * share);
    const char *path = paths[second];
    const char *mark = strstr(path, "{n}");
    char target[512];
    if (mark != NULL)
        snprintf(target, sizeof target, "%.*s%ld%s", (int) (mark - path), path, number, mark + 3);
    else
        snprintf(target, sizeof target, "%s", path);
    int length;
    if (body_text != NULL)
        length = snprintf(c->out, sizeof c->out,
                          "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                          "Content-Length: %zu\r\n\r\n%s",
                          target, strlen(body_text), body_text);
    else
        length = snprintf(c->out, sizeof c->out, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", target);
    if (length < 0 || (size_t) length >= sizeof c->out) {
        errno = E2BIG;
        die("path and body");
    }
    requests[number] = (struct request){
        .due = due, .sent = now(), .connection = (int) (c - connections), .second = second};
    c->request = number;
    c->out_len = (size_t) length;
    c->out_sent = 0;
    c->state = WAITING;
    c->part = HEAD;
    c->line_len = 0;
    c->status = 0;
    c->close = false;
    c->body_len = 0;
    outstanding++;
    push(c);
}

/* ---- answers ---- */

static void answer_complete(struct connection *c)
{
    struct request *r = &requests[c->request];
    if (echo && c->status == 200) {
        char wanted[32];
        size_t length = (size_t) snprintf(wanted, sizeof wanted, "/%ld", c->request) - 1;
        /* without the slash, or with it and what is before */
        size_t compared = c->body_len == length ? length : length + 1;
        r->wrong = c->body_len < compared
            || memcmp(c->body + c->body_len - compared, wanted + length + 1 - compared, compared) != 0;
    }
    finish(c, c->status);
    if (c->close)
        close_connection(c, 0);
    else
        c->state = IDLE;
}

/* Not HTTP, or more than was asked for: the connection is of no more use. */
static void not_http(struct connection *c)
{
    unasked++;
    if (c->state == WAITING)
        finish(c, CUT);
    close_connection(c, 0);
}

static void take_body(struct connection *c, const char *bytes, size_t len)
{
    size_t room = sizeof c->body - c->body_len;
    size_t n = len < room ? len : room;
    memcpy(c->body + c->body_len, bytes, n);
    c->body_len += n;
}

/* The head is whole, its lines separated by CR LF. false: it is not one. */
static bool take_head(struct connection *c)
{
    bool chunked = false;
    c->left = -1;
    c->line[c->line_len] = 0;
    if (sscanf(c->line, "HTTP/1.%*1d %3d", &c->status) != 1)
        return false;
    for (char *line = strstr(c->line, "\r\n"); line != NULL && line[2] != '\r'; line = strstr(line + 2, "\r\n")) {
        char *field = line + 2;
        if (strncasecmp(field, "content-length:", 15) == 0)
            c->left = strtoll(field + 15, NULL, 10);
        else if (strncasecmp(field, "transfer-encoding: chunked", 26) == 0)
            chunked = true;
        else if (strncasecmp(field, "connection: close", 17) == 0)
            c->close = true;
    }
    c->line_len = 0;
    if (c->status < 200)
        return true; /* an interim answer; the head of the final one follows */
    if (chunked)
        c->part = CHUNK_SIZE;
    else if (c->status == 204 || c->status == 304 || c->left == 0)
        answer_complete(c);
    else
        c->part = c->left > 0 ? COUNTED : UNTIL_CLOSE;
    return true;
}

/* A line of a chunked body's frame is whole. false: it is not one. */
static bool take_line(struct connection *c)
{
    c->line[c->line_len] = 0;
    size_t length = c->line_len;
    c->line_len = 0;
    switch (c->part) {
    case CHUNK_SIZE: {
        char *end;
        c->left = strtoll(c->line, &end, 16);
        if (end == c->line || c->left < 0)
            return false;
        c->part = c->left == 0 ? TRAILER : CHUNK_DATA;
        return true;
    }
    case CHUNK_END:
        c->part = CHUNK_SIZE;
        return length == 2;
    default: /* TRAILER */
        if (length == 2)
            answer_complete(c);
        return true;
    }
}

static void take(struct connection *c, const char *bytes, size_t len)
{
    size_t i = 0;
    while (i < len) {
        if (c->state != WAITING) {
            not_http(c);
            return;
        }
        if (c->part == COUNTED || c->part == CHUNK_DATA || c->part == UNTIL_CLOSE) {
            size_t n = len - i;
            if (c->part != UNTIL_CLOSE && (long long) n > c->left)
                n = (size_t) c->left;
            take_body(c, bytes + i, n);
            i += n;
            if (c->part == UNTIL_CLOSE)
                continue;
            c->left -= (long long) n;
            if (c->left == 0 && c->part == CHUNK_DATA)
                c->part = CHUNK_END;
            else if (c->left == 0)
                answer_complete(c);
            continue;
        }
        if (c->line_len + 1 >= sizeof c->line) {
            not_http(c);
            return;
        }
        c->line[c->line_len++] = bytes[i++];
        size_t n = c->line_len;
        if (c->line[n - 1] != '\n')
            continue;
        bool whole = c->part != HEAD || (n >= 4 && memcmp(c->line + n - 4, "\r\n\r\n", 4) == 0);
        if (whole && !(c->part == HEAD ? take_head(c) : take_line(c))) {
            not_http(c);
            return;
        }
    }
}

static void pull(struct connection *c)
{
    char bytes[65536];
    for (;;) {
        ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);
        if (n > 0) {
            take(c, bytes, (size_t) n);
            if (c->fd < 0)
                return;
            continue;
        }
        if (n < 0 && errno == EAGAIN)
            return;
        /* the end; while idle it is the server's right */
        if (c->state == WAITING && n == 0 && c->part == UNTIL_CLOSE) {
            c->close = true;
            answer_complete(c);
        } else if (c->state == WAITING) {
            fail(c, c->status == 0 && c->line_len == 0 ? RESET : CUT);
        } else {
            close_connection(c, 0);
        }
        return;
    }
}

static void on_event(struct connection *c, uint32_t events)
{
    if (c->state == CONNECTING) {
        int error = 0;
        socklen_t length = sizeof error;
        getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &length);
        if (error != 0) {
            refuse(c);
            return;
        }
        c->state = IDLE;
        watch(c, EPOLL_CTL_MOD, EPOLLIN);
        return;
    }
    if (c->state == WAITING && (events & EPOLLOUT))
        push(c);
    if (c->fd >= 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        pull(c);
}

/* ---- the loop ---- */

/* Whether there is one more to send now, and since when it is due. */
static bool next_due(double *due)
{
    double t = now();
    if (stop_asked || (most_requests >= 0 && request_count >= most_requests) || (seconds > 0 && t >= seconds))
        return false;
    *due = rate > 0 ? (double) request_count / rate : t;
    return *due <= t;
}

static bool finished(void)
{
    bool all = most_requests >= 0 && request_count >= most_requests;
    return outstanding == 0 && (stop_asked || all || (seconds > 0 && now() >= seconds));
}

/* A connection that waits too long, or that is to be hung up. */
static void check_time(struct connection *c, double t)
{
    if (c->state != WAITING)
        return;
    double waited = t - requests[c->request].sent;
    if (hang_up > 0 && waited >= hang_up) {
        struct linger linger = {.l_onoff = 1, .l_linger = 0};
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
        fail(c, HUNG_UP);
    } else if (waited >= patience) {
        fail(c, LOST);
    }
}

static void run(void)
{
    struct epoll_event events[256];
    /* the tick: for what is due without an event. Fine enough for rates, coarse in a closed loop, which lives on
     * events */
    long tick = rate > 0 || hang_up > 0 ? 500000 : 10000000;
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct itimerspec every = {.it_interval = {.tv_nsec = tick}, .it_value = {.tv_nsec = tick}};
    struct epoll_event ticking = {.events = EPOLLIN, .data.ptr = NULL};
    if (timer < 0 || timerfd_settime(timer, 0, &every, NULL) != 0 || epoll_ctl(poller, EPOLL_CTL_ADD, timer, &ticking) != 0)
        die("timer");
    bool ticked = true;
    while (!finished()) {
        double t = now(), due;
        for (int i = 0; ticked && i < connection_count; i++) {
            struct connection *c = &connections[i];
            check_time(c, t);
            /* all of them from the start, so that a rate does not wait for a connection */
            if (c->state == CLOSED && c->retry <= t && !stop_asked)
                open_connection(c);
            if (c->state == IDLE && next_due(&due))
                send_request(c, due);
        }
        int n = epoll_wait(poller, events, 256, 100);
        if (n < 0 && errno != EINTR)
            die("epoll_wait");
        ticked = false;
        for (int i = 0; i < n; i++) {
            struct connection *c = events[i].data.ptr;
            uint64_t times;
            if (c == NULL) {
                ticked = read(timer, &times, sizeof times) > 0;
                continue;
            }
            if (c->fd < 0)
                continue; /* closed by an earlier event of this round */
            on_event(c, events[i].events);
            /* the next one at once, so that a closed loop is a closed loop */
            if (c->state == CLOSED && c->retry <= 0 && next_due(&due))
                open_connection(c);
            if (c->state == IDLE && next_due(&due))
                send_request(c, due);
        }
    }
    close(timer);
}

/* ---- the account ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return x < y ? -1 : x > y;
}

static double quantile(const double *sorted, long n, double q)
{
    long rank = (long) (q * (double) n);
    return n == 0 ? 0 : sorted[rank < n ? rank : n - 1];
}

static void summarise(bool second, double length)
{
    long statuses[600] = {0}, sent = 0, answered = 0, reset = 0, cut = 0, lost = 0, hung = 0, wrong = 0, n = 0;
    double sum = 0, *latencies = malloc(((size_t) request_count + 1) * sizeof *latencies);
    if (latencies == NULL)
        die("memory");
    for (long i = 0; i < request_count; i++) {
        const struct request *r = &requests[i];
        if (r->second != second)
            continue;
        sent++;
        reset += r->outcome == RESET;
        cut += r->outcome == CUT;
        lost += r->outcome == LOST;
        hung += r->outcome == HUNG_UP;
        wrong += r->wrong;
        if (r->outcome <= 0)
            continue;
        answered++;
        statuses[r->outcome < 600 ? r->outcome : 0]++;
        if (r->outcome / 100 == 2) {
            latencies[n] = (r->end - r->due) * 1e6;
            sum += latencies[n++];
        }
    }
    qsort(latencies, (size_t) n, sizeof *latencies, by_value);
    printf("path=%d sent=%ld answered=%ld", second ? 2 : 1, sent, answered);
    for (int status = 0; status < 600; status++) {
        if (statuses[status] > 0)
            printf(" s%03d=%ld", status, statuses[status]);
    }
    printf(" reset=%ld cut=%ld lost=%ld hung_up=%ld wrong=%ld", reset, cut, lost, hung, wrong);
    printf(" unasked=%ld refused=%ld seconds=%.3f", unasked, refused, length);
    printf(" mean_us=%.0f p50_us=%.0f p99_us=%.0f max_us=%.0f\n", n ? sum / (double) n : 0,
           quantile(latencies, n, 0.5), quantile(latencies, n, 0.99), n ? latencies[n - 1] : 0);
    free(latencies);
}

static void write_record(double epoch)
{
    static const char *words[] = {"pending", "reset", "cut", "lost", "hung_up"};
    FILE *file = fopen(record_file, "w");
    if (file == NULL)
        die(record_file);
    fprintf(file, "path,connection,due,sent,end,outcome,wrong\n"); /* times: seconds since 1970 */
    for (long i = 0; i < request_count; i++) {
        const struct request *r = &requests[i];
        fprintf(file, "%d,%d,%.6f,%.6f,%.6f,", r->second ? 2 : 1, r->connection, epoch + r->due, epoch + r->sent,
                epoch + r->end);
        if (r->outcome > 0)
            fprintf(file, "%d,%d\n", r->outcome, r->wrong);
        else
            fprintf(file, "%s,%d\n", words[-r->outcome], r->wrong);
    }
    if (fclose(file) != 0)
        die(record_file);
}

static double number(const char *option, const char *text, double low)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != 0 || !(value >= low)) {
        fprintf(stderr, "load: --%s must be a number of at least %g, not '%s'\n", option, low, text);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"connections", required_argument, NULL, 'c'}, {"rate", required_argument, NULL, 'r'},
        {"requests", required_argument, NULL, 'n'},    {"seconds", required_argument, NULL, 's'},
        {"share", required_argument, NULL, 'f'},       {"body", required_argument, NULL, 'b'},
        {"echo", no_argument, NULL, 'e'},              {"hang-up", required_argument, NULL, 'h'},
        {"patience", required_argument, NULL, 'p'},    {"record", required_argument, NULL, 'w'},
        {"from", required_argument, NULL, 'a'},
        {NULL, 0, NULL, 0}};
    int which, index = 0;
    while ((which = getopt_long(argc, argv, "", options, &index)) != -1) {
        const char *name = options[index].name;
        switch (which) {
        case 'c': connection_count = (int) number(name, optarg, 1); break;
        case 'r': rate = number(name, optarg, 0.001); break;
        case 'n': most_requests = (long) number(name, optarg, 1); break;
        case 's': seconds = number(name, optarg, 0.001); break;
        case 'f': share = number(name, optarg, 0); break;
        case 'b': body_text = optarg; break;
        case 'e': echo = true; break;
        case 'h': hang_up = number(name, optarg, 0.1) / 1e3; break;
        case 'p': patience = number(name, optarg, 0.001); break;
        case 'a': from_host = (uint32_t) number(name, optarg, 1) & 255; break;
        case 'w': record_file = optarg; break;
        default: return 2;
        }
    }
    if (argc - optind < 2 || argc - optind > 3) {
        fprintf(stderr, "usage: load [options] PORT PATH [PATH2]\n");
        return 2;
    }
    port = (int) number("port", argv[optind], 1);
    paths[0] = argv[optind + 1];
    paths[1] = argv[optind + 2]; /* NULL when there is none: argv ends so */

    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    struct sigaction stop = {.sa_handler = on_signal};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);

    connections = calloc((size_t) connection_count, sizeof *connections);
    poller = epoll_create1(EPOLL_CLOEXEC);
    if (connections == NULL || poller < 0)
        die("start");
    started = clock_seconds(CLOCK_MONOTONIC);
    double epoch = clock_seconds(CLOCK_REALTIME);
    for (int i = 0; i < connection_count; i++) {
        connections[i].fd = -1;
        open_connection(&connections[i]);
    }
    run();
    double length = now();
    for (int path = 0; path < (paths[1] != NULL ? 2 : 1); path++)
        summarise(path == 1, length);
    if (record_file != NULL)
        write_record(epoch);
    return 0;
}
