"""The network of a plan: the hosts that were predicted, those of the profile, and what rules leave of both. Pure."""

from __future__ import annotations

from gateway.model.plan import CLUSTER, NO_LOGINS, READ, Endpoint, Logins, Network
from gateway.policy import hosts
from gateway.policy.confine import BY_PROFILE
from gateway.policy.hostrules import within
from gateway.sandbox.profile import injections_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.facts import ClientFact
    from gateway.policy.confine import Contact, Grants
    from gateway.policy.hostrules import Only, Refused
    from gateway.sandbox.profile import Profile

OFF = Network()


def network_of(
    grants: Grants, profile: Profile, refused: tuple[Refused, ...], only: tuple[Only, ...], session: str = "",
    daemon: tuple[str, str] = ("", ""), clusters: ClientFact | None = None,
) -> tuple[Network, list[tuple[str, str]]]:  # fmt: skip
    """The network, and what is withheld of it with the reason. `session`: a name of the call's, "" for none. `daemon`:
    the socket of the one that the call is shown, and why there is none to be reached; `clusters`: those of the
    kubeconfig, where the profile names any."""
    if grants.network == "off":
        return OFF, []
    withheld: list[tuple[str, str]] = []
    shut = next((each for each in refused if each.host == "*" and not each.port), None)
    asked = dict.fromkeys(map(_of_contact, grants.contacts))
    profiled = grants.profiled and not grants.installer
    logins = grants.logins
    if profiled:
        for entry in profile.sandbox.get("hosts", ()):
            named = [_of_profile(entry)]
            if CLUSTER in named[0].also:
                named, found_logins, why = _clusters_of(named[0], clusters, grants)
                withheld += [(f"connect {hosts.entry_name(entry)}", why)] if why else []
                pairs = dict.fromkeys((*logins.pairs, *found_logins.pairs))
                logins = Logins(logins.files or found_logins.files, tuple(pairs))
            for found in named:
                if not any(each.host == found.host and each.port == found.port for each in asked):
                    asked[found] = None
    mode = grants.network
    if mode == "open" and only:
        # Everything, held to lists, is the first list held to the others.
        mode = "listed"
        asked.update(dict.fromkeys(Endpoint(host, 0, only[0].rule) for host in only[0].hosts))
    allow = []
    for each in asked:
        rule = shut.rule if shut else next((one.rule for one in only if not within(each.host, one.hosts)), "")
        if rule:
            withheld.append((f"connect {each.host}", f"rule `{rule}` refuses it"))
        else:
            allow.append(each)
    if grants.look is not None and not shut:  # no host: lists of hosts do not speak of it
        also, shown, (socket, why) = grants.look.also, grants.look.daemon, daemon
        if socket:
            allow.append(Endpoint(shown.host, 0, BY_PROFILE, READ, also=also, socket=socket, told=shown.variable))
        elif why:
            withheld.append((f"{shown.name}'s daemon", why))
    if shut or (mode == "listed" and not allow):
        return OFF, withheld
    deny = tuple(Endpoint(each.host, each.port, each.rule) for each in refused)
    inject = injections_of(profile) if profiled else ()
    allow.sort(key=lambda each: (each.host, each.port, each.rule))
    return Network(
        mode, tuple(allow), deny=deny, ports=(), inject=inject, installer=grants.installer, said=_said(profile),
        session=session if any(each.access for each in allow) else "",
        logins=logins if any(CLUSTER in each.also for each in allow) else NO_LOGINS,
    ), withheld  # fmt: skip


def fetching_of(grants: Grants, profile: Profile, refused: tuple[Refused, ...], only: tuple[Only, ...]) -> Network:
    """That of the step which fetches what a call installs; off where there is none, or rules leave nothing of it."""
    allow = tuple(map(_of_contact, grants.registries))
    shut = any(each.host == "*" and not each.port for each in refused)
    if not allow or shut or not all(within(each.host, one.hosts) for each in allow for one in only):
        return OFF
    deny = tuple(Endpoint(each.host, each.port, each.rule) for each in refused)
    return Network("listed", allow, deny=deny, said=_said(profile))


def _said(profile: Profile) -> int:
    return int(profile.limits.get("said_kb", 0)) << 10


def _of_contact(contact: Contact) -> Endpoint:
    reads = contact.reads
    if reads is None:
        return Endpoint(contact.host, contact.port, contact.rule)
    port = contact.port if CLUSTER in reads.also else 0
    return Endpoint(contact.host, port, contact.rule, READ, named_by=reads.named_by, also=reads.also)


def _clusters_of(named: Endpoint, fact: ClientFact | None, grants: Grants) -> tuple[list[Endpoint], Logins, str]:
    """The clusters at a host of the profile, by the kubeconfig, with their logins, or why there are none."""
    if fact is None or fact.why:
        return [], NO_LOGINS, f"nobody can tell what the kubeconfig says: {fact.why if fact else 'it was not read'}"
    if not {each.path for each in grants.credentials}.isdisjoint(fact.files):
        return [], NO_LOGINS, "the call has the kubeconfig itself, to do more than read"
    from gateway.policy.read_only_hosts import logins_at, ports_of  # lazy: few profiles name any

    ports = [each for each in sorted(ports_of(fact, named.host)) if each != 80 and named.port in (0, each)]
    if not ports:
        return [], NO_LOGINS, "the kubeconfig has no cluster there that must prove to be one"
    return [named.replace(port=each) for each in ports], logins_at({named.host.lower()}, {CLUSTER: fact}), ""


def _of_profile(entry: Any) -> Endpoint:
    """An entry of the setting `hosts`."""
    host, port = hosts.host_and_port(hosts.entry_name(entry))
    if entry.__class__ is str:
        return Endpoint(host, port, BY_PROFILE)
    named_by, also = (tuple(entry.get(name, ())) for name in ("named_by", "also"))
    return Endpoint(host, port, BY_PROFILE, READ, named_by=named_by, also=also)
