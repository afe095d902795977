"""The effective policy, for people: every source, rule and setting with where it comes from and whether it counts.

Unlike loading, this also works while files are broken: it says what is wrong and shows everything else.
"""

from __future__ import annotations

import os
import time

from gateway.config.binding import bind
from gateway.config.compiling import compiled_once, reader
from gateway.config.descriptions import ADDS, Layered, compile_files, entries, find_descriptions, with_parts
from gateway.config.layers import PolicyFile, find_files, layer_folders, passed_over, read_file, read_layer
from gateway.config.load import Options, tool_names
from gateway.config.shipped import load_descriptions
from gateway.config.trust import TrustStore
from gateway.core.errors import ConfigError, Problem
from gateway.core.places import Places, packaged
from gateway.core.value import Value
from gateway.model.decision import LAYERS
from gateway.policy.compile import Bound, epoch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from gateway.commands.description import Description
    from gateway.config.binding import Layered as LayeredPolicy
    from gateway.config.descriptions import Entry, Lookup
    from gateway.config.layers import Setting
    from gateway.tools.registry import Registry

_NO_PLACES = Places("", "", state="", cache="", home="")  # for a folder of policies, which stands for all of them
# What becomes of a rule that was read.
ACTIVE, EXPIRED, WAITING, LEFT_OUT = "active", "expired", "waits for trust", "left out"


class SourceState(Value):
    """One file or folder that may hold policy. `state`: loaded, absent or broken. `via`: the file that extends it."""

    layer: str
    path: str
    state: str
    rules: int = 0
    via: str = ""
    level: str = "enforce"
    note: str = ""


class DescribedPrograms(Value):
    """One file that describes programs. `state` as of a source; `describes`: the names that it speaks for, `adds`:
    those of which it only adds to what is known. `waits`: it would describe more if the project were trusted."""

    layer: str
    path: str
    state: str
    describes: tuple[str, ...] = ()
    adds: tuple[str, ...] = ()
    waits: bool = False


class ListedRule(Value):
    """One rule in normal form and where it stands. `state` is one of the words above."""

    layer: str
    file: str
    level: str
    state: str
    rule: dict[str, Any]


class Effective(Value):
    """All that is known of the policy for one project root. `problems` are what keeps calls from being decided.
    `hooks`: those that run; `tool_files`: layer and path of the files that bring tools."""

    root: str
    sources: tuple[SourceState, ...]
    rules: tuple[ListedRule, ...]
    settings: dict[str, Setting]
    mode: str
    skipped: tuple[str, ...]
    project_digest: str
    project_trusted: bool
    kept_digests: tuple[str, ...]
    problems: tuple[Problem, ...]
    bound: tuple[Bound, ...]
    commands: tuple[DescribedPrograms, ...] = ()
    hooks: tuple[dict[str, Any], ...] = ()
    tool_files: tuple[tuple[str, str], ...] = ()


def effective(places: Places, options: Options, registry: Registry, brought: Sequence[PolicyFile] = ()) -> Effective:
    """The policy for `options.root`. `brought`: the files of tools that `registry` was made from. Raises ConfigError
    only for what is wrong outside of policy files."""
    problems: list[Problem] = []
    files, sources = _read_all(places, options, problems)
    described = _descriptions(places, options, problems)
    parse = _Parser(registry)
    store = TrustStore(places.state)
    kept = store.digests(os.path.realpath(options.root)) if options.root else frozenset()

    def is_trusted(digest: str) -> bool:
        return digest in options.trust or digest in kept

    def bound_by(some: list[PolicyFile], trusted: Callable[[str], bool], all_trusted: bool) -> LayeredPolicy:
        others = (*described, *brought)
        return bind(some, parse, root=options.root, trusted=trusted, all_trusted=all_trusted, descriptions=others)

    good = []
    for file in files:
        try:
            bound_by([file], is_trusted, bool(options.policies))
            good.append(file)
        except ConfigError as error:
            problems += error.problems
            sources = [_broken(each, file, error) for each in sources]
    try:
        layered = bound_by(good, is_trusted, bool(options.policies))
    except ConfigError as error:  # what only the files together show
        problems += error.problems
        layered = bound_by([file for file in good if file.layer == "builtin"], is_trusted, False)
    whole = bound_by([file for file in good if file in layered.files], lambda _digest: True, True)
    compiled, listed = _programs(described, layered, places, problems)
    problems += _compile_problems(layered.bound, places, registry, compiled)
    settings = layered.settings
    mode = options.mode or (settings["mode"].value if "mode" in settings else "default")
    return Effective(
        options.root,
        tuple(_with_extended(sources, whole.bound)),
        rules=tuple(_listed(whole.bound, layered.bound)),
        settings=settings,
        mode=mode,
        skipped=(*_misnamed(places, options, problems), *layered.skipped),
        project_digest=layered.project_digest,
        project_trusted=layered.project_trusted,
        kept_digests=tuple(sorted(kept)),
        problems=tuple(dict.fromkeys(problems)),
        bound=layered.bound,
        commands=listed,
        hooks=layered.hooks,
        tool_files=tuple((file.layer, file.path) for file in brought),
    )


