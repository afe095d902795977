"""What YAML can't tell: programs whose words are a language of their own.

`HOOKS` maps the name that a description's `special:` gives to a function, which runs after the description was
applied and adds items, doubts and hand-overs.
"""

from __future__ import annotations

from gateway.commands.special import awk, builtins, filters, git, sed, shells

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.grammar import Invocation

HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {
    **awk.HOOKS,
    **builtins.HOOKS,
    **filters.HOOKS,
    **git.HOOKS,
    **sed.HOOKS,
    **shells.HOOKS,
}
