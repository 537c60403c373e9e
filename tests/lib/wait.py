"""Waiting, in the tests in Python, and the limit of each test: wait.R, which says what for, in this language."""

import re
import signal
import time


def slack():
    """How many times as long as on a quiet machine things may take by now, 1 to 8; 2 where the system does not say."""
    try:
        with open("/proc/pressure/cpu", encoding="utf-8") as file:
            return 1 + 7 * float(re.match(r"some avg10=([0-9.]+) ", file.readline())[1]) / 100
    except (OSError, TypeError, ValueError):
        return 2


def patience(seconds=30):
    """So many seconds of a quiet machine, in seconds of this one."""
    return seconds * slack()


def within(condition, what, seconds=30):
    """The value of `condition()` as soon as it is true; an error that names `what` when that takes too long."""
    begun = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        waited = time.monotonic() - begun
        if waited > seconds and waited > patience(seconds):
            # it may have become true since, while this process waited for a processor
            value = condition()
            if value:
                return value
            raise AssertionError(f"not within {waited:.0f} s: {what}")
        time.sleep(min(0.1, max(0.01, waited / 20)))


def let_pass(seconds):
    """Lets a time pass, as the test is about it. Never for something to happen, which may take longer."""
    time.sleep(seconds)


class TooLong(Exception):
    """A test has taken longer than it may."""


class Limit:
    """For the `with` block of a test, which may take 60 s of a quiet machine if it does not say more by may_take().
    Beyond that it is ended by TooLong, which names the limit. `end` may end the test in another way, and returns
    whether it has.
    """

    running = None

    def __init__(self, end=lambda: False):
        self.end = end
        self.late = None

    def __enter__(self):
        Limit.running = self
        signal.signal(signal.SIGALRM, self._ring)
        self.begun = time.monotonic()
        self.set(60)
        return self

    def __exit__(self, kind, error, trace):
        signal.alarm(0)
        Limit.running = None
        if self.late and kind is not TooLong:
            raise TooLong(self.late) from error

    def set(self, seconds):
        self.seconds = seconds
        signal.alarm(max(1, round(seconds)))

    def _ring(self, number, frame):
        taken = time.monotonic() - self.begun
        left = patience(self.seconds) - taken
        if left > 0:
            signal.alarm(max(1, round(left)))
            return
        self.late = f"it took longer than its {self.seconds:g} s ({taken:.0f} s on this machine)"
        if not self.end():
            raise TooLong(self.late)


def may_take(seconds):
    """What the test that runs may take, in seconds of a quiet machine."""
    Limit.running.set(seconds)
