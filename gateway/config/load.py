"""Start-up: the policy of all layers, from its compiled form where one can be trusted.

Only a cache miss reads YAML; the modules that can are imported then and not before.
"""

from __future__ import annotations

import os
import sys

from gateway.config.descriptions import find_descriptions
from gateway.config.layers import (
    PolicyFile,
    Setting,
    find_files,
    layer_folders,
    passed_over,
    read_file,
    session_files,
    texts,
)
from gateway.config.shipped import code_stamp, descriptions_stamp, load_descriptions, load_foreign, load_server_tools
from gateway.config.tool_files import find_tools
from gateway.core import installation
from gateway.core.cache import Cache, digest
from gateway.core.errors import ConfigError, Problem
from gateway.core.packed import Lines, Rows, pack_rows, unpack_rows
from gateway.core.places import Places
from gateway.core.places import places as here
from gateway.core.value import Value
from gateway.host.machine import Machine
from gateway.host.repository import obeyed
from gateway.model.changes import KEEP
from gateway.model.decision import MODES
from gateway.policy.table import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gateway.config.compiling import Verify
    from gateway.config.descriptions import Entry
    from gateway.spec.short import ToolName
    from gateway.tools.registry import Registry


# What of a policy is by far the most, and of which a call needs little.
_TABLES = ("rules", "clauses")
_lines = Lines()  # of the policy that was compiled last
# The layers of which a pause takes nothing away.
UPPER = ("builtin", "enterprise")
# Names in either case are the same file where file systems are so by default.
FOLDS_CASE = sys.platform == "darwin"
# Variables in which agents say where their session started.
ROOT_VARIABLES = ("GATEWAY_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR")


class Options(Value):
    """What a front end was told: the same for `check`, the hooks and the library.

    `policies`: a folder that stands for all layers but `builtin`. `mode`: "" to take the policy's. `trust`: project
    digests to accept for this run. `others`: further project roots whose deny and ask rules apply. `binding`: what is
    decided will be done, so the machine's own enterprise layer holds beside `policies`; a dry run may leave it out.
    `servers`: MCP servers that no policy names: by what name, which description says what they are ("" for none), and
    at which address ("" for one that runs here). `rules`: those of the session, as `Context.rules`. `paused`: of all
    layers only `builtin` and enterprise hold (`gateway.agents.pausing`).
    """

    cwd: str
    policies: str = ""
    mode: str = ""
    trust: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    root: str = ""
    binding: bool = False
    servers: tuple[tuple[str, str, str], ...] = ()
    rules: tuple[str, ...] = ()
    paused: bool = False


class Loaded(Value):
    """A policy ready to decide, and where everything in it came from. `commands`: what its layers say of programs;
    `modes`: those that a session may choose, () for any; `hooks`: what is told of calls, upper layers' first;
    `included`: the files that it extends, each with a digest of its content; `misnamed`: those of `skipped` that no
    name is read for; `modes_elsewhere`: those of other projects that a call reaches into. `told`: whether a person
    trusts the project; `key`: a digest of all else that it was made from, "" where it was not read from files."""

    policy: Policy
    settings: dict[str, Setting]
    files: tuple[tuple[str, str], ...]
    skipped: tuple[str, ...]
    project_digest: str
    project_trusted: bool
    mode: str
    commands: tuple[Entry, ...] = ()
    modes: tuple[str, ...] = ()
    hooks: tuple[dict[str, Any], ...] = ()
    included: tuple[tuple[str, str], ...] = ()
    misnamed: tuple[str, ...] = ()
    modes_elsewhere: tuple[str, ...] = ()
    told: bool = False
    key: str = ""

    @property
    def guarded(self) -> bool:
        """Whether hooks put a command's confined form in its place (`gateway.agents.guarded`)."""
        setting = self.settings.get("guarded")
        return setting is not None and setting.value is True


def project_root(cwd: str, environment: Mapping[str, str] | None = None) -> str:
    """Where the session started: an agent's own variable when it holds the folder, else git's top, else the folder."""
    for name in ROOT_VARIABLES:
        value = (os.environ if environment is None else environment).get(name, "")
        if value.startswith("/") and os.path.isdir(value):
            real = os.path.realpath(value)
            if (cwd + "/").startswith(real + "/"):
                return real
    folder = cwd
    while True:
        if os.path.lexists(f"{folder}/.git"):
            return folder or "/"
        parent = folder[: folder.rfind("/")] if "/" in folder else ""
        if not parent:
            return cwd
        folder = parent


