"""One language server at work, for one session: started as a command that is judged, confined to reading and recorded,
then asked."""

from __future__ import annotations

import os
import threading
from time import monotonic

from gateway.calls.output import Failure
from gateway.core.cancel import NEVER
from gateway.core.errors import GatewayError
from gateway.lsp.answers import answer
from gateway.lsp.capabilities import FEATURES, OURS
from gateway.lsp.client import Client, GoneError, LateError, ServerError
from gateway.lsp.documents import Documents
from gateway.lsp.file_types import language_of
from gateway.lsp.positions import ENCODINGS, UTF16
from gateway.lsp.problems import kept_of, problems_of
from gateway.lsp.uris import path_of, uri_of
from gateway.lsp.visible import one_line
from gateway.mcp.child import Child
from gateway.model.plan import HIDDEN, READ, Network

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.calls.ports import Starts
    from gateway.calls.session import Session
    from gateway.core.cancel import Cancel
    from gateway.lsp.documents import Document
    from gateway.lsp.frames import Message
    from gateway.lsp.problems import Problem
    from gateway.lsp.sources import Source
    from gateway.model.context import Context
    from gateway.model.plan import SandboxPlan

# A server that leaves so many requests in a row without an answer is ended.
MOST_LATE = 3
_ASK_AGAIN = (-32801, -32802)  # what was asked about has changed, or the server has other things to do
_MOST_AGAIN = 4
# Between one thing that a server loads and the next, in seconds.
_BETWEEN = 0.3
_MOST_AT_WORK = 1_000
_MOST_SAID = 500
_END_SECONDS = 2.0
_EXIT_SECONDS = 1.0  # it can leave nothing half-done behind, so it is not waited for longer
_LAST_SECONDS = 1.0
_LOOK_EVERY = 0.05
_CHANGED, _DELETED = 2, 3


def reading_only(plan: SandboxPlan) -> SandboxPlan:
    """The plan of a language server's command: what it sees of the host it only reads, and it reaches nobody. Its HOME
    and temporary folders are its own and go with it; there it has its cache, since it may write to none of the host's.
    """
    mounts = tuple(each if each.access == HIDDEN else each.replace(access=READ) for each in plan.mounts)
    environment = dict(plan.environment)
    temp = environment.get("TMPDIR", "/tmp")
    if temp in plan.private:
        environment["XDG_CACHE_HOME"] = temp.rstrip("/") + "/cache"
    return plan.replace(
        mounts=mounts, network=Network(), watched=(), held=(), environment=tuple(sorted(environment.items()))
    )


