"""Functions of a layer's own behind its tools: called as they say, and only where no other could have written them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from gateway.api.gateway import Gateway
from gateway.config.load import Options
from gateway.core.errors import ConfigError
from gateway.core.places import places
from gateway.model.call import RawCall

EXAMPLE = Path(__file__).parents[2] / "examples" / "own-tool"
TOOL = {
    "summary": "s", "description": "d", "input": {"properties": {"text": {"type": "string"}}}, "level": "read",
    "effects": {"session": "mine"}, "examples": [{"call": {}, "effects": ["session mine"]}],
}  # fmt: skip


class Own:
    """A user's tool `Mine`, which is the function `does` of this file."""

    def __init__(self, ground: Any, source: str, *, layer: str = "user", **more: Any) -> None:
        self.ground = ground
        folder = ground.config if layer == "user" else ground.of_project
        (folder / "handlers").mkdir(parents=True)
        self.file = folder / "handlers" / "mine.py"
        self.file.write_text(source)
        tool = {**TOOL, "handler": {"python": "mine:does", **more}}
        if more.get("confined"):
            tool = {name: value for name, value in tool.items() if name != "effects"}
            tool["examples"] = [{"call": {}, "effects": ["shell python3 -I - mine:does"]}]
        (folder / "tools.yaml").write_text(json.dumps({"version": 1, "tools": {"Mine": tool}}))

    def call(self, **given: Any) -> Any:
        return self.ground.open().call(RawCall("Mine", given))


GIVES = {
    "a text": ("return 'hello ' + call.input['text']", "hello x", None),
    "data": ("return {'a': [1, call.input['text']]}", '{\n  "a": [\n    1,\n    "x"\n  ]\n}', {"a": [1, "x"]}),
    "an output": ("return Output((Text('t'),), {'k': 1})", "t", {"k": 1}),
}


@pytest.mark.parametrize(("body", "text", "data"), GIVES.values(), ids=GIVES)
def test_what_a_function_gives_is_the_result(ground, body: str, text: str, data: Any) -> None:
    own = Own(ground, f"from gateway import Failure, Output, Text\ndef does(call, work):\n    {body}\n")
    done = own.call(text="x")
    assert (done.text, done.output.data, done.output.is_error) == (text, data, False)


FAILS = {
    "what it says is wrong": ("raise Failure('Not so.', 'Do this.')", "Not so. Do this."),
    "what it raises": ("return 1 / 0", "Mine failed: ZeroDivisionError: division by zero"),
    "what is no result": ("return object()", "Mine gave what is no result: a object."),
}


@pytest.mark.parametrize(("body", "text"), FAILS.values(), ids=FAILS)
def test_the_model_reads_what_went_wrong(ground, body: str, text: str) -> None:
    done = Own(ground, f"from gateway import Failure\ndef does(call, work):\n    {body}\n").call()
    assert (done.text, done.output.is_error) == (text, True)


def test_a_function_is_judged_by_what_its_tool_declares(ground) -> None:
    own = Own(ground, "def does(call, work):\n    return 'ran'\n")
    ground.says({"extends": ["daily"], "rules": [{"id": "no", "deny": "Mine", "because": "not here"}]})
    assert "rule `no`" in own.call().text


def test_a_function_may_lead_other_calls_through_their_life(ground) -> None:
    (ground.project / "a.txt").write_text("alpha")
    read = "    return work.call(RawCall('Read', {'file_path': call.input['text']})).text\n"
    own = Own(ground, f"from gateway import RawCall\ndef does(call, work):\n{read}")
    assert "alpha" in own.call(text="a.txt").text
    assert "secret-files" in own.call(text="~/.ssh/id_rsa").text


def test_a_file_is_read_again_when_it_has_changed(ground) -> None:
    own = Own(ground, "def does(call, work):\n    return 'one'\n")
    assert own.call().text == "one"
    own.file.write_text("def does(call, work):\n    return 'another'\n")
    assert own.call().text == "another"


