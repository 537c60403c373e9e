"""Opens the pages of examples in Chromium: run.py [--pictures] [NAME...], from the root, where NAME is a part of the
name of a test. tools/python-tests.sh runs it, and installs what it needs. With --pictures, it also writes the pictures
in docs/images. Ends with "N passed, N failed, N skipped".

A test is a function test_* of a file test_*.py; it gets the browser, and picture(tab, name), which takes a picture when
that is wanted (picture.is_wanted). Whatever the console of a page says, warnings too, fails the test.
"""

import importlib
import os
import pathlib
import signal
import sys
import time
import traceback

import greenlet
from playwright.sync_api import expect, sync_playwright

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent / "lib"))
import failures  # noqa: E402
import wait  # noqa: E402
from skipped import Skipped  # noqa: E402

images = pathlib.Path("docs/images")
# They are kept in git, in every version there ever was.
LARGEST_PICTURE = 90000
# Debian's. Its sandbox needs rights that containers do not have, and the pages are this repository's.
BROWSER = {"executable_path": "/usr/bin/chromium", "args": ["--no-sandbox", "--disable-dev-shm-usage"]}


def tests(names):
    for file in sorted(here.glob("test_*.py")):
        module = importlib.import_module(file.stem)
        for name, test in vars(module).items():
            title = f"{file.stem.removeprefix('test_')}: {name.removeprefix('test_').replace('_', ' ')}"
            is_asked = not names or any(part in title for part in names)
            if name.startswith("test_") and is_asked and failures.to_be_run(title):
                yield title, test


def children(pid):
    files = pathlib.Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in files for child in file.read_text().split()]


def end_browser():
    """Ends a call of Playwright that hangs, by ending the browser: its loop, in a greenlet of its own, would not
    survive an exception. Whether there is such a call.
    """
    if greenlet.getcurrent().parent is None:
        return False
    for driver in children(os.getpid()):
        for browser in children(driver):
            os.kill(browser, signal.SIGKILL)
    return True


def take_picture(tab, name):
    images.mkdir(exist_ok=True)
    # a cursor that blinks would be there or not
    file = images / f"{name}.png"
    tab.page.locator("main").screenshot(path=file, caret="hide")
    assert file.stat().st_size <= LARGEST_PICTURE, f"{file} has {file.stat().st_size} bytes: less should be on it"


take_picture.is_wanted = True


def take_none(tab, name):
    pass


take_none.is_wanted = False


def main(arguments):
    picture = take_picture if "--pictures" in arguments else take_none
    names = [argument for argument in arguments if argument != "--pictures"]
    passed = failed = skipped = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**BROWSER)
        for title, test in tests(names):
            began = time.monotonic()
            if not browser.is_connected():
                browser = playwright.chromium.launch(**BROWSER)
            expect.set_options(timeout=wait.patience() * 1000)
            try:
                with wait.Limit(end_browser):
                    test(browser, picture)
                passed += 1
                print(f"ok: {title} ({time.monotonic() - began:.1f} s)", flush=True)
            except Skipped as why:
                skipped += 1
                print(f"skipped: {title}: {why}", flush=True)
            except Exception:  # whatever goes wrong in a test is that test's failure
                failed += 1
                print(f"failed: {title}\n{traceback.format_exc()}", flush=True)
                failures.note(title, traceback.format_exc())
        browser.close()
    if not passed + failed + skipped:
        print("no test has such a name")
        failed = 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed > 0


sys.exit(main(sys.argv[1:]))
