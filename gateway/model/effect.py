"""What a call does to the world: the closed, public list that every tool, program and foreign agent yields.

A target that is not fully known holds `HOLE` ("\\0", which no path, host or word of a shell can contain) in
place of each part that only the run will tell. An unknown is a value, never an absence.
"""

from __future__ import annotations

from gateway.core.value import Value

HOLE = "\0"
PATH_KINDS = ("list", "read", "write", "delete")
KINDS = (
    "use", "exec", "code", "opaque", *PATH_KINDS, "connect", "push", "credential", "env", "process", "system",
    "session",
)  # fmt: skip
CARRIERS = ("use", "exec")


class Effect(Value):
    """Base of the effects. `kind` is one of `KINDS`; `target` is what people and JSON are shown."""

    kind = ""

    @property
    def target(self) -> str:
        """What the effect is on, in one line; texts of the call stand in it as they are, so whoever shows it makes
        control characters visible."""
        return ""


class Use(Effect):
    """This tool is called. A carrier: needs no cover of its own."""

    kind = "use"
    tool: str

    @property
    def target(self) -> str:
        return self.tool


class Exec(Effect):
    """This program, which we have a description of, starts. A carrier."""

    kind = "exec"
    program: str
    argv: tuple[str, ...]

    @property
    def target(self) -> str:
        return " ".join(self.argv)


class Code(Effect):
    """We know what starts, not what it does: `npm test`, `make`, a program or option nobody described."""

    kind = "code"
    program: str
    argv: tuple[str, ...]
    why: str

    @property
    def target(self) -> str:
        return " ".join(self.argv)


class Opaque(Effect):
    """We do not even know which program or words run."""

    kind = "opaque"
    why: str

    @property
    def target(self) -> str:
        return self.why


# `Touch.skips` of trees that are written with names from elsewhere: nobody has seen them; those of folders that are
# copied, each behind a NUL.
BROUGHT, COPIED = "brought", "copied"


class Touch(Effect):
    """A file or folder is listed, read, written (created, renamed to) or deleted (renamed from).

    `path` is absolute and lexically normal, or holds `HOLE`. `tree`: everything below it too. `glob`: `path`
    is still a pattern of the shell (only between the parse and the look at the host). `real` is where the
    path leads after links are resolved, empty when nobody looked or when it is the same. `skips`: what of a tree
    the program leaves out by itself: "hidden" (names that start with a dot), "untracked" (files that git does not
    keep), "rest" (everything but its own store, whose protected files it does not touch), or all but files of some
    names: "only", and each pattern of names behind a NUL. Of a tree that is written it says where the names come from:
    `BROUGHT`, or `COPIED`; "" for those that are there and those that the program itself chooses.
    """

    kind: str
    path: str
    tree: bool = False
    glob: bool = False
    real: str = ""
    skips: str = ""

    @property
    def only(self) -> tuple[str, ...]:
        """The patterns of names that `skips` leaves of a tree, none where it leaves others too. Then the files of these
        names are touched, and no folder."""
        what, *names = self.skips.split("\0")
        return tuple(names) if what == "only" else ()

    @property
    def target(self) -> str:
        return self.path + ("/**" if self.tree else "")


class Connect(Effect):
    """A host is contacted. `port` 0: not known. `direction`: fetch, send or listen. `sends`: files whose content may
    leave with it, as paths and where their links lead; `/**` behind a folder stands for all that lies below.
    `known_by`: who names the host, if the words of the call do not: `person`, whose own settings of the program do, in
    files that no call can write; `provider`, whose program has it for what it is asked."""

    kind = "connect"
    host: str
    port: int
    direction: str
    sends: tuple[str, ...] = ()
    known_by: str = ""

    @property
    def target(self) -> str:
        return f"{self.host}:{self.port}" if self.port else self.host


class Push(Effect):
    """Refs are sent to a remote repository, after `+ref`, `--mirror` and `--delete` are normalised."""

    kind = "push"
    remote: str
    ref: str
    force: bool

    @property
    def target(self) -> str:
        return f"{self.remote} {self.ref}" + (" (force)" if self.force else "")


class Credential(Effect):
    """A program reads its own login material and does not output it (ssh's key for `git fetch`). `changes`: it opens
    that to be written, too, and keeps what it needs for it beside it (terraform's state with its lock)."""

    kind = "credential"
    program: str
    path: str
    changes: bool = False

    @property
    def target(self) -> str:
        return self.path or self.program


class Env(Effect):
    """An environment variable is read into output (`access` "read") or set for a program ("set")."""

    kind = "env"
    name: str
    access: str

    @property
    def target(self) -> str:
        return self.name


class Process(Effect):
    """Another process is affected. `action`: signal, trace or priority; multiply or endless for processes that are
    started without end (`gateway.shell.bombs`)."""

    kind = "process"
    action: str
    who: str

    @property
    def target(self) -> str:
        return f"{self.action} {self.who}"


LEAVE = "leave-sandbox"  # `System.action` of a call that asks to run without the sandbox


class System(Effect):
    """A change beyond files. `action`: install, service, mount, user, clock, power, network, kernel, privilege, …"""

    kind = "system"
    action: str
    what: str

    @property
    def target(self) -> str:
        return f"{self.action} {self.what}".rstrip()


class SessionChange(Effect):
    """Only the session itself changes: a task list, the mode, the working directory."""

    kind = "session"
    what: str

    @property
    def target(self) -> str:
        return self.what


class Item(Value):
    """One predicted effect of a call and where it comes from.

    `start`/`end`: the span in the call's match field, in code points. `part`: the index of the simple command
    that does it by itself, or -1 for what no command does (redirects, assignments, file tools).
    """

    effect: Effect
    start: int = 0
    end: int = 0
    part: int = -1
