"""VS Code: what its settings approve by themselves. True is no question, false always one; nothing is refused.

`chat.tools.terminal.autoApprove`: a key is the beginning of a command that ends where a word ends, `/…/` a regular
expression. Each command of a line needs one, and one that is false stands above all. With `matchCommandLine` the whole
line is compared.
"""

from __future__ import annotations

import os
import re

from gateway.install.base import system
from gateway.install.jsonc import MISSING, JsonDocument
from gateway.install.translation.common_call import WRITE
from gateway.install.translation.deciding import STRICTEST
from gateway.install.translation.globs_of_paths import glob_expression, samples
from gateway.install.translation.matching import Command
from gateway.install.translation.matching_expressions import Expression
from gateway.install.translation.matching_targets import Host, Path
from gateway.install.translation.places import Place, json_line
from gateway.install.translation.rules import ALLOW, ASK, Remark, Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.install.base import Site
    from gateway.install.translation.common_call import Where
    from gateway.install.translation.matching import Test

NAME = "vscode"
TITLE = "VS Code"
WAY = STRICTEST
PATH_PROGRAMS: frozenset[str] = frozenset()
_TERMINAL, _EDITS, _URLS = (
    "chat.tools.terminal.autoApprove",
    "chat.tools.edits.autoApprove",
    "chat.tools.urls.autoApprove",
)
_OTHERS = (
    "chat.permissions.default",
    "chat.agent.sandbox.enabled",
    "chat.tools.global.autoApprove",
    "chat.tools.autoApprove",
)


def places(site: Site) -> tuple[Place, ...]:
    """The settings that VS Code takes what it approves by itself from on this machine."""
    config = site.moved("XDG_CONFIG_HOME", ".config")
    user = system(
        os.path.join(config, "Code", "User"), os.path.join(site.home, "Library", "Application Support", "Code", "User")
    )
    return (
        Place(os.path.join(user, "settings.json"), "user"),
        Place(os.path.join(site.project, ".vscode", "settings.json"), "project"),
    )


def read(text: str, file: str, _level: str, where: Where) -> tuple[list[Rule], list[Remark]]:
    """Raises ConfigError for a text that is no JSON."""
    document = JsonDocument(text, file)
    rules: list[Rule] = []
    remarks: list[Remark] = []
    for setting, tests_of in ((_TERMINAL, _command), (_EDITS, _edit), (_URLS, _url)):
        entries = document.get((setting,))
        for key, value in entries.items() if isinstance(entries, dict) else ():
            line = json_line(document, text, key)
            if value is None:
                remarks.append(Remark(NAME, file, line, text=f"{key}: null", why="takes a default of VS Code's away"))
                continue
            lane, partly, idle = _lane(setting, value)
            if not lane:
                remarks.append(
                    Remark(NAME, file, line, text=f"{key}: {value}", why="is neither true nor false", ignored=True)
                )
                continue
            test = tests_of(key, lane, where)
            tests = () if test is None else (test,)
            shown = f"{key}: {_shown(value)}"
            rules.append(
                Rule(
                    NAME,
                    file,
                    line,
                    text=shown,
                    lane=lane,
                    tests=tests,
                    idle=idle,
                    partly=partly if tests else f"the address {key}",
                )
            )
    for key in _OTHERS:
        value = document.get((key,))
        if value is not MISSING:
            remarks.append(
                Remark(NAME, file, json_line(document, text, key), text=f"{key}: {value}", why="is a setting, no rule")
            )
    return rules, remarks


def _shown(value: Any) -> str:
    import json

    return json.dumps(value)


def _lane(setting: str, value: Any) -> tuple[str, str, str]:
    """The lane of an entry, what of it cannot be said, and why it is never asked about."""
    if isinstance(value, bool):
        return (ALLOW if value else ASK), "", ""
    if not isinstance(value, dict):
        return "", "", ""
    if setting == _URLS:
        return (ALLOW if value.get("approveRequest") is True and value.get("approveResponse") is True else ASK), "", ""
    approve = value.get("approve")
    if not isinstance(approve, bool):
        return "", "", ""
    return (ALLOW if approve else ASK), "matchCommandLine" if value.get("matchCommandLine") else "", ""


def _command(key: str, lane: str, _where: Where) -> Test | None:
    found = re.fullmatch(r"/(.*)/([a-z]*)", key, re.DOTALL)
    if found:
        return Expression(found[1], folds="i" in found[2])
    return Command((key,), more=True) if lane == ALLOW else Expression("^" + _escaped(key) + r"\b")


def _escaped(text: str) -> str:
    return re.sub(r"[.*+?^${}()|\[\]\\]", lambda each: "\\" + each[0], text)


def _edit(key: str, _lane: str, where: Where) -> Test | None:
    rest = key.removeprefix("./")
    ours = f"./{rest}"
    if rest.startswith("/") or set(rest) & set("{}[]!"):
        return None
    return Path(
        WRITE,
        re.escape(where.project) + "/" + glob_expression(rest),
        (ours,),
        denies=(ours,),
        samples=samples(where.project, rest),
        alone=True,
    )


def _url(key: str, _lane: str, _where: Where) -> Test | None:
    scheme, _, rest = key.rpartition("://")
    host, _, path = rest.partition("/")
    if path.strip("*/") or not host or ":" in host:
        return None
    return Host(host, scheme if scheme in ("http", "https") else "")


__all__ = ["NAME", "PATH_PROGRAMS", "TITLE", "WAY", "places", "read"]
