"""The dashboard, as whoever runs the server sees it: workers that die and come back, actions, light and dark, on a
phone, by keyboard, and by the rules of axe-core.
"""

import pathlib
import random
import re
import tempfile
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

from playwright.sync_api import expect

from server import Server
from skipped import Skipped
from tabs import tabs
from wait import let_pass, may_take, patience, within

TOKEN = "correct-horse-battery"
AXE = pathlib.Path("web/node_modules/axe-core/axe.min.js")
HOSTILE = "<img src=x onerror=alert(1)>"

SCRIPT = """
library(drover)
marks <- "%(marks)s"
app <- dr_app()
dr_get(app, "/", function(req) "hello")
dr_get(app, "/fail", function(req) stop("no table <img src=x onerror=alert(1)>"))
dr_get(app, "/wait/<name>", function(req) {
  file.create(file.path(marks, "begun"))
  while (!file.exists(file.path(marks, "go"))) Sys.sleep(0.05)
  "waited"
})
dr_job(app, "/jobs", function(req) {
  dr_progress(1, 2, "half of <img src=x onerror=alert(1)>")
  while (!file.exists(file.path(marks, "go"))) Sys.sleep(0.05)
  "done"
})
dr_serve(app, port = 0, workers = %(workers)d, admin = "127.0.0.1:0", admin_token = %(token)s,
  keep_failed = %(keep_failed)d, timeouts = dr_timeouts(timeout = "5m"))
"""


@contextmanager
def dashboard(workers=2, token=TOKEN, keep_failed=0):
    """A server, with `admin`, the address of the dashboard, and `marks`, the folder that its handlers know."""
    if not AXE.exists():
        raise Skipped("npm, or the registry, could not be reached: there is no dashboard")
    with tempfile.TemporaryDirectory() as marks:
        secret = pathlib.Path(marks, "token")
        secret.write_text(f"{TOKEN}\n", encoding="utf-8")
        token = f'"{secret}"' if token else "NULL"
        values = {"marks": marks, "workers": workers, "token": token, "keep_failed": keep_failed}
        with Server("dashboard", SCRIPT % values) as server:
            server.admin = server.logged(r"admin=(http://[^,)]+)")[0] + "/__drover__/"
            server.marks = pathlib.Path(marks)
            yield server


def get(server, path):
    """What the app answers, also when that is an error."""
    try:
        with urllib.request.urlopen(server.url + path, timeout=patience(60)) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def post(address):
    """What is answered to a POST without credentials, also when that is an error."""
    try:
        with urllib.request.urlopen(urllib.request.Request(address, method="POST"), timeout=patience(60)) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


@contextmanager
def waiting(server, path):
    """A request that runs while the block does."""
    thread = threading.Thread(target=get, args=(server, path))
    thread.start()
    within(lambda: (server.marks / "begun").exists(), "the request begins")
    try:
        yield
    finally:
        (server.marks / "go").touch()
        thread.join()


def lanes(tab):
    return tab.page.locator("#workers li")


def lane(tab, pid):
    return tab.page.locator(f"#workers li[data-pid='{pid}']")


def live(tab):
    expect(tab.page.locator("#link")).to_have_text("live")


def axe(tab):
    """Fails for what axe-core finds serious, which is told with where it is."""
    tab.page.evaluate(AXE.read_text(encoding="utf-8"))
    found = tab.page.evaluate("axe.run().then(found => found.violations)")
    serious = [
        f"{rule['id']}: {rule['help']}: {node['html']} {node['failureSummary']}"
        for rule in found if rule["impact"] in ("serious", "critical") for node in rule["nodes"]
    ]
    assert not serious, "\n".join(serious)


def test_a_worker_dies_and_another_takes_its_place(browser, picture):
    with dashboard() as server, tabs(browser, server.admin, 2) as (one, other):
        for tab in (one, other):
            live(tab)
            expect(lanes(tab)).to_have_count(2)
        dead = server.workers()[0]
        expect(lane(one, dead)).to_contain_text(f"{dead}: idle")
        server.kill_worker()
        for tab in (one, other):
            expect(lane(tab, dead)).to_have_count(0)
            expect(lanes(tab)).to_have_count(2)
            expect(lane(tab, server.workers()[-1])).to_contain_text("idle")
            expect(tab.page.locator("#restarts")).to_contain_text("signal 1")
            expect(tab.page.locator("#errors")).to_contain_text(str(dead))


