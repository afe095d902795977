"""The pages in a real browser: nothing on its console, nothing that axe finds, in both schemes and from narrow to wide;
and what only a script does, done with its mouse and keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from browsers import NEEDS_BROWSER, Tab, launched
from consoles import Running, until
from patience import patience
from warmed import warm

from gateway.approval.proposals import Proposals

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = NEEDS_BROWSER

PAGES = (
    "/pending", "/live", "/live?decision=deny", "/why/1", "/changes", "/changes/1", "/interruptions", "/policy",
    "/proposals", "/coverage", "/nothing",
)  # fmt: skip


# Wider than a narrow screen, and without a place to break it at.
LONG = "anamethatgoeson" * 4


class Seen(Tab):
    """A console with a page open."""

    def __init__(self, running: Running, browser: Any) -> None:
        super().__init__(browser)
        self.running = running
        self.page.goto(f"{running.origin}/#{running.start}")
        self.listens()

    def listens(self) -> None:
        """Waits until questions and calls come to the page."""
        self.page.locator('html[data-live="yes"]').wait_for(state="attached")

    def goes(self, path: str) -> None:
        """To a page of the console, as a link leads there."""
        self.page.evaluate(
            "to => { history.pushState(null, '', to); dispatchEvent(new PopStateEvent('popstate')); }", path
        )
        self.page.locator("main:not([aria-busy])").wait_for(state="attached")
        self.page.locator("main h1").wait_for()


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """One browser for all tests here."""
    from playwright.sync_api import sync_playwright

    top: Path = tmp_path_factory.mktemp("browser")
    (top / "home").mkdir(mode=0o700)
    warm(top / "home" / ".cache" / "gateway")
    (top / "project" / ".git").mkdir(parents=True)
    policy = top / "home" / ".config" / "gateway" / "policy.yaml"
    policy.parent.mkdir(parents=True)
    policy.write_text(
        "version: 1\nextends: [daily]\nsettings: {contained: 'off'}\n"
        "rules:\n  - id: makes\n    allow: {command: 'touch made*', effect: write}\n"
        "  - id: no-prod\n    deny: {host: prod.example.com}\n    matches: [curl https://prod.example.com]\n"
        f"  - id: {LONG}\n    ask: 'Bash(touch {LONG}*)'\n"
    )
    running = Running(top / "home", top / "project")
    for words in (
        ("ls",),
        ("touch", "made"),
        ("cat", ".env"),
        ("touch", "unasked"),
        ("curl", "https://example.org/<b>"),
    ):
        running.run("exec", "--", *words)
    try:
        with sync_playwright() as playwright:
            browser = launched(playwright)
            yield Seen(running, browser)
            browser.close()
    finally:
        running.close()


def test_the_token_leaves_the_address_and_a_second_use_of_the_link_opens_nothing(seen: Seen):
    assert seen.page.url == f"{seen.running.origin}/pending"
    other = seen.context.new_page()
    other.goto(f"{seen.running.origin}/#{seen.running.start}")
    other.get_by_text("This link opens nothing.").wait_for()
    other.goto(f"{seen.running.origin}/live")
    other.get_by_text("This page has no key.").wait_for()
    other.close()
    seen.problems = [each for each in seen.problems if "401" not in each]
    seen.page.reload()
    seen.listens()
    assert seen.problems == []


def test_no_page_has_what_axe_finds_or_anything_on_the_console_in_either_scheme_at_any_width(seen: Seen):
    found: dict[str, Any] = {}
    waits = seen.running.gateway("exec", "--", "touch", f"{LONG}{LONG}")
    seen.goes("/pending")
    seen.page.locator("[data-question]").wait_for()
    for path in PAGES:
        seen.goes(path)
        found |= seen.found(path)
    waits.terminate()
    waits.communicate(timeout=patience(5))
    assert (found, seen.problems) == ({}, [])


def test_a_question_that_comes_is_shown_at_once_and_answered_by_a_click(seen: Seen):
    seen.goes("/pending")
    seen.page.get_by_text("Nothing waits for an answer.").wait_for()
    waits = seen.running.gateway("exec", "--", "touch", "clicked")
    card = seen.page.locator("[data-question]")
    card.wait_for()
    assert card.get_by_role("button").all_inner_texts() == ["Allow once", "Always allow", "Refuse"]
    seen.page.wait_for_timeout(700)  # a question is looked at for a moment before it can be answered
    card.get_by_role("button", name="Allow once").click()
    assert waits.communicate(timeout=patience(5))[0] == ""
    assert (seen.running.project / "clicked").exists()
    seen.page.get_by_text("Nothing waits for an answer.").wait_for()
    assert seen.problems == []


def test_no_script_clicks_for_a_person_and_no_click_comes_too_soon(seen: Seen):
    seen.page.clock.install()
    seen.goes("/pending")
    seen.page.clock.pause_at(seen.page.evaluate("Date.now()") + 60_000)  # however slow this machine is
    waits = seen.running.gateway("exec", "--", "touch", "scripted")
    card = seen.page.locator("[data-question]")
    card.wait_for()
    card.get_by_role("button", name="Allow once").click()
    card.get_by_text("look at it, then choose").wait_for()
    seen.page.wait_for_timeout(700)  # the server has a clock of its own
    seen.page.clock.run_for(700)
    seen.page.evaluate("document.querySelector('[data-answer=once]').click()")
    card.get_by_label("With a refusal, tell the model").fill("write it elsewhere")
    card.get_by_role("button", name="Refuse").click()
    assert "write it elsewhere" in waits.communicate(timeout=patience(5))[0]
    assert not (seen.running.project / "scripted").exists()
    seen.page.clock.resume()


def test_calls_stand_on_the_page_as_they_are_decided_and_lead_to_why(seen: Seen):
    seen.goes("/live")
    seen.page.mouse.move(0, 0)
    seen.running.run("exec", "--", "cat", "<img src=x onerror=alert(1)>.env")
    row = seen.page.locator("#calls li").first
    row.get_by_text("<img src=x onerror=alert(1)>.env").wait_for()
    row.locator("a").click()
    seen.page.get_by_role("heading", name="What was decided").wait_for()
    assert "/why/" in seen.page.url
    seen.page.go_back()
    seen.page.get_by_role("heading", name="Live").wait_for()
    assert seen.problems == []


def test_the_list_stands_still_for_whoever_stands_on_a_row_and_goes_on_when_they_leave(seen: Seen):
    seen.goes("/live")
    first = seen.page.locator("#calls li").first
    seen.page.mouse.move(0, 0)
    first.locator("a").focus()
    before = first.get_attribute("data-call")
    seen.running.run("exec", "--", "cat", "still.env")
    seen.page.get_by_text("new: they stand here when you leave the list").wait_for()
    assert first.get_attribute("data-call") == before
    seen.page.locator("main").focus()
    first.get_by_text("still.env").wait_for()
    assert (seen.page.locator("#news").inner_text(), seen.problems) == ("", [])


def test_pages_are_reached_by_keys(seen: Seen):
    seen.goes("/live")
    seen.page.locator("main").focus()
    seen.page.keyboard.press("j")
    assert seen.page.evaluate("document.activeElement.closest('#calls li') !== null")
    seen.page.keyboard.press("g")
    seen.page.keyboard.press("i")
    seen.page.get_by_role("heading", name="Interruptions").wait_for()
    assert seen.page.evaluate("document.activeElement.id") == "main"


def test_a_call_is_taken_back_after_a_second_click(seen: Seen):
    seen.goes("/changes/1")
    assert (seen.running.project / "made").exists()
    seen.page.wait_for_timeout(700)
    seen.page.get_by_role("button", name="Take it back").click()
    seen.page.get_by_role("button", name="Really take it back").click()
    seen.page.get_by_text("1 removed").wait_for()
    assert not (seen.running.project / "made").exists()


def test_a_call_is_tried_on_paper_and_a_policy_is_checked_while_it_is_typed(seen: Seen):
    seen.goes("/policy")
    seen.page.get_by_label("Call").fill("cat .env")
    seen.page.get_by_role("button", name="Judge it").click()
    seen.page.locator("#tried").get_by_text("secret-files").first.wait_for()
    seen.page.get_by_text("Under a policy of its own").click()
    seen.page.get_by_label("Policy", exact=True).press_sequentially("rules: [")
    seen.page.locator("#lint").get_by_text("error").first.wait_for()
    assert seen.problems == []


def test_the_browser_itself_keeps_scripts_and_frames_of_others_out(seen: Seen):
    """What the page's policy forbids, tried from inside of it and from another page."""
    tried = seen.page.evaluate(
        """async () => {
            const found = {};
            try { document.body.innerHTML = "<b>x</b>"; found.markup = "set"; } catch { found.markup = "refused"; }
            const script = document.createElement("script");
            try { script.textContent = "window.ran = 1"; document.head.append(script); } catch {}
            found.script = window.ran ? "ran" : "refused";
            found.elsewhere = await fetch("http://127.0.0.1:1/").then(() => "asked", () => "refused");
            return found;
        }"""
    )
    assert tried == {"markup": "refused", "script": "refused", "elsewhere": "refused"}
    framing = seen.context.new_page()
    framing.set_content(f'<iframe src="{seen.running.origin}/pending"></iframe>')
    framed = until(lambda: [each for each in framing.frames if each != framing.main_frame])
    assert "gateway" not in (framed[0].content() if framed[0].url.startswith("http") else "")
    framing.close()
    seen.problems.clear()