def broken(own: Own, how: str) -> None:
    if how == "none":
        own.file.unlink()
    elif how == "syntax":
        own.file.write_text("def does(")
    elif how == "no function":
        own.file.write_text("does = 3")
    elif how == "others may write it":
        own.file.chmod(0o666)
    elif how == "a FIFO":
        own.file.unlink()
        os.mkfifo(own.file)
    elif how == "a link into the project":
        (own.ground.project / "x.py").write_text("def does(call, work):\n    return 'ran'\n")
        own.file.unlink()
        own.file.symlink_to(own.ground.project / "x.py")
    else:
        own.file.write_bytes(b"#\xff")


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("none", "cannot be read: No such file or directory"),
        ("syntax", "cannot be loaded: SyntaxError"),
        ("no function", "there is no function `does`"),
        ("others may write it", "must be yours, and nobody else's to write"),
        ("a FIFO", "is no regular file"),
        ("a link into the project", "must lie where policy forbids agents to write"),
        ("no text", "it is not UTF-8"),
    ],
)
def test_what_cannot_be_trusted_or_loaded_does_not_run(ground, how: str, text: str) -> None:
    own = Own(ground, "def does(call, work):\n    return 'ran'\n")
    broken(own, how)
    done = own.call()
    assert done.output.is_error
    assert text in done.text


def test_a_folder_that_agents_can_write_gives_no_functions(ground) -> None:
    folder = ground.project / "policies"
    (folder / "handlers").mkdir(parents=True)
    (folder / "handlers" / "mine.py").write_text("def does(call, work):\n    return 'ran'\n")
    (folder / "user.yaml").write_text('{"version": 1, "extends": ["daily"]}')
    (folder / "tools.yaml").write_text(
        json.dumps({"version": 1, "tools": {"Mine": {**TOOL, "handler": {"python": "mine:does"}}}})
    )
    options = Options(str(ground.project), root=str(ground.project), policies=str(folder))
    with Gateway(options, where=places()) as gateway:
        done = gateway.call(RawCall("Mine", {}))
    assert "must lie where policy forbids agents to write" in done.text


def test_a_project_has_no_functions_of_its_own(ground) -> None:
    Own(ground, "def does(call, work):\n    return 'ran'\n", layer="project")
    with pytest.raises(ConfigError, match="of a project must have the handler `command`"):
        ground.open()


def test_a_confined_function_gets_its_input_and_runs_as_code_in_the_sandbox(ground) -> None:
    source = "import os\ndef does(given):\n    return [given, os.path.exists('/root/.ssh'), os.environ.get('KEY')]\n"
    own = Own(ground, source, confined=True)
    ground.monkeypatch.setenv("KEY", "secret")
    assert ground.open().check(RawCall("Mine", {})).decision.word == "ask"
    ground.says({"extends": ["daily"], "rules": [{"id": "mine", "allow": "Mine"}]})
    done = own.call(text="'\"\n\\ {x} é")
    assert (json.loads(done.text), done.output.is_error) == ([{"text": "'\"\n\\ {x} é"}, False, None], False)
    own.file.write_text("def does(given):\n    raise ValueError('no')\n")
    done = own.call()
    assert done.output.is_error
    assert "ValueError: no" in done.text


@pytest.mark.parametrize(
    ("handler", "complaint"),
    [
        ({"python": "mine"}, "must be `module:function`"),
        ({"python": "../mine:does"}, "must be `module:function`"),
        ({"python": "mine:os.system"}, "must be `module:function`"),
        ({"python": "files.read", "confined": True}, "is not confined"),
        ({"command": ["ls"], "confined": True}, "must stand beside `python`"),
    ],
)
def test_a_wrong_name_is_an_error_with_its_place(ground, handler: dict[str, Any], complaint: str) -> None:
    ground.config.mkdir(parents=True)
    tools = {"version": 1, "tools": {"Mine": {**TOOL, "handler": handler}}}
    (ground.config / "tools.yaml").write_text(json.dumps(tools))
    with pytest.raises(ConfigError) as caught:
        ground.open()
    assert complaint in str(caught.value)


def test_the_example_does_as_it_says(ground) -> None:
    shutil.copytree(EXAMPLE, ground.config)
    ground.says({"extends": ["daily"], "rules": [{"id": "words", "allow": "Words"}]})
    gateway = ground.open()
    done = gateway.call(RawCall("Ticket", {"number": 7}))
    assert (done.text, done.output.data) == (
        "Dates are not checked (ann)", {"title": "Dates are not checked", "assignee": "ann"},
    )  # fmt: skip
    assert gateway.call(RawCall("Ticket", {"number": 9})).text == "There is no ticket 9. Known are 7, 8."
    assert json.loads(gateway.call(RawCall("Words", {"text": "a b a"})).text) == {"a": 2, "b": 1}
