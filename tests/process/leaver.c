/* Clients that leave, at every moment of a request's life: before they have said anything, within the head, within the
 * body, while the request waits or runs, within the answer; by a reset or in peace. A few of them stay to the end. For
 * storms, of which nothing may be left; what became of each request is counted by ../../benchmarks/client/load.c. Built
 * and run by client.R.
 *
 * usage: leaver PORT SECONDS THREADS SEED PATH...
 * A path that begins with "+" is posted to, with a body that the server keeps in a file.
 *
 * Prints, when the time is over, how many have left at which moment:
 *   silent=.. head=.. body=.. waiting=.. answer=.. stayed=.. */

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum moment { SILENT, HEAD, BODY, WAITING, ANSWER, STAYED, MOMENTS };
static const char *const names[] = {"silent", "head", "body", "waiting", "answer", "stayed"};

enum { BODY_BYTES = 300000, LONGEST_WAIT_MS = 25, LONGEST_STAY_MS = 1000 };

static int port;
static double seconds;
static char **paths;
static int path_count;
static char body[BODY_BYTES];
static long left[MOMENTS];
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

/* As much of it as the server takes. */
static void say(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = send(fd, bytes, length, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        bytes += n;
        length -= (size_t) n;
    }
}

/* Reads up to `most` bytes of the answer, for at most this many milliseconds. */
static void hear(int fd, size_t most, int milliseconds)
{
    static __thread char buffer[65536];
    double until = now() + milliseconds / 1e3;
    while (most > 0) {
        struct pollfd wait = {fd, POLLIN, 0};
        int patience = (int) ((until - now()) * 1e3);
        if (patience <= 0 || poll(&wait, 1, patience) <= 0)
            return;
        ssize_t n = recv(fd, buffer, most < sizeof buffer ? most : sizeof buffer, 0);
        if (n <= 0)
            return;
        most -= (size_t) n;
    }
}

static enum moment visit(int fd, unsigned *seed)
{
    char head[1024];
    const char *path = paths[rand_r(seed) % (unsigned) path_count];
    int posts = *path == '+';
    enum moment moment = (enum moment) (rand_r(seed) % MOMENTS);
    if (moment == BODY && !posts)
        moment = WAITING;
    int length = posts ? snprintf(head, sizeof head, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n",
                                  path + 1, BODY_BYTES)
                       : snprintf(head, sizeof head, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    if (moment == SILENT)
        return moment;
    if (moment == HEAD) {
        say(fd, head, 1 + (size_t) rand_r(seed) % (size_t) (length - 1));
        return moment;
    }
    say(fd, head, (size_t) length);
    if (posts)
        say(fd, body, moment == BODY ? (size_t) rand_r(seed) % BODY_BYTES : BODY_BYTES);
    if (moment == WAITING)
        usleep((useconds_t) (rand_r(seed) % (LONGEST_WAIT_MS * 1000)));
    if (moment == ANSWER)
        hear(fd, 1 + (size_t) rand_r(seed) % 400000, LONGEST_WAIT_MS);
    if (moment == STAYED)
        hear(fd, 1000, LONGEST_STAY_MS);
    return moment;
}

static void *client(void *number)
{
    unsigned seed = (unsigned) (size_t) number;
    double until = now() + seconds;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t) port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    while (now() < until) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        struct timeval patience = {1, 0};
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        if (connect(fd, (struct sockaddr *) &address, sizeof address) == 0) {
            enum moment moment = visit(fd, &seed);
            struct linger reset = {1, 0};
            if (rand_r(&seed) % 4)
                setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
            pthread_mutex_lock(&counting);
            left[moment]++;
            pthread_mutex_unlock(&counting);
        }
        close(fd);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr, "usage: leaver PORT SECONDS THREADS SEED PATH...\n");
        return 2;
    }
    port = atoi(argv[1]);
    seconds = atof(argv[2]);
    int threads = atoi(argv[3]);
    unsigned seed = (unsigned) atoi(argv[4]);
    paths = argv + 5;
    path_count = argc - 5;
    pthread_t *ids = calloc((size_t) threads, sizeof *ids);
    for (int i = 0; ids != NULL && i < threads; i++)
        pthread_create(&ids[i], NULL, client, (void *) (size_t) (seed + (unsigned) i));
    for (int i = 0; ids != NULL && i < threads; i++)
        pthread_join(ids[i], NULL);
    for (int i = 0; i < MOMENTS; i++)
        printf("%s%s=%ld", i ? " " : "", names[i], left[i]);
    printf("\n");
    return 0;
}
