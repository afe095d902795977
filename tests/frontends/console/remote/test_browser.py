"""Answers from elsewhere in a real browser: signed in by a code, then by a passkey that the browser makes, with the
page reached as a proxy on this machine hands it on."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest
from browsers import NEEDS_BROWSER, Tab, launched
from consoles import Running
from patience import patience

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = NEEDS_BROWSER


class Phone(Tab):
    """A browser that makes passkeys, on the page for people elsewhere."""

    def __init__(self, running: Running, browser: Any, origin: str) -> None:
        super().__init__(browser)
        self.running, self.origin = running, origin
        self.devtools.send("WebAuthn.enable")
        self.devtools.send("WebAuthn.addVirtualAuthenticator", {"options": {
            "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
            "isUserVerified": True, "automaticPresenceSimulation": True,
        }})  # fmt: skip

    def asks(self, *words: str) -> Any:
        """A command that waits for an answer, when its question stands on the page."""
        waits = self.running.gateway("exec", "--", *words)
        self.page.locator("[data-question]").get_by_text(" ".join(words)).first.wait_for()
        return waits


@pytest.fixture(scope="module")
def phone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Phone]:
    from playwright.sync_api import sync_playwright

    top: Path = tmp_path_factory.mktemp("afar")
    (top / "home").mkdir(mode=0o700)
    (top / "project" / ".git").mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    origin = f"http://localhost:{port}"
    policy = top / "home" / ".config" / "gateway" / "policy.yaml"
    policy.parent.mkdir(parents=True)
    setting = f"{{origin: '{origin}', port: {port}, notify: [{{kind: push}}]}}"
    policy.write_text(f"version: 1\nextends: [daily]\nsettings:\n  contained: 'off'\n  remote: {setting}\n")
    running = Running(top / "home", top / "project", terminal=True)
    try:
        with sync_playwright() as playwright:
            browser = launched(playwright)
            yield Phone(running, browser, origin)
            browser.close()
    finally:
        running.close()


def test_a_person_signs_in_adds_a_passkey_and_answers_with_it(phone: Phone):
    page = phone.page
    page.goto(f"{phone.origin}/")
    page.get_by_role("heading", name="Sign in").wait_for()
    found = phone.found("sign in")
    page.get_by_label("Type").fill(phone.running.types("code ann", r"within ten minutes, at \S+ (\S+)\n"))
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_text("Nothing waits for an answer.").wait_for()
    page.get_by_role("button", name="Add a passkey").click()
    page.get_by_text("From now on this passkey opens the page").wait_for()
    waits = phone.asks("touch", "afar")
    found |= phone.found("a question")
    page.wait_for_timeout(700)  # a question is looked at for a moment before it can be answered
    page.get_by_role("button", name="Allow once").click()
    assert waits.communicate(timeout=patience(5))[0] == ""
    assert (phone.running.project / "afar").exists()
    assert "ann, from elsewhere" in phone.running.run("audit", "grep", "--json", "touch afar")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign in with a passkey").click()
    page.get_by_text("Nothing waits for an answer.").wait_for()
    assert (found, phone.problems) == ({}, [])


def test_a_passkey_that_is_not_used_answers_nothing_and_no_needs_none(phone: Phone):
    waits = phone.asks("touch", "refused")
    answers = phone.page.locator("[data-question] .answers")
    phone.devtools.send("WebAuthn.disable")  # the person turns the device away
    phone.page.evaluate(
        "() => { navigator.credentials.get = () => Promise.reject(new DOMException('no', 'NotAllowedError')); }"
    )
    phone.page.wait_for_timeout(700)
    answers.get_by_role("button", name="Allow once").click()
    answers.get_by_text("The passkey was not used.").wait_for()
    answers.get_by_label("With a refusal, tell the model").fill("not from the train")
    answers.get_by_role("button", name="Refuse").click()
    assert "not from the train" in waits.communicate(timeout=patience(5))[0]
    assert not (phone.running.project / "refused").exists()
    assert phone.problems == []
