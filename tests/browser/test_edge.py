"""What the edge says to browsers, as a browser hears it: a login whose session is a cookie, requests from pages of other
origins, and HTTP/2 over TLS.
"""

from playwright.sync_api import expect

from server import Server
from tabs import tabs

PAGE = """
library(drover)
app <- dr_app()
dr_get(app, "/", function(req) dr_html("<!DOCTYPE html><title>page</title><link rel=icon href=data:,><main>a page</main>"))
"""

API = """
library(drover)
app <- dr_app()
for (path in c("/open", "/closed")) dr_put(app, path, function(req) list(got = req$headers[["x-token"]]))
dr_cors(app, "%s", headers = "X-Token", routes = "/open")
dr_serve(app, port = 0)
"""

# what a page gets, or why not
PUT = """async url => {
    try {
        const response = await fetch(url, {method: "PUT", headers: {"X-Token": "t"}})
        return JSON.stringify(await response.json())
    } catch (error) {
        return error.name
    }
}"""


def test_a_login_is_kept_in_a_cookie(browser, picture):
    with Server("login") as server, tabs(browser, server.url, 2) as (one, other):
        one.page.get_by_placeholder("Name").fill("ada")
        one.page.get_by_placeholder("Password").fill("correct-horse")
        one.page.get_by_role("button", name="Log in").click()
        expect(one.page.get_by_text("Hello ada!")).to_be_visible()
        # whichever worker answers
        for _ in range(4):
            one.page.reload()
            expect(one.page.get_by_text("Hello ada!")).to_be_visible()
        (cookie,) = one.context.cookies()
        assert cookie["name"] == "__Host-session" and cookie["httpOnly"] and cookie["secure"], cookie
        assert one.page.evaluate("document.cookie") == "", "a script of the page reads the cookie"
        # it is nobody else's
        other.page.reload()
        expect(other.page.get_by_role("button", name="Log in")).to_be_visible()
        one.page.get_by_role("button", name="Log out").click()
        expect(one.page.get_by_role("button", name="Log in")).to_be_visible()
        assert one.context.cookies() == []


def test_pages_of_other_origins_read_what_they_may(browser, picture):
    with Server("page", PAGE + "dr_serve(app, port = 0)") as page:
        with Server("api", API % page.url) as api, tabs(browser, page.url) as (tab,):
            assert tab.page.evaluate(PUT, f"{api.url}/open") == '{"got":"t"}'
            assert not tab.errors, tab.errors
            assert tab.page.evaluate(PUT, f"{api.url}/closed") == "TypeError"
            # the browser has said why, in its console
            refused = [error for error in tab.errors if "CORS" in error]
            assert refused, tab.errors
            tab.errors.clear()


def test_a_page_comes_by_http2_over_tls(browser, picture):
    secure = PAGE + """
dr_serve(app, port = 0, tls = dr_tls_self_signed(tempfile("tls-")))
"""
    with Server("tls", secure) as server, tabs(browser, server.url) as (tab,):
        assert server.url.startswith("https://"), server.url
        expect(tab.page.locator("main")).to_have_text("a page")
        protocol = tab.page.evaluate("performance.getEntriesByType('navigation')[0].nextHopProtocol")
        assert protocol == "h2", protocol
