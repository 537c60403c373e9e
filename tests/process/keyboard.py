"""A person at a terminal: keyboard.py TEXT KEY COMMAND [ARGUMENT...] runs a command in a terminal of its own, waits
until it has shown TEXT twice, presses KEY ("q", or "^C"), and shows all that the command wrote. The last line is its exit
status, and whether the terminal is as it was: with echo and whole lines.
"""

import os
import pathlib
import pty
import select
import sys
import termios
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from wait import patience  # noqa: E402

text, key, command = sys.argv[1].encode(), sys.argv[2], sys.argv[3:]
master, slave = pty.openpty()
before = termios.tcgetattr(slave)
pid = os.fork()
if not pid:
    os.setsid()
    for fd in (0, 1, 2):
        os.dup2(slave, fd)
    os.execvp(command[0], command)
shown, pressed, deadline = b"", False, time.monotonic() + patience()
while time.monotonic() < deadline:
    if select.select([master], [], [], 0.1)[0]:
        shown += os.read(master, 65536)
    if not pressed and shown.count(text) >= 2:
        os.write(master, b"\x03" if key == "^C" else key.encode())
        pressed = True
    ended, status = os.waitpid(pid, os.WNOHANG)
    if ended:
        break
else:
    os.kill(pid, 9)
    _, status = os.waitpid(pid, 0)
# the terminal is open as long as the test has its end
as_before = termios.tcgetattr(slave)[3] == before[3]
os.set_blocking(master, False)
try:
    shown += os.read(master, 65536)
except OSError:
    pass
sys.stdout.buffer.write(shown + b"\n")
print(f"status {os.waitstatus_to_exitcode(status)}, terminal {'as before' if as_before else 'changed'}")
