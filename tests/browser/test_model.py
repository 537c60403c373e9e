"""The example `chat`: the page of a language model, which writes token by token."""

import re

from playwright.sync_api import expect

from server import Server
from tabs import tabs

ANSWER = re.compile(r"^[A-Z][a-z']*[ .,].*[.,A-Za-z]$")

# Notes what the answers look like after each change, from the first token to the last.
NOTE_CHANGES = """() => {
  window.changes = [];
  const said = document.getElementById("said");
  const note = () => window.changes.push(said.lastChild.textContent);
  new MutationObserver(note).observe(said, { childList: true, characterData: true, subtree: true });
}"""


def test_an_answer_is_written(browser, picture):
    with Server("chat") as server, tabs(browser, server.url) as (tab,):
        page = tab.page
        asks = page.get_by_role("button", name="Ask")
        answers = page.locator("li.assistant")
        page.evaluate(NOTE_CHANGES)
        asks.click()
        expect(page.locator("li.user")).to_have_text(["Tell me of the river"])
        expect(answers).to_have_text([ANSWER])
        expect(asks).to_be_enabled()
        last = answers.inner_text()
        changes = page.evaluate("window.changes")
        parts = [text for text in changes if text and last.startswith(text)]
        assert len(parts) > 5 and parts == sorted(parts, key=len), f"not written token by token: {changes}"
        page.get_by_label("Your question").fill("And who lives in the village?")
        asks.click()
        expect(answers).to_have_text([last, ANSWER])
        expect(asks).to_be_enabled()
        expect(page.locator(".failed")).to_have_count(0)
        picture(tab, "model")
