"""What the record holds: one value for each line, as it is read back."""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.changes import NONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.model.call import Call

DECISION, OUTCOME, MARK = "decision", "outcome", "mark"
# The session of calls that try whether hooks answer.
CANARY = "doctor"
# How a call "ended" that runs on when it is answered.
STARTED = "started"
# The fields that tell what a call is about, the most telling first.
_SAID_FIRST = ("command", "file_path", "notebook_path", "path", "url", "pattern", "query", "prompt", "name")


class DecisionRecord(Value):
    """A call and what was decided on it.

    `number` counts all lines of the record, without gaps. `id` joins it with its outcome. `at`: UTC. `input` is
    redacted, `redacted` says in how many places; `call` is a keyed digest of the tool and the whole input, so that
    equal calls can be told without knowing them. `rule`: id, layer, file and line. `effects`: kind and target of each,
    and `more` that were left out. `plan`: a keyed digest of what the sandbox was to keep, "" where there was none;
    `network`: its mode. `policy`: the revision that decided. `grant`: what allowed it beside policy. `because`: why it
    was refused, where no file says so. `hooks`: ids of those that changed the call before it was judged, and
    `original`: the digest that `call` would be of what had come. `contained`
    and `changes`: as the verdict has them. `seen`: digests of the facts and of the circumstances that it was judged
    with, and the time (`gateway.audit.decision_inputs`); () where nothing is kept of them.
    """

    number: int
    id: str
    at: str
    front: str
    tool: str
    input: Mapping[str, Any]
    decision: str
    rule: tuple[str, str, str, int]
    reason: str = ""
    effects: tuple[tuple[str, str], ...] = ()
    more: int = 0
    call: str = ""
    cwd: str = ""
    mode: str = ""
    session: str = ""
    agent: str = ""
    depth: int = 0
    confined: bool = True
    plan: str = ""
    network: str = ""
    policy: str = ""
    grant: Mapping[str, Any] | None = None
    redacted: int = 0
    because: str = ""
    hooks: tuple[str, ...] = ()
    original: str = ""
    contained: bool = False
    changes: str = NONE
    seen: tuple[str, str, float] | tuple[()] = ()


class Rewritten(Value):
    """What hooks did to a call before it was judged: `call` as it came, and the ids of the hooks that changed it."""

    call: Call
    hooks: tuple[str, ...]


class OutcomeRecord(Value):
    """What became of the call whose decision has the same `id`. A call that runs on in the background has one that says
    `started`, and a second one when it has ended: the last one counts. Fields are those of `Result`; `output`: bytes of
    standard output and error, whether kept or not. Each violation is kind, target, rule, source and count; `hints`:
    what to do instead of each, in the same order."""

    number: int
    id: str
    at: str
    ended: str
    status: int
    seconds: float = 0.0
    output: tuple[int, int] = (0, 0)
    reason: str = ""
    violations: tuple[tuple[str, str, str, str, int], ...] = ()
    hints: tuple[str, ...] = ()
    backend: str = ""
    degraded: tuple[str, ...] = ()
    said: tuple[tuple[str, int, int], ...] = ()
    drafted: str = ""
    dialled: tuple[tuple[str, str, str, str], ...] = ()


class MarkRecord(Value):
    """Something that a writer found wrong with the record and closed off. `mark`: torn (a line that was not written to
    its end), foreign (lines that are no part of the chain), short (lines are missing at the end), missing (a file is
    gone), seal (the seal was missing or damaged), or next: nothing was wrong, a new file begins. `bytes` and `digest`
    are those of what was closed off."""

    number: int
    at: str
    mark: str
    bytes: int = 0
    digest: str = ""


def said_of(record: Mapping[str, Any]) -> str:
    """What a call is about: its telling field, or its first text."""
    given = record.get("input")
    if not isinstance(given, dict):
        return ""
    texts = {name: value for name, value in given.items() if isinstance(value, str)}
    name = next((each for each in _SAID_FIRST if each in texts), next(iter(texts), ""))
    return texts.get(name, "")