def test_what_is_shown_is_text_and_comes_from_the_server_alone(browser, picture):
    with dashboard(3) as server:
        requests = []
        browser_context = browser.new_context()
        page = browser_context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.goto(server.admin)
        expect(page.locator("#link")).to_have_text("live")
        browser_context.close()
        assert requests and all(url.startswith(server.admin) for url in requests), requests
        with tabs(browser, server.admin) as (tab,), waiting(server, "/wait/%3Cimg%20src=x%3E"):
            live(tab)
            assert get(server, "/fail") == 500
            for _ in range(30):
                assert get(server, "/") == 200
            runs = tab.page.locator("#workers .runs", has_text="GET /wait/%3Cimg%20src=x%3E (/wait/<name>) for")
            expect(runs).to_have_count(1)
            expect(tab.page.locator("#workers li[data-state=busy]")).to_have_count(1)
            error = tab.page.locator("#errors details").first
            expect(error.locator("summary")).to_contain_text(f"GET /fail 500 no table {HOSTILE}")
            error.locator("summary").click()
            expect(error.locator("pre")).to_contain_text('stop("no table')
            # what comes each second leaves it open
            age = tab.page.locator("#server").text_content()
            expect(tab.page.locator("#server")).not_to_have_text(age)
            expect(error.locator("pre")).to_be_visible()
            expect(tab.page.locator("#routes tr", has_text="/fail")).to_contain_text("1")
            expect(tab.page.locator("main img")).to_have_count(0)
            said = re.compile("requests and .* errors per second")
            expect(tab.page.locator("#rate")).to_have_attribute("aria-label", said)
            error.locator("summary").click()


def test_an_error_whose_request_is_kept_has_the_command_that_plays_it_again(browser, picture):
    with dashboard(keep_failed=1) as server, tabs(browser, server.admin) as (tab,):
        live(tab)
        for _ in range(2):
            assert get(server, "/fail") == 500
        errors = tab.page.locator("#errors details")
        expect(errors).to_have_count(2)
        for at in range(2):
            errors.nth(at).locator("summary").click()
        # the older one is not kept any more
        expect(errors.last.locator(".replay")).to_be_hidden()
        command = errors.first.locator(".replay code")
        expect(command).to_have_text(re.compile("^drover replay [0-9a-f]{16}$"))
        button = errors.first.locator(".replay button")
        button.click()
        # a browser may keep the clipboard from pages: then the command is selected
        expect(button).to_have_text(re.compile("Copied|Selected"))
        axe(tab)


def test_a_picture_of_a_busy_server(browser, picture):
    with dashboard(3) as server, tabs(browser, server.admin) as (tab,), waiting(server, "/wait/for-a-picture"):
        live(tab)
        rate = tab.page.locator("#now dd").first
        # until the rate is there; or, where a picture is wanted, for as long as there are charts to be seen
        may_take(120 if picture.is_wanted else 60)
        ends = time.monotonic() + (45 if picture.is_wanted else 0)

        def is_busy():
            for _ in range(random.randrange(40)):
                assert get(server, "/") == 200
            assert get(server, "/fail") == 500
            let_pass(0.3)
            return time.monotonic() > ends and rate.text_content() != "0.0"

        within(is_busy, "the page shows a rate", 100)
        expect(tab.page.locator("#workers li[data-state=busy] .runs")).to_contain_text("/wait/for-a-picture")
        # what there is room for
        tab.page.evaluate("""for (const part of document.querySelectorAll(
            "main > section:nth-of-type(n + 3), .charts > :nth-child(n + 3)")) part.hidden = true""")
        picture(tab, "dashboard")


def test_actions_ask_for_the_token(browser, picture):
    with dashboard() as server, tabs(browser, server.admin) as (tab,):
        live(tab)
        page, said = tab.page, tab.page.locator("#said")
        old = server.workers()[0]
        page.get_by_role("button", name="Reload the app").click()
        expect(said).to_have_text("Reload: the token is missing")
        expect(page.get_by_label("Token")).to_be_focused()
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name="Reload the app").click()
        expect(said).to_contain_text("Reload: asked for")
        expect(lane(tab, old)).to_have_count(0)
        expect(lanes(tab)).to_have_count(2)
        expect(lanes(tab).first).to_contain_text("generation 2")
        fresh = server.workers()[-1]
        page.get_by_role("button", name=f"Replace worker {fresh}").click()
        expect(said).to_contain_text(f"Replace worker {fresh}: asked for")
        expect(lane(tab, fresh)).to_have_count(0)
        expect(lanes(tab)).to_have_count(2)
        expect(page.locator("#restarts")).to_contain_text("asked 1")


