/* Opens many connections to 127.0.0.1 and holds them, for measuring what idle connections cost a server. Not a load
 * generator: that is wrk. Built and run by ../R/idle.R.
 *
 * usage: connections PORT COUNT PATH PATH is requested once on each connection before it idles; with "-" nothing is
 * sent. Prints "open <n>" when all are open (and answered), then waits until its standard input ends, and prints "held
 * <n>": how many the server kept open. */

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static int open_connection(int port)
{
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons((unsigned short) port)};
    /* An answer that does not come within this time counts as a failure, so that the program ends. */
    struct timeval patience = {.tv_sec = 10};
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    if (connection < 0)
        return -1;
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(connection, (struct sockaddr *) &server, sizeof server) != 0) {
        close(connection);
        return -1;
    }
    return connection;
}

/* Sends one request and reads the start of its answer, which is short: one read takes all of it. */
static int request(int connection, const char *path)
{
    char text[512];
    char answer[4096];
    int length = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", path);
    if (send(connection, text, (size_t) length, MSG_NOSIGNAL) != length)
        return -1;
    ssize_t got = recv(connection, answer, sizeof answer, 0);
    return got > 12 && memcmp(answer, "HTTP/1.1 200", 12) == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: connections PORT COUNT PATH\n");
        return 2;
    }
    int port = atoi(argv[1]);
    int count = atoi(argv[2]);
    const char *path = argv[3];

    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }

    int *connections = calloc((size_t) count, sizeof *connections);
    if (connections == NULL)
        return 1;
    for (int i = 0; i < count; i++) {
        connections[i] = open_connection(port);
        if (connections[i] < 0 || (strcmp(path, "-") != 0 && request(connections[i], path) != 0)) {
            fprintf(stderr, "connection %d of %d failed: %s\n", i + 1, count, strerror(errno));
            return 1;
        }
    }
    printf("open %d\n", count);
    fflush(stdout);

    char end;
    while (read(STDIN_FILENO, &end, 1) > 0)
        continue;

    /* A connection that the server has closed, and only such a one, is readable: nothing else was asked of it. */
    int held = 0;
    for (int i = 0; i < count; i++) {
        struct pollfd state = {.fd = connections[i], .events = POLLIN};
        if (poll(&state, 1, 0) == 0)
            held++;
    }
    printf("held %d\n", held);
    return 0;
}
