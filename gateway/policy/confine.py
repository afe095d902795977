"""What would hold a call while it runs, as far as the verdict tells: predicted and shown here, enforced elsewhere.

How tight it is depends on who approved: the analysis or the mode (exactly what was predicted), a rule (that plus
the sandbox profile), or a person (what the question showed). Denies hold in all three. A call that the agent runs
by itself is confined by nobody, and then it is said which denies nobody enforces inside code.
"""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.decision import Decision
from gateway.model.effect import HOLE, PATH_KINDS
from gateway.model.plan import CLUSTER, NO_LOGINS
from gateway.policy import hosts, paths
from gateway.policy.modes import CEILINGS, HARMLESS_SINKS, SYSTEM_VIEW
from gateway.policy.table import ID, LANE, LEVEL
from gateway.policy.wording import target, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gateway.model.effect import Touch
    from gateway.model.facts import Facts
    from gateway.model.plan import Logins
    from gateway.model.verdict import Verdict
    from gateway.policy.daemons import Look
    from gateway.policy.installs import Registry
    from gateway.policy.table import Policy

SYSTEM = "the system's files"
OWN_LAYERS = "caches of its own"
MAX_NAMED = 50
BY_PROFILE = "sandbox"
"""What stands for a rule where the setting of that name grants something."""
_SYSTEM_FOLDERS = tuple(folder + "/" for folder in SYSTEM_VIEW)
_KINDS = {
    "analysis": "by analysis",
    "rule": "by rule",
    "person": "if a person agrees",
    "contained": "contained",
    "none": "none: the agent runs it",
    "not_run": "not run",
}


class Enforced(Value):
    """What of a policy holds during every confined call: ids of the rules that deny paths and hosts, and the
    sandbox profile that the settings give."""

    paths: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    profile: tuple[tuple[str, Any], ...] = ()


NOTHING_KNOWN = Enforced()


def enforced_by(policy: Policy, profile: Mapping[str, Any]) -> Enforced:
    """Read off a policy once, for any number of calls."""
    on_paths = dict.fromkeys(paths.lookup_below(policy.paths, HOLE))
    certain, possible = hosts.lookup_possible(policy.hosts, HOLE)
    on_hosts = dict.fromkeys([*certain, *possible])
    for clause in policy.forbidding:
        for name, argument in policy.clauses[clause][1]:
            if name in ("path", "path_not") or (name == "effect" and not set(argument).isdisjoint(PATH_KINDS)):
                on_paths[clause] = None
            if name in ("host", "host_not") or (name == "effect" and "connect" in argument):
                on_hosts[clause] = None
    return Enforced(_denies(policy, on_paths), _denies(policy, on_hosts), tuple(sorted(profile.items())))


def _denies(policy: Policy, clauses: dict[int, None]) -> tuple[str, ...]:
    """The ids of enforced denies behind some clauses, in the order of the policy, bounded."""
    rules = sorted({policy.clauses[clause][0] for clause in policy.forbidding if clause in clauses})
    rows = [policy.rules[rule] for rule in rules]
    ids = [row[ID] for row in rows if row[LANE] == "deny" and not row[LEVEL]]
    return tuple(ids) if len(ids) <= MAX_NAMED else (*ids[:MAX_NAMED], f"… and {len(ids) - MAX_NAMED} more")


