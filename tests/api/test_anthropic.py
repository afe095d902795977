"""The adapters for the anthropic SDK, with the real SDK against a scripted Messages API."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from typing import Any

import pytest

anthropic = pytest.importorskip("anthropic", reason="the anthropic package is not installed")

from anthropic import beta_async_tool, beta_tool  # noqa: E402
from anthropic.lib.tools import ToolError  # noqa: E402
from fakemessages import FakeMessages  # noqa: E402

from gateway.anthropic import (  # noqa: E402
    guard,
    run_tool_use_block,
    run_tool_use_blocks,
    run_tool_use_blocks_async,
    runner_tools,
    runner_tools_async,
    tools,
)
from gateway.model.call import RawCall  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_look_at_certificates")

READ = ("Read", {"file_path": "a.txt"})
SECRET = ("Read", {"file_path": ".env"})
MODES = ["plain", "streaming", "eager", "without-threads"]
HOW: dict[str, dict[str, Any]] = {
    "plain": {},
    "streaming": {"stream": True},
    "eager": {"stream": True, "run_tools_eagerly": True},
    "without-threads": {"thread": False},
}


@pytest.fixture
def model():
    """Starts a Messages API with a script; gives it."""
    open_: list[FakeMessages] = []

    def start(*replies: list[Any]) -> FakeMessages:
        open_.append(FakeMessages([*replies]))
        return open_[-1]

    yield start
    for each in open_:
        each.close()


@pytest.fixture
def gateway(ground):
    (ground.project / "a.txt").write_text("alpha\n", encoding="utf-8")
    (ground.project / "b.txt").write_text("beta\n", encoding="utf-8")
    (ground.project / ".env").write_text("KEY=hunter2\n", encoding="utf-8")
    return ground.open()


def texts(result: dict[str, Any]) -> str:
    content = result["content"]
    return content if isinstance(content, str) else "\n".join(each["text"] for each in content)


def run(model: FakeMessages, offered: list[Any], how: dict[str, Any]) -> str:
    """A conversation of the SDK's runner; gives the last text."""
    with anthropic.Anthropic(base_url=model.url, api_key="none", max_retries=0) as client:
        runner = client.beta.messages.tool_runner(
            model="fake", max_tokens=100, messages=[{"role": "user", "content": "Go."}], tools=offered, **how
        )
        return runner.until_done().content[-1].text


def run_async(model: FakeMessages, offered: list[Any], how: dict[str, Any]) -> str:
    async def talk() -> str:
        async with anthropic.AsyncAnthropic(base_url=model.url, api_key="none", max_retries=0) as client:
            runner = client.beta.messages.tool_runner(
                model="fake", max_tokens=100, messages=[{"role": "user", "content": "Go."}], tools=offered, **how
            )
            return (await runner.until_done()).content[-1].text

    return asyncio.run(talk())


# ------------------------------------------------------------------------------------------------ loops written by hand


def test_definitions_are_those_of_the_gateway(gateway) -> None:
    assert tools(gateway) == gateway.tools("anthropic")
    assert {"Read", "Bash"} <= {each["name"] for each in tools(gateway)}


def test_a_loop_by_hand_gets_one_result_for_each_call_in_their_order(gateway, model) -> None:
    api = model(["Looking.", READ, SECRET, ("Read", {"file_path": "b.txt"})], ["Done."])
    with anthropic.Anthropic(base_url=api.url, api_key="none", max_retries=0) as client:
        reply = client.messages.create(
            model="fake", max_tokens=100, messages=[{"role": "user", "content": "Go."}], tools=tools(gateway)
        )
    results = run_tool_use_blocks(gateway, reply.content)
    assert [each["tool_use_id"] for each in results] == ["toolu_0_1", "toolu_0_2", "toolu_0_3"]
    assert [each.get("is_error", False) for each in results] == [False, True, False]
    assert "alpha" in texts(results[0])
    assert "hunter2" not in texts(results[1])
    assert "secret-files" in texts(results[1]) or "password" in texts(results[1])
    assert "beta" in texts(results[2])


