"""What a prompt pulls in: what its dialect says of it, and what must be looked up in the folders of slash commands and
skills."""

from __future__ import annotations

import os
import re

from gateway.agents.base import DENY, PERMISSION, SILENCE, Answer
from gateway.agents.prompts import READ_BY, RUN_BY, mentions, shell_texts, started
from gateway.core.plain_files import open_plain
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Protocol

    from gateway.agents.base import Event
    from gateway.judge.judge import Judge

    class Judging(Protocol):
        """Who judges one call."""

        def refusal_of_prompt(self, *, typed: bool) -> str:
            """Why it must not be, "" if it may."""


_KINDS = ("commands", "skills")
_LEFT_OUT = ("node_modules", ".git")
_MOST_NAMES, _MOST_BYTES = 20_000, 262_144
_OWN_NAME = re.compile(r"^name:\s*[\"']?([^\"'\n]+?)[\"']?\s*$", re.MULTILINE)


class Unreadable(Exception):
    """What a prompt starts cannot be told. `args`: why."""


class Pulled(Value):
    """One thing that the agent does when it takes a prompt. `by`: the tool of its own that does the same, and its field
    for `what`; `typed`: the person has written it in the prompt, or keeps it in a folder of their own."""

    by: tuple[str, str]
    what: str
    typed: bool


def answer_prompt(
    event: Event, cwd: str, gateway: Judge, environment: Mapping[str, str], judging: Callable[[Event], Judging]
) -> Answer:
    """Silence, unless something that a prompt pulls in is denied, or asked about and not the person's own words: what a
    person has typed, they have answered for. `judging`: of a call, who judges it."""
    try:
        everything = tuple(_pulled_in(event, cwd, gateway, environment))
    except Unreadable as error:
        return Answer(DENY, f"gateway refused this prompt: what it starts cannot be judged: {error}.")
    for each in everything:
        tool, field = each.by
        # Of the kind whose outcome nobody will tell.
        call = event.replace(kind=PERMISSION, tool=tool, names=(tool,), input={field: each.what})
        found = judging(call).refusal_of_prompt(typed=each.typed)
        if found:
            return Answer(DENY, f"gateway refused this prompt, as it starts `{each.what[:200]}`: {found}")
    return Answer(SILENCE)


def _pulled_in(event: Event, cwd: str, gateway: Judge, environment: Mapping[str, str]) -> Iterator[Pulled]:
    """All that a prompt may pull in. Raises Unreadable."""
    reads, home = READ_BY[event.agent], gateway.context.home
    for each in event.reads:
        yield Pulled(reads, each, True)
    if event.runs:  # of a command that opencode found, whoever's it is
        typed = _is_own_command(event.prompt, _own_folders(home, environment))
        for each in event.runs:
            yield Pulled(RUN_BY[event.agent], each, typed)
    elif event.prompt:
        own = os.path.join(home, environment.get("CLAUDE_CONFIG_DIR", "") or ".claude")
        for name, arguments in started(event.prompt):
            for path, typed in _files(name, cwd, gateway.options.root or cwd, own):
                text = _text(path)
                for each in shell_texts(text, arguments):
                    yield Pulled(RUN_BY[event.agent], each, typed)
                for each in mentions(text):
                    yield Pulled(reads, each, typed)


def _own_folders(home: str, environment: Mapping[str, str]) -> Iterator[str]:
    """The folders of a person's own settings of opencode."""
    yield os.path.join(home, environment.get("XDG_CONFIG_HOME", "") or ".config", "opencode")
    yield os.path.join(home, ".opencode")
    if environment.get("OPENCODE_CONFIG_DIR", ""):
        yield os.path.join(home, environment["OPENCODE_CONFIG_DIR"])


def _is_own_command(text: str, folders: Iterable[str]) -> bool:
    """Whether a slash command of exactly this text lies in one of these folders."""
    for folder in folders:
        for kind in ("command", "commands"):
            for path in _below(os.path.join(folder, kind)):
                if path.endswith(".md") and text.strip() in _text(path):
                    return True
    return False


def _files(name: str, cwd: str, root: str, own: str) -> Iterator[tuple[str, bool]]:
    """The files that a slash command of this name may stand for."""
    plugin, _, last = name.rpartition(":")
    folders = [(os.path.join(each, ".claude"), False) for each in _upwards(cwd, root)]
    for folder, typed in dict.fromkeys((*folders, (own, True))):
        kinds = (*_KINDS, "plugins") if typed and plugin else _KINDS
        for kind in kinds:
            for path in _below(os.path.join(folder, kind)):
                above, each = os.path.split(path)
                if each == f"{last}.md" or (each == "SKILL.md" and _is_called(above, path, last)):
                    yield path, typed


def _below(folder: str) -> Iterator[str]:
    """The files below a folder, links followed. Raises Unreadable if there are too many."""
    seen = 0
    for above, inside, names in os.walk(folder, followlinks=True):
        inside[:] = sorted(each for each in inside if each not in _LEFT_OUT)
        seen += len(names) + len(inside)
        if seen > _MOST_NAMES:
            raise Unreadable(f"there are more than {_MOST_NAMES:,} files below {folder}")
        for each in names:
            yield os.path.join(above, each)


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
        with open_plain(path) as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > _MOST_BYTES:
        raise Unreadable(f"{path} is longer than {_MOST_BYTES:,} bytes")
    return data.decode("utf-8", "replace")
