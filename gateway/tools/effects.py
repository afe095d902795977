"""What a call does, from what its tool declares: effects said with the call's own fields.

An effect whose field a partial call leaves out has `HOLE` as its target. What a tool does not declare is
`Opaque`. A shell text is not analysed here: it is handed back for the engine to analyse.
"""

from __future__ import annotations

from gateway.model.effect import HOLE, Connect, Item, Opaque, SessionChange, Touch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.model.call import Call
    from gateway.model.context import Context
    from gateway.tools.declaration import Declaration

_PATH_KINDS = ("list", "read", "write", "delete")
# Effects that only the tools of foreign agents declare: what a text or a list names (`gateway.tools.foreign_effects`).
FOREIGN = ("patch", "urls", "patterns")


def effects_of(tool: Declaration, call: Call, context: Context) -> tuple[tuple[Item, ...], str | None]:
    """The effects of `call`, `Use` first, and the shell text that still has to be analysed (None if there is none).

    Spans count code points of `call.shown`; (0, 0) is an effect that the shown field does not tell.
    """
    items = [tool.use]
    shell = None
    fields = call.input
    for do, field, tree, required, declared in tool.actions:
        if do in _PATH_KINDS:
            path = fields.get(field)
            end = len(call.shown) if field == tool.match else 0
            if path.__class__ is str:
                items.append(Item(Touch(do, path, tree), 0, end))
            elif path.__class__ is tuple:
                items += [Item(Touch(do, one if one.__class__ is str else HOLE, tree)) for one in path]
            elif path is not None or required or _may_follow(tool, call, field):
                items.append(Item(Touch(do, HOLE, tree)))
        elif do == "shell":
            text = fields.get(field)
            if text.__class__ is str:
                shell = text
            elif text is not None or required or _may_follow(tool, call, field):
                items.append(Item(Opaque(f"`{field}` is not known")))
        elif do == "argv":
            from gateway.tools.argv import command_text  # lazy: few tools are commands that somebody declared

            shell = command_text(declared["words"], fields)
            if shell is None:
                items.append(Item(Opaque("the command's words are not known")))
        elif do == "guess":
            from gateway.tools.inferred_effects import guessed

            items += guessed(tool.name, fields, context)
        elif do in FOREIGN:
            from gateway.tools.foreign_effects import found_in

            items += found_in(do, tool, call, declared, context)
        else:
            items += _OTHERS[do](tool, call, declared, required)
    if tool.server_field and fields.get("uri").__class__ is str:  # which may be a file, or lead elsewhere
        from gateway.tools.inferred_effects import guessed

        items += guessed("read", {"uri": fields["uri"]}, context)
    return tuple(items), shell


def _may_follow(tool: Declaration, call: Call, field: str) -> bool:
    """Whether a partial call may still get the field: it is one of several that the tool needs, and none is there."""
    return any(field in names for names in tool.alternatives) and not any(
        names <= call.input.keys() for names in tool.alternatives
    )


def _connect(tool: Declaration, call: Call, declared: dict[str, Any], required: bool) -> list[Item]:
    """The host behind a URL or host field; an unknown one where no field names it."""
    field = declared.get("field", "")
    direction = declared["direction"]
    if declared["by"] == "fixed":
        return [Item(_connection(declared["url"], call, declared))]
    if declared["by"] == "server":
        server = call.input.get(tool.server_field)  # where none is named, all are asked
        urls = [url for name, url in declared["urls"].items() if server.__class__ is not str or server == name]
        return [Item(_connection(url, call, {**declared, "by": "url"})) for url in urls]
    if not field:
        return [Item(Connect(HOLE, 0, direction))]
    value = call.input.get(field)
    if value is None and not required and not _may_follow(tool, call, field):
        return []
    end = len(call.shown) if field == tool.match else 0
    targets = value if value.__class__ is tuple else (value,)
    return [Item(_connection(target, call, declared), 0, end) for target in targets]


def _connection(target: Any, call: Call, declared: dict[str, Any]) -> Connect:
    from gateway.tools.paths import UnclearError
    from gateway.tools.urls import host, parse

    direction = declared["direction"]
    try:
        if target.__class__ is not str:
            return Connect(HOLE, 0, direction)
        if declared["by"] == "host":
            port = call.input.get(declared.get("port", ""), 0)
            return Connect(host(target), port if port.__class__ is int else 0, direction)
        url = parse(target)
    except UnclearError:
        return Connect(HOLE, 0, direction)  # a foreign tool may take what we cannot read
    return Connect(url.host, url.port, direction)


def _session(tool: Declaration, call: Call, declared: dict[str, Any], _required: bool) -> list[Item]:
    said = []
    for part in declared["text"]:
        if "text" in part:
            said.append(part["text"])
            continue
        value = call.input.get(part["field"])
        if value is not None:
            said.append(value if value.__class__ is str else str(value))
        elif part["field"] in tool.required:
            said.append(HOLE)
    return [Item(SessionChange(" ".join("".join(said).split())))]


def _opaque(_tool: Declaration, _call: Call, declared: dict[str, Any], _required: bool) -> list[Item]:
    return [Item(Opaque(declared["why"]))]


_OTHERS = {"connect": _connect, "session": _session, "opaque": _opaque}


def describe(items: tuple[Item, ...], shell: str | None) -> list[str]:
    """Effects as the examples of a tool's declaration spell them: `read /a/b`, `connect fetch example.com:443`."""
    said = []
    for item in items:
        effect = item.effect
        if effect.kind == "use":
            continue
        words = [effect.kind]
        if isinstance(effect, Connect):
            words.append(effect.direction)
        words.append(effect.target.replace(HOLE, "?"))
        said.append(" ".join(words))
    if shell is not None:
        said.append(f"shell {shell}")
    return said