class Confinement(Value):
    """The prediction. `kind` is who approved: analysis, rule or person; none when the agent runs the call itself;
    not_run when it is denied. `hidden`: rules whose paths do not exist for the call. `demands`: what `require`
    rules ask of the plan. `unenforced`: denies that nobody enforces inside code that runs unconfined."""

    kind: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    network: str = "off"
    credentials: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    demands: tuple[tuple[str, object], ...] = ()
    unenforced: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Plain data, with the one line that people are shown."""
        found = self.as_dict()
        found["demands"] = dict(self.demands)
        found["text"] = self.line()
        return found

    def line(self) -> str:
        """The prediction on one line."""
        said = _KINDS[self.kind]
        if self.kind == "not_run":
            return said
        if self.kind == "none":
            if self.unenforced:
                said += f"; inside its code nobody enforces {_some(self.unenforced)}"
            return said
        said += f": reads {_some(self.reads)}; writes {_some(self.writes) if self.writes else 'nothing'}; "
        if self.hosts:
            said += f"network {self.network}: {_some(self.hosts)}"
        else:
            said += "any network" if self.network == "open" else "no network"
        if self.credentials:
            said += f"; login material {_some(self.credentials)}"
        if self.hidden:
            said += (
                f"; {len(self.hidden)} deny rules hide files" if len(self.hidden) > 1 else "; 1 deny rule hides files"
            )
        if self.demands:
            said += "; required: " + ", ".join(f"{name} {value}".lower() for name, value in self.demands)
        return said


def _some(names: tuple[str, ...], most: int = 4) -> str:
    shown = ", ".join(map(visible, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


class Reach(Value):
    """Something on the disk that was predicted to be touched. `path`: what must be reachable for it, a folder or, with
    `alone`, one file; `named`: the path as the call has it; `real`: where that leads, "" when it is the same; `tree`:
    everything below it too; `kind`: of the effect; `rule`: id of the rule that allowed it, "" for none."""

    path: str
    named: str
    real: str = ""
    alone: bool = False
    tree: bool = False
    kind: str = "read"
    rule: str = ""


class Contact(Value):
    """A host that was predicted to be contacted. `port` 0: not known. `reads`: what it is only read as."""

    host: str
    port: int
    rule: str = ""
    reads: Registry | None = None


class Grants(Value):
    """What a verdict lets a confined call do, before anybody looks where it lies: the one derivation behind what is
    shown and what is enforced. What is not fully known is not granted, but left in `unknown`. `profiled`: the sandbox
    profile holds on top. `network`: off, listed or open. `given`: what a rule by its name lets be written in the real
    temporary folder, of which a call has one of its own. `installer`: the name of the one by which
    a contained call reads from registries, and by nothing else; `fetched`: of the one that fetches what the call
    installs in a step of its own, before the call runs, from `registries`. `look`: what of a daemon of this machine it
    is shown; `logins`: by which its commands read a cluster, and of which they see nothing."""

    kind: str
    profiled: bool = False
    reads: tuple[Reach, ...] = ()
    writes: tuple[Reach, ...] = ()
    contacts: tuple[Contact, ...] = ()
    network: str = "off"
    credentials: tuple[Reach, ...] = ()
    unknown: tuple[str, ...] = ()
    given: tuple[Reach, ...] = ()
    installer: str = ""
    fetched: str = ""
    registries: tuple[Contact, ...] = ()
    look: Look | None = None
    logins: Logins = NO_LOGINS


def grants_of(verdict: Verdict, profile: Mapping[str, Any]) -> Grants:
    """What is granted to a call that runs confined. Pure. The verdict must not be a denial."""
    context, facts = verdict.context, verdict.facts
    workspace = tuple(folder + "/" for folder in context.workspace)
    near = workspace + _SYSTEM_FOLDERS
    temp = tuple(folder + "/" for folder in context.temp)
    rules = {
        outcome.reason.item: outcome.reason.rule.id
        for outcome in verdict.outcomes
        if outcome.reason.rule.lane == "allow"
    }
    reads: dict[Reach, None] = {}
    writes: dict[Reach, None] = {}
    contacts: dict[Contact, None] = {}
    credentials: dict[Reach, None] = {}
    clusters: dict[int, Registry] = {}
    logins = NO_LOGINS
    if facts.clients:
        from gateway.policy.read_only_hosts import clusters_read, logins_at  # lazy: few calls start such a client

        clusters = clusters_read(verdict.analysis, facts)
        logins = logins_at({each.host for each in clusters.values()}, facts.clients)
    unknown: dict[str, None] = {}

    def is_own(path: str) -> bool:
        """Temporary folders are the call's own, and nothing of the host's is in them but the workspace."""
        return (path + "/").startswith(temp) and not (path + "/").startswith(workspace)

    may_write = context.mode not in CEILINGS
    is_layered: Callable[[Touch], bool] = _nothing
    if verdict.contained:
        from gateway.policy.caches import in_caches  # lazy: most calls are none

        is_layered = in_caches(profile.get("write", ()), context.home)
    named = {outcome.reason.item for outcome in verdict.outcomes if outcome.reason.named and not verdict.contained}
    given: dict[Reach, None] = {}
    for number, item in enumerate(verdict.analysis.items):
        effect: Any = item.effect
        kind = effect.kind
        if kind in PATH_KINDS:
            path = effect.path
            if HOLE in path or HOLE in effect.real:
                unknown[f"{kind} {target(effect)}"] = None
            elif kind in ("read", "list"):
                real = effect.real or path
                if not is_own(real) and not ((path + "/").startswith(near) and (real + "/").startswith(near)):
                    rule = rules.get(number, "")
                    reads[Reach(real, path, real=effect.real, alone=False, tree=effect.tree, kind=kind, rule=rule)] = (
                        None
                    )
            elif is_layered(effect):
                continue  # the project's layer over it is there to be written
            elif may_write and path not in HARMLESS_SINKS:
                rule, real = rules.get(number, ""), effect.real or path
                if number in named and is_own(path) and is_own(real):
                    given[Reach(real, path, real=effect.real, tree=effect.tree, kind=kind, rule=rule)] = None
                reached = _written(effect, item.part < 0, facts, rule)
                writes.update(dict.fromkeys([each for each in reached if not is_own(each.path)]))
        elif kind == "connect" and effect.direction != "listen":
            if HOLE in effect.host:
                unknown[f"connect {target(effect)}"] = None
            else:
                held = clusters.get(item.part)
                if effect.known_by == "provider":
                    from gateway.policy.read_only_hosts import changing, held_to_reading  # lazy: few calls have such

                    held = held_to_reading(effect, item.part, changing(verdict.analysis.items))
                contacts[Contact(effect.host, effect.port, rules.get(number, ""), held)] = None
        elif kind == "credential" and effect.path and item.part not in clusters:
            if HOLE in effect.path:
                unknown[f"credential {target(effect)}"] = None
            else:
                access = "write" if effect.changes and may_write else kind
                credentials[Reach(effect.path, effect.path, kind=access, rule=rules.get(number, ""))] = None
    who, profiled = _who(verdict, rules)
    if not profiled and any(part.program == "git" for part in verdict.analysis.parts):
        from gateway.policy.git_settings import shown  # lazy: few calls are git's

        for path in shown(verdict.analysis, profile.get("read", ()), context.home):
            reads[Reach(path, path, rule=BY_PROFILE)] = None
    network = "listed" if contacts else "off"
    installer, fetched, look = None, "", None
    apart: list[Contact] = []
    if verdict.contained:
        network, contacts, clusters = "off", {}, {}  # what is left of hosts is its session's loopback
        registries = profile.get("registries")
        if registries and any(item.effect.kind == "connect" for item in verdict.analysis.items):
            from gateway.policy.fetching import FETCHERS, fetch_of  # lazy: few calls install anything
            from gateway.policy.installs import install_of

            installer = install_of(verdict.analysis, registries)
            fetch = fetch_of(verdict.analysis, registries) if installer is None else None
            if fetch is not None:
                fetched = fetch.fetcher
                apart = [Contact(each.host, 443, BY_PROFILE, each) for each in FETCHERS[fetched].registries]
        for each in installer.registries if installer is not None else ():
            network, contacts[Contact(each.host, 443, BY_PROFILE, each)] = "listed", None
    elif profiled:
        asked = profile.get("network") or ("listed" if profile.get("hosts") else "off")
        if asked == "open" or (asked == "listed" and profile.get("hosts")):
            network = asked
    if (daemons := profile.get("daemons")) and not verdict.contained:
        from gateway.policy.daemons import look_of  # lazy: few policies name any

        look = look_of(verdict.analysis, daemons)
        network = "listed" if look is not None and network == "off" else network
    if dict(verdict.demands).get("network") == "off":
        network, contacts, clusters, look = "off", {}, {}, None
        installer, fetched, apart = None, "", []
    return Grants(
        who,
        profiled,
        reads=tuple(reads),
        writes=tuple(writes),
        contacts=tuple(contacts),
        network=network,
        credentials=tuple(credentials),
        unknown=tuple(unknown),
        given=tuple(given),
        installer=installer.name if installer is not None else "",
        fetched=fetched,
        registries=tuple(apart),
        look=look,
        logins=logins if clusters else NO_LOGINS,
    )


def _nothing(_effect: Touch) -> bool:
    return False


def _who(verdict: Verdict, rules: Mapping[int, str]) -> tuple[str, bool]:
    """Who approved, and whether the profile holds: a person if anything is asked, else a rule if any was needed. What
    a rule covers of a call that a person agrees to keeps the profile if nobody knows what it does."""
    if verdict.contained:
        return "contained", True
    if verdict.decision is not Decision.ASK:
        return ("rule", True) if rules else ("analysis", False)
    items = verdict.analysis.items
    return "person", any(items[number].effect.kind in ("code", "opaque") for number in rules)


def _written(effect: Touch, by_shell: bool, facts: Facts, rule: str) -> list[Reach]:
    """Where the sandbox must let a change through. A redirect writes a file that is there in its place; everything
    else may put a new one there, which takes the folder, and takes the link's own folder for what is named by a link.
    """
    path, kind, tree = effect.path, effect.kind, effect.tree
    fact = facts.paths.get(path)
    there = fact.kind if fact is not None else "unknown"
    real = effect.real or path
    if kind == "write":
        if by_shell and there == "file" and not tree:
            return [Reach(real, path, real=effect.real, alone=True, tree=False, kind=kind, rule=rule)]
        if tree or there == "dir":
            return [Reach(real, path, real=effect.real, alone=False, tree=tree, kind=kind, rule=rule)]
        places = [folder_of(real), folder_of(path)]
    elif effect.only:
        return [Reach(real, path, real=effect.real, alone=False, tree=True, kind=kind, rule=rule)]
    else:
        places = [folder_of(path)]
    return [
        Reach(place, path, real=effect.real, alone=False, tree=tree, kind=kind, rule=rule)
        for place in dict.fromkeys(places)
    ]


def folder_of(path: str) -> str:
    """The folder that a path lies in."""
    return path[: path.rfind("/")] or "/"


def confinement(verdict: Verdict, enforced: Enforced = NOTHING_KNOWN) -> Confinement:
    """What would hold this call, in short. Pure: the plan that is enforced is made from the same grants."""
    if verdict.decision is Decision.DENY:
        return _NOT_RUN
    context = verdict.context
    if not context.confined:
        runs_code = any(item.effect.kind in ("code", "opaque") for item in verdict.analysis.items)
        return Confinement("none", unenforced=enforced.paths + enforced.hosts if runs_code else ())
    profile = dict(enforced.profile)
    grants = grants_of(verdict, profile)
    reads = [SYSTEM, *context.workspace, *[each.path + ("/**" if each.tree else "") for each in grants.reads]]
    writes = [each.path for each in grants.writes]
    contacted = [_contacted(each) for each in grants.contacts]
    contacted += [f"{each.host} (only read from, before anything of it runs)" for each in grants.registries]
    contacted += [f"{grants.look.daemon.name}'s daemon (only read from)"] if grants.look is not None else []
    if grants.profiled:
        reads += profile.get("read", ())
        if verdict.contained:
            writes = [*context.workspace, *writes, OWN_LAYERS]
        elif context.mode not in CEILINGS:
            writes += profile.get("write", ())
        if grants.network == "listed" and not grants.installer and profile.get("network", "listed") == "listed":
            contacted += map(hosts.entry_name, profile.get("hosts", ()))
    return Confinement(
        grants.kind, _once(reads), writes=_once(writes), hosts=_once(contacted), network=grants.network,
        credentials=_once([each.path for each in grants.credentials]), hidden=enforced.paths, demands=verdict.demands,
    )  # fmt: skip


def _contacted(contact: Contact) -> str:
    if contact.reads is not None and CLUSTER in contact.reads.also:
        return f"{contact.host}:{contact.port} (only read from, with a login that the call does not see)"
    if contact.reads is not None:
        by = "" if "aws" in contact.reads.also else ", and by no package's script"
        return f"{contact.host} (only read from{by})"
    return f"{contact.host}:{contact.port}" if contact.port else contact.host


def _once(texts: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


_NOT_RUN = Confinement("not_run")
