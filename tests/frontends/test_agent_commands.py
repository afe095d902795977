"""What a person can say at the prompt of `gateway agent` that is for the gateway."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from gateway.agent.budget import Budget, Purse
from gateway.agent.loop import Agent
from gateway.agent.sessions import new_path
from gateway.agent.transcript import Transcript, read
from gateway.core.cancel import Cancel
from gateway.frontends import agent_commands
from gateway.frontends.agent_commands import COMMANDS, Next, Talk, names, said
from gateway.llm.known_models import Models
from gateway.llm.model import ModelError, Reply, Request

if TYPE_CHECKING:
    from collections.abc import Iterator

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
USED = {"input_tokens": 1_000_000, "output_tokens": 100_000}


class Sayer:
    """A model that says what it is given, and keeps what it was asked."""

    name = "claude-sonnet-4-5"

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.replies: list[Any] = []

    def reply(self, request: Request, **_how: Any) -> Reply:
        self.asked.append(request)
        found = self.replies.pop(0) if self.replies else "Done."
        if isinstance(found, Exception):
            raise found
        if isinstance(found, str):
            return Reply(({"type": "text", "text": found},), "end_turn", USED)
        return Reply(({"type": "tool_use", "id": f"c{len(self.asked)}", **found},), "tool_use", USED)


class Here:
    """A conversation, and what stands on the screen."""

    def __init__(self, ground: Any, capsys: Any) -> None:
        self.ground, self._capsys = ground, capsys
        self.gateway = ground.open(mode="accept_edits")
        self.session = self.gateway.session()
        self.model = Sayer()
        models = Models(lambda: {"opus": {"name": "claude-opus-4-5"}})
        self.transcript = Transcript(new_path(self.gateway, self.session.name))
        purse = Purse(Budget(), models.price)
        agent = Agent(self.gateway, self.model, self.session, purse=purse, transcript=self.transcript)
        self.talk = Talk(
            self.gateway,
            self.session,
            agent=agent,
            purse=purse,
            transcript=self.transcript,
            models=models,
            during=lambda work: work(Cancel()),
        )

    def says(self, line: str) -> str:
        """What comes of it on the screen."""
        self.after = said(self.talk, line)
        return str(self._capsys.readouterr().out)

    def writes(self, name: str, text: str) -> None:
        """Has the model write a file."""
        self.model.replies += [{"name": "Write", "input": {"file_path": name, "content": text}}, "Written."]
        self.talk.agent.run(f"write {name}")


@pytest.fixture
def here(ground, capsys) -> Iterator[Here]:
    found = Here(ground, capsys)
    yield found
    found.session.close()
    found.transcript.close()


def test_help_lists_every_command_and_what_people_have_written(here: Here, ground) -> None:
    folder = ground.config / "commands"
    folder.mkdir(parents=True)
    (folder / "review.md").write_text("Review it.")
    shown = here.says("/help")
    assert all(f"/{each.name}" in shown and each.about in shown for each in COMMANDS)
    assert "written by people: /review" in shown


def test_no_name_stands_for_two_commands() -> None:
    assert len(names()) == sum(1 + len(each.others) for each in COMMANDS)


def test_another_model_answers_from_then_on(here: Here) -> None:
    assert here.says("/model") == "claude-sonnet-4-5\n"
    assert here.says("/model haiku").startswith("gateway: no model is called `haiku` here")
    assert here.says("/model opus") == "claude-opus-4-5 answers from now on\n"
    here.talk.agent.run("go")
    assert here.model.asked[-1].model == "claude-opus-4-5"


def test_a_model_without_a_price_is_refused_where_the_cost_is_bounded(here: Here) -> None:
    here.talk.purse.budget = Budget(cost=1.0)
    assert "the price of `new-model` is not known" in here.says("/model new-model")
    assert here.says("/model") == "claude-sonnet-4-5\n"


def test_a_mode_is_entered_where_policy_leaves_it_open_and_stands_in_the_transcript(here: Here) -> None:
    assert here.says("/mode") == "accept_edits\n"
    assert here.says("/mode none") == "gateway: there is no mode `none`\n"
    assert here.says("/mode plan") == "the mode is plan\n"
    assert read(here.transcript.path).mode == "plan"


def test_policy_bounds_the_modes(here: Here, ground) -> None:
    ground.says({"settings": {"bounds": {"mode": ["default", "plan"]}}})
    here.talk = here.talk.replace(gateway=ground.open(mode="plan"))
    here.talk.agent._gateway = here.talk.gateway
    assert "the policy leaves open" in here.says("/mode bypass")
    assert here.session.context.mode == "accept_edits"


def test_the_cost_is_told_by_model(here: Here) -> None:
    assert here.says("/cost") == "no model has answered yet\n"
    here.talk.agent.run("go")
    here.talk.agent.use_model("new-model")
    here.talk.agent.run("go")
    assert here.says("/cost").splitlines() == [
        "2 replies, 2,200.0k tokens, cost not known",
        "  claude-sonnet-4-5: $4.50",
        "       1,000,000 read",
        "         100,000 said",
        "  new-model: cost not known",
        "       1,000,000 read",
        "         100,000 said",
        "  the setting `models` says prices that are not known: price: {read: CENTS, said: CENTS}",
    ]


def test_a_conversation_is_summed_up_when_a_person_wants_it(here: Here) -> None:
    assert here.says("/compact") == "gateway: nothing was said yet\n"
    here.talk.agent.run("the first task")
    here.model.replies = [ModelError("no")]
    assert here.says("/compact") == "gateway: no\n"
    assert len(here.talk.agent.messages) == 2
    here.model.replies = ["All that was."]
    assert here.says("/compact") == "the conversation is summed up; the transcript keeps all of it\n"
    here.talk.agent.run("the second task")
    (first,) = here.model.asked[-1].messages
    texts = [block["text"] for block in first["content"]]
    assert "All that was." in texts[0]
    assert texts[-1] == "the second task"
    assert list(read(here.transcript.path).messages) == list(here.talk.agent.messages)


def test_changes_of_the_session_are_shown_and_taken_back(here: Here, ground, monkeypatch) -> None:
    assert here.says("/changes") == "this session has changed nothing that is kept\n"
    assert here.says("/undo") == "gateway: this session has changed nothing that could be taken back\n"
    with ground.open(mode="accept_edits").session() as other:
        from gateway.model.call import RawCall

        here.gateway.call(RawCall("Write", {"file_path": "other.txt", "content": "x"}), session=other)
    here.writes("mine.txt", "hello\n")
    shown = here.says("/changes")
    assert "mine.txt" in shown
    assert "other.txt" not in shown
    number = shown.split()[0]
    assert "+hello" in here.says(f"/changes {number}")
    assert "a call is meant by its number" in here.says("/changes x")
    assert "there are no changes 99" in here.says("/undo 99")
    assert "must be given by a person at a terminal" in here.says("/undo")
    monkeypatch.setattr(agent_commands, "agreed", lambda *_: False)
    assert here.says("/undo").endswith("nothing was undone\n")
    assert (ground.project / "mine.txt").exists()
    monkeypatch.setattr(agent_commands, "agreed", lambda *_: True)
    assert "removed  mine.txt" in here.says("/undo")
    assert not (ground.project / "mine.txt").exists()
    assert (ground.project / "other.txt").exists()


def test_a_picture_is_shown_with_what_is_said_next_where_policy_lets_it_be_read(here: Here, ground) -> None:
    (ground.project / "x.png").write_bytes(PIXEL)
    (ground.project / "a.txt").write_text("text")
    assert here.says("/image") == "gateway: /image needs the path of a picture\n"
    assert here.says("/image a.txt") == "gateway: a.txt is no picture\n"
    assert "was refused by rule `secret-files`" in here.says("/image ~/.ssh/x.png")
    assert here.says("/image x.png") == "the model sees it with what you say next\n"
    here.talk.agent.run("what is it?")
    assert [block["type"] for block in here.model.asked[-1].messages[0]["content"]] == ["image", "text"]


def test_a_session_is_written_as_a_page_and_nothing_is_overwritten(here: Here, ground) -> None:
    here.talk.agent.run("<b>go</b>")
    assert here.says("/export") == f"written: {here.session.name}.html\n"
    assert "&lt;b&gt;go&lt;/b&gt;" in (ground.project / f"{here.session.name}.html").read_text()
    assert "File exists" in here.says("/export")
    assert here.says("/export x.pdf") == "gateway: a session is written as .md or .html (got `pdf`)\n"
    here.talk = here.talk.replace(transcript=None)
    assert here.says("/export") == "gateway: this session keeps no transcript\n"


def test_another_session_is_gone_on_with(here: Here) -> None:
    assert here.says("/resume") == "this project has no other session\n"
    Transcript(new_path(here.gateway, "other")).close()
    assert "-other" in here.says("/resume")
    assert "no session of this project begins with `zzz`" in here.says("/resume zzz")
    assert here.after is None
    here.says("/resume other")
    assert here.after == Next(leaves=True, resumes="other")


@pytest.mark.parametrize("line", ["/quit", "/exit"])
def test_a_session_ends(here: Here, line: str) -> None:
    assert (here.says(line), here.after) == ("", Next(leaves=True))


def test_what_is_no_command_is_told_with_what_may_be_meant(here: Here) -> None:
    assert here.says("/undoo") == "gateway: there is no command `/undoo`: did you mean `undo`?; /help lists them\n"
    assert "`/\\x1b[2J`" in here.says("/\x1b[2J")


def test_a_command_that_people_have_written_is_a_task_also_one_that_no_model_may_begin(here: Here, ground) -> None:
    folder = ground.config / "commands"
    folder.mkdir(parents=True)
    (folder / "ship.md").write_text("---\ndisable-model-invocation: true\nallowed-tools: [Read]\n---\nShip $1 now.")
    here.says("/ship it")
    assert here.after is not None
    assert here.after.task.startswith("Ship it now.")
    here.model.replies = [{"name": "Write", "input": {"file_path": "x.txt", "content": "x"}}, "So not."]
    here.talk.agent.run(here.after.task, is_narrowed=True)  # it says that it only reads
    assert not (ground.project / "x.txt").exists()
    here.writes("x.txt", "x")  # and that holds for its task alone
    assert (ground.project / "x.txt").exists()
    here.model.replies = [{"name": "SlashCommand", "input": {"command": "/ship it"}}, "So not."]
    here.talk.agent.run("go")
    assert "can only be started by the person" in json.dumps(here.talk.agent.messages)
