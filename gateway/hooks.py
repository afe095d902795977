"""What the hook of a foreign agent decides (`docs/api.md`): the public name of `gateway.frontends.deciding`."""

from gateway.frontends.deciding import Decided, decide

__all__ = ["Decided", "decide"]