def test_jobs_are_shown_with_their_progress_and_are_cancelled_and_run_again(browser, picture):
    with dashboard() as server, tabs(browser, server.admin) as (tab,):
        live(tab)
        page, said, job = tab.page, tab.page.locator("#said"), tab.page.locator("#jobs tr")
        expect(page.locator("#jobs-section")).to_be_hidden()
        assert post(server.url + "/jobs") == 202
        expect(job).to_have_count(1)
        expect(job).to_contain_text("POST /jobs")
        expect(job).to_contain_text(f"1 of 2: half of {HOSTILE}")
        expect(job).to_have_attribute("data-state", "running")
        expect(page.locator("#job-counts")).to_have_text("1 running")
        axe(tab)
        number = job.get_attribute("title")
        page.get_by_role("button", name=f"Cancel job {number}").click()
        expect(said).to_have_text(f"cancel job {number}: the token is missing")
        assert post(f"{server.admin}jobs/cancel/{number}") == 401
        expect(job).to_have_attribute("data-state", "running")
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name=f"Cancel job {number}").click()
        expect(said).to_have_text(f"cancel job {number}: done")
        expect(job).to_have_attribute("data-state", "cancelled")
        page.get_by_role("button", name=f"Retry job {number}").click()
        expect(said).to_have_text(f"retry job {number}: done")
        expect(job).to_have_attribute("data-state", "running")
        (server.marks / "go").touch()
        expect(job).to_have_attribute("data-state", "done")
        expect(page.locator("#job-counts")).to_have_text("1 done")
        expect(job.get_by_role("button")).to_have_count(0)


def test_a_wrong_token_does_nothing(browser, picture):
    with dashboard(1) as server, tabs(browser, server.admin) as (tab,):
        live(tab)
        tab.page.get_by_label("Token").fill("wrong")
        tab.page.get_by_role("button", name="Reload the app").click()
        expect(tab.page.locator("#said")).to_have_text("Reload: the token is missing or wrong")
        expect(lanes(tab).first).to_contain_text("generation 1")
        # the browser says so in its console
        assert len(tab.errors) == 1 and "401" in tab.errors.pop(), tab.errors


def test_without_a_token_the_page_says_how_to_turn_actions_on(browser, picture):
    with dashboard(1, token=None) as server, tabs(browser, server.admin) as (tab,):
        live(tab)
        expect(tab.page.get_by_text("Actions are off. Start the server with --admin-token FILE")).to_be_visible()
        expect(tab.page.get_by_role("button")).to_have_count(0)


def test_light_dark_and_on_a_phone_everybody_can_read_it(browser, picture):
    with dashboard() as server, tabs(browser, server.admin) as (tab,):
        live(tab)
        get(server, "/fail")
        expect(tab.page.locator("#errors li")).to_have_count(1)
        ground = {}
        for scheme in ("light", "dark"):
            tab.page.emulate_media(color_scheme=scheme)
            ground[scheme] = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
            for width in (1280, 360):
                tab.page.set_viewport_size({"width": width, "height": 640})
                axe(tab)
                wide = tab.page.evaluate("document.documentElement.scrollWidth")
                assert wide <= width, f"{width} pixels are there, and {wide} are needed"
        assert ground["light"] != ground["dark"], ground


def test_all_of_it_can_be_reached_by_keyboard(browser, picture):
    with dashboard() as server, tabs(browser, server.admin) as (tab,):
        live(tab)
        get(server, "/fail")
        expect(tab.page.locator("#errors li")).to_have_count(1)
        keyboard = tab.page.keyboard
        keyboard.press("Tab")
        expect(tab.page.get_by_text("Skip to the workers")).to_be_focused()
        keyboard.press("Enter")
        expect(tab.page.locator("#main")).to_be_focused()
        keyboard.press("Tab")
        buttons = tab.page.get_by_role("button", name=re.compile("Replace worker"))
        expect(buttons.first).to_be_focused()
        keyboard.press("Tab")
        button = buttons.last
        expect(button).to_be_focused()
        # what comes each second does not take the focus away
        age = tab.page.locator("#server").text_content()
        expect(tab.page.locator("#server")).not_to_have_text(age)
        expect(button).to_be_focused()
        keyboard.press("Tab")
        expect(tab.page.locator("#errors summary")).to_be_focused()
        keyboard.press("Enter")
        expect(tab.page.locator("#errors pre")).to_be_visible()
        keyboard.press("Tab")
        expect(tab.page.get_by_label("Token")).to_be_focused()
        keyboard.type(TOKEN)
        keyboard.press("Enter")
        expect(tab.page.locator("#said")).to_contain_text("Reload: asked for")
        expect(lanes(tab).first).to_contain_text("generation 2")