def load_policy(
    places: Places,
    options: Options,
    registry: Registry,
    verify: Verify,
    brought: Sequence[PolicyFile] | None = None,
    known: Loaded | None = None,
) -> Loaded:
    """The policy of all layers for one project root. `verify`: tries the examples that rules carry, and says what is
    wrong with them; asked only where there are any and the policy is compiled anew. `brought`: the files of tools that
    `registry` was made from, so that what is trusted is what is called; read anew if missing. `known`: what the same
    options gave before, which is given back where all that it was made from is as it was.

    Raises ConfigError for whatever is wrong in any file; then nothing may be decided.
    """
    files = find_files(places, options.root, policies=options.policies, others=options.others, binding=options.binding)
    files += session_files(options.rules, options.root)
    if options.paused:
        files = [each for each in files if each.layer in UPPER]
    described = find_descriptions(places, options.root, policies=options.policies, binding=options.binding)
    brought = tool_files(places, options) if brought is None else brought
    cache = Cache(places.cache)
    # What ships changes with the code, or in a checkout with its files.
    shipped = (descriptions_stamp(),) if described else ()
    moved = moved_for(places, options.root)
    key = "policy-" + digest(
        [
            code_stamp(),
            places.home,
            *(f"{usual}\0{own}" for usual, own in moved),
            options.root,
            options.policies,
            *texts(files),
            *texts(described),
            *texts(brought),
            *shipped,
            *registry.names(),
        ]
    )

    def is_trusted(fingerprint: str) -> bool:
        from gateway.config.trust import TrustStore  # lazy: few projects have a policy

        store = TrustStore(places.state)
        return fingerprint in options.trust or fingerprint in store.digests(os.path.realpath(options.root))

    def still_holds(fingerprint: str, told: bool, included: Sequence[Sequence[str]]) -> bool:
        """Whether the files that a policy of this key extends, and the project's trust, are as they were."""
        if fingerprint and is_trusted(fingerprint) != told:
            return False
        try:
            return all(digest([read_file(path)]) == content for path, content in included)
        except ConfigError:
            return False

    if known and known.key == key and still_holds(known.project_digest, known.told, known.included):
        return known
    entry = _kept(cache, key)
    if entry is None or not still_holds(entry["fingerprint"], entry["told"], entry["included"]):
        from gateway.config.compiling import compiled  # lazy: where something is compiled anew
        from gateway.core.gc_pause import Uncollected

        with Uncollected():
            entry = compiled(
                files, described, options.root, registry, lambda: tool_names(registry), places,
                load_descriptions(places), is_trusted,
                bool(options.policies), verify, FOLDS_CASE, brought, moved,
            )  # fmt: skip
        if not options.rules:  # a session's are of no use to later processes
            rest = {name: value for name, value in entry["policy"].items() if name not in _TABLES}
            tables = [entry["policy"][name] for name in _TABLES]
            cache.write_bytes(key, pack_rows({**entry, "policy": rest}, *tables, lines=_lines))
    loaded = loaded_of(entry, options)
    folders = () if options.policies else layer_folders(places, options.root, options.others)
    misnamed = tuple(f"{each.file}: {each.message}" for each in passed_over(folders))
    return loaded.replace(key=key, misnamed=misnamed, skipped=(*misnamed, *loaded.skipped))


def moved_for(places: Places, root: str) -> tuple[tuple[str, str], ...]:
    """Usual paths that rules name, each with where this user has it."""
    return (*places.moved(), *installation.moved(places.state, places.home), *obeyed(root, places.home, Machine()))


def _kept(cache: Cache, key: str) -> dict[str, Any] | None:
    """A policy as it was compiled, of which rules and clauses are unpacked when a call needs them."""
    data = cache.read_bytes(key)
    if data is None:
        return None
    from gateway.core.gc_pause import Uncollected

    with Uncollected():
        try:
            entry, tables = unpack_rows(data)
        except ValueError:
            return None
        entry["policy"] |= zip(_TABLES, map(Rows, tables), strict=True)
    return entry


