"""The network of a plan: the hosts that were predicted, those of the profile, and what rules leave of both. Pure."""

from __future__ import annotations

from gateway.model.plan import READ, Endpoint, Network
from gateway.policy.confine import BY_PROFILE
from gateway.policy.hostrules import within
from gateway.policy.hosts import entry_name, host_and_port
from gateway.sandbox.profile import injections_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.policy.confine import Contact, Grants
    from gateway.policy.hostrules import Only, Refused
    from gateway.sandbox.profile import Profile

OFF = Network()


def network_of(
    grants: Grants, profile: Profile, refused: tuple[Refused, ...], only: tuple[Only, ...], session: str = "",
    daemon: tuple[str, str] = ("", ""),
) -> tuple[Network, list[tuple[str, str]]]:  # fmt: skip
    """The network, and what is withheld of it with the reason. `session`: a name of the call's, "" for none. `daemon`:
    the socket of the one that the call is shown, and why there is none to be reached."""
    if grants.network == "off":
        return OFF, []
    withheld: list[tuple[str, str]] = []
    shut = next((each for each in refused if each.host == "*" and not each.port), None)
    asked = dict.fromkeys(map(_of_contact, grants.contacts))
    profiled = grants.profiled and not grants.installer
    if profiled:
        for entry in profile.sandbox.get("hosts", ()):
            found = _of_profile(entry)
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
    return Endpoint(contact.host, 0, contact.rule, READ, named_by=reads.named_by, also=reads.also)


def _of_profile(entry: Any) -> Endpoint:
    """An entry of the setting `hosts`."""
    host, port = host_and_port(entry_name(entry))
    if entry.__class__ is str:
        return Endpoint(host, port, BY_PROFILE)
    named_by, also = (tuple(entry.get(name, ())) for name in ("named_by", "also"))
    return Endpoint(host, port, BY_PROFILE, READ, named_by=named_by, also=also)
