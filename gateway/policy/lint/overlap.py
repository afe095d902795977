"""Rules that say again what another rule says, or that never get to say anything.

Candidates are found by index (a path or host of the narrower alternative is looked up among the patterns of all
others, commands by their program), so that the time grows with the rules and not with their pairs.
"""

from __future__ import annotations

import json

from gateway.model.decision import LAYERS
from gateway.model.effect import PATH_KINDS
from gateway.policy import hosts, paths
from gateway.policy.lint.inclusion import includes
from gateway.policy.lint.witness import example_path, witness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from gateway.policy.lint.clauses import Clause, Finding

_STRICTER = {"allow": ("deny", "ask"), "ask": ("deny",), "deny": ()}
_MAX_CANDIDATES = 400


def overlaps(clauses: Sequence[Clause]) -> Iterator[Finding]:
    """Duplicates, rules under a stricter one, and rules that a wider one implies; one finding a rule."""
    judged = [clause for clause in clauses if clause.lane in _STRICTER and clause.bound.level == "enforce"]
    sizes: dict[int, int] = {}
    for clause in judged:
        sizes[clause.number] = sizes.get(clause.number, 0) + 1
    doubled = set()
    for clause, first in _duplicates(judged):
        doubled.add(clause.number)
        yield _duplicate(clause, first)
    index = _Index(judged)
    hit: dict[int, list[tuple[Clause, Clause]]] = {}
    for clause in judged:
        if clause.number not in doubled:
            wider = _wider(clause, index)
            if wider is not None:
                hit.setdefault(clause.number, []).append((clause, wider))
    for number, found in hit.items():
        if len(found) == sizes[number]:  # every alternative of the rule
            yield _shadowed(*found[0])


def _duplicates(clauses: Sequence[Clause]) -> Iterator[tuple[Clause, Clause]]:
    seen: dict[str, Clause] = {}
    reported = set()
    for clause in clauses:
        rule = clause.rule
        key = json.dumps(
            [
                clause.lane,
                _sorted(clause.when),
                rule["except"],
                rule["excepts"],
                rule["lock"],
                rule["expires"],
                clause.anchors,
            ],
            sort_keys=True,
        )
        first = seen.setdefault(key, clause)
        if first is clause or first.number == clause.number or clause.number in reported:
            continue
        if _same_place(first, clause):
            continue
        if "any" in rule["when"] and len(rule["when"]["any"]) > 1:
            continue  # one alternative among others; the overlap search judges the whole rule
        reported.add(clause.number)
        yield clause, first


def _same_place(one: Clause, other: Clause) -> bool:
    """The same rule twice: its file is reached on two ways."""
    return (
        all(one.rule[where] == other.rule[where] for where in ("line", "column")) and one.bound.file == other.bound.file
    )


def _sorted(when: dict[str, Any]) -> dict[str, Any]:
    """Lists that mean any of or none of, in one order."""
    return {
        name: sorted(value)
        if isinstance(value, list) and name != "exec" and all(isinstance(v, str) for v in value)
        else value
        for name, value in when.items()
    }


def _duplicate(clause: Clause, first: Clause) -> Finding:
    same_layer = first.bound.layer == clause.bound.layer
    return clause.finding(
        "duplicate",
        "warning" if same_layer else "info",
        f"says what {first.place()} says already",
        "remove one of them",
    )


def _wider(narrow: Clause, index: _Index) -> Clause | None:
    """The rule that makes this one useless: first one that is stricter, else one of the same lane."""
    same = None
    for wide in index.candidates(narrow):
        if wide.number == narrow.number or _same_place(wide, narrow):
            continue
        if not _lasts(wide, narrow) or not includes(wide, narrow):
            continue
        if wide.lane in _STRICTER[narrow.lane]:
            return wide
        if same is None and wide.lane == narrow.lane and _stands_above(wide, narrow):
            same = wide
    return same