def policy_from(
    files: list[PolicyFile],
    options: Options,
    registry: Registry,
    home: str,
    *,
    verify: Verify,
    trusted: bool = True,
    fold: bool = False,
    described: Sequence[PolicyFile] = (),
) -> Loaded:
    """The policy of files that are at hand: for tests of policies. `verify`: as in `load_policy`; `trusted`: whether
    the project's is; `fold`: whether the file system takes names in either case for the same; `described`: the
    layers' descriptions."""
    from gateway.config.compiling import compiled

    nowhere = Places("", "", state="", cache="", home=home)
    entry = compiled(
        files, described, options.root, registry, lambda: tool_names(registry), nowhere,
        load_descriptions(nowhere), lambda _fingerprint: trusted,
        False, verify, fold,
    )  # fmt: skip
    return loaded_of(entry, options)


def loaded_of(entry: dict[str, Any], options: Options) -> Loaded:
    """A compiled policy as what judges has it."""
    settings = {
        name: Setting(value, file, layer, {key: tuple(origin) for key, origin in origins.items()})
        for name, (value, file, layer, origins) in entry["settings"].items()
    }
    levels = settings["levels"].value if "levels" in settings else {}
    review = settings["review"].value if "review" in settings else ""
    contained = settings["contained"].value if "contained" in settings else KEEP
    sandbox = settings["sandbox"].value if "sandbox" in settings else {}
    policy = Policy(
        **entry["policy"], levels=levels, revision=entry["revision"], seen={}, review=review, contained=contained,
        registries=tuple(sandbox.get("registries", ())), written=tuple(sandbox.get("write", ())),
    )  # fmt: skip
    return Loaded(
        policy,
        settings,
        files=tuple((layer, path) for layer, path in entry["files"]),
        skipped=tuple(entry["skipped"]),
        project_digest=entry["fingerprint"],
        project_trusted=entry["trusted"],
        mode=_mode(options.mode, settings, entry["modes"]),
        commands=tuple(entry["commands"]),
        modes=tuple(entry["modes"]),
        hooks=tuple(entry.get("hooks", ())),
        included=tuple((path, known) for path, known in entry["included"]),
        modes_elsewhere=tuple(entry["modes_elsewhere"]),
        told=entry["told"],
    )


def _mode(asked: str, settings: dict[str, Setting], allowed: list[str]) -> str:
    """The mode of the session: the one asked for, within what the policy's layers left open."""
    if asked and asked not in MODES:
        raise ConfigError(Problem(f"--mode must be one of {', '.join(MODES)} (got `{asked}`)"))
    if asked and allowed and asked not in allowed:
        remedy = f"the policy leaves open {', '.join(allowed)}"
        raise ConfigError(Problem(f"--mode must be one that the policy allows (got `{asked}`)", remedy=remedy))
    return asked or (settings["mode"].value if "mode" in settings else "default")


def tool_names(registry: Registry) -> dict[str, ToolName]:
    """Name or alias of every tool, as the short form of rules needs them."""
    from gateway.spec.short import ToolName

    names = {}
    for name in registry.names():
        entry = registry.entry(registry.canonical_name(name))
        told = entry["match"] or {"kind": "", "field": ""}
        fields = tuple(entry["input"].get("properties", ()))
        names[name] = ToolName(entry["name"], told["kind"], told["field"], fields)
    for name, (kind, match) in load_foreign(here()).names_for_rules().items():
        names.setdefault(name, ToolName(name, kind, match))
    return names


def tool_files(places: Places, options: Options) -> tuple[PolicyFile, ...]:
    """The files of tools of the layers, each read once. Raises ConfigError for one that cannot be read."""
    return tuple(find_tools(places, options.root, policies=options.policies, binding=options.binding))


def with_servers(registry: Registry, places: Places, options: Options, settings: dict[str, Setting]) -> Registry:
    """The tools with what is known of those of MCP servers: of the ones that the policy names, and of others. Raises
    ConfigError where a server is to be one that nobody describes."""
    setting = settings.get("servers")
    named = {} if setting is None else {key: (each["is"], each["url"]) for key, each in setting.value.items()}
    named |= {key: (what, url) for key, what, url in options.servers if key not in named}
    found = {
        key: (url, load_server_tools(places, what) if what else {}) for key, (what, url) in named.items() if what or url
    }
    return registry.with_servers(found) if found else registry


def with_search(registry: Registry, settings: dict[str, Setting]) -> Registry:
    """The tools, those that search with the provider that the policy names as what they connect to."""
    setting = settings.get("search")
    return registry if setting is None else registry.with_search(setting.value["url"])
