"""Tools of tasks, teams, later calls, questions, plans and the session: each call through its whole life."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.approval.person import Asked, Reply
from gateway.core.cancel import Cancel
from gateway.core.errors import GatewayError
from gateway.handlers.answers import checked_schema
from gateway.model.call import RawCall
from gateway.tasks.mail import Mail
from gateway.tasks.tasks import Tasks


class Desk:
    """A session in a project, and who sits before it."""

    def __init__(self, ground: Any) -> None:
        self.ground = ground
        self.sessions: list[Any] = []
        self.open()

    def open(self, policy: dict[str, Any] | None = None, **how: Any) -> None:
        self.ground.says({"allow": ["SendMessage", "CronCreate"], **(policy or {})})
        self.gateway = self.ground.open(**how)
        self.session = self.gateway.session()
        self.sessions.append(self.session)

    def __call__(self, tool: str, **fields: Any) -> Any:
        return self.gateway.call(RawCall(tool, fields), session=self.session)

    def said(self, tool: str, **fields: Any) -> str:
        return str(self(tool, **fields).text)

    def answers(self, *replies: Reply | None) -> list[Any]:
        """The person gives these one after another; what they were asked is in the list."""
        left, asked = list(replies), []

        def answer(inquiries: Any) -> Any:
            asked.extend(inquiries)
            return [left.pop(0) for _ in inquiries]

        self.session.person = Asked(answer)
        return asked

    @property
    def folder(self) -> str:
        from gateway.config.layers import local_folder

        return local_folder(self.gateway.places, str(self.ground.project))


@pytest.fixture
def desk(ground):
    made = Desk(ground)
    yield made
    for session in made.sessions:
        session.close()


# ------------------------------------------------------------------------------------------------------------- tasks


def test_tasks_are_made_begun_and_completed_in_their_order(desk: Desk) -> None:
    desk("TaskCreate", subject="Write it")
    desk("TaskCreate", subject="Test it", priority="high", addBlockedBy=["#1"])
    assert desk.said("TaskUpdate", taskId="2", status="in_progress") == (
        "Task 2 waits for 1 (pending). Complete these first."
    )
    assert desk.said("TaskList") == "[ ] 1. Write it\n[ ] 2. Test it [high] [waits for 1]"
    desk("TaskUpdate", taskId="1", status="in_progress")
    assert desk.said("TaskUpdate", taskId="1", status="completed", output="In a.py.") == (
        "Task 1 is completed: Write it\nNothing blocks 2 any more."
    )
    assert desk.said("TaskGet", taskId="1") == (
        "[x] 1. Write it (main)\nTasks that wait for it: 2.\nWhat came of it: In a.py."
    )
    assert desk.said("TaskStop", task_id="2") == "Task 2 is stopped, and counts as failed: Test it"
    assert [task.status for task in Tasks(desk.folder).all()] == ["failed", "completed"]


def test_tasks_outlive_the_session_and_are_each_projects_own(desk: Desk) -> None:
    desk("TaskCreate", subject="Write it")
    desk.open()
    assert desk.said("TaskList") == "[ ] 1. Write it"
    assert desk.said("TaskList", status="completed") == "There are no tasks."


def test_an_update_must_say_something(desk: Desk) -> None:
    desk("TaskCreate", subject="x")
    assert "Nothing of the task is to change." in desk.said("TaskUpdate", taskId="1")
    assert "There is no task 7." in desk.said("TaskGet", taskId="7")


def test_policy_may_hold_each_owner_to_one_task(desk: Desk) -> None:
    desk.open({"settings": {"tasks": {"one_in_progress": True}}})
    for number in "12":
        desk("TaskCreate", subject=f"task {number}")
    desk("TaskUpdate", taskId="1", status="in_progress")
    assert desk.said("TaskUpdate", taskId="2", status="in_progress").startswith("Main works on task 1 already")


TODOS = [
    {"content": "Look", "status": "completed", "activeForm": "Looking"},
    {"content": "Do", "status": "in_progress", "activeForm": "Doing"},
]


@pytest.mark.parametrize(("keeps", "kept"), [(False, 0), (True, 2)])
def test_todos_outlive_the_session_where_policy_says_so(desk: Desk, keeps: bool, kept: int) -> None:
    desk.open({"settings": {"tasks": {"keep_todos": keeps}}})
    assert desk.said("TodoWrite", todos=TODOS) == "[x] Look\n[>] Doing"
    assert len(desk("TodoWrite", todos=TODOS).output.data["before"]) == 2
    desk.open({"settings": {"tasks": {"keep_todos": keeps}}})
    assert len(desk("TodoWrite", todos=[]).output.data["before"]) == kept


def test_at_most_one_todo_is_in_progress(desk: Desk) -> None:
    done = desk("TodoWrite", todos=[TODOS[1], TODOS[1]])
    assert (done.output.is_error, desk.session.todos) == (True, ())


# ------------------------------------------------------------------------------------------------------------- teams


def test_a_team_is_made_and_its_members_are_sent_messages(desk: Desk) -> None:
    made = desk("TeamCreate", team_name="t", members=[{"name": "anna"}, {"name": "rex", "role": "reviewer"}])
    assert made.text == "Team t is there: main (coordinator), anna (worker), rex (reviewer)."
    assert desk.said("SendMessage", recipient="*", message="Begin.") == "Sent to anna, rex."
    with Mail(desk.folder).mailbox("t", "anna") as box:
        assert [(each.sender, each.text) for each in box.receive()] == [("main", "Begin.")]
    assert "2 unread messages" in desk.said("TeamDelete", team_name="t")
    assert (
        desk.said("TeamDelete", team_name="t", discard_unread=True) == "Team t is no more. 2 unread messages are gone."
    )


def test_nobody_speaks_for_another_one(desk: Desk) -> None:
    desk("TeamCreate", team_name="t", members=[{"name": "anna"}])
    desk.session.member = "zoe"
    assert "You are not in team `t` (you are `zoe`)." in desk.said(
        "SendMessage", recipient="anna", message="x", team_name="t"
    )
    assert "You are in 0 teams" in desk.said("SendMessage", recipient="anna", message="x")
    assert "You are not in team `t`" in desk.said("TeamDelete", team_name="t")


def test_a_team_has_one_coordinator(desk: Desk) -> None:
    two = [{"name": each, "role": "coordinator"} for each in ("anna", "ben")]
    assert "exactly one coordinator" in desk.said("TeamCreate", team_name="t", members=two)


def test_the_record_keeps_no_words_of_a_message(desk: Desk) -> None:
    desk("TeamCreate", team_name="t", members=[{"name": "anna"}])
    desk("SendMessage", recipient="anna", message="something between us")
    assert "something between us" not in json.dumps(desk.ground.records())


# --------------------------------------------------------------------------------------------------------- questions

QUESTION = {
    "question": "Which colour?", "header": "Colour",
    "options": [{"label": "red", "description": "warm"}, {"label": "blue", "description": "cold"}],
}  # fmt: skip

REPLIES = {
    "one of the options": (Reply(("red",)), "Which colour? → red"),
    "something else": (Reply(other="green"), "Which colour? → other: green"),
    "nothing": (Reply(), "No answer came."),
    "two where one is asked for": (Reply(("red", "blue")), "No answer came."),
    "what is no option": (Reply(("green",)), "No answer came."),
    "silence": (None, "No answer came."),
}


@pytest.mark.parametrize(("reply", "said"), REPLIES.values(), ids=REPLIES)
def test_the_person_is_asked_and_heard(desk: Desk, reply: Any, said: str) -> None:
    asked = desk.answers(reply)
    assert desk.said("AskUserQuestion", questions=[QUESTION]).startswith(said)
    assert (asked[0].question, asked[0].header, asked[0].free) == ("Which colour?", "Colour", True)


def test_several_may_be_chosen_where_that_is_asked_for(desk: Desk) -> None:
    desk.answers(Reply(("red", "blue"), "green"))
    many = desk("AskUserQuestion", questions=[{**QUESTION, "multiSelect": True}])
    assert many.output.data == {"answers": {"Which colour?": {"chosen": ["red", "blue"], "other": "green"}}}


def test_where_nobody_is_there_the_model_is_told(desk: Desk) -> None:
    done = desk("AskUserQuestion", questions=[QUESTION])
    assert (done.output.is_error, done.text) == (
        True,
        "Nobody is there to be asked. Decide by what you know, and say what you assumed.",
    )


def test_options_and_questions_differ(desk: Desk) -> None:
    desk.answers()
    assert "must be asked once" in desk.said("AskUserQuestion", questions=[QUESTION, QUESTION])
    same = {**QUESTION, "options": [QUESTION["options"][0]] * 2}
    assert "must differ" in desk.said("AskUserQuestion", questions=[same])


# ------------------------------------------------------------------------------------------------------------- plans


def test_nothing_is_written_until_the_plan_is_accepted(desk: Desk) -> None:
    desk.open({"allow": ["Edit(./**)"]})
    asked = desk.answers(Reply(("Keep planning",)), Reply(other="Smaller, please."), None, Reply(("Accept",)))
    assert desk("Write", file_path="a", content="").ran
    desk("EnterPlanMode")
    assert not desk("Write", file_path="b", content="").ran
    assert desk.said("ExitPlanMode", plan="Do it.") == "The plan is not accepted, and you are still planning."
    assert desk.said("ExitPlanMode", plan="Do it.").endswith("The person says: Smaller, please.")
    assert desk("ExitPlanMode", plan="Do it.").output.is_error
    assert desk.session.context.mode == "plan"
    assert desk.said("ExitPlanMode", plan="Do less.") == "The plan is accepted. Do what it says."
    assert [each.body for each in asked] == ["Do it.", "Do it.", "Do it.", "Do less."]
    assert desk("Write", file_path="b", content="").ran


@pytest.mark.parametrize(("unattended", "mode"), [(None, "plan"), ("refuse", "plan"), ("accept", "default")])
def test_where_nobody_is_there_policy_accepts_the_plan_or_not(desk: Desk, unattended: Any, mode: str) -> None:
    desk.open({"settings": {"plan": {"unattended": unattended}} if unattended else {}})
    desk("EnterPlanMode", prompt="all of it")
    desk("ExitPlanMode", plan="Do it.")
    assert desk.session.context.mode == mode


def test_a_project_does_not_say_who_accepts_plans(ground) -> None:
    ground.says({"settings": {"plan": {"unattended": "accept"}}}, layer="project")
    with pytest.raises(GatewayError, match="a project must not set `plan`"):
        ground.open()


def test_a_session_that_began_with_a_plan_goes_on_as_policy_says(desk: Desk) -> None:
    desk.open({"settings": {"mode": "accept_edits"}}, mode="plan")
    desk.answers(Reply(("Accept",)))
    desk("ExitPlanMode", plan="x")
    assert desk.session.context.mode == "accept_edits"


@pytest.mark.parametrize(("before", "after"), [("read_only", "read_only"), ("default", "default")])
def test_a_plan_begun_by_the_setting_leads_back_to_where_it_began(desk: Desk, before: str, after: str) -> None:
    desk.open({"settings": {"plan": {"unattended": "accept"}}}, mode=before)
    desk("Config", key="mode", value="plan")
    assert desk.session.context.mode == "plan"
    desk("ExitPlanMode", plan="x")
    assert desk.session.context.mode == after


def test_an_agent_that_was_started_to_plan_does_not_leave_the_plan(desk: Desk) -> None:
    desk.answers(Reply(("Accept",)))
    desk.session._context = desk.session.context.replace(mode="plan", depth=1)
    assert "You were started to plan only." in desk.said("ExitPlanMode", plan="x")
    assert desk.session.context.mode == "plan"


def test_policy_bounds_the_modes_that_a_plan_may_lead_to(desk: Desk) -> None:
    desk.open({"settings": {"mode": "plan", "bounds": {"mode": ["plan", "read_only"]}}})
    desk.answers(Reply(("Accept",)))
    assert "Policy leaves open no mode" in desk.said("ExitPlanMode", plan="x")
    desk.open({"settings": {"bounds": {"mode": ["default"]}}})
    assert "Policy does not let a session plan" in desk.said("EnterPlanMode")


def test_a_plan_begins_once_and_ends_once(desk: Desk) -> None:
    assert "No plan is being made." in desk.said("ExitPlanMode", plan="x")
    desk("EnterPlanMode")
    assert "You are planning already." in desk.said("EnterPlanMode")


# ----------------------------------------------------------------------------------------------------------- session


def test_a_mode_becomes_stricter_at_once_and_looser_if_the_person_agrees(desk: Desk) -> None:
    desk("Config", key="mode", value="dont_ask")
    assert desk.session.context.mode == "dont_ask"
    assert "nobody is there to agree" in desk.said("Config", key="mode", value="bypass")
    asked = desk.answers(Reply(("No",)), Reply(("Yes",)))
    assert "the person does not agree" in desk.said("Config", key="mode", value="bypass")
    assert desk.session.context.mode == "dont_ask"
    desk("Config", key="mode", value="default")
    assert (desk.session.context.mode, asked[1].question) == (
        "default",
        "May the mode change from dont_ask to default?",
    )


NOT_CHANGED = {
    "a mode that is none": ("mode", "fast", "there is no mode `fast`"),
    "a limit": ("limits", "1", "is what policy says"),
    "a key that is none": ("mood", "x", "There is no setting `mood`. did you mean `mode`?"),
    "an allow rule": ("rules", "allow Bash(*)", "must be `deny TOOL(…)` or `ask TOOL(…)`"),
    "a rule that is none": ("rules", "deny Bash(", "The rule cannot hold"),
    "a plan's end": ("mode", "default", "A plan ends with ExitPlanMode."),
}


@pytest.mark.parametrize(("key", "value", "why"), NOT_CHANGED.values(), ids=NOT_CHANGED)
def test_what_a_session_does_not_leave_open_stays(desk: Desk, key: str, value: str, why: str) -> None:
    desk("EnterPlanMode")
    desk.answers(Reply(("Yes",)))
    before = desk.session.context
    assert why in desk.said("Config", key=key, value=value)
    assert desk.session.context == before


def test_no_agent_that_another_one_started_makes_its_mode_looser(desk: Desk) -> None:
    desk.answers(Reply(("Yes",)))
    desk.session._context = desk.session.context.replace(depth=1)
    assert "nobody is there to agree" in desk.said("Config", key="mode", value="bypass")


def test_a_session_forbids_more_than_policy(desk: Desk) -> None:
    assert desk("Read", file_path=".git/HEAD").ran
    desk("Config", key="rules", value="deny Read(.git/**)")
    assert not desk("Read", file_path=".git/HEAD").ran


def test_settings_are_shown(desk: Desk) -> None:
    shown = desk("Config").output.data["settings"]
    assert (shown["mode"], shown["cwd"], shown["limits"]) == ("default", str(desk.ground.project), None)
    assert desk.said("Config", key="mode") == 'mode: "default"'


def test_a_sleep_ends_when_it_is_cancelled(desk: Desk) -> None:
    assert desk.said("Sleep", duration="0") == "0 seconds have passed."
    cancel = Cancel()
    woken: list[Any] = []
    done = desk.gateway.call(
        RawCall("Sleep", {"duration": 3600}), session=desk.session, cancel=_cancelled_soon(cancel, woken)
    )
    cancel.close()
    assert done.output.is_error


def _cancelled_soon(cancel: Cancel, woken: list[Any]) -> Cancel:
    """Is set from another thread once somebody waits for it."""
    import threading

    waits = cancel.wait

    def wait(seconds: float) -> bool:
        woken.append(threading.Thread(target=cancel.set))
        woken[0].start()
        return waits(seconds)

    cancel.wait = wait  # type: ignore[method-assign]
    return cancel


SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "count": {"type": "integer", "minimum": 1}},
    "required": ["name", "count"],
    "additionalProperties": False,
}


def test_the_final_answer_is_held_to_the_sessions_schema_with_every_error_at_once(desk: Desk) -> None:
    desk.session.answer_schema = checked_schema(SCHEMA)
    done = desk("StructuredOutput", count=0, other=1)
    assert done.text.split("\n")[:4] == [
        "The output does not fit the schema:",
        "- $: 'name' is a required property",
        "- $: Additional properties are not allowed ('other' was unexpected)",
        "- $.count: 0 is less than the minimum of 1",
    ]
    assert desk.session.answer is None
    done = desk("StructuredOutput", name="x", count=2)
    assert (done.output.data, desk.session.answer) == ({"name": "x", "count": 2},) * 2


def test_the_schema_of_the_answer_is_what_the_model_is_shown(desk: Desk) -> None:
    def shown() -> list[Any]:
        return [each for each in desk.gateway.tools(session=desk.session) if each["name"] == "StructuredOutput"]

    assert shown() == []
    desk.session.answer_schema = checked_schema(SCHEMA)
    assert [each["input_schema"] for each in shown()] == [SCHEMA]
    assert "wants no structured output" not in desk.said("StructuredOutput", name="x", count=2)


@pytest.mark.parametrize("schema", [{"type": "array"}, {"type": "nothing"}, {}, {"type": "object", "required": 1}])
def test_a_schema_that_no_answer_can_be_held_to_is_refused(schema: Any) -> None:
    with pytest.raises(GatewayError, match="the schema of the output must be"):
        checked_schema(schema)


def test_nothing_is_fetched_for_a_schema(desk: Desk) -> None:
    desk.session.answer_schema = checked_schema({"type": "object", "$ref": "https://example.invalid/schema.json"})
    assert "cannot be used" in desk.said("StructuredOutput", a=1)


# ---------------------------------------------------------------------------------------------- later, and triggers


def test_a_call_for_later_is_kept_shown_and_removed(desk: Desk) -> None:
    made = desk("CronCreate", schedule="0 9 * * *", time_zone="UTC", command="make", name="nightly")
    job = made.output.data["job"]
    assert (job["root"], job["mode"], job["kind"]) == (str(desk.ground.project), "default", "command")
    shown = desk.said("CronList")
    assert shown.startswith(f"{job['id']}  0 9 * * * (UTC)  command: make  [nightly] next ")
    assert "is gone" in desk.said("CronDelete", id="nightly")
    assert desk.said("CronList") == "There are no scheduled calls."
    assert "There is no scheduled call `nightly`." in desk.said("CronDelete", id="nightly")


def test_a_schedule_that_is_none_is_said(desk: Desk) -> None:
    assert "A schedule must have five fields" in desk.said("CronCreate", schedule="now", command="make")


def test_putting_something_off_is_no_way_around_a_question(desk: Desk) -> None:
    desk.ground.says({"version": 1})
    desk.open({"allow": []})
    done = desk("CronCreate", schedule="0 9 * * *", command="make")
    assert (done.ran, done.verdict.decision.word) == (False, "ask")


TRIGGER = """\
version: 1
tools:
  Deploy:
    summary: Deploy.
    description: Deploys.
    input: {properties: {ref: {type: string}}, required: [ref]}
    level: network
    handler: {http: {method: POST, url: 'http://127.0.0.1:9/deploy', headers: {Authorization: '{env:DEPLOY_KEY}'}}}
    examples: [{call: {ref: main}, effects: ["connect send 127.0.0.1:9"]}]
"""


def test_a_trigger_is_judged_as_the_request_that_it_is(desk: Desk) -> None:
    desk.ground.says(TRIGGER, name="tools.yaml")
    desk.open({"deny": ["WebFetch(domain:127.0.0.1)"]})
    done = desk("RemoteTrigger", trigger_id="Deploy", payload={"ref": "main"})
    assert done.output.is_error
    assert "was refused" in done.text
    assert [each["tool"] for each in desk.ground.records() if each["kind"] == "decision"] == ["RemoteTrigger", "Deploy"]
    assert "There is no trigger `Bash`." in desk.said("RemoteTrigger", trigger_id="Bash", payload={"command": "ls"})
