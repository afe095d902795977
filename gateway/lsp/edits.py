"""What goes along with a call that changes files: the session's language servers hear of it, and what is wrong with an
edited file that was not wrong before is told with the result. Whatever fails here changes nothing about the call."""

from __future__ import annotations

from time import monotonic

from gateway.calls.output import Failure, Text
from gateway.lsp.problems import new_ones
from gateway.lsp.sources import may_always_read, source_of
from gateway.lsp.visible import named, told_problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from gateway.calls.output import Output
    from gateway.calls.session import Session
    from gateway.calls.work import Work
    from gateway.lsp.problems import Problem
    from gateway.lsp.server import LanguageServer

    class Running(Protocol):
        """The language servers that run."""

        def for_file(self, path: str, session: Session) -> LanguageServer | None:
            """The one that was asked about such files before, None where none was."""

        def at_work(self, session: Session) -> tuple[LanguageServer, ...]:
            """The session's servers that can be asked now; nothing is started."""


MOST_TOLD = 20
# Of the time that an edit waits, what the server gets to say what was wrong before.
_BEFORE = 0.5
_SETTLE = 0.3


class Edit:
    """One call; one use. Made before it runs."""

    def __init__(self, languages: Running, work: Work) -> None:
        self._languages = languages
        self._work = work
        self._real = ""
        self._server: LanguageServer | None = None
        self.reports: list[str] = []  # what people should know
        try:
            self._begin()
        except Exception as error:
            self._report(error)

    def _begin(self) -> None:
        """Hands the server the file as it was, so that it can say what was wrong with it then."""
        real = self._edited()
        server = self._languages.for_file(real, self._work.session) if real else None
        if server is None or not server.after_edit or not self._may_read(real):
            return
        source = source_of(real)
        self._real, self._server = real, server
        if source is not None:
            server.show(source)

    def _may_read(self, path: str) -> bool:
        return may_always_read(path, self._work)

    def _edited(self) -> str:
        """The real path of the file that the call changes by itself, "" for a command or more than one."""
        if self._work.plan is not None:
            return ""
        facts = self._work.verdict.facts.paths
        paths = {
            item.effect.path  # type: ignore[attr-defined]
            for item in self._work.verdict.analysis.items
            if item.effect.kind == "write"
        }
        fact = facts.get(paths.pop()) if len(paths) == 1 else None
        return "" if fact is None else fact.real

    def told(self, output: Output) -> Output:
        """The result, with what is newly wrong. Never raises."""
        if not output.changed:
            return output
        try:
            return self._told(output)
        except Exception as error:
            self._report(error)
            return output

    def _told(self, output: Output) -> Output:
        server = self._server
        is_known = False
        before: tuple[Problem, ...] = ()
        began = monotonic()
        document = server.documents.get(self._real) if server is not None else None
        if server is not None and document is not None:
            try:
                said = server.problems(document, server.after_edit * _BEFORE, self._work.cancel, _SETTLE)
                before, is_known = said or (), said is not None
            except Failure as failure:  # all of them hear of the change nevertheless
                self._report(failure)
        for each in self._languages.at_work(self._work.session):
            try:
                each.changed(output.changed)
                each.keep_in_step(self._may_read)
            except Failure as failure:
                self._report(failure)
        if server is None or self._real not in output.changed or not server.is_alive:
            return output
        source = source_of(self._real)
        if source is None:
            return output
        is_new = document is None
        left = server.after_edit - (monotonic() - began)
        after = server.problems(server.show(source), max(left, 0.0), self._work.cancel, _SETTLE)
        found = new_ones(before, after or ())
        if not found:
            return output
        shown = named(self._real, self._work.context.cwd)
        what = "New problems" if is_known or is_new else "Problems (which of them are new is not known)"
        lines = [f"{what} in {shown}, says language server `{server.name}`:"]
        lines += [f"  {told_problem(each)}" for each in found[:MOST_TOLD]]
        lines += [f"  … and {len(found) - MOST_TOLD} more"] * (len(found) > MOST_TOLD)
        return output.replace(blocks=(*output.blocks, Text("\n".join(lines))))

    def _report(self, error: Exception) -> None:
        said = f"what language servers say of the change is not known ({type(error).__name__}: {str(error)[:200]})"
        if said not in self.reports:
            self.reports.append(said)
