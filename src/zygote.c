/* The zygote: a process that has loaded the app, forks workers of itself when the server says so, and tells what became
 * of them.
 *
 * It is either a fork of the session (drv_zygote_fork), or a fresh R process whose standard input is the control
 * channel (drv_zygote_adopt). It has no threads of ours and runs no handlers. When the server ends, so does it, and so
 * do its workers; each has a lifeline of its own (process.c) for the case that the zygote goes first. Neighbours:
 * R/worker-zygote.R, process.c (what a worker does), rust/crates/binding/src/zygote.rs (the control channel).
 */
#define _GNU_SOURCE /* SOCK_CLOEXEC, O_CLOEXEC and the like */
#include "zygote.h"
#include "build.h"
#include "intercept.h"
#include "later.h"
#include "printed.h"
#include "process.h"
#include "r.h"
#include "service.h"
#include "serving.h"
#include "state.h"
#include "threads.h"
#include "worker.h"
#include <R_ext/Print.h>
#include <R_ext/eventloop.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#define R_INTERFACE_PTRS
#include <Rinterface.h>

extern Rboolean R_isForkedChild; /* of libR, declared in none of its headers */

enum todo { NOTHING = 0, FORK = 1, BECOME = 2, QUIT = 3, END = 4 };

struct child {
  pid_t pid;
  uint32_t worker;
};

static struct {
  drv_zygote *zygote;
  int signals; /* readable when a child has ended */
  struct child *children;
  size_t n, room;
  sigset_t mask;           /* signals that workers have blocked: those of the process before it was a zygote */
  struct sigaction on_end; /* what SIGCHLD did then */
} z = {.signals = -1};

/* The app is being loaded, and R ends. */
static void report_end(void) {
  static const char why[] = "it ended R, by quit() or by a jump to top level";
  if (z.zygote) drv_zygote_load_failed(z.zygote, (drv_str){why, sizeof why - 1});
  drv_here.at_end = NULL;
}

static void ignore(int signal) { (void)signal; }

/* Signals that mean something to a session mean nothing here: the control channel says when to end. Handlers rather
 * than SIG_IGN, which workers' programs would inherit. */
