"""The example `progress`: a bar that is fed by Server-Sent Events."""

import re

from playwright.sync_api import expect

from server import Server
from tabs import tabs


def percent(tab):
    return int(tab.page.locator("#percent").inner_text().removesuffix(" %"))


def start(tab):
    tab.page.get_by_role("button", name="Start").click()


def wait_for_percent(tab, least):
    tab.page.wait_for_function("least => parseInt(document.getElementById('percent').textContent) >= least", arg=least)


def expect_done(tab):
    expect(tab.page.locator("#state")).to_have_text("done")
    expect(tab.page.locator("#percent")).to_have_text("100 %")
    expect(tab.page.locator("#bar")).to_have_js_property("value", 100)
    # each step once: 100 of 100,000 points
    expect(tab.page.locator("#points")).to_have_text("from 10,000,000 points")
    return tab.page.locator("#estimate").inner_text()


def test_it_goes_on_after_a_reload(browser, picture):
    with Server("progress") as server, tabs(browser, server.url, 2) as (one, other):
        start(one)
        wait_for_percent(one, 20)
        picture(one, "progress")
        server.reload()
        start(other)
        resumed = expect_done(one)
        lasts = [request.all_headers().get("last-event-id") for request in one.streams]
        assert len(lasts) == 2 and lasts[0] is None and int(lasts[1]) >= 20, f"Last-Event-ID was {lasts}"
        # one without a break finds the same
        assert expect_done(other) == resumed
        assert re.match(r"3\.14\d\d\d$", resumed), resumed
        assert len(other.streams) == 1


def test_it_stops_and_goes_on(browser, picture):
    with Server("progress") as server, tabs(browser, server.url) as (tab,):
        start(tab)
        wait_for_percent(tab, 10)
        tab.page.get_by_role("button", name="Stop").click()
        expect(tab.page.locator("#state")).to_have_text("stopped")
        stopped = percent(tab)
        tab.page.get_by_role("button", name="Go on").click()
        expect_done(tab)
        assert [re.search(r"after=(\d+)", request.url)[1] for request in tab.streams] == ["0", str(stopped)]
