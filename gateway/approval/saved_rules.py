"""Answers that were given for good: allow rules in an ordinary policy file of the project's local layer, or of a
person's own policy, for all projects.

The file is `policy.d/approved.yaml` in the layer's folder. It may be edited by hand. Whoever changes it holds a lock,
reads it anew, makes sure that the result says what it said before and the change, and replaces it whole: several
processes may save and revoke at once.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from contextlib import contextmanager

from gateway.config.layers import layer_folders, local_folder, read_file, read_layer
from gateway.config.near_misses import POLICY
from gateway.core.cache import digest, replace_whole
from gateway.core.errors import ConfigError, Problem
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from gateway.core.places import Places
    from gateway.spec.short import ToolNames

PREFIX = "always-"
_HEAD = """\
# What was answered with "always" in this project. Each rule allows what it says and no more.
# `gateway grants list` shows them, `gateway grants revoke ID` takes one back.
version: 1
rules:
"""
_HEAD_EVERYWHERE = """\
# What was agreed to for all projects. Each rule allows what it says and no more.
# `gateway grants list --everywhere` shows them, `gateway grants revoke --everywhere ID` takes one back.
version: 1
rules:
"""
# What holds for a person who has no policy, and would not any more beside these rules.
WITHOUT_OWN = b"version: 1\nextends: [daily]\n"


class SavedRule(Value):
    """A rule as it stands in the file. `text`: what it allows, on one line; `because`: who agreed to it, and when."""

    id: str
    text: str
    because: str
    expires: str
    line: int


def rule_text(alternatives: Sequence[dict[str, Any]]) -> str:
    """An allow rule on one line, as a policy file can hold it."""
    return "allow: " + _flow(alternatives[0] if len(alternatives) == 1 else list(alternatives))


def rule_id(text: str, until: float = 0.0) -> str:
    """The id of a saved rule: the same for the same rule with the same end."""
    return PREFIX + digest([text, _moment(until)])[:12]


def entry_of(
    text: str, *, shown: str, by: str, now: float, until: float = 0.0, because: str = "",
    matches: Sequence[str] = (), not_matches: Sequence[str] = (),
) -> str:  # fmt: skip
    """The lines that a rule makes in the file. `shown`: the call that was asked about, with nothing invisible in it;
    `because`: why there is such a rule, beside who agreed to it; `matches`, `not_matches`: examples of it."""
    when = _moment(now)
    lines = [f"  # {when}, {_comment(by)}: {_comment(shown)}", f"  - id: {rule_id(text, until)}", f"    {text}"]
    agreed = f"{by} agreed to it for good on {when}"
    lines += lines_of(f"{because}; {agreed}" if because else agreed, matches, not_matches)
    if until:
        lines.append(f"    expires: {_flow(_moment(until))}")
    return "\n".join(lines) + "\n"


def lines_of(because: str, matches: Sequence[str], not_matches: Sequence[str]) -> list[str]:
    """The lines of a rule that say why it is there, and show it."""
    said = {"because": because, "matches": list(matches), "not_matches": list(not_matches)}
    return [f"    {name}: {_flow(value)}" for name, value in said.items() if value]


def document_of(entry: str) -> str:
    """A whole policy file with one entry."""
    return _HEAD + entry


class SavedRules:
    """The rules saved for one project, or for all."""

    def __init__(self, places: Places, root: str, tools: ToolNames, *, everywhere: bool = False) -> None:
        """`tools`: every known tool by name, as the short form of rules needs them. `everywhere`: those of the person's
        own policy, which hold in all projects."""
        self.folder = places.config if everywhere else local_folder(places, root)
        self._head = _HEAD_EVERYWHERE if everywhere else _HEAD
        self._own = [each for each in layer_folders(places, root) if everywhere and each.layer == "user"]
        self.path = os.path.join(self.folder, "policy.d", "approved.yaml")
        self._tools = tools

    def list(self) -> list[SavedRule]:
        """What is saved, in the order of the file. Raises ConfigError for a broken file."""
        return [_shown(rule) for rule in self._parse(self._read())["rules"]]

    def save(self, name: str, entry: str) -> None:
        """Adds a rule, given as `rule_id` and `entry_of` made it; one that is there already stays. Raises ConfigError
        where it cannot be kept; then nothing has changed."""
        with self._locked():
            content = self._read()
            before = self._parse(content)
            if all(rule["id"] != name for rule in before["rules"]):
                self._replace(self._with(content, entry), _meaning(before, name), name, added=True)

    def text_with(self, name: str, entry: str) -> str:
        """What the file would say with a rule, which is not saved. Raises ConfigError for a broken file."""
        content = self._read()
        known = any(rule["id"] == name for rule in self._parse(content)["rules"])
        return content if known else self._with(content, entry)

    def revoke(self, name: str) -> bool:
        """Takes a rule back; False if there is none of that id. Raises ConfigError where that cannot be done."""
        with self._locked():
            content = self._read()
            before = self._parse(content)
            if all(rule["id"] != name for rule in before["rules"]):
                return False
            left = _meaning(before, name)
            if left == _meaning(self._parse(""), name):
                os.unlink(self.path)
            else:
                self._replace(_without(content, before["rules"], name), left, name, added=False)
        return True

    def _read(self) -> str:
        """The file's text, "" where there is none."""
        if not os.path.lexists(self.path):
            return ""
        try:
            return read_file(self.path).decode("utf-8")
        except UnicodeDecodeError as error:
            raise self._problem("must be UTF-8", "repair it by hand") from error

    def _parse(self, content: str) -> dict[str, Any]:
        """The whole document in normal form."""
        from gateway.spec.policy import parse_policy

        return parse_policy(content or "version: 1\n", self.path, self._tools)

    def _with(self, content: str, entry: str) -> str:
        return (_ended(content) if content else self._head) + entry

    def _replace(self, content: str, others: Any, name: str, *, added: bool) -> None:
        """Writes the file if it says what is wanted: what was there stays as it was, besides the rule of this name."""
        try:
            after = self._parse(content)
        except ConfigError:
            after = {}
        if not after or _meaning(after, name) != others or added != any(r["id"] == name for r in after["rules"]):
            raise self._problem("cannot be changed without changing something else", "edit it by hand")
        try:
            if self._own and not any(map(read_layer, self._own)):
                replace_whole(os.path.join(self.folder, POLICY), WITHOUT_OWN)
            replace_whole(self.path, content.encode("utf-8"))
        except OSError as error:
            raise self._problem(f"cannot be written: {error.strerror}", "nothing was saved") from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer at a time, over all processes. The lock is a file beside the folder of policies."""
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            where = os.path.join(self.folder, "approved.lock")
            descriptor = os.open(where, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
            try:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise self._problem("cannot be locked", f"remove {where}")
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                yield
            finally:
                os.close(descriptor)
        except OSError as error:
            raise self._problem(f"cannot be written: {error.strerror}", "nothing was saved") from error

    def _problem(self, what: str, remedy: str) -> ConfigError:
        return ConfigError(Problem(f"the file of saved approvals {what}", file=self.path, remedy=remedy))


def _shown(rule: dict[str, Any]) -> SavedRule:
    return SavedRule(rule["id"], rule["text"], because=rule["because"], expires=rule["expires"], line=rule["line"])


def _meaning(document: dict[str, Any], name: str) -> Any:
    """What a document says besides the rule of this name, without the places it says it at."""
    rules = [_placeless(rule) for rule in document["rules"] if rule["id"] != name]
    others = [(key, [_placeless(each) for each in value] if key in ("extends", "tests") else value)
              for key, value in sorted(document.items()) if key != "rules"]  # fmt: skip
    return rules, others


def _placeless(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in ("line", "column")}


def _without(content: str, rules: list[dict[str, Any]], name: str) -> str:
    """The text without one entry of `rules:` and the comments directly above it."""
    lines = content.splitlines(keepends=True)
    start = next(rule["line"] - 1 for rule in rules if rule["id"] == name)
    end = min((rule["line"] - 1 for rule in rules if rule["line"] - 1 > start), default=len(lines))
    while end > start + 1 and end < len(lines) and lines[end - 1].lstrip().startswith("#"):
        end -= 1  # what stands above the next one is its own
    while start and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    return "".join(lines[:start] + lines[end:])


def _ended(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"


def _flow(value: Any) -> str:
    """YAML on one line. Everything in it is text that can be seen, a number or a truth value."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_flow(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list) and len(value) == 1 and not isinstance(value[0], (dict, list)):
        return _flow(value[0])
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str):
        return value if _is_plain(value) else json.dumps(value, ensure_ascii=False)
    return json.dumps(value)


def _is_plain(text: str) -> bool:
    """Whether YAML reads it as this text without quotes."""
    return text.isascii() and text.isalpha() and text.lower() not in ("true", "false", "null", "yes", "no", "on", "off")


def _comment(text: str) -> str:
    """A text that stays in its comment."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())[:400]


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
