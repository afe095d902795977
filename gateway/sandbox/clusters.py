"""Clusters that a profile names, as the person's kubeconfig has them."""

from __future__ import annotations

from gateway.model.plan import CLUSTER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.host.base import Host
    from gateway.model.facts import ClientFact
    from gateway.model.verdict import Verdict


def clusters_named(profile: Mapping[str, Any], verdict: Verdict, host: Host) -> ClientFact | None:
    """What the kubeconfig says, where the setting `hosts` names the API of a cluster and the call may reach hosts."""
    named = profile.get("hosts", ()) if not verdict.contained else ()
    if not any(each.__class__ is not str and CLUSTER in each.get("also", ()) for each in named):
        return None
    from gateway.host.clients import client_fact  # lazy: few profiles name any

    return verdict.facts.clients.get(CLUSTER) or client_fact(CLUSTER, host, verdict.context)
