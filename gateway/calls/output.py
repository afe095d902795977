"""The results of a call: what its handler returns, progress meanwhile, and how it ended."""

from __future__ import annotations

from gateway.core.errors import GatewayError
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.approval.proposing import Proposal
    from gateway.model.grant import Grant
    from gateway.model.plan import SandboxPlan
    from gateway.model.result import Result
    from gateway.model.verdict import Verdict


class Text(Value):
    """Text for the model."""

    text: str


class Image(Value):
    """A picture for the model. `media_type`: image/png, image/jpeg, image/gif or image/webp."""

    media_type: str
    data: bytes


class Output(Value):
    """What came of a call. `blocks`: what the model gets, in order. `data`: the structured result, checked against the
    tool's `output`. `is_error`: the tool ran and reports an error. `changed`: real paths of files that it
    changed. `result`: of what ran confined. `cwd`, `mode`: what the session becomes, "" for no change; `rules`: what is
    added to its rules, each the text of a policy file; all three honoured only where the tool is not concurrency-safe.
    `diff`: a unified diff for people, "" if there is none. `notes`: for the model, each in its own message."""

    blocks: tuple[Text | Image, ...] = ()
    data: Mapping[str, Any] | None = None
    is_error: bool = False
    changed: tuple[str, ...] = ()
    result: Result | None = None
    cwd: str = ""
    mode: str = ""
    diff: str = ""
    notes: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


class Progress(Value):
    """Something to show while a call runs. `kind`: stdout, stderr, status or event; `text`: what to show."""

    kind: str
    text: str


class Failure(GatewayError):
    """The call cannot be done: one sentence for the model, and what it may do instead."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(f"{message} {remedy}".rstrip())
        self.message = message
        self.remedy = remedy


class Done(Value):
    """What became of a call.

    `verdict`: how it was judged; a call that could not be judged has one that denies it. `output`: what the model gets.
    `result`: how it ended, as the record has it. `ran`: whether the tool was started at all. `plan`: what it ran
    inside, None where it started nothing. `grant`: the answer where somebody was asked. `record`: the id of its record,
    "" if there is none. `reports`: what people should know of hooks and of the record. `error`: why it could not be
    judged. `alone`: whether it may change the session. `not_taken`: what of the change to the session that it asked for
    was not made, which its output says too. `proposal`: the rule that would have let a refused call run.
    """

    verdict: Verdict
    output: Output
    result: Result
    plan: SandboxPlan | None = None
    grant: Grant | None = None
    record: str = ""
    reports: tuple[str, ...] = ()
    error: GatewayError | None = None
    alone: bool = False
    ran: bool = False
    not_taken: tuple[str, ...] = ()
    proposal: Proposal | None = None

    @property
    def text(self) -> str:
        """All text that the model gets."""
        return "\n".join(block.text for block in self.output.blocks if isinstance(block, Text))

    @property
    def refusal(self) -> str:
        """Of a call that did not run: why, and what the model gets besides, for clients that take one text."""
        return "\n".join([self.text or self.result.reason, *self.output.notes])


class Crowded(Exception):
    """The call was to run beside others, and may not. Nothing of it has run, and nothing is recorded."""
