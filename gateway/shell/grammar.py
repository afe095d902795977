"""The structure of a text by the grammar, with what it is known to get wrong put right or reported."""

from __future__ import annotations

from gateway.core.value import Value
from gateway.shell.coverage import uncovered
from gateway.shell.keywords import blank
from gateway.shell.parse import parse
from gateway.shell.skeleton import for_grammar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.shell.nodes import Node


class Structure(Value):
    """`root`: the statements. `timed`: where commands under the keyword `time` start. `negated`: a `!` was taken out,
    so that success and failure can't be told apart. `problems`: (why, start, end)."""

    root: Node
    timed: frozenset[int]
    negated: bool
    problems: tuple[tuple[str, int, int], ...]


def structure(shape: str) -> Structure:
    """The structure of a skeleton."""
    timed: frozenset[int] = frozenset()
    negated = False
    problems: list[tuple[str, int, int]] = []
    if "!" in shape or "time" in shape or "coproc" in shape:
        blanked = blank(shape)
        shape, timed, negated = blanked.skeleton, blanked.timed, blanked.negated
        problems += [("a coprocess", at, at + len("coproc")) for at in blanked.coprocesses]
    root, accepted = parse(for_grammar(shape))
    if not accepted:
        problems.append(("the grammar does not accept all of it", 0, len(shape)))
    elif lost := uncovered(root, shape):
        problems.append(("the grammar lost a word", *lost))
    return Structure(root, timed, negated, tuple(problems))
