"""Functions of the person's or the organisation's own behind their tools: `handler: {python: "module:function"}`.

    from gateway import Call, Output, Work

    def create(call: Call, work: Work) -> Output | str: ...

The file is `handlers/module.py` beside the layer's tools.yaml. It runs in the gateway's process, outside any sandbox,
once the call has been judged by the effects that the tool declares; `call.input` is what was judged. What it returns is
the result: an `Output`, a text, or data that JSON has (shown as JSON, and kept as structured data). `Failure` tells the
model what is wrong with the call; whatever else it raises is an error with its type.

    def create(given: dict[str, object]) -> str | dict[str, object]: ...

With `confined: true` it runs in the sandbox, in a Python of its own without the gateway's packages, and is given the
input alone. For policy it is code that nobody can see into: it asks where no rule allows it, and may do what such code
may (`gateway check --tool NAME` says what).
"""

from __future__ import annotations

import json
import os

from gateway.calls.output import Failure, Output, Text
from gateway.core.errors import ConfigError
from gateway.core.ownership import check_file
from gateway.core.plain_files import open_plain
from gateway.handlers.command import output_of
from gateway.handlers.command_text import Listener
from gateway.model.call import RawCall
from gateway.model.decision import Decision
from gateway.policy.wording import visible
from gateway.sandbox.call_descriptors import Ways
from gateway.tools.argv import argv
from gateway.tools.frozen import readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from gateway.calls.work import Work
    from gateway.model.call import Call

MOST_BYTES = 100_000
# What Python in the sandbox reads as its program: with the function's file as a text, its name, and the input.
_CONFINED = """\
import json
space = {{"__name__": "handler", "__file__": {path!r}}}
exec(compile({source!r}, {path!r}, "exec"), space)
found = space[{name!r}](json.loads({given!r}))
print(found if isinstance(found, str) else json.dumps(found, ensure_ascii=False, indent=2))
"""

_loaded: dict[str, tuple[tuple[int, ...], ModuleType]] = {}


def run(call: Call, work: Work) -> Output:
    """Calls the function. Raises Failure where it is not there, or not safe to be called."""
    entry = work.judge.registry.tool(call.tool).entry
    handler, layer = entry["handler"], entry["layer"]
    path, name = handler["file"], handler["name"].partition(":")[2]
    _check_protected(path, work)
    source, stamp = _source(path, layer)
    if handler["confined"]:
        return _confined(call, work, source, name, path)
    function = getattr(_module(path, source, stamp), name, None)
    if not callable(function):
        raise Failure(f"{call.tool} does not work: there is no function `{name}` in {visible(path)}.")
    try:
        found = function(call, work)
    except Failure:
        raise
    except Exception as error:
        raise Failure(f"{call.tool} failed: {type(error).__name__}: {error}") from error
    return _output(call, found)


def _check_protected(path: str, work: Work) -> None:
    """Raises Failure unless policy forbids agents to write the file, wherever it leads: what they could write would run
    unconfined."""
    for each in dict.fromkeys((path, os.path.realpath(path))):
        writes = RawCall("Write", {"file_path": each, "content": ""})
        if work.judge.check(writes, work.context).decision is not Decision.DENY:
            remedy = "Keep it in `handlers/` of the user's or the enterprise's own folder."
            raise Failure(f"{visible(each)} must lie where policy forbids agents to write.", remedy)


def _output(call: Call, found: Any) -> Output:
    if isinstance(found, Output):
        return found
    if isinstance(found, str):
        return Output((Text(found),))
    try:
        return Output((Text(json.dumps(found, ensure_ascii=False, indent=2)),), found)
    except (TypeError, ValueError) as error:
        raise Failure(f"{call.tool} gave what is no result: a {type(found).__name__}.") from error


def _confined(call: Call, work: Work, source: str, name: str, path: str) -> Output:
    words = argv(work.judge.registry.tool(call.tool).words or [], call.input)
    if words is None or work.run is None:
        raise Failure(f"{call.tool} has nothing to run in.")
    program = _CONFINED.format(path=path, source=source, name=name, given=json.dumps(readable(call.input)))
    return output_of(work.run(words, ways=Ways(stdin=program.encode()), listener=Listener(work.progress)))


def _source(path: str, layer: str) -> tuple[str, tuple[int, ...]]:
    """The text of the file, and what tells it from another version. Raises Failure for one that others could have
    written."""
    try:
        with open_plain(path) as file:
            found = os.fstat(file.fileno())
            if found.st_size > MOST_BYTES:
                raise Failure(f"{visible(path)} must have at most {MOST_BYTES:,} bytes.")
            if layer == "enterprise":
                check_file(path)
            elif found.st_uid not in (os.geteuid(), 0) or found.st_mode & 0o022:
                raise Failure(f"{visible(path)} must be yours, and nobody else's to write.", f"chmod go-w {path}")
            source = file.read().decode()
    except ConfigError as error:
        raise Failure(f"{error.problems[0].message}: {visible(path)}.") from error
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise Failure(f"{visible(path)} cannot be read: {why}.") from error
    return source, (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _module(path: str, source: str, stamp: tuple[int, ...]) -> ModuleType:
    """The file as a module, made anew when it has changed. Raises Failure where it cannot be."""
    known = _loaded.get(path)
    if known is not None and known[0] == stamp:
        return known[1]
    from types import ModuleType

    module = ModuleType(f"gateway_own_{os.path.basename(path).removesuffix('.py')}")
    module.__file__ = path
    try:
        exec(compile(source, path, "exec"), module.__dict__)
    except Exception as error:
        raise Failure(f"{visible(path)} cannot be loaded: {type(error).__name__}: {error}") from error
    _loaded[path] = stamp, module
    return module
