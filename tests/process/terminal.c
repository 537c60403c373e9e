/* A terminal that can be closed: runs a command in one, as its first process, and shows what it writes. At SIGTERM the
 * terminal hangs up, as when its window is closed; then the exit status is the command's, or 128 and its signal.
 * terminal COMMAND [ARGUMENT...]
 */
#include <errno.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t closing;

static void on_term(int signal) {
  (void)signal;
  closing = 1;
}

int main(int argc, char **argv) {
  int terminal, status;
  struct sigaction action = {.sa_handler = on_term};
  (void)argc;
  sigaction(SIGTERM, &action, NULL);
  pid_t child = forkpty(&terminal, NULL, NULL, NULL);
  if (child < 0) return 125;
  if (!child) {
    signal(SIGTERM, SIG_DFL);
    execvp(argv[1], argv + 1);
    _exit(127);
  }
  char bytes[4096];
  while (!closing) {
    ssize_t n = read(terminal, bytes, sizeof bytes);
    if (n > 0 && write(STDOUT_FILENO, bytes, (size_t)n) < 0) break;
    /* EIO: its last process has ended */
    if (n == 0 || (n < 0 && errno != EINTR)) break;
  }
  close(terminal);
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return 125;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
