"""The look at the host that a plan needs: what is there of all that a call is to see, where it lies, and what policy
says of names in it. Bounded; nothing is decided here.

What changes under our hands is looked at for each call. Kept between calls are only listings of folders that prove by
their stamp to be unchanged, and what was read off a policy or a search path.
"""

from __future__ import annotations

from threading import Lock

from gateway.core.cache import Cache
from gateway.model.decision import Decision
from gateway.policy import paths
from gateway.policy.confine import folder_of, grants_of
from gateway.policy.hostrules import HostRules
from gateway.policy.modes import CEILINGS
from gateway.policy.path_protection import PathRules, runs_unseen
from gateway.sandbox.agreed import agreed_of
from gateway.sandbox.base import SandboxError
from gateway.sandbox.changed_folders import ChangedFolders
from gateway.sandbox.clusters import clusters_named
from gateway.sandbox.denied_programs import DeniedPrograms
from gateway.sandbox.index import Listings, Tree, anchored
from gateway.sandbox.marks import is_of_rebase
from gateway.sandbox.persistent_folders import LAYERS, ROOMS
from gateway.sandbox.profile import OF_THE_KERNEL, profile_of
from gateway.sandbox.repositories import obeyed_marks, repository_of
from gateway.sandbox.roots import places_of
from gateway.sandbox.survey_results import Found, Place, Survey
from gateway.sandbox.system_view import SystemView, stamp
from gateway.sandbox.toolchains import Toolchains
from gateway.sandbox.user_packages import packages_of, shims_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from gateway.config.load import Loaded
    from gateway.host.base import Host
    from gateway.judge.judge import Judge
    from gateway.model.verdict import Verdict
    from gateway.policy.confine import Grants
    from gateway.policy.hostrules import Only, Refused
    from gateway.policy.path_protection import Protection
    from gateway.policy.table import Policy
    from gateway.sandbox.marks import Mark
    from gateway.sandbox.profile import Profile
    from gateway.sandbox.repositories import Repository
    from gateway.sandbox.workspace_secrets import WorkspaceSecrets

MAX_TREES = 64
_TEMPORARY = ("/tmp/", "/var/tmp/", "/dev/shm/", "/private/tmp/")