def test_a_newcomer_does_four_things_by_what_stands_on_the_page(seen: Seen):
    """By names and roles that are seen alone: answers, finds out why, ends the most frequent question, takes back."""
    page = seen.page

    def opens(name: str) -> None:
        page.get_by_role("navigation", name="pages").get_by_role("link", name=name).click()
        page.get_by_role("heading", level=1, name=name).wait_for()

    seen.goes("/live")
    waits = seen.running.gateway("exec", "--", "touch", "by-a-newcomer")
    opens("Pending")
    asked = page.get_by_role("article").filter(has_text="by-a-newcomer")
    asked.wait_for()
    page.wait_for_timeout(700)
    asked.get_by_role("button", name="Allow once").click()
    assert waits.communicate(timeout=patience(5))[0] == ""

    opens("Live")
    page.get_by_role("link").filter(has_text="deny").filter(has_text="cat .env").first.click()
    page.get_by_role("heading", name="What was decided").wait_for()
    assert page.get_by_text("secret-files").first.is_visible()

    opens("Interruptions")
    most = page.get_by_role("row").filter(has=page.get_by_role("button", name="What would it end?")).first
    most.get_by_role("button", name="What would it end?").click()
    assert (
        "questions of the last 14 days would not have been asked" in most.get_by_text("questions of the").inner_text()
    )
    page.wait_for_timeout(700)
    most.get_by_role("button", name="Save it").click()
    most.get_by_role("button", name="Really save it").click()
    most.get_by_text("gateway grants revoke").wait_for()
    approved = next(seen.running.home.rglob("approved.yaml"))
    assert "saved on the console's page" in approved.read_text()
    assert "always-" in seen.running.run("grants", "list")
    approved.unlink()

    opens("Changes")
    page.get_by_role("row").filter(has_text="by-a-newcomer").get_by_role("link").first.click()
    page.wait_for_timeout(700)
    page.get_by_role("button", name="Take it back").click()
    page.get_by_role("button", name="Really take it back").click()
    page.get_by_text("1 removed").wait_for()
    assert not (seen.running.project / "by-a-newcomer").exists()
    assert seen.problems == []