def test_blocks_may_be_plain_dicts(gateway) -> None:
    block = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a.txt"}}
    with gateway.session() as one, gateway.session() as other:
        found = run_tool_use_block(gateway, block, one)
        assert run_tool_use_blocks(gateway, [{"type": "text", "text": "x"}, block], other) == [found]
    assert (found["tool_use_id"], "alpha" in texts(found)) == ("t1", True)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_use", "id": "t", "name": "Nothing", "input": {}},
        {"type": "tool_use", "id": "t", "name": "Read", "input": "a.txt"},
        {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": 1}},
        {"type": "tool_use", "id": "t", "name": "Read"},
        {"type": "tool_use", "id": "t"},
    ],
    ids=["unknown-tool", "input-is-text", "wrong-type", "no-input", "no-name"],
)
def test_what_no_tool_takes_is_an_error_that_the_model_reads(gateway, block: dict[str, Any]) -> None:
    found = run_tool_use_block(gateway, block)
    assert (found["tool_use_id"], found["is_error"], texts(found) != "") == ("t", True, True)


def test_asyncio_waits_for_the_same_results(gateway) -> None:
    names = ["a.txt", "b.txt", ".env", "nothing.txt", "/etc/shadow"]
    blocks = [
        {"type": "tool_use", "id": f"t{n}", "name": "Read", "input": {"file_path": name}}
        for n, name in enumerate(names)
    ]
    with gateway.session() as one, gateway.session() as other:
        found = asyncio.run(run_tool_use_blocks_async(gateway, blocks, one))
        assert [each["tool_use_id"] for each in found] == ["t0", "t1", "t2", "t3", "t4"]
        assert found == run_tool_use_blocks(gateway, blocks, other)


# ------------------------------------------------------------------------------------------------------ the tool runner


@pytest.mark.parametrize("how", MODES)
def test_the_runner_runs_what_policy_allows_and_the_model_reads_why_not(gateway, model, how: str) -> None:
    api = model([READ, SECRET], ["Done."])
    assert run(api, runner_tools(gateway), HOW[how]) == "Done."
    good, bad = api.results()
    assert (good["tool_use_id"], good.get("is_error", False), "alpha" in texts(good)) == ("toolu_0_0", False, True)
    assert (bad["tool_use_id"], bad["is_error"], "hunter2" in texts(bad)) == ("toolu_0_1", True, False)


@pytest.mark.parametrize("how", MODES)
def test_the_asynchronous_runner_does_the_same(gateway, model, how: str) -> None:
    api = model([READ, SECRET], ["Done."])
    assert run_async(api, runner_tools_async(gateway), HOW[how]) == "Done."
    assert [each.get("is_error", False) for each in api.results()] == [False, True]


def test_the_runner_is_given_every_tool_in_full(gateway) -> None:
    assert {each.name for each in runner_tools(gateway)} == {each["name"] for each in gateway.tools("mcp")}
    assert all(set(each.to_dict()) == {"name", "description", "input_schema"} for each in runner_tools(gateway))


# ---------------------------------------------------------------------------------------------------- tools of your own


def saver(made: list[Any]) -> Any:
    @beta_tool
    def save(path: str) -> str:
        """Saves something.

        Args:
            path: where to.
        """
        made.append(path)
        return f"saved {path}"

    return save


def saver_async(made: list[Any]) -> Any:
    @beta_async_tool
    async def save(path: str) -> str:
        """Saves something."""
        await asyncio.sleep(0)
        made.append(path)
        return f"saved {path}"

    return save


ALLOWED = {"rules": [{"id": "ours", "allow": {"tool": "mcp__app__save"}}]}


def test_a_tool_without_a_guard_does_what_the_model_says(model) -> None:
    made: list[Any] = []
    api = model([("save", {"path": "/etc/shadow"})], ["Done."])
    run(api, [saver(made)], {})
    assert made == ["/etc/shadow"]


@pytest.mark.parametrize("how", MODES)
def test_a_guarded_tool_is_judged_by_what_its_arguments_look_like(ground, model, how: str) -> None:
    made: list[Any] = []
    api = model([("save", {"path": "/etc/shadow"})], ["Done."])
    run(api, [guard(ground.open(), saver(made))], HOW[how])
    assert (made, api.results()[0]["is_error"]) == ([], True)


@pytest.mark.parametrize("how", MODES)
def test_a_guarded_asynchronous_tool_runs_when_a_rule_allows_it(ground, model, how: str) -> None:
    made: list[Any] = []
    ground.says(ALLOWED)
    gateway = ground.open(mode="bypass")
    api = model([("save", {"path": "x"}), ("save", {"path": ".env"})], ["Done."])
    run_async(api, [guard(gateway, saver_async(made))], HOW[how])
    assert made == ["x"]
    assert [(texts(each).startswith("saved x"), each.get("is_error", False)) for each in api.results()] == [
        (True, False), (False, True),
    ]  # fmt: skip


