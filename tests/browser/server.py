"""An example of inst/examples, or a script, as a process of its own, for the pages of a test. Not for browsers: run.py.
"""

import os
import re
import signal
import subprocess
import tempfile

from wait import patience, within


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
            self.url = within(self._address, "the server listens", 60)
        except AssertionError:
            self.process.kill()
            raise AssertionError(f"the server does not start:\n{self.log()}") from None
        return self

    def _address(self):
        assert self.process.poll() is None, "it has ended"
        said = self.logged(r"drover listening on (\S+)")
        return said and said[0]

    def __exit__(self, *error):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(patience())
        except subprocess.TimeoutExpired:
            # its workers notice, and go
            self.process.kill()
            self.process.wait()
            raise AssertionError("the server did not end when it was interrupted") from None
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
        within(lambda: len(self.logged(r"(generation \d+ serves)")) > before, "the app is loaded again")

    def kill_worker(self):
        """Kills the oldest worker, and returns when another has taken its place."""
        count = len(self.workers())
        killed = self.workers()[0]
        self.gone.add(killed)
        os.kill(killed, signal.SIGKILL)
        within(lambda: len(self.workers()) == count, "a worker takes the place of the one that was killed")