def test_ones_own_policy_is_saved_when_it_was_seen_what_it_changes(seen: Seen):
    page, policy = seen.page, seen.running.home / ".config" / "gateway" / "policy.yaml"
    before = policy.read_text()
    seen.goes("/policy")
    own = page.get_by_role("textbox", name="Your policy")
    assert own.input_value() == before
    look = page.get_by_role("button", name="See what changes")
    own.fill(before + "  - {id: broken, deny: {nothing: x}}\n")
    look.click()
    page.get_by_text("It is not saved while it is broken.").wait_for()
    own.fill(before + "  - id: no-ls\n    deny: Bash(ls *)\n")
    look.click()
    page.get_by_text("that ran would be refused").wait_for()
    save = page.get_by_role("button", name="Save it")
    page.wait_for_timeout(700)
    policy.write_text(before + "# changed meanwhile\n")
    save.click()
    page.get_by_role("button", name="Really save it").click()
    page.get_by_text("says something else by now").wait_for()
    policy.write_text(before)
    look.click()
    page.get_by_text("that ran would be refused").wait_for()
    page.wait_for_timeout(700)
    save.click()
    page.get_by_role("button", name="Really save it").click()
    page.get_by_text("What it said before lies in").wait_for()
    assert "no-ls" in policy.read_text()
    assert "no-ls" in seen.running.run("exec", "--", "ls")
    policy.write_text(before)
    assert seen.problems == [] or all("409" in each for each in seen.problems)
    seen.problems.clear()


def test_a_proposal_is_looked_at_accepted_or_rejected_by_a_second_click(seen: Seen):
    kept = Proposals(str(seen.running.home / ".local/state/gateway"), str(seen.running.project))
    names = {each.rule: each.id for each in kept.list()}
    yes = next(name for rule, name in names.items() if "touch unasked" in rule)
    no = next(name for rule, name in names.items() if "example.org" in rule)
    seen.goes("/proposals")
    card = seen.page.locator("main li.card").filter(has_text=yes)
    card.get_by_role("button", name="What would it open?").click()
    card.get_by_role("button", name="Accept it").wait_for()
    assert (seen.found("/proposals"), seen.problems) == ({}, [])
    seen.page.evaluate("document.querySelector('[data-save] button').click()")
    seen.page.wait_for_timeout(700)
    card.get_by_role("button", name="Accept it").click()
    card.get_by_role("button", name="Really accept it").click()
    card.get_by_text("Saved as always-").wait_for()
    other = seen.page.locator("main li.card").filter(has_text=no)
    other.get_by_role("button", name="Reject").click()
    other.get_by_role("button", name="Never propose it again").click()
    other.get_by_text("It is gone, and not proposed again.").wait_for()
    assert not {yes, no} & {each.id for each in kept.list()}
    assert seen.problems == []
