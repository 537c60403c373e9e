"""What the edge says to browsers, as a browser hears it: a login whose session is a cookie, a login at a provider,
requests from pages of other origins, and HTTP/2 over TLS.
"""

import tempfile

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

SECRET = "0123456789abcdef" * 4

PROVIDER = f"""
Sys.setenv(PROVIDER_SECRET = "{SECRET}")
drover::dr_serve(source("tests/lib/provider.R")$value, port = 0)
"""

AT_PROVIDER = """
library(drover)
app <- dr_app()
page <- "<!DOCTYPE html><link rel=icon href=data:,><main>Hello %%s</main><a href=/login/logout>Log out</a>"
dr_get(app, "/page", function(req) dr_html(sprintf(page, req$auth$claims$name)))
dr_get(app, "/favicon.ico", function(req) dr_response(status = 204L))
dr_auth_oidc(app, "%s", "app", "%s", after_logout = "/page", routes = "/page")
dr_serve(app, port = 0, workers = 2L)
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
        # nor with which of them, nor with which generation of the app
        server.kill_worker()
        server.reload()
        one.page.reload()
        expect(one.page.get_by_text("Hello ada!")).to_be_visible()
        # it is nobody else's
        other.page.reload()
        expect(other.page.get_by_role("button", name="Log in")).to_be_visible()
        one.page.get_by_role("button", name="Log out").click()
        expect(one.page.get_by_role("button", name="Log in")).to_be_visible()
        assert one.context.cookies() == []


def test_a_user_logs_in_at_a_provider(browser, picture):
    with Server("provider", PROVIDER) as provider, tempfile.NamedTemporaryFile("w") as secret:
        secret.write(SECRET)
        secret.flush()
        # another site than the app's
        issuer = provider.url.replace("127.0.0.1", "localhost")
        script = AT_PROVIDER % (issuer, secret.name)
        with Server("at-provider", script) as server, tabs(browser, f"{server.url}/page?n=1", 2) as (one, other):
            expect(one.page).to_have_title("Provider")
            one.page.get_by_placeholder("Name").fill("ada")
            one.page.get_by_placeholder("Password").fill("open-sesame")
            one.page.get_by_role("button", name="Continue").click()
            hello = one.page.get_by_text("Hello User ada")
            expect(hello).to_be_visible()
            expect(one.page).to_have_url(f"{server.url}/page?n=1")
            kept = {cookie["name"]: cookie for cookie in one.context.cookies()}["__Host-login"]
            assert kept["httpOnly"] and kept["secure"] and kept["sameSite"] == "Lax", kept
            assert one.page.evaluate("document.cookie") == "", "a script of the page reads the cookie"
            assert one.page.evaluate("fetch('/page').then(page => page.status)") == 200
            server.kill_worker()
            for _ in range(4):
                one.page.reload()
                expect(hello).to_be_visible()
            # it is nobody else's
            expect(other.page).to_have_title("Provider")
            other.page.get_by_role("button", name="Cancel").click()
            expect(other.page.get_by_text("the login was refused or cancelled")).to_be_visible()
            assert len(other.errors) == 1 and "403" in other.errors[0], other.errors
            other.errors.clear()
            one.page.get_by_text("Log out").click()
            expect(one.page).to_have_title("Out")
            # back at the app, which wants a login
            one.page.get_by_text("Back").click()
            expect(one.page).to_have_title("Provider")
            assert "__Host-login" not in {cookie["name"] for cookie in one.context.cookies()}


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
