"""Apps of Shiny, as their visitors see them: each has a process, and a page whose process is gone comes back."""

import os
import pathlib
import re
import signal
import tempfile

from playwright.sync_api import expect

from server import Server
from skipped import Skipped
from tabs import tabs
from wait import within

MEGABYTES = 50

SCRIPT = """
if (!requireNamespace("shiny", quietly = TRUE)) quit(status = 3)
library(drover)
library(shiny)
options(shiny.maxRequestSize = 100 * 1024^2)
page <- fluidPage(
  tags$head(tags$link(rel = "icon", href = "data:,")),
  textInput("name", "Name", "Ada"), textOutput("greeting"), textOutput("pid"),
  numericInput("n", "Points", 10), plotOutput("plot", height = 150),
  fileInput("file", "File"), textOutput("size"), downloadLink("data", "Download")
)
app <- shinyApp(page, function(input, output, session) {
  session$allowReconnect(TRUE)
  output$greeting <- renderText(paste0("Hello, ", input$name, "!"))
  output$pid <- renderText(Sys.getpid())
  output$plot <- renderPlot(plot(seq_len(input$n)))
  output$size <- renderText(if (is.null(input$file)) "none" else paste(input$file$size, "bytes"))
  output$data <- downloadHandler("data.bin", function(file) writeBin(raw(%d), file))
})
dr_serve(app, port = 0, workers = c(2, 3), pool = dr_pool(max_workers = 20))
""" % (MEGABYTES * 1024 * 1024)


def shiny_server():
    try:
        return Server("shiny", SCRIPT)
    except AssertionError as error:
        raise Skipped("shiny is not installed") from error


def process_of(tab):
    """The process that computes for a page."""
    expect(tab.page.locator("#pid")).to_have_text(re.compile(r"^\d+$"))
    return int(tab.page.locator("#pid").inner_text())


def name(tab, text):
    """Types a name, and waits for what R makes of it."""
    tab.page.get_by_label("Name").fill(text)
    expect(tab.page.locator("#greeting")).to_have_text(f"Hello, {text}!")


def picture_of(tab):
    return tab.page.locator("#plot img").get_attribute("src")


def comes_back(tab, process, text):
    """The page is grey for a moment, has another process then, and what was typed."""
    within(lambda: tab.page.locator("#pid").inner_text() not in ("", str(process)), "the page has another process")
    expect(tab.page.locator("#shiny-disconnected-overlay")).to_have_count(0)
    expect(tab.page.locator("#greeting")).to_have_text(f"Hello, {text}!")


def test_each_tab_has_a_process_and_one_that_is_killed_is_missed_by_its_own(browser, picture):
    with shiny_server() as server, tabs(browser, server.url, 2) as (one, other):
        name(one, "Grace")
        name(other, "Ida")
        processes = [process_of(one), process_of(other)]
        assert processes[0] != processes[1], "two visitors have one process"
        before = picture_of(one)
        one.page.get_by_label("Points").fill("50")
        within(lambda: picture_of(one) != before, "the plot follows its input")
        os.kill(processes[0], signal.SIGKILL)
        comes_back(one, processes[0], "Grace")
        name(one, "Grace Hopper")
        assert process_of(other) == processes[1], "the other page has lost its process, too"
        name(other, "Ida Rhodes")


def test_large_files_go_up_and_down(browser, picture):
    with shiny_server() as server, tabs(browser, server.url) as (tab,), tempfile.TemporaryDirectory() as folder:
        name(tab, "Ada Lovelace")
        file = pathlib.Path(folder, "large.bin")
        with open(file, "wb") as out:
            out.truncate(MEGABYTES * 1024 * 1024)
        tab.page.set_input_files("#file", file)
        expect(tab.page.locator("#size")).to_have_text(f"{MEGABYTES * 1024 * 1024} bytes")
        with tab.page.expect_download() as download:
            tab.page.get_by_role("link", name="Download").click()
        assert pathlib.Path(download.value.path()).stat().st_size == MEGABYTES * 1024 * 1024


def test_pages_go_on_after_a_reload(browser, picture):
    with shiny_server() as server, tabs(browser, server.url, 3) as opened:
        for i, tab in enumerate(opened):
            name(tab, f"visitor {i}")
        processes = [process_of(tab) for tab in opened]
        server.reload()
        for i, tab in enumerate(opened):
            name(tab, f"visitor {i} again")
            assert process_of(tab) == processes[i], "another process computes for it"
            with tab.page.expect_download() as download:
                tab.page.get_by_role("link", name="Download").click()
            assert pathlib.Path(download.value.path()).stat().st_size == MEGABYTES * 1024 * 1024
        # a page that is loaded again has the new app
        opened[0].page.reload()
        name(opened[0], "loaded again")
        assert process_of(opened[0]) not in processes, "a process of the old app"
