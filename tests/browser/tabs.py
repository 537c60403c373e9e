"""Tabs of the browser in which nothing may go wrong unseen. Not for what is done in them: test_*.py."""

from contextlib import contextmanager

from wait import patience

# As wide as the pictures in docs/ are.
VIEWPORT = {"width": 800, "height": 500}


class Tab:
    """A page in a context of its own, as another person's browser: it shares no cookies with other tabs."""

    def __init__(self, browser, path):
        # certificates of tests are nobody's
        self.context = browser.new_context(viewport=VIEWPORT, locale="en-GB", ignore_https_errors=True)
        self.page = self.context.new_page()
        self.page.set_default_timeout(patience() * 1000)
        self.errors = []
        self.sockets = []
        self.streams = []
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.errors.append(f"an error in the page: {error}"))
        self.page.on("websocket", lambda socket: self.sockets.append(socket))
        self.page.on("request", self._on_request)
        self.page.on("dialog", self._on_dialog)
        self.page.goto(path)

    def _on_console(self, message):
        if message.type in ("error", "warning"):
            self.errors.append(f"{message.type} in the console: {message.text} {message.location.get('url', '')}")

    def _on_request(self, request):
        if request.resource_type == "eventsource":
            self.streams.append(request)

    def _on_dialog(self, dialog):
        self.errors.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def close(self):
        self.context.close()


@contextmanager
def tabs(browser, url, count=1):
    """So many tabs with the page at `url`; at the end none of them may have had an error."""
    opened = []
    try:
        for _ in range(count):
            opened.append(Tab(browser, url))
        yield opened
        errors = [error for tab in opened for error in tab.errors]
        assert not errors, "\n".join(errors)
    finally:
        for tab in opened:
            tab.close()
