"""The example `rooms`: two people in two browsers, on two workers."""

import re

from playwright.sync_api import expect

from server import Server
from tabs import tabs


def enter(tab, name, room="lobby"):
    tab.page.get_by_label("Your name").fill(name)
    tab.page.get_by_label("Room").fill(room)
    tab.page.get_by_role("button", name="Enter").click()
    expect(tab.page.locator("#state")).to_have_text("connected")


def say(tab, text):
    tab.page.get_by_label("Your message").fill(text)
    tab.page.get_by_role("button", name="Send").click()


def members(tab):
    return tab.page.locator("#members li")


def said(tab):
    """The messages that a tab shows, without what the page says itself."""
    return tab.page.locator("#messages li:not(.note)")


def test_two_people_talk(browser, picture):
    with Server("rooms") as server, tabs(browser, server.url, 2) as (ann, bo):
        enter(ann, "Ann")
        enter(bo, "Bo <b>")
        for tab in (ann, bo):
            expect(members(tab)).to_have_text(["Ann", "Bo <b>"])
        expect(ann.page.locator("#members .own")).to_have_text("Ann")
        expect(ann.page.get_by_text("Bo <b> has come")).to_be_visible()
        say(ann, "Is the tea ready?")
        # messages of two connections have no order but that of their arrival
        expect(said(bo)).to_have_count(1)
        say(bo, "<img src=x onerror=alert(1)> in a minute")
        for tab in (ann, bo):
            expect(said(tab)).to_have_text([
                re.compile(r"^\d\d:\d\dAnnIs the tea ready\?$"),
                re.compile(r"^\d\d:\d\dBo <b><img src=x onerror=alert\(1\)> in a minute$"),
            ])
            expect(tab.page.locator("#chat img")).to_have_count(0)
        # another room hears nothing of it
        with tabs(browser, server.url) as (cy,):
            enter(cy, "Cy", "kitchen")
            say(cy, "Nobody here?")
            expect(said(cy)).to_have_count(1)
            expect(members(cy)).to_have_text(["Cy"])
        bo.page.close()
        expect(members(ann)).to_have_text(["Ann"])
        expect(ann.page.get_by_text("Bo <b> has left")).to_be_visible()
        expect(said(ann)).to_have_count(2)


def test_workers_come_and_go(browser, picture):
    with Server("rooms") as server, tabs(browser, server.url, 2) as (ann, bo):
        enter(ann, "Ann")
        enter(bo, "Bo")
        expect(members(ann)).to_have_count(2)
        talk = (
            (server.kill_worker, "Is the model fitted?", "Yes, with two workers it took a minute."),
            (server.kill_worker, "Two of them were killed meanwhile, weren't they?", "I have not noticed."),
            (server.reload, "And now the app has been loaded again.", "Really?"),
        )
        for count, (change, one, other) in enumerate(talk, 1):
            change()
            say(ann, one)
            expect(said(bo)).to_have_count(2 * count - 1)
            say(bo, other)
            for tab in (ann, bo):
                expect(said(tab)).to_have_count(2 * count)
                expect(members(tab)).to_have_text(["Ann", "Bo"])
        picture(ann, "rooms")
        # the same connections all the time
        assert [len(tab.sockets) for tab in (ann, bo)] == [1, 1], "a page had to connect again"


def test_the_page_connects_again(browser, picture):
    with Server("rooms") as server, tabs(browser, server.url, 2) as (ann, bo):
        enter(ann, "Ann")
        enter(bo, "Bo")
        expect(members(ann)).to_have_count(2)
        # what a client gets that is too long for the server: it ends the connection
        ann.page.get_by_label("Your message").evaluate("text => text.removeAttribute('maxlength')")
        say(ann, "x" * 9000)
        expect(ann.page.locator("#state")).to_have_text(re.compile("not connected"))
        expect(ann.page.get_by_role("button", name="Send")).to_be_disabled()
        expect(ann.page.locator("#state")).to_have_text("connected")
        assert len(ann.sockets) == 2, f"{len(ann.sockets)} connections"
        for tab in (ann, bo):
            expect(members(tab)).to_have_text(["Bo", "Ann"])
        say(ann, "here again")
        expect(said(bo)).to_have_text([re.compile("here again$")])


def test_one_who_is_too_fast_has_to_wait(browser, picture):
    with Server("rooms") as server, tabs(browser, server.url) as (ann,):
        enter(ann, "Ann")
        for i in range(11):
            say(ann, f"message {i}")
        expect(ann.page.get_by_text("You are too fast")).to_be_visible()
        expect(said(ann)).to_have_count(10)
        # it is not lost
        expect(ann.page.get_by_label("Your message")).to_have_value("message 10")
