"""What a look at the host found, for the plan of one call. Pure."""

from __future__ import annotations

from gateway.core.value import Value
from gateway.policy.path_protection import FREE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.model.facts import ClientFact
    from gateway.policy.hostrules import Only, Refused
    from gateway.policy.path_protection import Standing
    from gateway.sandbox.marks import Mark
    from gateway.sandbox.repositories import Repository


class Found(Value):
    """What secrets a workspace holds. `files`: paths of what holds one; `whole`: False where the look ended at a bound
    and there may be more."""

    files: tuple[str, ...] = ()
    whole: bool = True


class Place(Value):
    """Where a path leads. `kind`: dir, file, other, missing or unknown; `near`: the nearest folder that is there, ""
    where nobody can tell; `standing`: how it stands with the rules, `below`: how all that lies in it does."""

    real: str
    kind: str
    near: str
    standing: Standing = FREE
    below: Standing = FREE


class Survey(Value):
    """What was found, for one call.

    `system`: folders of the system view; `links`: links of the top folder. `tools`: folders that programs on the search
    path need; `search_path`: its entries that are there. `places`: by path, for all that the call or the profile
    names. `roots`: by pattern of the profile, the paths it stands for, None where that cannot be told. `marks`: names
    on the disk that rules speak of, complete below `searched`; elsewhere only those that rules name from the top.
    `own`: the gateway's own folders. `refused`, `only`: what rules leave of the network. `variables`: the environment
    that the call may inherit from. `layers`: where changes to caches are kept. `secrets`: what the workspace holds of
    them, looked for only where the call could carry them away. `rooms`: where what sessions share is kept; `brought`:
    files of the real temporary folder that are in the session's as well. `packages`: where the project's calls have
    installed some of Python, or a contained one may; "" for no such place. `daemon`: the socket of the daemon that the
    call is shown, and why there is none to be told. `shims`: the folder of pyenv's, where it installs with pip.
    `clusters`: those of the kubeconfig, where the profile names any.
    """

    home: str
    system: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    tools: tuple[str, ...]
    search_path: tuple[str, ...]
    places: Mapping[str, Place]
    roots: Mapping[str, tuple[str, ...] | None]
    repositories: tuple[Repository, ...]
    marks: tuple[Mark, ...]
    searched: tuple[str, ...]
    own: tuple[str, ...]
    refused: tuple[Refused, ...]
    only: tuple[Only, ...]
    variables: Mapping[str, str]
    layers: str = ""
    secrets: Found = Found()
    rooms: str = ""
    brought: tuple[str, ...] = ()
    packages: str = ""
    daemon: tuple[str, str] = ("", "")
    shims: str = ""
    clusters: ClientFact | None = None
