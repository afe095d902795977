"""What the analysis wants to know of the host, and what one bounded look found."""

from __future__ import annotations

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.model.context import Context


CHOOSERS = (
    "mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", "mise/config.toml", "mise/config.local.toml",
    ".mise/config.toml", ".mise/config.local.toml", ".config/mise.toml", ".config/mise.local.toml",
    ".config/mise/config.toml", ".config/mise/config.local.toml", ".config/mise/mise.toml", ".config/mise/conf.d",
    ".rtx.toml", ".prototools", ".tool-versions", ".python-version", ".ruby-version", ".node-version", ".nvmrc",
    ".volta/hooks.json",
)  # fmt: skip
"""Files of a project by which version managers choose what the names of programs start."""

INSTALLED = ""
"""In the place of a file's name among the settings: what is installed of what they choose from."""


TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")
"""Folders of everybody: what lies there counts as put there by a call."""


class Wanted(Value):
    """Questions for the host. `globs` are absolute `fnmatch` patterns; `git` are folders git would start in; `trees`
    are folders with what the program leaves out of them by itself (`Touch.skips`); `names` are folders whose files'
    names become words again, which only matters where nothing confines the call. `settings`: folders with the names
    of files, there or above, that tell programs what to do. `nests`: folders git would start in, where it matters which
    repositories lie inside the work tree. `hooks`: folders git would start in, where it matters whether it starts
    anything there by itself, each with whether it may be made to look into repositories that it did not know before.
    `activates`: scripts that a text
    sources, which may be those of Python's environments. `clients`: programs that take from a person's own settings
    where they connect, or what their words mean (`gateway.host.clients`)."""

    paths: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    git: tuple[str, ...] = ()
    trees: tuple[tuple[str, str], ...] = ()
    names: tuple[str, ...] = ()
    settings: tuple[tuple[str, tuple[str, ...]], ...] = ()
    nests: tuple[str, ...] = ()
    activates: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    hooks: tuple[tuple[str, bool], ...] = ()


class PathFact(Value):
    """`real`: the path with every link resolved, as far as it exists; `HOLE` where nobody can tell. `kind`: file, dir,
    other, missing or unknown."""

    real: str
    kind: str


class GitFact(Value):
    """What git would find from a folder. `top`: the work tree's folder, "" if none. `own`: it is the project's own
    repository, whose `.git` agents cannot change. `branch`: HEAD's branch, "" if detached or unknown. `remotes`:
    name to URL, "" if that is not known; ` (push)` stands behind the name where it is pushed elsewhere. `pushes`: what
    a push without a ref sends: "" the branch of HEAD, "settings" what the repository's settings say, "force" the same
    by force. `defaults`: the remotes that are fetched from and pushed to where none is named, "" if nothing says so.
    `why`: what in the settings of an otherwise own repository makes it foreign, "" if nothing does. `quiet`: there are
    no hooks, and no settings by which git starts another program in a work tree; False also where nobody asked."""

    top: str
    own: bool
    branch: str
    remotes: tuple[tuple[str, str], ...] = ()
    pushes: str = ""
    defaults: tuple[str, str] = ("", "")
    why: str = ""
    quiet: bool = False


class ClientFact(Value):
    """What settings say of where a client connects and with which login, or what its words mean; nothing secret.
    `why`: why nobody can tell, "" if that can be told. `files`: those that the login lies in. `rows`: what each module
    of `gateway.host.clients` finds, of whichever kinds it has."""

    why: str = ""
    files: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


class TreeFact(Value):
    """Denied paths found below a tree; `complete` is False when the bound was hit."""

    found: tuple[str, ...]
    complete: bool


class Facts(Value):
    """The answers. A missing key means nobody could tell; a glob that hit its bound maps to None.

    `programs` maps the base name of a program given by path to that path if PATH gives that very file, else to what
    PATH gives, "" if nothing; bare names stand there only where it matters. `untrusted_programs`: names that PATH
    finds in a folder that the agent can write. `names`: whether no name below a folder holds a blank, a quote or a sign
    of globs. `settings`: the files that were found, each with its text, and behind them what is installed of what they
    choose from; None where one of them cannot be read. `nests`: whether a repository that git may be made to look into
    lies inside the work tree and has settings by which git may run something; None where a bound was hit. `chosen`:
    names that a version manager's shim starts, which the project's files choose. `searched`: folders of PATH that
    the agent can write. `wanders`: PATH holds folders that depend on where one stands. `activates`: the variables that
    a script sets which does nothing else (`gateway.commands.activation`), () for any other. `clients`: by their names,
    as in `Wanted`."""

    paths: Mapping[str, PathFact] = {}
    globs: Mapping[str, tuple[str, ...] | None] = {}
    programs: Mapping[str, str] = {}
    git: Mapping[str, GitFact] = {}
    trees: Mapping[tuple[str, str], TreeFact] = {}
    untrusted_programs: frozenset[str] = frozenset()
    names: Mapping[str, bool] = {}
    settings: Mapping[tuple[str, tuple[str, ...]], tuple[tuple[str, str], ...] | None] = {}
    nests: Mapping[str, bool | None] = {}
    chosen: frozenset[str] = frozenset()
    searched: tuple[str, ...] = ()
    wanders: bool = False
    activates: Mapping[str, tuple[str, ...]] = {}
    clients: Mapping[str, ClientFact] = {}


NO_FACTS = Facts()


class Origin(Value):
    """What whoever judges was told and had read: enough to make another one that judges alike.

    `root`, `policies`, `mode`, `trust`, `binding`, `servers`, `paused`: as in `gateway.config.load.Options`, `mode` is
    "" where policy's own counts. `revision`: of the policy without sessions' rules and other projects'; `code`: a
    digest of the code that judged.
    """

    root: str
    policies: str = ""
    mode: str = ""
    trust: tuple[str, ...] = ()
    binding: bool = False
    servers: tuple[tuple[str, str, str], ...] = ()
    paused: bool = False
    revision: str = ""
    code: str = ""


class Seen(Value):
    """All that judging a call took from elsewhere than the call and the policy: with it in the place of the host, the
    same call is judged as it was, whatever has become of the host.

    `context`: the circumstances as they were given, with the time that was read; `branch_known`: its branch is the one
    that was checked out then. `facts`: with the second look below trees. `shell`: what read shell texts. `server`,
    `annotations`: as in `RawCall`. `own`: whether what the call names in folders that its session shares lies there;
    None where nothing asked. `others`: the further projects that it reached into. `cannot`: why it could not have run
    contained, with a layer over these folders, "" if it could, for each that was asked. `unfetched`: why what it
    installs could not be fetched before it runs, "" if it could; None where nothing asked.
    """

    context: Context
    facts: Facts
    origin: Origin
    branch_known: bool = True
    shell: str = "bash"
    server: str = ""
    annotations: Mapping[str, Any] = {}
    own: bool | None = None
    others: tuple[str, ...] = ()
    cannot: tuple[tuple[tuple[str, ...], str], ...] = ()
    unfetched: str | None = None
