"""The approver that always refuses, for where nobody is to be asked."""

from __future__ import annotations

from gateway.approval.base import Answer, no

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.approval.base import Question


class Refuse:
    """Says no to everything."""

    name = "refuse"

    def ask(self, question: Question) -> Answer:  # noqa: ARG002 - as every approver
        """No, by policy, at once and without asking anybody."""
        return no("policy", "policy lets nobody be asked")
