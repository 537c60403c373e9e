"""An example of inst/examples, or a script, as a process of its own, for the pages of a test. Not for browsers: run.py.
"""

import os
import re
import signal
import subprocess
import tempfile
import time


def wait_until(condition, what, seconds=15):
    """The value of `condition()` as soon as it is true; an error that names `what` when that takes too long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")


class Server:
    """Serves inst/examples/NAME/app.R, or the app that a script of R makes, on a free port, for as long as the `with`
    block runs.
    """

    def __init__(self, name, script=None):
        # workers that are not there any more
        self.gone = set()
        self.log_file = tempfile.NamedTemporaryFile("w+", prefix=f"{name}-", suffix=".log")
        what = ["-e", script] if script else [f"inst/examples/{name}/app.R"]
        self.process = subprocess.Popen(
            ["Rscript", *what], env={**os.environ, "PORT": "0"}, stdin=subprocess.DEVNULL,
            stdout=self.log_file, stderr=subprocess.STDOUT,
        )

    def __enter__(self):
        try:
            self.url = wait_until(lambda: self.logged(r"drover listening on (\S+)"), "the server listens", 30)[0]
        except AssertionError:
            self.process.kill()
            raise AssertionError(f"the server does not start:\n{self.log()}") from None
        return self

    def __exit__(self, *error):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            # its workers notice, and go
            self.process.kill()
            self.process.wait()
            raise AssertionError("the server did not end within 10 s of an interrupt") from None
        finally:
            self.log_file.close()

    def log(self):
        with open(self.log_file.name, encoding="utf-8", errors="replace") as file:
            return file.read()

    def logged(self, pattern):
        """What the group of `pattern` has matched in the log, in order."""
        return re.findall(pattern, self.log())

    def workers(self):
        """The process ids of the workers that serve, the oldest first."""
        ready = [int(pid) for pid in self.logged(r"worker (\d+) is ready")]
        return [pid for pid in ready if pid not in self.gone]

    def reload(self):
        """Loads the app again, and returns when the new workers serve."""
        before = len(self.logged(r"(generation \d+ serves)"))
        self.gone.update(self.workers())
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(self.logged(r"(generation \d+ serves)")) > before, "the app is loaded again")

    def kill_worker(self):
        """Kills the oldest worker, and returns when another has taken its place."""
        count = len(self.workers())
        killed = self.workers()[0]
        self.gone.add(killed)
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: len(self.workers()) == count, "a worker takes the place of the one that was killed")
