"""A real browser, everything that it complains of, and what axe finds on a page."""

from __future__ import annotations

import json
import shutil
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest
from fuzzing import share
from patience import patience

if TYPE_CHECKING:
    from collections.abc import Iterable

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NEEDS_BROWSER = pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed")
SCHEMES = ("light", "dark")
WIDTHS = (320, 800, 1600)
# What a page says when it cannot be shown is an answer of the server, which browsers name on their console.
EXPECTED = ("404 (Not Found)",)


def launched(playwright: Any) -> Any:
    """The browser that is installed."""
    return playwright.chromium.launch(
        executable_path=BROWSER, args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
    )


class Tab:
    """A page in a context of its own, and everything that the browser complained of."""

    def __init__(self, browser: Any) -> None:
        self.problems: list[str] = []
        self.context = browser.new_context(bypass_csp=False, reduced_motion="reduce")
        self.page = self.context.new_page()
        self.page.set_default_timeout(patience(10) * 1000)
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.problems.append("a dialog"), dialog.dismiss()))
        self.devtools = self.context.new_cdp_session(self.page)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning") and not message.text.endswith(EXPECTED):
            self.problems.append(message.text)

    def evaluated(self, text: str) -> Any:
        """What a script gives, run by the browser itself, past the page's own policy of scripts, which stays."""
        told = self.devtools.send("Runtime.evaluate", {
            "expression": text, "awaitPromise": True, "returnByValue": True, "allowUnsafeEvalBlockedByCSP": True,
        })  # fmt: skip
        return told["result"].get("value")

    def found(self, name: str, widths: Iterable[int] = WIDTHS) -> dict[str, Any]:
        """What axe finds on the page as it is, in one scheme, another one for another page (in both in a thorough run),
        and at which widths it is wider than the window."""
        found: dict[str, Any] = {}
        if not self.evaluated("window.axe !== undefined"):
            self.evaluated(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
        self.evaluated("for (const each of document.querySelectorAll('details')) each.open = true")
        for scheme in share(SCHEMES, 2, name):
            self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            told = json.loads(self.evaluated(
                "axe.run().then((found) => JSON.stringify(found.violations.map((each) => "
                "[each.id, each.nodes.map((node) => node.html.slice(0, 200))])))"
            ))  # fmt: skip
            if told:
                found[f"{name} {scheme}"] = told
        for width in widths:
            self.page.set_viewport_size({"width": width, "height": 700})
            if self.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                found[f"{name} {width}"] = "is wider than the window"
        return found