def _misnamed(places: Places, options: Options, problems: list[Problem]) -> list[str]:
    """What lies in the project under a name that is not read."""
    try:
        found = () if options.policies else passed_over(layer_folders(places, options.root, options.others))
        return [f"{each.file}: {each.message}" for each in found]
    except ConfigError as error:
        problems += error.problems
        return []


def _descriptions(places: Places, options: Options, problems: list[Problem]) -> list[PolicyFile]:
    """The layers' descriptions of programs; none of them if one cannot be read."""
    try:
        return find_descriptions(places, options.root, policies=options.policies)
    except ConfigError as error:
        problems += error.problems
        return []


def _programs(
    files: list[PolicyFile], layered: LayeredPolicy, places: Places, problems: list[Problem]
) -> tuple[tuple[Entry, ...], tuple[DescribedPrograms, ...]]:
    """The descriptions that hold, and every file with what it does."""
    shipped = load_descriptions(places)
    good, compiled = _unbroken(files, shipped, problems)
    place = {
        path: number
        for number, (file, parts) in enumerate(with_parts(good, []))
        for path in (file.path, *(part for part, _content in parts))
    }
    found = entries(compiled, trusted=layered.project_trusted, locked_by=layered.commands_locked_by)
    trusted = entries(compiled, trusted=True, locked_by=layered.commands_locked_by)
    known, would = Layered(shipped, found), Layered(shipped, trusted)
    listed = []
    for file in files:
        if file.path not in place:
            listed.append(DescribedPrograms(file.layer, file.path, "broken"))
            continue
        at = place[file.path]
        names = tuple(found[at][2]["names"])
        adds = tuple(name for name in names if known.role(name, found[at]) == ADDS)
        waits = any(would.role(name, trusted[at]) != ADDS for name in adds)
        speaks = tuple(name for name in names if name not in adds)
        listed.append(
            DescribedPrograms(file.layer, file.path, state="loaded", describes=speaks, adds=adds, waits=waits)
        )
    return tuple(found), tuple(listed)


def _unbroken(
    files: list[PolicyFile], shipped: Lookup, problems: list[Problem]
) -> tuple[list[PolicyFile], list[tuple[str, Description]]]:
    """The files that hold, compiled. Without the one that it goes on with, a part holds no more than that does."""
    good = files
    told: list[Problem] = []
    while True:
        try:
            compiled = compile_files(good, shipped)
        except ConfigError as error:
            told = told or list(error.problems)
            broken = {problem.file for problem in error.problems}
            left = [file for file in good if file.path not in broken]
            if len(left) == len(good):
                raise
            good = left
        else:
            problems += told
            return good, compiled


class _Parser:
    """Parses each text once, however often it is bound."""

    def __init__(self, registry: Registry) -> None:
        self._read = reader(lambda: tool_names(registry))
        self._known: dict[tuple[bytes, str], dict[str, Any]] = {}

    def __call__(self, content: bytes, path: str) -> dict[str, Any]:
        found = self._known.get((content, path))
        if found is None:
            found = self._known[content, path] = self._read(content, path)
        return found


