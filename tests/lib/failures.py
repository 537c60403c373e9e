"""What of a run has failed, for tools/test.sh: failures.R, which says what it is for, in Python."""

import os
import pathlib
import tempfile


def note(name, said=""):
    folder = os.environ.get("TEST_FAILURES")
    if folder:
        descriptor, _ = tempfile.mkstemp(prefix="failure-", dir=folder)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(f"{name}\n{said}\n")


def to_be_run(name):
    folder = os.environ.get("TEST_AGAIN")
    if not folder:
        return True
    failed = pathlib.Path(folder).iterdir()
    return name in [file.read_text(encoding="utf-8").partition("\n")[0] for file in failed]
