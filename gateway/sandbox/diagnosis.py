"""Why namespaces are refused here, and the one thing to do about it: never to switch off what protects everybody."""

from __future__ import annotations

import os

from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.sandbox.base import Probe

DOCKER = (
    "start the container with `--security-opt seccomp=PROFILE` (one that permits user namespaces and mount), "
    "`--security-opt apparmor=unconfined` and `--security-opt systempaths=unconfined`"
)
KUBERNETES = (
    "set `hostUsers: false` in the pod and `securityContext: {procMount: Unmasked}` in its container, with a seccomp "
    "profile that permits user namespaces and mount"
)
UBUNTU = (
    "load the AppArmor profile for bwrap: `apt-get install apparmor-profiles`, copy "
    "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict to /etc/apparmor.d/, and run "
    "`apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict`"
)
FORBIDDEN = "ask the administrator to permit user namespaces for this user (`user.max_user_namespaces` is 0)"
OTHERWISE = (
    "run it where user namespaces are permitted: on the host, in a virtual machine, or in a container made for it"
)


class Surroundings(Value):
    """What of the machine decides about namespaces. `container`: docker, kubernetes or ""; `apparmor`: AppArmor
    restricts user namespaces; `most`: how many user namespaces a user may have, -1 unknown."""

    container: str = ""
    apparmor: bool = False
    most: int = -1


def surroundings() -> Surroundings:
    """A look at the machine."""
    container = ""
    if "KUBERNETES_SERVICE_HOST" in os.environ or os.path.isdir("/run/secrets/kubernetes.io"):
        container = "kubernetes"
    elif os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv"):
        container = "docker"
    restricted = _number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1 and os.geteuid() != 0
    return Surroundings(container, restricted, _number("/proc/sys/user/max_user_namespaces"))


def remedy(found: Surroundings, probe: Probe, installed: bool) -> str:
    """The one thing to do about a bubblewrap that does not hold. Pure."""
    if not installed:
        return probe.remedy
    if found.most == 0:  # in a container too: nothing that it is started with lifts this
        return FORBIDDEN
    if found.container == "kubernetes":
        return KUBERNETES
    if found.container == "docker":
        return DOCKER
    if found.apparmor:
        return UBUNTU
    return OTHERWISE


def _number(path: str) -> int:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return -1
