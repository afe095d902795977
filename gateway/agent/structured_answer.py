"""A run whose final answer must be data: the model is asked again, a bounded number of times, until one fits."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from gateway.calls.session import Session
    from gateway.llm.model import Block, Reply

TOOL = "StructuredOutput"  # it takes the answer
ASK_AGAIN = f"[gateway] The task wants its final answer as data: give it by calling the tool {TOOL}."
NONE_GIVEN = "it ended without one"
_MOST_SHOWN = 1_000


class Answering:
    """Of one run. The schema is the session's (`answer_schema`); without one nothing is asked for."""

    def __init__(self, session: Session, most: int) -> None:
        """`most`: how often the model is asked again."""
        self._session = session
        self._left = self._most = most
        session.answer = None

    @property
    def is_wanted(self) -> bool:
        """Whether the run is not done without an answer that fits."""
        return self._session.answer_schema is not None and self._session.answer is None

    @property
    def answer(self) -> Mapping[str, Any] | None:
        """The one that fits, None as long as there is none."""
        return self._session.answer

    def may_ask(self) -> bool:
        """Whether the model is asked again, which counts."""
        self._left -= 1
        return self._left >= 0

    def failed(self, why: str) -> str:
        """Why the run ends without one."""
        return f"the model was asked {self._most + 1} times for its answer as data, and gave none that fits: {why}"


def wrong_in(reply: Reply, results: Sequence[Block], named: Callable[[str], str]) -> str:
    """What is wrong with the last answer that a reply gave, "" where it gave none. `results`: those of its calls, in
    their order; `named` gives a tool's own name."""
    for block, result in zip(reversed(reply.calls), reversed(results), strict=True):
        if named(block["name"]) == TOOL and result.get("is_error"):
            content = result["content"]
            parts = [content] if isinstance(content, str) else [each.get("text", "") for each in content]
            return " ".join(" ".join(parts).split())[:_MOST_SHOWN]
    return ""
