"""The page of documentation at /__docs__/: what a browser shows of it, and what it asks for."""

import json
import pathlib
import re

from playwright.sync_api import expect

from server import Server
from tabs import tabs

APP = """
library(drover)
app <- dr_app()
dr_about(app, "Orders", "1.2.0", "What was **bought**.", tags = c(orders = "What was bought"))
dr_get(app, "/", function(req) dr_html("<!DOCTYPE html><title>page</title><link rel=icon href=data:,><main>a page</main>"))
dr_get(app, "/orders/<id:int>", function(req) list(id = req$params$id, total = 12.5),
  summary = "One order", tags = "orders")
dr_post(app, "/orders", function(req) dr_json(list(made = req$json$item), 201L),
  body = dr_schema(item = dr_chr(min_length = 2)), response = list("201" = dr_schema(made = dr_chr())),
  examples = list(one = list(item = "hat")), summary = "Order something", tags = "orders")
dr_get(app, "/secret", function(req) list(user = req$auth$user), summary = "A secret")
dr_auth_bearer(app, c(ada = "0123456789abcdef0123456789abcdef"), routes = "/secret")
dr_serve(app, port = 0, admin = "0")
"""

# Would run, or be fetched, if it were taken for markup.
HOSTILE = """
library(drover)
app <- dr_app()
evil <- '"><img src=//other.example/x onerror="window.hit=1"><script>window.hit=1</script>'
dr_about(app, evil, evil, paste(evil, "[a link](javascript:window.hit=1) `<b>code</b>`"), tags = setNames(evil, evil))
dr_get(app, "/", function(req) dr_html("<!DOCTYPE html><title>page</title><link rel=icon href=data:,><main>a page</main>"))
dr_get(app, "/plain", function(req) "x", summary = evil, description = evil, tags = evil)
dr_get(app, paste0("/", utils::URLencode("x<script>", reserved = TRUE), "/'\\"&"), function(req) "x", summary = "odd")
dr_post(app, "/typed", function(body) "x", summary = "typed",
  body = dr_schema(dr_object("<b>" = dr_chr(description = evil))))
dr_serve(app, port = 0)
"""

# Swagger UI puts a link into the button that opens an operation.
KNOWN = {"nested-interactive"}
AXE = pathlib.Path("web/node_modules/axe-core/axe.min.js")


def opened(tab, url):
    """The page of documentation in this tab, when it is all there, and the addresses that it has asked for."""
    asked = []
    tab.page.on("request", lambda request: asked.append(request.url))
    tab.page.goto(f"{url}/__docs__/")
    expect(tab.page.locator(".opblock").first).to_be_visible()
    return tab.page, asked


def operation(page, summary):
    """The part of the page about an operation, opened."""
    block = page.locator(".opblock", has=page.get_by_text(summary, exact=True))
    block.locator(".opblock-summary-control").click()
    expect(block.locator(".opblock-body")).to_be_visible()
    return block


def test_an_endpoint_is_tried(browser, picture):
    with Server("docs", APP) as server, tabs(browser, server.url) as (tab,):
        page, asked = opened(tab, server.url)
        expect(page).to_have_title("Orders")
        expect(page.locator(".info strong")).to_have_text("bought")
        order = operation(page, "One order")
        order.get_by_role("button", name="Try it out").click()
        order.get_by_placeholder("id").fill("7")
        order.get_by_role("button", name="Execute").click()
        answer = order.locator(".live-responses-table .response")
        expect(answer.locator(".response-col_status")).to_contain_text("200")
        body = answer.locator(".response-col_description .microlight").first
        expect(body).to_contain_text("total")
        assert json.loads(body.inner_text()) == {"id": 7, "total": 12.5}
        made = operation(page, "Order something")
        made.get_by_role("button", name="Try it out").click()
        made.get_by_role("button", name="Execute").click()
        answer = made.locator(".live-responses-table .response")
        expect(answer.locator(".response-col_status")).to_contain_text("201")
        expect(answer).to_contain_text('"made": "hat"')
        assert f"{server.url}/orders/7" in asked, asked
        elsewhere = [url for url in asked if not url.startswith((server.url + "/", "data:", "blob:"))]
        assert not elsewhere, elsewhere


def test_who_asks_is_said_once(browser, picture):
    with Server("docs", APP) as server, tabs(browser, server.url) as (tab,):
        page, _ = opened(tab, server.url)
        page.locator(".scheme-container").get_by_role("button", name="Authorize").click()
        page.locator("input[aria-label=auth-bearer-value]").fill("0123456789abcdef0123456789abcdef")
        page.locator(".modal-ux").get_by_role("button", name="Apply credentials").click()
        page.locator(".modal-ux").get_by_role("button", name="Close").last.click()
        secret = operation(page, "A secret")
        secret.get_by_role("button", name="Try it out").click()
        secret.get_by_role("button", name="Execute").click()
        expect(secret.locator(".live-responses-table .response")).to_contain_text('"user": "ada"')


def test_markup_stays_text(browser, picture):
    with Server("docs", HOSTILE) as server, tabs(browser, server.url) as (tab,):
        page, asked = opened(tab, server.url)
        for summary in ("odd", "typed"):
            operation(page, summary)
        block = page.locator("[id$=-get_plain]")
        block.locator(".opblock-summary-control").click()
        expect(block.locator(".opblock-description")).to_contain_text('<img src=//other.example/x onerror="window.hit=1">')
        expect(page.locator(".info .description")).to_contain_text("<script>window.hit=1</script>")
        expect(page.locator(".info .description code")).to_have_text("<b>code</b>")
        # a link that would run is none
        link = page.locator(".info .description").get_by_text("a link")
        expect(link).to_be_visible()
        assert page.evaluate("window.hit") is None
        assert page.locator("#api img, #api script, #api a[href^='javascript:']").count() == 0
        assert all(url.startswith((server.url + "/", "data:")) for url in asked), asked


def test_the_address_for_whoever_runs_the_server_is_for_reading(browser, picture):
    with Server("docs", APP) as server, tabs(browser, server.url) as (tab,):
        (admin,) = server.logged(r"admin=(http://[^,)]+)")
        page, asked = opened(tab, admin)
        order = operation(page, "One order")
        expect(order).to_contain_text("Parameters")
        expect(page.get_by_role("button", name="Try it out")).to_have_count(0)
        assert all(url.startswith(admin + "/") for url in asked), asked


def test_people_with_other_eyes_and_hands_can_use_it(browser, picture):
    with Server("docs", APP) as server, tabs(browser, server.url) as (tab,):
        for scheme in ("light", "dark"):
            tab.page.emulate_media(color_scheme=scheme)
            page, _ = opened(tab, server.url)
            for summary in ("One order", "Order something", "A secret"):
                operation(page, summary)
            expect(page.locator(".microlight span").first).to_be_visible()
            found = page.evaluate(AXE.read_text(encoding="utf-8") + "; axe.run()")["violations"]
            serious = {one["id"]: one["nodes"][0]["html"] for one in found if one["impact"] in ("serious", "critical")}
            unknown = {id: html for id, html in serious.items() if id not in KNOWN}
            assert not unknown, f"{scheme}: {unknown}"
        # with keys alone
        page.locator(".opblock-summary-control").first.focus()
        page.keyboard.press("Enter")
        expect(page.locator(".opblock").first).not_to_have_class(re.compile("is-open"))