def _lasts(wide: Clause, narrow: Clause) -> bool:
    """The wider rule holds whenever the narrower one does: no exceptions, no earlier end, nothing silenced."""
    rule = wide.rule
    if rule["except"] and rule["except"] != narrow.rule["except"]:
        return False
    if rule["expires"] and rule["expires"] != narrow.rule["expires"]:
        return False
    return not (rule["delegate"] and narrow.rule["excepts"] == rule["id"])


def _stands_above(wide: Clause, narrow: Clause) -> bool:
    """Same lane: of two rules that include each other only the later is useless; a lock is a difference."""
    if narrow.rule["lock"] and not wide.rule["lock"]:
        return False
    if narrow.rule["delegate"] != wide.rule["delegate"] or narrow.rule["excepts"]:
        return False
    order = LAYERS.index(wide.bound.layer) - LAYERS.index(narrow.bound.layer)
    if order > 0 and narrow.lane != "allow":
        return False  # an upper layer's rule holds whatever becomes of the lower one
    return wide.number < narrow.number or not includes(narrow, wide)


def _shadowed(narrow: Clause, wide: Clause) -> Finding:
    call = witness(narrow)
    if wide.lane != narrow.lane:
        return narrow.finding(
            "shadowed", "warning", f"never decides: {wide.lane} rule {wide.place()} holds for all of it",
            f"remove it, or narrow `{wide.rule['id']}`", witness=call, proof="overruled" if call else "",
        )  # fmt: skip
    # A deny or ask of its own may still be there for its message, or in case the other file goes away.
    own_reason = narrow.lane != "allow" and (narrow.rule["because"] or wide.bound.file != narrow.bound.file)
    return narrow.finding(
        "implied", "info" if own_reason else "warning", f"adds nothing: {wide.place()} holds for all of it",
        "remove it", witness=call, proof="",
    )  # fmt: skip


class _Index:
    """Clauses by what a narrower one would share with them."""

    def __init__(self, clauses: Sequence[Clause]) -> None:
        self.clauses = clauses
        self.by_program: dict[str, list[int]] = {}
        self.by_tool: dict[str, list[int]] = {}
        self.rest: list[int] = []
        path_rows: list[tuple[str, int]] = []
        host_rows: list[tuple[str, int]] = []
        for number, clause in enumerate(clauses):
            when = clause.when
            if "path" in when:
                path_rows += [(pattern, number) for pattern in when["path"]]
            elif "host" in when:
                host_rows += [(pattern, number) for pattern in when["host"]]
            elif "command" in when or "exec" in when:
                for program in _programs(when):
                    self.by_program.setdefault(program, []).append(number)
            elif "tool" in when and "effect" not in when and "*" not in "".join(when["tool"]):
                for tool in when["tool"]:
                    self.by_tool.setdefault(tool, []).append(number)
            else:
                self.rest.append(number)
        self.paths = paths.build(path_rows)
        self.hosts = hosts.build(host_rows)

    def candidates(self, narrow: Clause) -> Iterator[Clause]:
        """Clauses that may include this one, in order, at most a few hundred."""
        when = narrow.when
        found = set(self.rest[:_MAX_CANDIDATES])
        if "path" in when and set(narrow.kinds) <= set(PATH_KINDS):
            found.update(paths.lookup(self.paths, example_path(when["path"][0])))
        if "host" in when:
            found.update(hosts.lookup(self.hosts, when["host"][0].replace("*", "x")))
        for program in _programs(when)[:1]:
            found.update(self.by_program.get(program, ()))
            found.update(self.by_program.get("*", ()))
        for tool in when.get("tool", ())[:1]:
            found.update(self.by_tool.get(tool, ()))
        for number in sorted(found)[:_MAX_CANDIDATES]:
            yield self.clauses[number]


def _programs(when: dict[str, Any]) -> list[str]:
    """First words of a clause's commands; `*` where a glob stands for them."""
    words = [pattern.split(" ", 1)[0] for pattern in when.get("command", ())]
    words += when["exec"][0] if "exec" in when else ()
    return ["*" if "*" in word or "?" in word else word for word in dict.fromkeys(words)]