def _read_all(places: Places, options: Options, problems: list[Problem]) -> tuple[list[PolicyFile], list[SourceState]]:
    """Every file that can be read, and the state of every place where one may lie."""
    builtin = packaged("policies/builtin.yaml")
    if options.policies:
        return _read_folder(options, problems)
    files = [PolicyFile("builtin", builtin, content=read_file(builtin), base=options.root, root="/")]
    sources = [SourceState("builtin", builtin, "loaded")]
    for folder in layer_folders(places, options.root, options.others):
        usual = os.path.join(folder.path, "policy.yaml")
        try:
            found = read_layer(folder)
        except ConfigError as error:
            problems += error.problems
            sources.append(SourceState(folder.layer, error.problems[0].file or usual, "broken"))
            continue
        files += found
        sources += [SourceState(folder.layer, file.path, "loaded") for file in found]
        if not found and folder.layer == "user":
            daily = packaged("policies/daily.yaml")
            files.append(PolicyFile("user", daily, content=read_file(daily), base=options.root, root=folder.root))
            sources += [
                SourceState("user", usual, "absent"),
                SourceState("user", daily, "loaded", note="stands in while there is no user file"),
            ]
        elif not found:
            sources.append(SourceState(folder.layer, usual, "absent"))
    return files, sources


def _read_folder(options: Options, problems: list[Problem]) -> tuple[list[PolicyFile], list[SourceState]]:
    """The layers of a folder given with `--policies`."""
    builtin = packaged("policies/builtin.yaml")
    files = [PolicyFile("builtin", builtin, content=read_file(builtin), base=options.root, root="/")]
    try:
        files = find_files(_NO_PLACES, options.root, policies=options.policies)
    except ConfigError as error:
        problems += error.problems
    loaded = {file.layer: file.path for file in files}
    broken = {problem.file for problem in problems}
    sources = []
    for layer in LAYERS[:5]:
        path = loaded.get(layer, os.path.join(options.policies, f"{layer}.yaml"))
        state = "loaded" if layer in loaded else "broken" if path in broken else "absent"
        sources.append(SourceState(layer, path, state))
    return files, sources


def _broken(source: SourceState, file: PolicyFile, error: ConfigError) -> SourceState:
    if (source.layer, source.path) != (file.layer, file.path):
        return source
    count = len(error.problems)
    return source.replace(state="broken", note=f"{count} problem{'s' if count > 1 else ''}")


def _with_extended(sources: list[SourceState], bound: tuple[Bound, ...]) -> list[SourceState]:
    """The sources with their numbers of rules, each followed by the files that it extends."""
    found: list[SourceState] = []
    pending: list[Bound] = []
    rows: dict[tuple[str, str], list[Bound]] = {}
    own = {(source.layer, source.path) for source in sources}
    for each in bound:
        pending.append(each)
        if (each.layer, each.file) in own:
            rows.setdefault((each.layer, each.file), pending)
            pending = []
    for source in sources:
        group = rows.get((source.layer, source.path), [])
        count = sum(len(each.rules) for each in group if each.file == source.path)
        found.append(source.replace(rules=count))
        found += [
            SourceState(each.layer, each.file, state="loaded", rules=len(each.rules), via=source.path, level=each.level)
            for each in group
            if each.file != source.path
        ]
    return found


def _listed(whole: tuple[Bound, ...], layered: tuple[Bound, ...]) -> list[ListedRule]:
    """Every rule that was read; those that an untrusted project may not add wait."""
    now = time.time()
    counting = {(each.layer, each.file, rule["line"], rule["id"]) for each in layered for rule in each.rules}
    found = []
    for each in whole:
        for rule in each.rules:
            if rule["id"] in each.without:
                state = LEFT_OUT
            elif (each.layer, each.file, rule["line"], rule["id"]) not in counting:
                state = WAITING
            elif rule["expires"] and epoch(rule["expires"]) <= now:
                state = EXPIRED
            else:
                state = ACTIVE
            found.append(ListedRule(each.layer, each.file, level=each.level, state=state, rule=rule))
    return found


def _compile_problems(
    bound: tuple[Bound, ...], places: Places, registry: Registry, commands: tuple[Entry, ...]
) -> list[Problem]:
    from gateway.judge.policy_tests import check_examples

    try:
        compiled_once(bound, home=places.home)
    except ConfigError as error:
        return list(error.problems)
    return check_examples(bound, registry, places, commands)
