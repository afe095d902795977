"""Every agent whose rules can be read: one module each, with NAME, TITLE, WAY, PATH_PROGRAMS, `places` and `read`."""

from __future__ import annotations

from gateway.install.translation import claude, codex, copilot, cursor, gemini, opencode, vscode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from gateway.install.base import Site
    from gateway.install.translation.common_call import Where
    from gateway.install.translation.places import Place
    from gateway.install.translation.rules import Remark, Rule

    class Client(Protocol):
        """See the module. `WAY`: how its rules are combined (`gateway.install.translation.deciding`). `PATH_PROGRAMS`:
        programs of which it asks wherever they name what lies outside of the project, whatever its rules allow."""

        NAME: str
        TITLE: str
        WAY: str
        PATH_PROGRAMS: frozenset[str]

        def places(self, site: Site) -> tuple[Place, ...]: ...
        def read(self, text: str, file: str, level: str, where: Where, /) -> tuple[list[Rule], list[Remark]]: ...


CLIENTS: dict[str, Client] = {each.NAME: each for each in (claude, codex, gemini, opencode, vscode, cursor, copilot)}
