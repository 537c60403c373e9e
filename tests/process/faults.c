/* What code of other packages may do to a worker: called by app.R through .C(). No R in it, as in most of such
 * code, but for call_from_thread(). */

#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void crash(void)
{
    *(volatile int *) 16 = 1;
}

void give_up(void)
{
    abort();
}

/* A thread that works with a lock for 20 ms, at first and after each fork: the next fork has to wait for it, and none
 * can be surprised by it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t work_to_do, work_begun;

static void wait_for_post(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0) /* a signal came */
        continue;
}

static void *work_and_rest(void *unused)
{
    for (;;) {
        struct timespec start, now;
        wait_for_post(&work_to_do);
        pthread_mutex_lock(&lock);
        sem_post(&work_begun);
        clock_gettime(CLOCK_MONOTONIC, &start);
        do
            clock_gettime(CLOCK_MONOTONIC, &now);
        while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec < 20000000);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void have_it_work(void)
{
    sem_post(&work_to_do);
    wait_for_post(&work_begun);
}

void work_with_lock(void)
{
    pthread_t thread;
    sem_init(&work_to_do, 0, 0);
    sem_init(&work_begun, 0, 0);
    if (pthread_create(&thread, NULL, work_and_rest, NULL) != 0 || pthread_atfork(NULL, have_it_work, NULL) != 0)
        abort();
    have_it_work();
}

/* A thread that waits for ever. */
static void *wait_for_nothing(void *unused)
{
    for (;;)
        pause();
    return unused;
}

void keep_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_nothing, NULL) != 0)
        abort();
}

/* Whether that lock can be had. */
void can_lock(int *can)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    *can = pthread_mutex_timedlock(&lock, &until) == 0;
    if (*can)
        pthread_mutex_unlock(&lock);
}

/* As a long BLAS call: never looks whether R was interrupted. */
void deaf(int *seconds)
{
    time_t end = time(NULL) + *seconds;
    while (time(NULL) < end)
        continue;
}

/* The same for some milliseconds, asleep. */
void deaf_sleep(int *milliseconds)
{
    struct timespec left = {*milliseconds / 1000, *milliseconds % 1000 * 1000000L};
    while (nanosleep(&left, &left) != 0)
        continue;
}

/* Writes over the memory that it shares with the server, again and again, for some milliseconds. */
void scribble(int *milliseconds)
{
    char line[512];
    struct timespec now, end;
    unsigned seed = (unsigned) getpid();
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += *milliseconds / 1000;
    end.tv_nsec += (*milliseconds % 1000) * 1000000L;
    do {
        FILE *maps = fopen("/proc/self/maps", "r");
        while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
            unsigned long from, to;
            if (strstr(line, "memfd:drover") == NULL || sscanf(line, "%lx-%lx rw", &from, &to) != 2)
                continue;
            for (unsigned char *byte = (unsigned char *) from; byte < (unsigned char *) to; byte++)
                *byte = (unsigned char) (rand_r(&seed) >> 8);
        }
        if (maps != NULL)
            fclose(maps);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

/* Has a child put a pipe in the place of every long answer that it finds in the folder, or in one beneath it, for some
 * seconds. */
static void meddle_in(const char *folder, int depth)
{
    char path[4096];
    struct dirent *entry;
    DIR *files = opendir(folder);
    while (files != NULL && (entry = readdir(files)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (strncmp(entry->d_name, "drover-reply-", 13) == 0 && unlink(path) == 0)
            mkfifo(path, 0600);
        else if (entry->d_name[0] != '.' && depth > 0)
            meddle_in(path, depth - 1);
    }
    if (files != NULL)
        closedir(files);
}

void meddle(char **folder, int *seconds)
{
    time_t end = time(NULL) + *seconds;
    if (fork() != 0)
        return;
    while (time(NULL) < end)
        meddle_in(*folder, 1);
    _exit(0);
}

/* Sends what is no message, of all lengths up to a kilobyte, on every socket that it has. */
void babble(void)
{
    char bytes[1024];
    unsigned seed = (unsigned) getpid();
    for (int fd = 3; fd < 256; fd++) {
        for (size_t length = 1; length < sizeof bytes; length += 7) {
            for (size_t i = 0; i < length; i++)
                bytes[i] = (char) (rand_r(&seed) >> 8);
            if (send(fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
                break;
        }
    }
}

/* Closes everything that is open but for standard input, output and error. */
void close_all(void)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
}

/* A thread that has R call resolve_one() after some milliseconds, by way of the package 'later', as threads of other
 * packages do. R's own names, as they are in its headers. */
typedef struct SEXPREC *SEXP;
extern SEXP R_GlobalEnv, Rf_install(const char *), Rf_lang1(SEXP), Rf_protect(SEXP), Rf_eval(SEXP, SEXP);
extern void Rf_unprotect(int);
extern void (*R_GetCCallable(const char *, const char *))(void);
static unsigned long (*exec_later)(void (*)(void *), void *, double, int);

static void resolve_one(void *unused)
{
    (void) unused;
    Rf_eval(Rf_protect(Rf_lang1(Rf_install("resolve_one"))), R_GlobalEnv);
    Rf_unprotect(1);
}

static void *sleep_and_call(void *milliseconds)
{
    int left = (int) (long) milliseconds;
    deaf_sleep(&left);
    exec_later(resolve_one, NULL, 0, 0);
    return NULL;
}

void call_from_thread(int *milliseconds)
{
    pthread_t thread;
    exec_later = (unsigned long (*)(void (*)(void *), void *, double, int)) R_GetCCallable("later", "execLaterNative2");
    pthread_create(&thread, NULL, sleep_and_call, (void *) (long) *milliseconds);
    pthread_detach(thread);
}