static void ignore_session_signals(void) {
  struct sigaction action = {.sa_handler = ignore, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  const int signals[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaction(signals[i], &action, NULL);
}

/* The process that runs the app's code needs fewer privileges than its session. Programs that it starts gain none (sudo
 * and the like fail). A crash leaves no core dump, which would hold clients' data: the limit is 1 byte, as the kernel
 * ignores a limit of 0 when it pipes dumps to a program. The hard limit stays, for debugging. */
static void restrict_privileges(void) {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  struct rlimit core;
  if (getrlimit(RLIMIT_CORE, &core)) return;
  core.rlim_cur = core.rlim_max ? 1 : 0;
  setrlimit(RLIMIT_CORE, &core);
}

/* Points by which a process and its children are better candidates than others when the system runs out of memory: a
 * worker's end costs a request, a zygote's the next fork, the server's everything. Added, up to the most there is. */
enum { OOM_ZYGOTE = 300, OOM_WORKER = 200, OOM_MOST = 1000 };

static void raise_oom_score(int points) {
  FILE *file = fopen("/proc/self/oom_score_adj", "r+e");
  if (!file) return;
  int score;
  if (fscanf(file, "%d", &score) == 1) {
    rewind(file);
    fprintf(file, "%d", score + points < OOM_MOST ? score + points : OOM_MOST);
  }
  fclose(file);
}

static void no_stdin(void) {
  int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0) return;
  dup2(null, STDIN_FILENO);
  if (null != STDIN_FILENO) close(null);
}

/* Calls body(value); when it jumps, `failed`. */
typedef struct {
  SEXP body, value;
  int status;
} body_call;

static void call_body(void *data) {
  body_call *call = data;
  SEXP expression = PROTECT(Rf_lang2(call->body, call->value));
  call->status = Rf_asInteger(Rf_eval(expression, drv_namespace()));
  UNPROTECT(1);
}

static void eval_apart(void *call) { Rf_eval(call, drv_namespace()); }

/* .Call: fun(), in a context of its own: whatever has called this has no say in what becomes of conditions. Not to come
 * back; when it jumps to top level, R ends. */
SEXP drv_zygote_apart(SEXP fun) {
  SEXP call = PROTECT(Rf_lang1(fun));
  if (R_ToplevelExec(eval_apart, call)) Rf_error("a process that serves has come back");
  report_end();
  exit(1);
}

/* The end of a process that was forked: R's own end would delete the folder of temporary files, which is the
 * session's. */
static void run_and_exit(SEXP body, SEXP value) {
  body_call call = {body, PROTECT(value), 1};
  if (!R_ToplevelExec(call_body, &call)) call.status = 1;
  fflush(NULL);
  drv_here_leave(call.status);
}

/* What the process before waits for is its own: a window, a console, a socket. The first handler is R's, and static. */
static void drop_input_handlers(void) {
  while (R_InputHandlers && R_InputHandlers->next) removeInputHandler(&R_InputHandlers, R_InputHandlers->next);
}

/* ---- becoming one --------------------------------------------------------------------------------------------- */

/* .Call: forks a zygote, which runs body(descriptor of its control channel) and never comes back. list(descriptor of
 * the other end, process id), or a string: why not. */
SEXP drv_zygote_fork(SEXP body) {
  int fds[2];
  drv_intercept();
  if (!drv_zygote_channel(fds)) return Rf_mkString(strerror(errno));
  fflush(NULL);
  drv_later_lock();
  drv_threads_settle();
  pid_t pid = fork();
  int error = errno;
  drv_later_unlock();
  if (pid == 0) {
    setpgid(0, 0);
    ignore_session_signals();
    close(fds[0]);
    no_stdin();
    drv_service_is_not_ours();
    drv_held_close_later(fds[1]);
    drv_held_drop();
    drv_here.is_stray = 0;
    drv_here_is_ours(1);
    restrict_privileges();
    raise_oom_score(OOM_ZYGOTE);
    R_isForkedChild = TRUE;
    R_Interactive = FALSE;
    drop_input_handlers();
    run_and_exit(body, Rf_ScalarInteger(fds[1]));
  }
  close(fds[1]);
  if (pid < 0) {
    close(fds[0]);
    return Rf_mkString(strerror(error));
  }
  setpgid(pid, pid);
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(out, 0, Rf_ScalarInteger(fds[0]));
  SET_VECTOR_ELT(out, 1, Rf_ScalarInteger((int)pid));
  UNPROTECT(1);
  return out;
}

/* .Call: a variable of the environment, which neither the app nor what it starts needs to see. It is wiped out where
 * the process got it, too: whoever may read its environ in /proc would have the keys of its cookies. */
SEXP drv_zygote_variable(SEXP name) {
  const char *key = CHAR(STRING_ELT(name, 0));
  char *value = getenv(key);
  SEXP out = PROTECT(Rf_mkString(value ? value : ""));
  if (value) memset(value, 0, strlen(value));
  unsetenv(key);
  UNPROTECT(1);
  return out;
}

/* .Call, in a process of the package's own: what commandArgs() is from now on. R copies the strings, once in the life
 * of a process. */
SEXP drv_zygote_arguments(SEXP arguments) {
  R_xlen_t n = XLENGTH(arguments);
  char **texts = (char **)R_alloc((size_t)n, sizeof *texts);
  for (R_xlen_t i = 0; i < n; i++) texts[i] = (char *)Rf_translateChar(STRING_ELT(arguments, i));
  R_set_command_line_arguments((int)n, texts);
  return R_NilValue;
}

static SEXP enter(int fd, SEXP settings, int is_fresh) {
  drv_error error;
  z.zygote = drv_zygote_new(fd, drv_text(settings), is_fresh, &error);
  return z.zygote ? R_NilValue : Rf_ScalarString(drv_mkchar(error.message));
}

/* .Call, in a fresh process: standard input is the control channel. NULL, or a string: what is wrong with the
 * settings. */
SEXP drv_zygote_adopt(SEXP settings) {
  drv_intercept();
  int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
  if (fd < 0) return Rf_mkString("standard input is not a control channel");
  no_stdin();
  ignore_session_signals();
  /* it was started by a thread that blocks all signals, and would never be interrupted */
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  restrict_privileges();
  raise_oom_score(OOM_ZYGOTE);
  drv_here_is_ours(0);
  /* until there is a loop that sees the channel's end */
  drv_process_hold(fd);
  drv_here.at_end = report_end;
  return enter(fd, settings, 1);
}

/* .Call: the end of the channel is `fd`. NULL, or a string: what is wrong with the settings. */
SEXP drv_zygote_enter(SEXP fd, SEXP settings) { return enter(Rf_asInteger(fd), settings, 0); }

/* .Call: the app cannot be loaded. */
SEXP drv_zygote_fail(SEXP why) {
  if (z.zygote) drv_zygote_load_failed(z.zygote, drv_text(why));
  drv_here.at_end = NULL;
  return R_NilValue;
}

/* .Call: the app is loaded, `app` its routes and mounts, and `unshared` what forks of this process must not share.
 * NULL, or a string: what is wrong with the app. */
SEXP drv_zygote_report(SEXP app, SEXP unshared) {
  drv_str text = drv_text(app);
  drv_error error;
  drv_here.at_end = NULL;
  drv_process_let_go(drv_zygote_fd(z.zygote));
  drv_zygote_holds(z.zygote, drv_text(unshared));
  if (drv_zygote_loaded(z.zygote, text.ptr, text.len, &error)) return R_NilValue;
  return Rf_ScalarString(drv_mkchar(error.message));
}

/* ---- the loop ------------------------------------------------------------------------------------------------- */

static void note_child(pid_t pid, uint32_t worker) {
  if (z.n == z.room) {
    size_t room = z.room ? 2 * z.room : 16;
    struct child *more = realloc(z.children, room * sizeof *more);
    if (!more) return; /* it will not be reaped, and the server sees its end by itself */
    z.children = more;
    z.room = room;
  }
  z.children[z.n++] = (struct child){pid, worker};
}

/* Only its own: what the app has started is the app's to wait for. What a worker's handlers have started goes with it,
 * while its number cannot have become another group's: before it is waited for. */
static void reap(void) {
  for (size_t i = z.n; i-- > 0;) {
    pid_t child = z.children[i].pid;
    siginfo_t end = {.si_pid = 0};
    if (waitid(P_PID, (id_t)child, &end, WEXITED | WNOHANG | WNOWAIT) == 0) {
      if (end.si_pid == 0) continue;
      kill(-child, SIGKILL);
    } else if (errno == EINTR) {
      continue;
    }
    int status;
    pid_t pid = waitpid(child, &status, WNOHANG);
    drv_zygote_exited(z.zygote, z.children[i].worker, (uint32_t)child, pid < 0 ? 0 : (uint32_t)status);
    z.children[i] = z.children[--z.n];
  }
}

static void kill_workers(void) {
  for (size_t i = 0; i < z.n; i++) kill(-z.children[i].pid, SIGKILL);
}

/* This process is that worker now: body(number), and its status. */
static drv_process *be_worker(drv_link **link) {
  drv_error error;
  drv_process *process = drv_zygote_worker(z.zygote, link, &error);
  if (!process) {
    REprintf("drover: a worker cannot start: %.*s\n", (int)error.message.len, error.message.ptr);
    return NULL;
  }
  drv_zygote_free(z.zygote);
  z.zygote = NULL;
  raise_oom_score(OOM_WORKER);
  return process;
}

/* What body() is called with: the worker's number, whether it has the app's timers, and its pool. */
static SEXP described(const uint32_t order[3]) {
  SEXP out = Rf_allocVector(INTSXP, 3);
  for (int i = 0; i < 3; i++) INTEGER(out)[i] = (int)order[i];
  return out;
}

static void serve(drv_process *process, drv_link *link) {
  drv_serving_open(link);
  if (drv_process_logs_what_is_printed(process)) drv_printed_goes_to(drv_worker_log_printed);
  drv_process_enter(process, drv_link_bell(link));
  sigprocmask(SIG_SETMASK, &z.mask, NULL);
}

static void fork_worker(const uint32_t order[3], SEXP body) {
  uint32_t number = order[0];
  drv_call_package("advance_random_streams", Rf_ScalarInteger((int)number));
  /* what is buffered is written once, and not by each worker at its end */
  fflush(NULL);
  drv_threads_settle();
  pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    drv_here.is_stray = 0;
    R_isForkedChild = TRUE;
    drv_here_is_ours(1);
    drv_held_drop();
    drop_input_handlers();
    close(z.signals);
    sigaction(SIGCHLD, &z.on_end, NULL);
    drv_link *link;
    drv_process *process = be_worker(&link);
    if (!process) drv_here_leave(1);
    serve(process, link);
    run_and_exit(body, described(order));
  }
  if (pid < 0) {
    const char *why = strerror(errno);
    drv_zygote_made(z.zygote, 0, (drv_str){why, strlen(why)});
    return;
  }
  setpgid(pid, pid);
  note_child(pid, number);
  drv_zygote_made(z.zygote, (uint32_t)pid, (drv_str){NULL, 0});
}