class Surveyor:
    """Looks at the host for the calls of one gateway. Safe to use from several threads."""

    def __init__(self, judge: Judge, holds_secret: Callable[[str], bool]) -> None:
        """`holds_secret`: whether a text does (`gateway.audit.secrets.holds`)."""
        self._judge = judge
        self._host: Host = judge.host
        self._lock = Lock()
        self._rules: dict[str, tuple[PathRules, HostRules]] = {}
        self._last: tuple[Verdict, Protection] | None = None  # asked for several times around one call
        self._trees: dict[tuple[str, int], Tree] = {}
        self._tools: dict[tuple[object, ...], tuple[str, ...]] = {}
        self._plain: dict[str, tuple[str, ...] | None] = {}
        self.listings = Listings(judge.host)
        self.system_view = SystemView(judge.host, Cache(judge.places.cache) if judge.places.cache else None)
        self.denied = DeniedPrograms(judge.host)
        self._holds_secret = holds_secret
        self._secrets: WorkspaceSecrets | None = None
        self.changes = ChangedFolders()
        self._watching = False  # from the first call on that may change something, or looks once more

    @property
    def secrets(self) -> WorkspaceSecrets:
        """Who looks for the secrets of workspaces. The caller holds the lock."""
        if self._secrets is None:
            from gateway.sandbox.workspace_secrets import WorkspaceSecrets  # lazy: few calls can carry any away

            self._secrets = WorkspaceSecrets(self._host, self._holds_secret)
        return self._secrets

    def survey(self, verdict: Verdict, environment: Mapping[str, str] | None = None) -> Survey:
        """What the plan for a call must know. `environment`: the caller's, the gateway's own by default. Raises
        SandboxError when a bound is hit: then nobody knows what the call would see."""
        if verdict.decision is Decision.DENY or not verdict.context.confined:
            raise SandboxError("the call is not to run confined", "there is no plan for it")
        loaded = self._judge.loaded_for(verdict)
        profile = profile_of(loaded.settings)
        path_rules, host_rules = self._rules_of(loaded, profile)
        with self._lock:
            look = _Look(self, verdict, profile, path_rules.in_force(verdict.context, verdict), loaded.policy)
            return look.survey(host_rules, self._judge.environment if environment is None else environment)

    def protection(self, verdict: Verdict) -> Protection:
        """How any name stands with the rules that count for a call: for what appears while it runs."""
        known = self._last
        if known is None or known[0] is not verdict:
            loaded = self._judge.loaded_for(verdict)
            rules = self._rules_of(loaded, profile_of(loaded.settings))[0]
            known = self._last = verdict, rules.in_force(verdict.context, verdict)
        return known[1]

    def marks(self, verdict: Verdict, folder: str, *, bounded: bool = True) -> tuple[Mark, ...]:
        """The names below a folder that rules speak of now, but for those that the call itself was judged to change:
        the same quick look as for a plan, for what is done around a call. The kernel tells what changes there from
        now on, where it can. Raises SandboxError as `survey`; not `bounded`: however many there are."""
        protection, agreed = self.protection(verdict), agreed_of(verdict)
        with self._lock:
            self._watching = True
            tree = self.tree(folder, protection)
            found = tree.marks(bounded=bounded)
            found += tuple(obeyed_marks(found, self._host, verdict.context))
        said = {*agreed.writes, *agreed.deletes}
        return tuple(each for each in found if each.path not in said and not is_of_rebase(each.path))

    def rule_on(self, verdict: Verdict, path: str) -> str:
        """The rule that protects a name from what a call may do unseen, "" for none: for names that appear."""
        agreed = agreed_of(verdict)
        if path in agreed.writes or path in agreed.deletes or is_of_rebase(path):
            return ""
        found = self.protection(verdict).of(path)
        return found.fixed or found.hidden

    def forbidden_hosts(self, verdict: Verdict) -> tuple[tuple[Refused, ...], tuple[Only, ...]]:
        """The hosts that a call must not reach whatever was judged, and those to which rules hold it."""
        loaded = self._judge.loaded_for(verdict)
        host_rules = self._rules_of(loaded, profile_of(loaded.settings))[1]
        return host_rules.in_force(verdict, directed=True)

    def secret_files(self, folders: tuple[str, ...]) -> tuple[str, ...]:
        """Files below some folders that look like secrets, as far as somebody looks."""
        with self._lock:
            return self.secrets.look(folders, None).files

    def _rules_of(self, loaded: Loaded, profile: Profile) -> tuple[PathRules, HostRules]:
        found = self._rules.get(loaded.policy.revision)
        if found is None:
            found = PathRules(loaded.policy, self.named(profile, "hide")), HostRules(loaded.policy)
            with self._lock:
                if len(self._rules) >= 16:
                    self._rules.clear()
                    self._trees.clear()
                self._rules[loaded.policy.revision] = found
        return found

    def named(self, profile: Profile, key: str) -> object:
        """The index over the patterns that the profile has under `hide` or `show`; None without any."""
        patterns = profile.sandbox.get(key, ())
        if not patterns:
            return None
        context = self._judge.context
        base = context.root or context.cwd
        normal = [
            paths.normalise(each, base=base, layer_root="/", home=context.home, any_depth=True) for each in patterns
        ]
        return paths.build([(each, -1) for each in normal])

    def tree(self, root: str, protection: Protection) -> Tree:
        """The remembered look at a tree. The caller holds the lock."""
        key = (root, id(protection))
        found = self._trees.get(key)
        if found is None or found.protection is not protection:
            if len(self._trees) >= MAX_TREES:
                self._trees.clear()
            found = self._trees[key] = Tree(root, self._host, protection)
        else:
            self._watching = True  # it is not the last look: to ask every folder each time costs more
        if self._watching:
            found.follow(self.changes)
        return found

    def tools(self, search_path: tuple[str, ...], covered: tuple[str, ...]) -> tuple[str, ...]:
        """The folders that programs on a search path need, looked for again when one of its folders has changed. The
        caller holds the lock."""
        key = (search_path, covered, *[stamp(each, self._host) for each in search_path])
        found = self._tools.get(key)
        if found is None:
            if len(self._tools) >= MAX_TREES:
                self._tools.clear()
            home = self._judge.context.home
            shared = tuple(each for each in _TEMPORARY if not (home + "/").startswith(each))
            look = Toolchains(self._host, home, covered, shared)
            found = self._tools[key] = look.of(search_path)
        return found

    def roots(self, pattern: str) -> tuple[str, ...] | None:
        """The places that a pattern of the profile stands for; without wildcards on the way they are always the same.
        The caller holds the lock."""
        if pattern in self._plain:
            return self._plain[pattern]
        context = self._judge.context
        found = places_of(pattern, self._host, base=context.root or context.cwd, home=context.home)
        if not any(sign in pattern.removesuffix("/**") for sign in "*?[\\"):
            self._plain[pattern] = found
        return found

    @property
    def host(self) -> Host:
        """The machine that is looked at."""
        return self._host

    @property
    def state(self) -> str:
        """Where the gateway keeps what lasts."""
        return self._judge.places.state

    @property
    def own(self) -> tuple[str, ...]:
        """The gateway's own folders, as they are configured."""
        where = self._judge.places
        return where.config, where.state, where.cache


