"""What the path patterns of a rule are relative to. Only needed while policies are compiled."""

from __future__ import annotations

import functools

from gateway.core.value import Value
from gateway.policy import globs, paths


class Anchors(Value):
    """The folders that a rule's path patterns are based on.

    `base`: project root of the rule's file; `anywhere`: base of patterns that hold at any depth (`.env`, `**/x`,
    and `x/**` where it forbids); `layer`: root of the rule's layer, for `/x`; `home`: for `~/x`. `fold`: the file
    system takes names in either case for the same. `moved`: folders below `~` that lie elsewhere for this user
    (`~/.config`), and where.
    """

    base: str
    anywhere: str
    layer: str
    home: str
    forbids: bool
    fold: bool = False
    moved: tuple[tuple[str, str], ...] = ()

    def patterns(self, written: str) -> list[str]:
        """The same, and where a rule that forbids speaks of a folder that this user keeps elsewhere, that one too."""
        found = [self.pattern(written)]
        if self.forbids:
            for usual, own in self.moved:
                if written == usual or written.startswith(usual + "/"):
                    found.append(self.pattern("/" + globs.escape(own) + written[len(usual) :]))
        return found

    def pattern(self, written: str) -> str:
        """The pattern as `paths` understands it, absolute. ValueError if it is none."""
        body = written[:-3] if self.forbids and written.endswith("/**") else written.rstrip("/")
        floating = written.startswith("**/") or ("/" not in body and body not in (".", ".."))
        base = self.anywhere if floating else self.base
        return _normalised(written, base, self.layer, self.home, self.forbids)


@functools.lru_cache(maxsize=8192)
def _normalised(written: str, base: str, layer: str, home: str, forbids: bool) -> str:
    """Policies that are compiled one after another share most of their patterns."""
    return paths.normalise(written, base=base, layer_root=layer, home=home, any_depth=forbids)