/* What to do next: waits for it, and reaps meanwhile. */
static enum todo next_order(int ending, uint32_t asked[3]) {
  for (;;) {
    enum todo todo = (enum todo)drv_zygote_order(z.zygote, asked);
    if (todo != NOTHING) return todo;
    reap();
    if (ending && !z.n) return NOTHING;
    struct pollfd fds[] = {{drv_zygote_fd(z.zygote), POLLIN, 0}, {z.signals, POLLIN, 0}};
    if (poll(fds, 2, -1) < 0) continue;
    struct signalfd_siginfo info;
    while (fds[1].revents && read(z.signals, &info, sizeof info) > 0) continue;
  }
}

/* .Call: carries out orders until there are no more: NULL then. body(order) is what a worker runs, its value the exit
 * status; a process that is to be a worker itself comes back with the order. An order is c(number, whether it has the
 * app's timers, its pool). */
SEXP drv_zygote_run(SEXP body) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGCHLD);
  sigprocmask(SIG_BLOCK, &ends, &z.mask);
  /* ignored, its children would leave no status */
  struct sigaction standard = {.sa_handler = SIG_DFL};
  sigaction(SIGCHLD, &standard, &z.on_end);
  z.signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
  for (int ending = 0;;) {
    uint32_t asked[3] = {0, 0, 0};
    switch (next_order(ending, asked)) {
    case FORK:
      fork_worker(asked, body);
      break;
    case BECOME: {
      close(z.signals);
      sigaction(SIGCHLD, &z.on_end, NULL);
      drv_link *link;
      drv_process *process = be_worker(&link);
      if (!process) Rf_error("a worker cannot start");
      serve(process, link);
      return described(asked);
    }
    case QUIT:
      ending = 1;
      if (asked[0]) drv_process_is_last();
      break;
    case END:
      kill_workers();
      drv_here_end_group();
      break;
    case NOTHING:
      return R_NilValue;
    }
  }
}
