"""What would hold a call while it runs, as far as the verdict tells: predicted and shown here, enforced elsewhere.

How tight it is depends on who approved: the analysis or the mode (exactly what was predicted), a rule (that plus
the sandbox profile), or a person (what the question showed). Denies hold in all three. A call that the agent runs
by itself is confined by nobody, and then it is said which denies nobody enforces inside code.
"""

from __future__ import annotations

from gateway.model.decision import Decision
from gateway.model.effect import HOLE, PATH_KINDS
from gateway.model.value import Value
from gateway.policy import hosts, paths
from gateway.policy.modes import CEILINGS, HARMLESS_SINKS, SYSTEM_VIEW
from gateway.policy.table import ID, LANE, LEVEL
from gateway.policy.wording import UNKNOWN, target, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.model.effect import Touch
    from gateway.model.facts import Facts
    from gateway.model.verdict import Verdict
    from gateway.policy.table import Policy

SYSTEM = "the system's files"
MAX_NAMED = 50
_SYSTEM_FOLDERS = tuple(folder + "/" for folder in SYSTEM_VIEW)
_KINDS = {
    "analysis": "by analysis",
    "rule": "by rule",
    "person": "if a person agrees",
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
    for clause, (_rule, tests, _of_part) in enumerate(policy.clauses):
        for name, argument in tests:
            if name in ("path", "path_not") or (name == "effect" and not set(argument).isdisjoint(PATH_KINDS)):
                on_paths[clause] = None
            if name in ("host", "host_not") or (name == "effect" and "connect" in argument):
                on_hosts[clause] = None
    return Enforced(_denies(policy, on_paths), _denies(policy, on_hosts), tuple(sorted(profile.items())))


def _denies(policy: Policy, clauses: dict[int, None]) -> tuple[str, ...]:
    """The ids of enforced denies behind some clauses, in the order of the policy, bounded."""
    rules = sorted({policy.clauses[clause][0] for clause in clauses})
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


def confinement(verdict: Verdict, enforced: Enforced = NOTHING_KNOWN) -> Confinement:
    """What would hold this call. Pure: the plan that is enforced is made when the call runs."""
    if verdict.decision is Decision.DENY:
        return _NOT_RUN
    context = verdict.context
    if not context.confined:
        runs_code = any(item.effect.kind in ("code", "opaque") for item in verdict.analysis.items)
        return Confinement("none", unenforced=enforced.paths + enforced.hosts if runs_code else ())
    reads: dict[str, None] = dict.fromkeys((SYSTEM, *context.workspace))
    near = tuple(folder + "/" for folder in context.workspace) + _SYSTEM_FOLDERS
    writes: dict[str, None] = {}
    contacted: dict[str, None] = {}
    credentials: dict[str, None] = {}
    for item in verdict.analysis.items:
        effect: Any = item.effect
        kind = effect.kind
        if kind in ("read", "list"):
            path = effect.real or effect.path
            if not (path + "/").startswith(near):
                reads[target(effect)] = None
        elif kind in ("write", "delete"):
            if effect.path not in HARMLESS_SINKS:
                writes[_nearest(effect, verdict.facts)] = None
        elif kind == "connect":
            contacted[target(effect)] = None
        elif kind == "credential":
            credentials[target(effect)] = None
    network = "listed" if contacted else "off"
    who = _who(verdict)
    if who == "rule":
        profile = dict(enforced.profile)
        reads.update(dict.fromkeys(profile.get("read", ())))
        if context.mode not in CEILINGS:
            writes.update(dict.fromkeys(profile.get("write", ())))
        if profile.get("network") == "open":
            network = "open"
        elif profile.get("network") == "listed":
            contacted.update(dict.fromkeys(profile.get("hosts", ())))
            network = "listed" if contacted else "off"
    demands = dict(verdict.demands)
    if demands.get("network") == "off":
        network, contacted = "off", {}
    return Confinement(
        who, tuple(reads), tuple(writes), tuple(contacted), network, tuple(credentials), enforced.paths,
        verdict.demands,
    )  # fmt: skip


_NOT_RUN = Confinement("not_run")


def _who(verdict: Verdict) -> str:
    """Who approved: a person if anything is asked, else a rule if any was needed."""
    if verdict.decision is Decision.ASK:
        return "person"
    return "rule" if any(outcome.reason.rule.lane == "allow" for outcome in verdict.outcomes) else "analysis"


def _nearest(effect: Touch, facts: Facts) -> str:
    """Where the sandbox must let a write through: the file or folder that is there, else the folder it comes in."""
    path = effect.real or effect.path
    if HOLE in path:
        return path.replace(HOLE, UNKNOWN)
    fact = facts.paths.get(effect.path)
    if effect.tree or (fact is not None and fact.kind == "dir"):
        return path if effect.kind == "write" else path[: path.rfind("/")] or "/"
    if effect.kind == "write" and fact is not None and fact.kind == "file":
        return path
    return path[: path.rfind("/")] or "/"
