"""How a session of the agent is shown: to a person, to a pipe, or as lines of JSON."""

from __future__ import annotations

import sys

from gateway.agent.asking import Again
from gateway.agent.events import Called, Calling, Doing, Noticed
from gateway.core.errors import CallError
from gateway.frontends.jsontext import dumps
from gateway.frontends.output import complain, safe_lines, write
from gateway.llm.model import TEXT, Reply, Said
from gateway.policy.wording import visible
from gateway.render.screen import Look, Screen
from gateway.render.texts import shown
from gateway.render.usage_text import spent_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.agent.budget import Purse
    from gateway.agent.events import Happening
    from gateway.agent.loop import Outcome
    from gateway.agent.transcript import Past, Transcript
    from gateway.api.gateway import Gateway
    from gateway.calls.session import Session
    from gateway.llm.model import Model
    from gateway.tools.tool import Tool


class Quiet:
    """For a pipe: the answer, and on standard error what was refused and why it ended."""

    def start(self, session: Session, model: Model, transcript: Transcript | None, past: Past | None) -> None:
        """Nothing is said of it."""

    def happening(self, what: Happening) -> None:
        """A refusal is told, and what people should know."""
        if isinstance(what, Noticed):
            complain(f"gateway: {safe_lines(what.text)}\n")
        if isinstance(what, Again):
            complain(f"gateway: {safe_lines(_again(what))}\n")
        if isinstance(what, Called) and not what.done.ran:
            complain(f"gateway: refused: {visible(what.raw.tool)}: {safe_lines(what.done.result.reason)}\n")

    def end(self, outcome: Outcome, _purse: Purse) -> None:
        """The answer, and why there is none."""
        if outcome.answer is not None:
            write(dumps(outcome.answer) + "\n")
        elif outcome.text:
            write(outcome.text if outcome.text.endswith("\n") else outcome.text + "\n")
        if outcome.reason:
            complain(f"gateway: {safe_lines(outcome.reason)}\n")


class Events:
    """Lines of JSON, one for each event, as it happens."""

    def start(self, session: Session, model: Model, transcript: Transcript | None, past: Past | None) -> None:
        """Who talks, and where it is written down."""
        _line(
            "start",
            session=session.name,
            model=model.name,
            transcript=transcript.path if transcript is not None else "",
            unknown=list(past.unknown) if past is not None else [],
        )

    def happening(self, what: Happening) -> None:
        """One line."""
        if isinstance(what, Said):
            _line(what.kind, text=what.text)
        elif isinstance(what, Reply):
            _line("reply", stop=what.stop_reason, used=dict(what.usage))
        elif isinstance(what, Calling):
            _line("call", id=what.id, tool=what.raw.tool, input=dict(what.raw.input))
        elif isinstance(what, Doing):
            _line("progress", id=what.id, kind=what.progress.kind, text=what.progress.text)
        elif isinstance(what, Noticed):
            _line("notice", text=what.text)
        elif isinstance(what, Again):
            _line("again", **what.as_dict())
        else:
            done = what.done
            _line(
                "result",
                id=what.id,
                decision=done.verdict.decision.name.lower(),
                rule=done.verdict.reason.rule.id,
                ran=done.ran,
                is_error=done.output.is_error,
                text=done.text,
                record=done.record,
            )

    def end(self, outcome: Outcome, purse: Purse) -> None:
        """How it ended, and what the task has used of each model."""
        spent = purse.of_task()
        told = {
            **outcome.as_dict(),
            "cost": spent.cost,
            "by_model": {name: dict(kinds) for name, kinds in spent.by_model.items()},
        }
        if outcome.answer is None:
            del told["answer"]
        _line("end", **told)


def _again(what: Again) -> str:
    """That a reply is asked for once more, in words."""
    later = f"in {what.wait:,.0f} seconds" if what.wait >= 1 else "now"
    return f"{what.reason}; {what.model} is asked again {later} (try {what.number})"


def _line(event: str, **what: object) -> None:
    write(dumps({"event": event, **what}) + "\n")


class Shown:
    """For a person: what the model says as it comes, and each call with what became of it. A call that runs beside
    others is shown when they have ended."""

    def __init__(self, gateway: Gateway, full: bool) -> None:
        self._gateway = gateway
        self._look = Look(full)
        self._screen = Screen(sys.stdout, self._look)
        self._live = ""
        self._tool: Tool | None = None
        self._waiting: list[Called] = []
        self._is_within = False  # a line of the model's is not at its end

    def start(self, session: Session, model: Model, transcript: Transcript | None, past: Past | None) -> None:
        """Who talks, where it is written down, and what is not known of a session that goes on."""
        where = f", kept in {visible(transcript.path)}" if transcript is not None else ", not kept"
        write(f"session {visible(session.name)} with {visible(model.name)}{where}\n")
        unknown = len(past.unknown) if past is not None else 0
        if unknown:
            many = "s" * (unknown > 1)
            write(f"{unknown} call{many} ran when this session was cut off: nobody knows what became of it\n")

    def happening(self, what: Happening) -> None:
        """Shown at once, unless it belongs to a call that runs beside the one that is shown."""
        if isinstance(what, Said):
            if what.kind == TEXT:
                write(shown(what.text))
                self._is_within = not what.text.endswith("\n")
        elif isinstance(what, Reply):
            self._end_line()
        elif isinstance(what, Noticed):
            self._end_line()
            write(f"gateway: {safe_lines(what.text)}\n")
        elif isinstance(what, Again):
            self._end_line()
            write(f"gateway: {safe_lines(_again(what))}\n")
        elif isinstance(what, Calling):
            if not self._live:
                self._live = what.id
                self._begin(what)
        elif isinstance(what, Doing):
            if what.id == self._live and self._tool is not None:
                self._screen.progress(self._tool, what.progress)
        elif what.id == self._live:
            self._live = ""
            self._screen.done(self._tool, what.raw, what.done)
            while self._waiting:
                self._whole(self._waiting.pop(0))
        elif self._live:
            self._waiting.append(what)
        else:
            self._whole(what)

    def _whole(self, what: Called) -> None:
        self._begin(what)
        self._screen.done(self._tool, what.raw, what.done)

    def _begin(self, what: Calling | Called) -> None:
        self._screen = Screen(sys.stdout, self._look)
        try:
            self._tool = self._gateway.registry.tool(what.raw.tool)
        except CallError:
            self._tool = None  # the result says so
        else:
            self._screen.call(self._tool, what.raw)

    def _end_line(self) -> None:
        if self._is_within:
            write("\n")
            self._is_within = False

    def end(self, outcome: Outcome, purse: Purse) -> None:
        """The answer, where it is data; why it ended, unless all was done."""
        self._end_line()
        if outcome.answer is not None:
            write(shown(dumps(outcome.answer)) + "\n")
        if outcome.reason:
            write(f"gateway: {safe_lines(outcome.reason)}\n")
        line = spent_line(purse.of_task())
        if line:
            write(f"({line})\n")
