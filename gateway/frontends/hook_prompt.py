"""What a prompt of Claude Code pulls in, looked up in the folders that its slash commands and skills lie in."""

from __future__ import annotations

import os
import re

from gateway.agents.base import DENY, PERMISSION, SILENCE, Answer
from gateway.agents.prompts import mentions, shell_texts, started
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gateway.agents.base import Event
    from gateway.judge.judge import Judge

_KINDS = ("commands", "skills")
_LEFT_OUT = ("node_modules", ".git")
_MOST_NAMES, _MOST_BYTES = 20_000, 262_144
_OWN_NAME = re.compile(r"^name:\s*[\"']?([^\"'\n]+?)[\"']?\s*$", re.MULTILINE)


class Unreadable(Exception):
    """What a prompt starts cannot be told. `args`: why."""


class Pulled(Value):
    """One thing that the agent does when it takes a prompt. `tool` and `given`: the call of its own that does the same;
    `typed`: the person has written it in the prompt, or keeps it in a folder of their own."""

    tool: str
    given: Mapping[str, str]
    typed: bool


def answer_prompt(event: Event, cwd: str, gateway: Judge, own: str, refusal: Callable[[Event, bool], str]) -> Answer:
    """Silence, unless something that a prompt pulls in is denied, or asked about and not the person's own words: what a
    person has typed, they have answered for. `own`: the folder of the person's settings, "" for the usual one;
    `refusal`: why a call must not be, "" if it may."""
    settings = os.path.join(gateway.context.home, own or ".claude")
    try:
        everything = pulled_in(event.prompt, cwd, gateway.options.root or cwd, settings)
    except Unreadable as error:
        return Answer(DENY, f"gateway refused this prompt: what it starts cannot be judged: {error}.")
    for each in everything:
        # Of the kind whose outcome nobody will tell.
        call = event.replace(kind=PERMISSION, tool=each.tool, names=(each.tool,), input=each.given)
        found = refusal(call, each.typed)
        if found:
            (what,) = each.given.values()
            return Answer(DENY, f"gateway refused this prompt, as it starts `{what[:200]}`: {found}")
    return Answer(SILENCE)


def pulled_in(prompt: str, cwd: str, root: str, own: str) -> tuple[Pulled, ...]:
    """All that a prompt may pull in. `own`: the folder of the person's own settings. Raises Unreadable."""
    found = [Pulled("Read", {"file_path": each}, True) for each in mentions(prompt)]
    for name, arguments in started(prompt):
        for path, typed in _files(name, cwd, root, own):
            text = _text(path)
            found += [Pulled("Bash", {"command": each}, typed) for each in shell_texts(text, arguments)]
            found += [Pulled("Read", {"file_path": each}, typed) for each in mentions(text)]
    return tuple(found)


def _files(name: str, cwd: str, root: str, own: str) -> Iterator[tuple[str, bool]]:
    """The files that a slash command of this name may stand for."""
    plugin, _, last = name.rpartition(":")
    folders = [(os.path.join(each, ".claude"), False) for each in _upwards(cwd, root)]
    seen = 0
    for folder, typed in dict.fromkeys((*folders, (own, True))):
        kinds = (*_KINDS, "plugins") if typed and plugin else _KINDS
        for kind in kinds:
            for above, inside, names in os.walk(os.path.join(folder, kind), followlinks=True):
                inside[:] = sorted(each for each in inside if each not in _LEFT_OUT)
                seen += len(names) + len(inside)
                if seen > _MOST_NAMES:
                    raise Unreadable(f"there are more than {_MOST_NAMES:,} files below {folder}")
                for each in names:
                    path = os.path.join(above, each)
                    if each == f"{last}.md" or (each == "SKILL.md" and _is_called(above, path, last)):
                        yield path, typed


def _upwards(cwd: str, root: str) -> Iterator[str]:
    """The folders from where the session works up to its project, and the project."""
    here = cwd
    while here != os.path.dirname(here) and here != root:
        yield here
        here = os.path.dirname(here)
    yield root or cwd


def _is_called(folder: str, path: str, name: str) -> bool:
    return os.path.basename(folder) == name or name in _OWN_NAME.findall(_text(path)[:4096])


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > _MOST_BYTES:
        raise Unreadable(f"{path} is longer than {_MOST_BYTES:,} bytes")
    return data.decode("utf-8", "replace")