class LanguageServer:
    """One server. Safe to use from several threads once it is started."""

    def __init__(self, name: str, declared: Mapping[str, Any]) -> None:
        self.name = name
        self.encoding = UTF16
        self.after_edit = float(declared["after_edit"])
        self._declared = declared
        self.seconds = float(declared["seconds"])
        self._child: Child | None = None
        self._client: Client | None = None
        self._capabilities: dict[str, Any] = {}
        self._folders: list[dict[str, str]] = []
        self._late = 0
        self._problem = ""
        self.was_closed = False  # it worked until it was ended here
        self._published: dict[str, _Published] = {}  # by path
        self._serial = 0
        self._news = threading.Condition()
        self._at_work: set[str] = set()  # what it says that it is busy with
        self._finished = 0  # how much of that it has ended
        self._is_loaded = False
        self.documents = Documents(self._notify, self._language, lambda: self._serial)

    @property
    def title(self) -> str:
        """What it is called in sentences."""
        return f"Language server `{self.name}`"

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        child, client = self._child, self._client
        return child is not None and child.is_alive and client is not None and not client.ended and not self._problem

    # ------------------------------------------------------------------------------------------------ start and end

    def start(self, services: Starts, session: Session, cancel: Cancel, context: Context) -> None:
        """Starts it in the project root. Raises Failure where policy does not let it, and `BrokenError` where it does
        not work."""
        child = Child(self.name, self._declared, title="Language server", narrows=reading_only)
        child.start(services, session, cancel, context)
        self._child = child
        self._folders = [
            {"uri": uri_of(each), "name": os.path.basename(each)} for each in context.workspace or (context.cwd,)
        ]
        self._client = Client(
            child.into, child.out, asked=self._asked, told=self._told, ended=child.stop, name=self.name
        )
        try:
            self._initialize(cancel)
        except (ServerError, GoneError, LateError, _NonsenseError) as error:
            why = self.why() if isinstance(error, GoneError) else str(error)
            self._problem = self._shown(why)
            self.close()
            raise BrokenError(f"{self.title} does not work: {self._problem.rstrip('.')}.") from error

    def _initialize(self, cancel: Cancel) -> None:
        assert self._client is not None
        folder = self._folders[0]
        params: dict[str, Any] = {
            "processId": None,  # it could not see ours
            "clientInfo": {"name": "agent-gateway"},
            "rootUri": folder["uri"],
            "rootPath": path_of(folder["uri"]),
            "workspaceFolders": self._folders,
            "capabilities": OURS,
            "trace": "off",
        }
        if self._declared["initialization"] is not None:
            params["initializationOptions"] = self._declared["initialization"]
        found = self._client.request("initialize", params, float(self._declared["start_seconds"]), cancel)
        capabilities = found.get("capabilities") if isinstance(found, dict) else None
        if not isinstance(capabilities, dict):
            raise _NonsenseError("it did not say what it can do")
        encoding = capabilities.get("positionEncoding", UTF16)
        if encoding not in ENCODINGS:
            raise _NonsenseError("it counts characters in a way that nobody here does")
        self.encoding, self._capabilities = encoding, capabilities
        self.documents.agreed(capabilities.get("textDocumentSync"))
        self._client.notify("initialized", {})
        if self._declared["configuration"]:
            self._client.notify("workspace/didChangeConfiguration", {"settings": self._declared["configuration"]})

    def close(self) -> None:
        """Ends it with all its processes: as the protocol has it if it still listens, else at once. It may be closed
        again."""
        client, child = self._client, self._child
        self.was_closed = self.was_closed or self.is_alive
        if client is not None:
            if self.is_alive and self._late < MOST_LATE and self._capabilities:
                try:
                    client.request("shutdown", None, _END_SECONDS, NEVER)
                    client.notify("exit", None)
                    assert child is not None
                    child.ended(_EXIT_SECONDS)
                except GatewayError:  # it is ended all the same
                    self._late = MOST_LATE
            client.end("it was ended")
        if child is not None:
            child.close()
        if client is not None:
            client.join(_LAST_SECONDS)

    def why(self) -> str:
        """Why it has ended."""
        client, child = self._client, self._child
        if self._problem:
            return self._problem
        said = client.ended if client is not None else ""
        if child is not None and said.startswith("it has closed"):
            child.ended(_LAST_SECONDS)
            said = child.why() or said
        return self._shown(said) or "nobody knows why"

    def _shown(self, said: str) -> str:
        """What it says of itself, on one line, without the secrets that it was given."""
        return one_line(said if self._child is None else self._child.hidden(said), _MOST_SAID)

    # ------------------------------------------------------------------------------------------------------- questions

    def offers(self, feature: str) -> bool:
        """Whether it answers such questions (`textDocument/definition`, …)."""
        return self._has(FEATURES[feature])

    def _has(self, capability: str) -> bool:
        return self._capabilities.get(capability) not in (None, False)  # options for it may be empty

    def offered(self) -> list[str]:
        """All questions that it answers."""
        return [each for each in FEATURES if self.offers(each)]

    def ask(self, method: str, params: Any, cancel: Cancel, seconds: float = 0.0) -> Any:
        """What it answers, without the secrets that it was given. `seconds`: if it may take less long than policy says.
        Raises Failure, `LateFailure` where no answer came in time."""
        assert self._client is not None
        assert self._child is not None
        most = min(seconds or self.seconds, self.seconds)
        end = monotonic() + most
        for again in range(_MOST_AGAIN):
            try:
                finished = self._finished
                found = self._client.request(method, params, max(end - monotonic(), _LOOK_EVERY), cancel)
                self._late = 0
                if self._loaded(finished, end - most / 2, cancel):  # it answered from what it knew by then
                    continue
                return self._child.hidden(found)
            except ServerError as error:
                self._late = 0
                if error.code in _ASK_AGAIN and again + 1 < _MOST_AGAIN:
                    continue  # it has learnt of a change meanwhile, and wants to be asked anew
                why = self._shown(str(error)).rstrip(".")
                raise Failure(f"{self.title} answered with an error: {why}.") from error
            except LateError as error:
                if most == self.seconds:
                    self._count_late(cancel)
                told = str(error) if cancel.is_set else f"it did not answer within {most:g} s"
                raise LateFailure(f"{self.title} gave no answer: {told}.") from error
            except GoneError as error:
                raise self._gone() from error
        raise Failure(f"{self.title} gave no answer: it is busy with changes.", "Ask again.")

    def _loaded(self, finished: int, end: float, cancel: Cancel) -> bool:
        """Whether the server was still taking the project in since it had `finished` so much, and has now. Waited for
        once after its start, and never for ever: some are always at something."""
        if self._is_loaded or not (self._at_work or self._finished != finished):
            return False
        with self._news:
            quiet_from = monotonic()
            while not cancel.is_set and self.is_alive and monotonic() < end:
                if self._at_work:
                    quiet_from = monotonic()
                elif monotonic() - quiet_from >= _BETWEEN:
                    break
                self._news.wait(_LOOK_EVERY)
            self._is_loaded = True
            return not self._at_work

    def _count_late(self, cancel: Cancel) -> None:
        if not cancel.is_set:
            self._late += 1
            if self._late >= MOST_LATE and self._client is not None:
                self._client.end(f"it left {MOST_LATE} requests in a row without an answer")

    def _gone(self) -> Failure:
        why = self.why().rstrip(".")
        return Failure(f"{self.title} has ended: {why}.", "It is started again when it is next asked.")

    def show(self, source: Source) -> Document:
        """Hands it a file. Raises Failure."""
        try:
            return self.documents.show(source)
        except GoneError as error:
            raise self._gone() from error

    def keep_in_step(self, may_read: Any) -> None:
        """As `Documents.keep_in_step`. Raises Failure."""
        try:
            self.documents.keep_in_step(may_read)
        except GoneError as error:
            raise self._gone() from error

    def changed(self, paths: tuple[str, ...]) -> None:
        """Tells it of files that were changed, made or removed, by real path. Raises Failure."""
        changes = [
            {"uri": uri_of(each), "type": _CHANGED if os.path.exists(each) else _DELETED} for each in paths
        ]  # one that is new is changed as well, from nothing; servers look at the file either way
        try:
            self._notify("workspace/didChangeWatchedFiles", {"changes": changes})
        except GoneError as error:
            raise self._gone() from error

    # ---------------------------------------------------------------------------------------------------- what is wrong

    def problems(self, document: Document, seconds: float, cancel: Cancel, settle: float) -> tuple[Problem, ...] | None:
        """What it says is wrong with a file in the version that it was last handed; None where it has not said so in
        time. `settle`: for how long it must have said nothing new. Raises Failure."""
        if self._has("diagnosticProvider"):
            params = {"textDocument": {"uri": document.uri}}
            try:
                found = self.ask("textDocument/diagnostic", params, cancel, max(seconds, _LOOK_EVERY))
            except LateFailure:
                return None
            items = found.get("items") if isinstance(found, dict) else None
            if not isinstance(items, list):
                raise Failure(f"{self.title} gave no answer that says what is wrong.")
            return problems_of(items, document.source.lines, self.encoding)
        end = monotonic() + seconds
        with self._news:
            while True:
                known = self._published.get(document.source.real)
                is_present = known is not None and known.serial > document.heard and known.is_of(document.version)
                if known is not None and is_present and monotonic() - known.at >= settle:
                    break
                if cancel.is_set or monotonic() > end or not self.is_alive:
                    break
                self._news.wait(_LOOK_EVERY)
        if not is_present:
            if not self.is_alive:
                raise self._gone()
            return None
        assert known is not None
        return problems_of(known.items, document.source.lines, self.encoding)

    # ------------------------------------------------------------------------------------------- what it says by itself

    def _asked(self, method: str, params: Message) -> Any:
        return answer(method, params, self._declared["configuration"], self._folders)

    def _told(self, method: str, params: Message) -> None:
        if method == "$/progress":
            self._progressed(params)
            return
        if method != "textDocument/publishDiagnostics":
            return
        path, items = path_of(params.get("uri")), params.get("diagnostics")
        if self.documents.get(path) is None or not isinstance(items, list):
            return  # of a file that nobody asks about, or nothing that says what is wrong with it
        assert self._child is not None
        kept = kept_of(items, self._child.hidden)
        version = params.get("version")
        with self._news:
            self._serial += 1
            published = _Published(self._serial, version if isinstance(version, int) else None, kept, monotonic())
            self._published[path] = published
            for each in [each for each in self._published if self.documents.get(each) is None]:
                del self._published[each]
            self._news.notify_all()

    def _progressed(self, params: Message) -> None:
        token, value = repr(params.get("token")), params.get("value")
        kind = value.get("kind") if isinstance(value, dict) else None
        with self._news:
            if kind == "begin" and len(self._at_work) < _MOST_AT_WORK and len(token) < _MOST_SAID:
                self._at_work.add(token)
            elif kind == "end" and token in self._at_work:
                self._at_work.remove(token)
                self._finished += 1
            self._news.notify_all()

    def _notify(self, method: str, params: Any) -> None:
        assert self._client is not None
        self._client.notify(method, params)

    def _language(self, real: str) -> str:
        return language_of(real, self._declared["extensions"])


class _Published:
    """What it said last of a file. `serial`: which message that was; `at`: when it came."""

    __slots__ = ("at", "items", "serial", "version")

    def __init__(self, serial: int, version: Any, items: Any, at: float) -> None:
        self.serial = serial
        self.version = version
        self.items = items
        self.at = at

    def is_of(self, version: int) -> bool:
        """Whether it speaks of this version; a server that names none speaks of the last one that it was handed."""
        return not isinstance(self.version, int) or self.version >= version


class LateFailure(Failure):
    """No answer came in time."""


class BrokenError(Failure):
    """A server was started and does not work."""


class _NonsenseError(GatewayError):
    """What it answers to `initialize` is nothing to work with."""
