"""One tool as Python code has it: callable, with the signature and documentation that its declaration gives it."""

from __future__ import annotations

from gateway.tools.declaration import Declaration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.call import Call
    from gateway.model.context import Context


class _Documentation:
    """`Tool.__doc__`: the class's own text, or for one tool what its declaration says."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __get__(self, tool: Tool | None, _owner: type | None = None) -> str:
        if tool is None:
            return self.text
        from gateway.tools.signature import documentation

        return documentation(tool.entry, tool.description())


class Tool(Declaration):
    __doc__ = _Documentation(
        """A declared tool: callable, with the signature and the documentation that its declaration gives it.

        Calling it yields the canonical, validated `Call`; nothing runs. `entry` is the declaration in plain form
        and must not be changed.
        """
    )

    __slots__ = ()

    def __call__(self, context: Context | None = None, /, **fields: Any) -> Call:
        from gateway.model.call import RawCall
        from gateway.tools.canonical import canonicalise

        return canonicalise(self, RawCall(self.name, fields), context or _here())

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"

    def __getattr__(self, name: str) -> Any:
        # Built when somebody asks, so that no call pays for what only introspection wants.
        if name == "__name__":
            return self.name
        if name == "__signature__":
            from gateway.tools.signature import signature

            return signature(self.entry)
        raise AttributeError(f"`Tool` has no attribute `{name}`")


def _here() -> Context:
    """The process's own folder and home: what a call from Python code means by a relative path."""
    import os

    from gateway.model.context import Context

    cwd = os.getcwd()
    return Context(cwd=cwd, root=cwd, home=os.environ.get("HOME", ""))
