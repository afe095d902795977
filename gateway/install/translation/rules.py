"""A rule of an agent's, and all of them together. Pure."""

from __future__ import annotations

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.install.translation.matching import Test

ALLOW, ASK, DENY = "allow", "ask", "deny"
LANES = (ALLOW, ASK, DENY)


class Rule(Value):
    """One rule. `text`: as its file has it; `tests`: it holds for a call that one of them holds for, () for a rule that
    its agent never asks about, of which `idle` says why. `partly`: what narrows it that cannot be said here. `outer`:
    where its agent lets paths outside of the project ask whatever allows the command."""

    agent: str
    file: str
    line: int
    text: str
    lane: str
    tests: tuple[Test, ...]
    idle: str = ""
    partly: str = ""
    because: str = ""


class Remark(Value):
    """What stands in a file beside rules that can be translated. `ignored`: its agent takes no notice of it."""

    agent: str
    file: str
    line: int
    text: str
    why: str
    ignored: bool = False


class Found(Value):
    """What was read of one agent, its strongest rule first where order matters."""

    agent: str
    rules: tuple[Rule, ...] = ()
    remarks: tuple[Remark, ...] = ()
    files: tuple[str, ...] = ()
