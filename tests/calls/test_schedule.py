"""Batches and turns: what may run together does, everything else alone and in its place, and nothing of one call is
lost by another."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from patience import patience

from gateway.calls.output import Output, Progress, Text
from gateway.calls.schedule import Turn
from gateway.core.cancel import Cancel
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.sandbox.backends.spaces import Spaces

PATIENCE = patience(60)  # of tests that would wait for ever if they failed


def read(name: str) -> RawCall:
    return RawCall("Read", {"file_path": name})


def write(name: str) -> RawCall:
    return RawCall("Write", {"file_path": name, "content": ""})


class Trace:
    """Handlers that keep what began and ended, in order; readers wait for each other as a test says."""

    def __init__(self, ground: Any, together: int = 1) -> None:
        self.events: list[tuple[str, str]] = []
        self.most = 0
        self.running = 0
        self.lock = threading.Lock()
        self.barrier = threading.Barrier(together)
        ground.says({"rules": [{"id": "edits", "allow": "Edit(**)"}]})
        ground.stands_for("files.read", self.read)
        ground.stands_for("files.write", self.write)

    def read(self, call: Any, _work: Any) -> Output:
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self.barrier.wait(PATIENCE)
        with self.lock:
            self.running -= 1
        return self.note("read", call)

    def write(self, call: Any, _work: Any) -> Output:
        assert self.running == 0, "a call that changes something runs alone"
        return self.note("write", call)

    def note(self, kind: str, call: Any) -> Output:
        name = call.input["file_path"].rpartition("/")[2]
        with self.lock:
            self.events.append((kind, name))
        if name == "broken":
            raise KeyError("broken")
        return Output((Text(name),))


def texts(found: list[Any]) -> list[str]:
    return [done.text for done in found]


def test_ten_reads_run_at_the_same_time(ground) -> None:
    trace = Trace(ground, together=10)  # each waits until all ten have begun
    found = ground.open().batch([read(f"f{n}") for n in range(10)])
    assert texts(found) == [f"f{n}" for n in range(10)]
    assert trace.most == 10


def test_no_more_than_the_variable_says_run_at_a_time(ground) -> None:
    trace = Trace(ground, together=3)
    gateway = ground.open(environment={"GATEWAY_MAX_CONCURRENCY": "3", "PATH": "/usr/bin"})
    found = gateway.batch([read(f"f{n}") for n in range(9)])
    assert texts(found) == [f"f{n}" for n in range(9)]
    assert trace.most == 3


@pytest.mark.parametrize(
    ("said", "limit", "width"),
    [("", None, 10), ("4", None, 4), ("0", None, 10), ("many", None, 10), ("40", 5, 5), ("2", 5, 2)],
)
def test_how_many_run_at_a_time(ground, said: str, limit: int | None, width: int) -> None:
    ground.says({"settings": {"limits": {"concurrent_calls": limit}}} if limit else {})
    gateway = ground.open(environment={"GATEWAY_MAX_CONCURRENCY": said, "PATH": "/usr/bin"})
    assert gateway.calls.width() == width


def test_a_call_that_changes_something_waits_and_is_waited_for(ground) -> None:
    trace = Trace(ground)
    batch = [read("a"), write("b"), write("c"), read("d")]
    assert texts(ground.open().batch(batch)) == ["a", "b", "c", "d"]
    assert trace.events == [("read", "a"), ("write", "b"), ("write", "c"), ("read", "d")]


def test_one_failing_call_takes_nothing_from_the_others(ground) -> None:
    Trace(ground)
    found = ground.open().batch([read("a"), read("broken"), RawCall("Nope", {}), write("broken"), read("z")])
    assert [done.output.is_error for done in found] == [False, True, True, True, False]
    assert (found[0].text, found[4].text) == ("a", "z")


def test_a_shell_command_runs_beside_others_only_while_it_reads(ground) -> None:
    ground.says({"rules": [{"id": "all", "allow": "Bash(*)"}]})
    gateway = ground.open()
    session = gateway.session()
    told = {
        text: gateway.calls.is_safe(RawCall("Bash", {"command": text}), session)
        for text in ("ls", "cat a", "touch a", "cd src", "cd src && ls", "make", "$X")
    }
    session.close()
    assert told == {
        "ls": True, "cat a": True, "touch a": False, "cd src": False, "cd src && ls": False, "make": False, "$X": False,
    }  # fmt: skip


def test_a_change_of_the_session_holds_when_the_whole_batch_has_ended(ground) -> None:
    (ground.project / "sub").mkdir()
    seen: list[str] = []

    def bash(_call: Any, work: Any) -> Output:
        seen.append(work.context.cwd)
        return Output((Text("x"),), cwd=str(ground.project / "sub"), mode="plan")

    ground.stands_for("shell.bash", bash)
    ground.says({"rules": [{"id": "all", "allow": "Bash(*)"}]})
    gateway = ground.open()
    with gateway.session() as session:
        calls = [RawCall("Bash", {"command": text}) for text in ("cd sub", "touch x")]
        gateway.batch(calls, session=session)
        assert seen == [str(ground.project)] * 2
        assert (session.cwd, session.context.mode) == (str(ground.project / "sub"), "plan")


def test_a_call_that_may_run_beside_others_cannot_change_the_session(ground) -> None:
    (ground.project / "sub").mkdir()
    ground.stands_for("files.read", lambda _call, _work: Output(cwd=str(ground.project / "sub"), mode="plan"))
    gateway = ground.open()
    with gateway.session() as session:
        gateway.call(read("a"), session=session)
        assert (session.cwd, session.context.mode) == (str(ground.project), "default")


def rules(*each: dict[str, Any], **more: Any) -> tuple[str, ...]:
    return (json.dumps({"version": 1, "rules": each, **more}),)


def test_rules_of_the_session_hold_from_the_next_call_on_and_for_it_alone(ground) -> None:
    given = rules({"id": "no-a", "deny": "Edit(./a)"}, {"id": "b", "allow": "Edit(./b)"})
    ground.stands_for("files.write", lambda _call, _work: Output((Text("x"),), rules=given))
    ground.says({"rules": [{"id": "a", "allow": ["Edit(./a)", "Edit(./c)"]}]})
    gateway = ground.open()
    with gateway.session() as session, gateway.session() as other:
        ran = [gateway.batch([write("a"), write("a"), write("b")], session=session)]
        ran += [gateway.batch([write("a"), write("b"), write("c")], session=each) for each in (session, other)]
    assert [[done.ran for done in each] for each in ran] == [
        [True, True, False],
        [False, True, True],
        [True, False, True],
    ]
    denied = ran[1][0].verdict.reason.rule
    assert (denied.id, denied.source.as_dict()) == (
        "no-a", {"layer": "session", "file": "session rule 1", "line": 1, "column": 26},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("upper", "allowed"),
    [
        pytest.param({"id": "u", "deny": "Edit(./a)"}, False, id="denied above"),
        pytest.param({"id": "u", "ask": "Edit(./a)"}, False, id="asked about above"),
        pytest.param({"id": "u", "deny": "Edit(./z)"}, True, id="left open above"),
    ],
)
def test_rules_of_the_session_allow_only_what_upper_layers_leave_open(ground, upper: Any, allowed: bool) -> None:
    ground.says({"rules": [upper]})
    gateway = ground.open()
    with gateway.session() as session:
        session.rule(rules({"id": "s", "allow": "Edit(./a)"}))
        assert gateway.check(write("a"), session.context).decision is (Decision.ALLOW if allowed else upper_of(upper))


def upper_of(rule: dict[str, Any]) -> Decision:
    return Decision.DENY if "deny" in rule else Decision.ASK


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        pytest.param(("nonsense",), "must be a mapping", id="no policy"),
        pytest.param(rules({"id": "x", "deny": "Nosuch(x)"}), "Nosuch", id="a tool that is not there"),
        pytest.param(rules(settings={"mode": "bypass"}), "a session must hold nothing but rules", id="settings"),
    ],
)
def test_rules_that_cannot_hold_are_reported_and_not_taken(ground, given: tuple[str, ...], reason: str) -> None:
    ground.stands_for("files.write", lambda _call, _work: Output((Text("x"),), rules=given))
    ground.says({"rules": [{"id": "a", "allow": "Edit(**)"}]})
    gateway = ground.open()
    with gateway.session() as session:
        done = gateway.call(write("a"), session=session)
        assert session.context.rules == ()
        assert gateway.call(write("a"), session=session).ran
    (report,) = done.reports
    assert report.startswith("the rules stay: ")
    assert reason in report


def test_a_tool_that_the_session_denies_for_every_input_is_not_offered(ground) -> None:
    gateway = ground.open()
    with gateway.session() as session:
        before = {each["name"] for each in gateway.tools(session=session)}
        session.rule(rules({"id": "no-write", "deny": "Write"}))
        assert before - {each["name"] for each in gateway.tools(session=session)} == {"Write"}
    assert {each["name"] for each in gateway.tools()} == before


def test_the_rules_of_a_session_outlive_a_change_of_the_policy(ground) -> None:
    ground.says({"rules": [{"id": "a", "allow": "Edit(**)"}]})
    gateway = ground.open()
    with gateway.session() as session:
        session.rule(rules({"id": "no-a", "deny": "Edit(./a)"}))
        assert gateway.check(write("a"), session.context).reason.rule.id == "no-a"
        assert gateway.renewed() is gateway
        ground.says({"rules": [{"id": "b", "allow": "Edit(**)"}]})
        later = gateway.renewed()
        assert later is not gateway
        assert [later.check(write(name), session.context).reason.rule.id for name in ("a", "b")] == ["no-a", "b"]


def test_a_mode_or_folder_that_may_not_be_is_reported_and_not_taken(ground) -> None:
    ground.stands_for("files.write", lambda _call, _work: Output(cwd="/no/such", mode="bypass"))
    ground.says({"settings": {"bounds": {"mode": ["default", "plan"]}}, "rules": [{"id": "e", "allow": "Edit(**)"}]})
    gateway = ground.open()
    with gateway.session() as session:
        done = gateway.call(write("a"), session=session)
        assert (session.cwd, session.context.mode) == (str(ground.project), "default")
    assert done.reports == (
        "the working folder stays: the new one is not there",
        "the mode stays: the policy leaves open default, plan",
    )


def test_a_turn_starts_a_call_as_soon_as_it_is_added(ground) -> None:
    trace = Trace(ground)
    gateway = ground.open()
    with gateway.turn() as turn:
        turn.add(read("a"))
        while turn.result(0) is None:  # it ends although the turn is still open
            threading.Event().wait(0.001)
        assert trace.events == [("read", "a")]
        turn.add(read("b"))
        assert texts(list(turn.results())) == ["a", "b"]
    with pytest.raises(Exception, match="the turn has ended"):
        turn.add(read("c"))


def test_a_turn_that_is_cancelled_ends_what_runs_and_starts_nothing_more(ground) -> None:
    begun = threading.Event()

    def bash(_call: Any, work: Any) -> Output:
        begun.set()
        while not work.cancel.is_set:
            threading.Event().wait(0.001)
        return Output((Text("ended"),))

    ground.stands_for("shell.bash", bash)
    ground.says({"rules": [{"id": "all", "allow": "Bash(*)"}]})
    cancel = Cancel()
    with ground.open().turn(cancel=cancel) as turn:
        turn.add(RawCall("Bash", {"command": "touch a"}))
        turn.add(RawCall("Bash", {"command": "touch b"}))
        begun.wait(PATIENCE)
        cancel.set()
        found = list(turn.results())
    cancel.close()
    assert [(done.ran, done.result.ended) for done in found] == [(True, "exited"), (False, "cancelled")]


def test_the_loop_goes_on_while_a_batch_runs(ground) -> None:
    Trace(ground, together=2)

    async def both() -> list[str]:
        gateway = ground.open()
        one, two = await asyncio.gather(gateway.call_async(read("a")), gateway.batch_async([read("b")]))
        return [one.text, *texts(two)]

    assert asyncio.run(both()) == ["a", "b"]


def test_a_cancelled_task_ends_its_call_before_it_goes_on(ground) -> None:
    ended: list[bool] = []

    async def cancelled() -> None:
        begun = asyncio.Event()
        loop = asyncio.get_running_loop()

        def slow(_call: Any, work: Any) -> Output:
            loop.call_soon_threadsafe(begun.set)
            while not work.cancel.is_set:
                threading.Event().wait(0.001)
            ended.append(True)
            return Output()

        ground.stands_for("files.read", slow)
        work = asyncio.ensure_future(ground.open().call_async(read("a")))
        await asyncio.wait_for(begun.wait(), PATIENCE)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert ended == [True]

    asyncio.run(cancelled())


def telling(call: Any, work: Any) -> Output:
    work.progress(Progress("status", "begun"))
    return Output((Text(call.input["file_path"].rpartition("/")[2]),))


def test_a_stream_gives_progress_and_then_the_end(ground) -> None:
    ground.stands_for("files.read", telling)

    async def collected() -> list[Any]:
        return [each async for each in ground.open().stream(read("a"))]

    *progress, done = asyncio.run(collected())
    assert (progress, done.text) == ([Progress("status", "begun")], "a")


def test_a_stream_that_nobody_reads_to_its_end_ends_the_call(ground) -> None:
    ended = threading.Event()

    def slow(_call: Any, work: Any) -> Output:
        work.progress(Progress("status", "begun"))
        while not work.cancel.is_set:
            threading.Event().wait(0.001)
        ended.set()
        return Output()

    ground.stands_for("files.read", slow)

    async def first() -> Any:
        stream = ground.open().stream(read("a"))
        async for each in stream:
            await stream.aclose()  # type: ignore[attr-defined]
            return each
        return None

    assert asyncio.run(first()) == Progress("status", "begun")
    assert ended.is_set()


def test_a_streamed_batch_runs_calls_while_others_are_still_to_come(ground) -> None:
    ground.stands_for("files.read", telling)

    async def collected() -> list[Any]:
        found: list[Any] = []
        first_ended = asyncio.Event()

        async def coming() -> Any:
            yield read("a")
            await asyncio.wait_for(first_ended.wait(), PATIENCE)
            yield read("b")

        async for index, each in ground.open().stream_batch(coming()):
            found.append((index, each if isinstance(each, Progress) else each.text))
            if found[-1] == (0, "a"):
                first_ended.set()
        return found

    begun = Progress("status", "begun")
    assert asyncio.run(collected()) == [(0, begun), (0, "a"), (1, begun), (1, "b")]


def test_calls_without_a_session_share_one_until_the_gateway_closes(ground) -> None:
    (ground.project / "sub").mkdir()
    ground.stands_for("files.write", lambda _call, _work: Output(cwd=str(ground.project / "sub")))
    seen: list[str] = []
    ground.stands_for("files.read", lambda _call, work: seen.append(work.context.cwd) or Output())
    ground.says({"rules": [{"id": "edits", "allow": "Edit(**)"}]})
    gateway = ground.open()
    for raw in (write("a"), read("a")):
        gateway.call(raw)
    gateway.close()
    gateway.call(read("a"))
    assert seen == [str(ground.project / "sub"), str(ground.project)]


def test_cancelling_a_task_ends_the_process_that_its_call_has_started(ground) -> None:
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    ground.says({"rules": [{"id": "all", "allow": "Bash(*)"}]})

    async def cancelled() -> Any:
        gateway, begun = ground.open(), asyncio.Event()
        loop = asyncio.get_running_loop()
        raw = RawCall("Bash", {"command": "echo begun; sleep 1000"})
        work = asyncio.ensure_future(
            gateway.call_async(raw, progress=lambda _each: loop.call_soon_threadsafe(begun.set))
        )
        await asyncio.wait_for(begun.wait(), PATIENCE)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(cancelled())
    assert [each["ended"] for each in ground.records() if each["kind"] == "outcome"] == ["cancelled"]


def test_a_task_that_is_cancelled_again_and_again_ends_its_call_before_it_goes_on(ground) -> None:
    ended: list[bool] = []

    async def cancelled() -> None:
        begun, may_end = asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()

        def slow(_call: Any, work: Any) -> Output:
            loop.call_soon_threadsafe(begun.set)
            assert may_end.wait(PATIENCE)
            ended.append(work.cancel.is_set and work.cancel.fileno() >= 0)
            return Output()

        ground.stands_for("files.read", slow)
        work = asyncio.ensure_future(ground.open().call_async(read("a")))
        await asyncio.wait_for(begun.wait(), PATIENCE)
        for _ in range(3):
            work.cancel()
            for _ in range(3):  # in which the cancellation arrives
                await asyncio.sleep(0)
            assert not work.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert ended == [True]

    asyncio.run(cancelled())


@pytest.mark.parametrize("form", ["stream", "stream_batch"])
def test_a_stream_that_is_cancelled_again_and_again_ends_its_call_before_it_goes_on(ground, form: str) -> None:
    ended: list[bool] = []

    async def cancelled() -> None:
        begun, may_end = asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()

        def slow(_call: Any, work: Any) -> Output:
            loop.call_soon_threadsafe(begun.set)
            assert may_end.wait(PATIENCE)
            ended.append(work.cancel.is_set and work.cancel.fileno() >= 0)
            return Output()

        async def consume() -> None:
            gateway = ground.open()
            stream = gateway.stream(read("a")) if form == "stream" else gateway.stream_batch([read("a")])
            async for _ in stream:
                """Nothing comes."""

        ground.stands_for("files.read", slow)
        work = asyncio.ensure_future(consume())
        await asyncio.wait_for(begun.wait(), PATIENCE)
        for _ in range(3):
            work.cancel()
            for _ in range(5):
                await asyncio.sleep(0)
            assert not work.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert ended == [True]

    asyncio.run(cancelled())


def test_a_fault_in_the_look_for_what_runs_together_makes_a_call_run_alone(ground, monkeypatch) -> None:
    Trace(ground)
    gateway = ground.open()
    monkeypatch.setattr("gateway.judge.judge.decide", lambda *_any: 1 / 0)
    bash = RawCall("Bash", {"command": "ls"})
    with gateway.session() as session:
        assert not gateway.calls.is_safe(bash, session)
        (done,) = gateway.batch([bash], session=session)
    assert (done.ran, done.result.ended) == (False, "refused")
    assert "internal error (ZeroDivisionError" in done.text
    assert ground.records()[-1]["decision"] == "deny"
    monkeypatch.undo()


class Lives:
    """What a turn is made of, without anything behind it: calls named in `faulty` are those that break it."""

    def __init__(self, *faulty: str) -> None:
        self.faulty = faulty
        self.lived: list[tuple[str, bool]] = []

    def turn(self) -> Turn:
        def is_safe(raw: RawCall) -> bool:
            if raw.tool in self.faulty:
                raise KeyError(raw.tool)
            return True

        def life(_index: int, raw: RawCall, beside: bool) -> Any:
            self.lived.append((raw.tool, beside))
            return raw.tool

        return Turn(life, is_safe, 4, lambda done: done)


@pytest.mark.parametrize("faulty", [("b",), (), ("a", "b", "c")])
def test_a_turn_ends_whatever_is_wrong_with_one_of_its_calls(faulty: tuple[str, ...]) -> None:
    lives = Lives(*faulty)
    with lives.turn() as turn:
        for name in "abc":
            turn.add(RawCall(name, {}))
        assert list(turn.results()) == ["a", "b", "c"]
    assert sorted(lives.lived) == [(name, name not in faulty) for name in "abc"]


@pytest.mark.parametrize("fails", [True, False])
def test_a_turn_ends_when_there_is_no_thread_for_a_call(monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    ended: list[int] = []
    turn = Lives().turn()
    turn._ended = ended.append
    if fails:
        monkeypatch.setattr(threading.Thread, "start", lambda _self: 1 / 0)
    turn.add(RawCall("a", {}))
    if fails:
        with pytest.raises(ZeroDivisionError):
            list(turn.results())
    else:
        assert list(turn.results()) == ["a"]
    monkeypatch.undo()
    turn.close()
    assert ended == [0]


def test_a_streamed_batch_tells_last_what_became_of_changes_to_the_session(ground) -> None:
    ground.stands_for("files.write", lambda _call, _work: Output(cwd="/no/such"))
    ground.stands_for("files.read", telling)
    ground.says({"rules": [{"id": "e", "allow": "Edit(**)"}]})

    async def collected(*raws: RawCall) -> list[Any]:
        found = []
        async for index, each in ground.open().stream_batch(raws):
            found.append((index, each if isinstance(each, Progress) else "done"))
        return found

    stays = Progress("status", "the working folder stays: the new one is not there")
    assert asyncio.run(collected(write("a"), read("b"))) == [
        (0, "done"), (1, Progress("status", "begun")), (1, "done"), (0, stays),
    ]  # fmt: skip
    assert asyncio.run(collected(read("b"))) == [(0, Progress("status", "begun")), (0, "done")]