def test_where_policy_asks_and_nobody_can_be_asked_it_does_not_run(ground) -> None:
    made: list[Any] = []
    with pytest.raises(ToolError):
        guard(ground.open(), saver(made)).call({"path": "x"})
    assert made == []


def test_a_guarded_tool_is_judged_as_the_call_that_it_amounts_to(ground) -> None:
    made: list[Any] = []

    @beta_tool
    def shell(text: str) -> str:
        """Runs something."""
        made.append(text)
        return "ran"

    front = guard(ground.open(), shell, judged_as=lambda given: RawCall("Bash", {"command": given["text"]}))
    assert front.call({"text": "ls"}) == "ran"
    for text in ("cat ~/.ssh/id_rsa", "rm -rf /", "npm test"):  # the last asks: nothing confines it here
        with pytest.raises(ToolError):
            front.call({"text": text})
    with pytest.raises(ToolError, match="cannot be told"):
        front.call({"other": "ls"})
    assert made == ["ls"]


@pytest.mark.parametrize(
    ("change", "runs"),
    [({"timeout": 1_000}, False), ({"command": "ls -l"}, False), ({}, True)],
    ids=["a field more", "another command", "the twin, nothing"],
)
def test_what_a_hook_changed_of_a_call_that_stands_for_another_is_not_run_unchanged(
    ground, change: dict[str, Any], runs: bool
) -> None:
    answer = f"print(json.dumps({{'input': {{**told['input'], **{change!r}}}}}))" if change else "pass"
    hook = [sys.executable, "-c", f"import json, sys; told = json.load(sys.stdin); {answer}"]
    ground.says({"hooks": [{"id": "h", "event": "before_call", "command": hook}]})
    made: list[Any] = []

    @beta_tool
    def shell(text: str) -> str:
        """Runs something."""
        made.append(text)
        return "ran"

    front = guard(ground.open(), shell, judged_as=lambda given: RawCall("Bash", {"command": given["text"]}))
    if runs:
        assert front.call({"text": "ls"}) == "ran"
    else:
        with pytest.raises(ToolError, match="changed by a hook"):
            front.call({"text": "ls"})
    assert made == (["ls"] if runs else [])


def test_what_a_guarded_tool_gives_is_handed_on_as_it_is(ground) -> None:
    ground.says(ALLOWED)
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}

    @beta_tool
    def save(path: str) -> Any:
        """Saves something."""
        return [{"type": "text", "text": path}, image]

    assert guard(ground.open(mode="bypass"), save).call({"path": "x"}) == [{"type": "text", "text": "x"}, image]


def test_an_error_of_a_guarded_tool_is_the_models_to_read(ground) -> None:
    ground.says(ALLOWED)

    @beta_tool
    def save(path: str) -> str:
        """Saves something."""
        raise OSError(28, "No space left", path)

    with pytest.raises(ToolError, match="No space left"):
        guard(ground.open(mode="bypass"), save).call({"path": "x"})


def test_a_guarded_tool_looks_like_the_tool(ground) -> None:
    plain = saver([])
    front = guard(ground.open(), plain)
    assert (front.name, front.to_dict(), front.description) == (plain.name, plain.to_dict(), plain.description)
    assert guard(ground.open(), front) is front


def test_calls_of_guarded_tools_are_recorded(ground) -> None:
    ground.says(ALLOWED)
    guard(ground.open(mode="bypass"), saver([])).call({"path": "x"})
    assert any(each.get("tool") == "mcp__app__save" for each in ground.records())


def test_a_cancelled_task_ends_the_tool_before_it_goes_on(ground) -> None:
    ground.says(ALLOWED)
    ended: list[str] = []

    async def main() -> None:
        began = asyncio.Event()

        @beta_async_tool
        async def save(path: str) -> str:
            """Saves something."""
            began.set()
            try:
                await asyncio.sleep(60)
            finally:
                ended.append(path)
            return path

        task = asyncio.ensure_future(guard(ground.open(mode="bypass"), save).call({"path": "x"}))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == ["x"]

    asyncio.run(main())


def test_nothing_that_decides_imports_the_sdk() -> None:
    root = Path(__file__).parents[2] / "gateway"
    imports = re.compile(r"^\s*(?:import|from) anthropic\b", re.MULTILINE)
    found = [path for path in root.rglob("*.py") if imports.search(path.read_text(encoding="utf-8"))]
    assert [path.name for path in found if path.parent.name != "llm"] == ["anthropic.py"]  # models aside