class _Look:
    """The look for one call; one use."""

    def __init__(
        self, surveyor: Surveyor, verdict: Verdict, profile: Profile, protection: Protection, policy: Policy
    ) -> None:
        self.surveyor, self.policy = surveyor, policy
        self.host = surveyor.host
        self.verdict = verdict
        self.context = verdict.context
        self.profile = profile.sandbox
        self.shown = surveyor.named(profile, "show")
        self.protection = protection
        self.grants: Grants = grants_of(verdict, profile.sandbox)
        self.places: dict[str, Place] = {}
        self.marks: dict[str, Mark] = {}
        self.searched: dict[str, None] = {}

    def survey(self, host_rules: HostRules, environment: Mapping[str, str]) -> Survey:
        context = self.context
        system, links = self.surveyor.system_view.look()
        roots = self._roots()
        repositories = self._repositories()
        grants = self.grants
        named = [each.path for each in (*grants.reads, *grants.writes, *grants.credentials, *grants.given)]
        named += [each.named for each in grants.writes]
        brought: tuple[str, ...] = ()
        if context.room:
            from gateway.sandbox.rooms import brought as brought_to  # lazy: a call without a session has no room

            brought = brought_to(f"{self.surveyor.state}/{ROOMS}", context.room)
        daemon = ("", "")
        if grants.look is not None:
            from gateway.sandbox.daemons import daemon_of  # lazy: few calls look at one

            daemon = daemon_of(grants.look.daemon, self.host, context, self._place)
        for path in (*context.workspace, context.cwd, context.home, *named, *brought):
            self._place(path)
        for found in roots.values():
            for path in found or ():
                if stamp(path, self.host) is None:  # most caches that a profile names are on few machines
                    self.places[path] = Place(path, "missing", "")
                else:
                    self._place(path)
        entries = dict.fromkeys(environment.get("PATH", "").split(":"))
        search_path = tuple(each for each in entries if self.host.is_folder(each))
        tools = self.surveyor.tools(search_path, tuple(f"{each}/" for each in (*system, *context.workspace)))
        for path in (*system, *tools):
            self._place(path)
        self._mark(system, tools, roots, repositories)
        if self.verdict.contained:
            effects: list[Any] = [item.effect for item in self.verdict.analysis.items]
            started = {each.program.rpartition("/")[2] for each in effects if each.kind in ("exec", "code")}
            self._add(self.surveyor.denied.look(self.policy, search_path, started))
        refused, only = host_rules.in_force(self.verdict)
        return Survey(
            context.home, system, links=links, tools=tools, search_path=search_path, places=self.places, roots=roots,
            repositories=repositories, marks=tuple(self.marks.values()), searched=tuple(self.searched), own=self._own(),
            refused=refused, only=only, variables=environment, layers=f"{self.surveyor.state}/{LAYERS}",
            secrets=self._secrets(), rooms=f"{self.surveyor.state}/{ROOMS}", brought=brought,
            packages=packages_of(self.surveyor.state, self.verdict, self.host), daemon=daemon,
            shims=shims_of(search_path, grants.fetched, self.host),
            clusters=clusters_named(self.profile, self.verdict, self.host) if grants.profiled else None,
        )  # fmt: skip

    def _secrets(self) -> Found:
        """The workspace's secrets, where the call reaches hosts and a rule lets run what nobody has seen."""
        if self.grants.network == "off" or not self.grants.profiled or not runs_unseen(self.verdict):
            return Found()
        return self.surveyor.secrets.look(self.context.workspace, self.shown)

    def _own(self) -> tuple[str, ...]:
        """The gateway's own folders that are there, the session's with its outputs among them."""
        session = (self.context.scratch,) if self.context.scratch else ()
        found = (self._place(path) for path in (*self.surveyor.own, *session))
        return tuple(dict.fromkeys(place.real for place in found if place.kind == "dir"))

    def _place(self, path: str) -> Place:
        found = self.places.get(path)
        if found is None:
            fact = self.host.path(path)
            if fact is None:
                found = Place(path, "unknown", "")
            else:
                near = fact.real if fact.kind == "dir" else self._nearest(folder_of(fact.real))
                found = Place(fact.real, fact.kind, near)
                if fact.kind != "missing":
                    rules = self.protection
                    found = found.replace(standing=rules.of(fact.real), below=rules.below(fact.real))
            self.places[path] = found
        return found

    def _nearest(self, folder: str) -> str:
        while folder != "/" and not self.host.is_folder(folder):
            folder = folder_of(folder)
        return folder

    def _roots(self) -> dict[str, tuple[str, ...] | None]:
        """The places that the profile's patterns stand for."""
        if not self.grants.profiled:
            return {}
        kinds: tuple[str, ...] = ("read", "sockets")
        if self.context.mode not in CEILINGS:
            kinds = ("read", "sockets", "write")
        patterns = dict.fromkeys(pattern for kind in kinds for pattern in self.profile.get(kind, ()))
        return {each: self.surveyor.roots(each) for each in patterns}

    def _repositories(self) -> tuple[Repository, ...]:
        tops = dict.fromkeys((*self.context.workspace, *(fact.top for fact in self.verdict.facts.git.values())))
        found = [repository_of(top, self.host) for top in tops if top]
        return tuple(each for each in found if each is not None)

    def _mark(
        self,
        system: tuple[str, ...],
        tools: tuple[str, ...],
        roots: dict[str, tuple[str, ...] | None],
        repositories: tuple[Repository, ...],
    ) -> None:
        """Looks for names that rules speak of: everywhere in the workspace, in repositories, and in what the call
        itself names; by full paths only in the system, toolchains and the profile's places."""
        # What every call sees, searched or not; of what is the kernel's a call has its own.
        given = tuple(f"{each}/" for each in (*system, *OF_THE_KERNEL))
        for root in self.context.workspace:
            self._search(root)
        for repository in repositories:
            for folder in repository.folders:
                self._search(folder)
        for each in (*self.grants.reads, *self.grants.writes):
            place = self.places[each.path]
            if each.kind in ("write", "delete"):
                if not each.alone and place.near != self.context.home:
                    self._search(place.near)
            elif place.kind == "dir" and not (place.real + "/").startswith(given):
                self._search(place.real)
        for folder in (*system, *tools):
            self._probe(folder, hiding=True)
        self._add(self.surveyor.system_view.private())
        for pattern, found in roots.items():
            hiding = pattern not in self.profile.get("write", ())
            for path in found or ():
                place = self.places[path]
                if place.kind == "dir" and not self._is_searched(place.real):
                    self._probe(place.real, hiding=hiding)

    def _is_above_home(self, folder: str) -> bool:
        return folder == "/" or (folder != self.context.home and (self.context.home + "/").startswith(folder + "/"))

    def _is_searched(self, folder: str) -> bool:
        return any((folder + "/").startswith(known + "/") for known in self.searched)

    def _search(self, folder: str) -> None:
        """All marks below a folder, unless a look from further up found them: one that ended at a mark did not."""
        if not folder or folder in self.searched or self._is_above_home(folder):
            return
        if self._is_searched(folder) and not any(
            (folder + "/").startswith(mark.path + "/") for mark in self.marks.values()
        ):
            return
        found = self.surveyor.tree(folder, self.protection).marks()
        self._add(found)
        self._add(obeyed_marks(found, self.host, self.context))
        self.searched[folder] = None

    def _probe(self, folder: str, *, hiding: bool) -> None:
        self._add(anchored(folder, self.surveyor.listings, self.protection, hiding=hiding))

    def _add(self, marks: Iterable[Mark]) -> None:
        for mark in marks:
            self.marks.setdefault(mark.path, mark)
