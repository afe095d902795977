"""A call run by its handler alone: without policy, hooks and record."""

from __future__ import annotations

import json
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from gateway.calls.work import Work
from gateway.core.cancel import Cancel
from gateway.host.machine import Machine
from gateway.host.observe import observe
from gateway.model.call import RawCall
from gateway.model.context import Context
from gateway.model.facts import Wanted
from gateway.spec.tools import compile_tools
from gateway.tools.effects import effects_of
from gateway.tools.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.calls.output import Output, Progress
    from gateway.calls.work import Handler

TOOLS = Path(__file__).parents[2] / "tools.yaml"
REGISTRY = Registry(json.loads(json.dumps(compile_tools(TOOLS.read_bytes(), "tools.yaml"))))


class Alone:
    """Calls handlers in a folder. `hidden`: tells of a path what may not be read."""

    def __init__(self, folder: Path, hidden: Callable[[str], bool] = lambda _path: False) -> None:
        self.folder = folder
        self.hidden = hidden
        self.asked: list[str] = []
        self.seen: list[Progress] = []
        self.cancel = Cancel()
        weakref.finalize(self, self.cancel.close)

    def may_read(self, path: str) -> bool:
        self.asked.append(path)
        return not self.hidden(str(Path(path).resolve()))

    def __call__(self, handler: Handler, tool: str, before: Callable[[], Any] = lambda: None, **fields: Any) -> Output:
        """`before`: what happens after the call was judged and before it runs."""
        context = Context(str(self.folder), str(self.folder), "/home/nobody")
        call = REGISTRY.canonical_call(
            RawCall(tool, {name.replace("_n_", "-"): v for name, v in fields.items()}), context
        )
        items, _text = effects_of(REGISTRY.tool(tool), call, context)
        paths = tuple(path for item in items if (path := getattr(item.effect, "path", "")))
        verdict: Any = SimpleNamespace(facts=observe(Wanted(paths), Machine(), context), call=call)
        nobody: Any = None
        before()
        return handler(call, Work(verdict, context, nobody, nobody, self.cancel, self.may_read, self.seen.append))


def text(output: Output) -> str:
    """What the model gets."""
    return "\n".join(block.text for block in output.blocks)  # type: ignore[union-attr]
