"""What a tool does, how its fields are read and what stands behind it, from `tools.yaml` to plain form."""

from __future__ import annotations

import json

from gateway.spec import read
from gateway.spec.tool_fields import entries, unknown_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.spec.node import Complaints, Node

    Properties = dict[str, dict[str, Any]]

PATH_EFFECTS = ("list", "read", "write", "delete")
EFFECTS = (*PATH_EFFECTS, "connect", "shell", "session", "opaque")
DIRECTIONS = ("fetch", "send", "listen")
MATCH_KINDS = ("shell", "path", "url", "domain", "text", "name")
KINDS = ("path", "url", "https_url", "host", "shell", "text", "name")
HANDLERS = ("python", "command", "http", "mcp")
CONFINED = "confined"
# How a confined function counts for whoever judges: a program of Python that nobody can see into.
CONFINED_PYTHON = ("python3", "-I", "-")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
READS = ("GET", "HEAD")

_SAFE_TYPES = {"integer", "number", "boolean"}
_KIND_OF_MATCH = {"domain": "host"}
_KINDS_OF_TEXT = {"shell": "shell", "patch": "text", "urls": "text", "patterns": "text"}


def read_effects(
    complaints: Complaints, node: Node | None, properties: Properties, more: tuple[str, ...] = ()
) -> list[dict[str, Any]]:
    """The declared effects in plain form, in the order of the file; none declared is an empty list. `more`: further
    effects that name a field, which whoever asks for them reads (`gateway.spec.foreign`)."""
    if node is None or node.value == "opaque":
        return []
    found: list[dict[str, Any]] = []
    declared = entries(node, "effects", (*EFFECTS, *more), complaints)
    if node.value == {}:
        complaints.at(node, "effects must say something", "a tool that changes only the session: `session: what`")
    for do, value in declared.items():
        if value.value == []:
            complaints.at(value, f"effect `{do}` must not be empty")
        if do in PATH_EFFECTS:
            found += [_path_effect(complaints, do, item, properties) for item in value]
        elif do == "connect":
            found += [_connect_effect(complaints, item, properties) for item in value]
        elif do in more:
            found += [{"do": do, "field": _any_field(complaints, item, do, properties)} for item in value]
        elif do == "shell":
            found.append({"do": do, "field": field(complaints, value, do, properties)})
        elif do == "session":
            found.append({"do": do, "text": template(complaints, value, "session", properties)})
        else:
            found.append({"do": do, "why": read.text(value, "opaque", complaints)})
    return found


def _path_effect(complaints: Complaints, do: str, node: Node, properties: Properties) -> dict[str, Any]:
    if node.kind != "mapping":
        return {"do": do, "field": field(complaints, node, do, properties, lists=True)}
    parts = entries(node, f"effect `{do}`", ("path", "default", "tree"), complaints, required=("path",))
    effect: dict[str, Any] = {"do": do, "field": ""}
    if "path" in parts:
        effect["field"] = field(complaints, parts["path"], do, properties, lists=True)
    if "default" in parts:
        effect["default"] = read.choice(parts["default"], "default of a path effect", ("cwd",), complaints)
    if "tree" in parts:
        effect["tree"] = read.boolean(parts["tree"], "tree", complaints)
    return effect


def _connect_effect(complaints: Complaints, node: Node, properties: Properties) -> dict[str, Any]:
    if node.kind != "mapping":
        return {"do": "connect", "by": "url", "field": field(complaints, node, "connect", properties, lists=True),
                "direction": "fetch"}  # fmt: skip
    keys = ("url", "host", "to", "port", "direction")
    parts = entries(node, "effect `connect`", keys, complaints, required=("direction",))
    effect: dict[str, Any] = {"do": "connect", "by": "", "direction": "fetch"}
    if "direction" in parts:
        effect["direction"] = read.choice(parts["direction"], "direction", DIRECTIONS, complaints)
    if "url" in parts and "host" in parts:
        complaints.at(parts["host"], "effect `connect` must name a `url` or a `host`, not both")
    for by in ("url", "host"):
        if by in parts:
            effect["by"] = by
            effect["field"] = field(complaints, parts[by], f"{by} of connect", properties, lists=True)
    if "to" in parts:  # whatever the call is given
        effect |= {"by": "fixed", "url": _fixed(complaints, parts["to"])}
        for other in ("url", "host", "port"):
            if other in parts:
                complaints.at(parts[other], f"effect `connect` must not name a `{other}` beside `to`")
    elif "port" in parts:
        effect["port"] = field(complaints, parts["port"], "port of connect", properties, types={"integer"})
    return effect


def _fixed(complaints: Complaints, node: Node) -> str:
    from gateway.tools.paths import UnclearError
    from gateway.tools.urls import parse

    text = read.text(node, "to of connect", complaints)
    try:
        return parse(text).text
    except UnclearError as error:
        complaints.at(node, f"to of connect {error.must} (got {node.shown})", error.remedy)
        return ""


def field(
    complaints: Complaints,
    node: Node,
    what: str,
    properties: Properties,
    *,
    lists: bool = False,
    types: set[str] | frozenset[str] = frozenset({"string"}),
) -> str:
    """The name of an input field that holds text (or, where lists are fine, a list of texts)."""
    name = read.text(node, what, complaints)
    if not name:
        return ""
    if name not in properties:
        unknown_name(complaints, node, f"field of `{what}`", properties)
        return ""
    found = _types(properties[name])
    if lists and found == {"array"}:
        found = _types(properties[name].get("items", {}))
    if not found or not found - {"null"} <= types:
        complaints.at(node, f"field of `{what}` must be of type {' or '.join(sorted(types))} (got `{name}`)")
    return name


def _any_field(complaints: Complaints, node: Node, what: str, properties: Properties) -> str:
    """The name of an input field, whatever it holds."""
    name = read.text(node, what, complaints)
    if name and name not in properties:
        unknown_name(complaints, node, f"field of `{what}`", properties)
        return ""
    return name


def _types(schema: dict[str, Any]) -> set[str]:
    kinds = schema.get("type", [])
    return set(kinds if isinstance(kinds, list) else [kinds])


def template(
    complaints: Complaints, node: Node, what: str, properties: Properties | None, *, variables: bool = False
) -> list[dict[str, Any]]:
    """A text with `{field}` places, as a list of `{"text": …}` and `{"field": …}`; with `variables` also of
    `{"env": NAME}`, written `{env:NAME}`, and without `properties` of nothing else."""
    parts: list[dict[str, Any]] = []
    rest = read.text(node, what, complaints)
    while rest:
        before, brace, after = rest.partition("{")
        if before:
            parts.append({"text": before})
        if not brace:
            break
        name, closed, rest = after.partition("}")
        if properties is not None and not (closed and name):
            complaints.at(node, f"{what} must close each place as `{{field}}` (got {node.shown})")
            break
        if variables and closed and name.startswith("env:") and name[4:].isidentifier():
            parts.append({"env": name[4:]})
        elif properties is None:
            complaints.at(node, f"{what} must hold no other places than `{{env:NAME}}` (got {node.shown})")
            break
        elif name not in properties:
            unknown_name(complaints, node, f"field in {what}", properties, name)
        else:
            parts.append({"field": name})
    return parts


def read_handler(
    complaints: Complaints, node: Node, properties: Properties, required: list[str]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The handler in plain form, and the effects that it has whatever else is declared."""
    found = entries(node, "handler", (*HANDLERS, CONFINED), complaints)
    confined = found.pop(CONFINED, None)
    if confined is not None and "python" not in found:
        complaints.at(confined, f"`{CONFINED}` must stand beside `python`: programs are always confined")
    if len(found) != 1:
        complaints.at(node, f"handler must be exactly one of {', '.join(HANDLERS)} (got {len(found)} of them)")
        return {}, []
    kind, value = next(iter(found.items()))
    if kind == "python":
        name = read.text(value, "handler `python`", complaints)
        is_confined = confined is not None and read.boolean(confined, CONFINED, complaints)
        return _python(complaints, value, name, is_confined)
    if kind == "command":
        words = _command(complaints, value, properties, required)
        return {"kind": kind, "words": words}, [{"do": "argv", "words": words}]
    if kind == "mcp":
        parts = entries(value, "handler `mcp`", ("server", "tool"), complaints, required=("server", "tool"))
        return {"kind": kind, **{key: read.text(part, key, complaints) for key, part in parts.items()}}, []
    return _http(complaints, value, properties)


def _python(
    complaints: Complaints, node: Node, name: str, is_confined: bool
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A function that the gateway knows by `family.name`, or one of a layer's own file: `module:function`."""
    own = ":" in name
    module, mark, function = name.partition(":" if own else ".")
    if name and not (mark and module.isidentifier() and function.isidentifier()):
        complaints.at(
            node,
            "handler `python` must be `module:function` of a file in `handlers/` beside the tools.yaml, or a name that "
            f"the gateway knows, such as `files.read` (got {node.shown})",
        )
    if not own:
        if is_confined:
            complaints.at(node, f"a registered function is not confined (got {node.shown})")
        return {"kind": "python", "name": name}, []
    if not is_confined:
        return {"kind": "own", "name": name, "confined": False}, []
    words = [[{"text": word}] for word in (*CONFINED_PYTHON, name)]
    return {"kind": "own", "name": name, "confined": True, "words": words}, [{"do": "argv", "words": words}]


def _command(
    complaints: Complaints, node: Node, properties: Properties, required: list[str]
) -> list[list[dict[str, Any]]]:
    words = []
    only_operands = False
    for index, item in enumerate(read.sequence(node, "handler `command`", complaints)):
        parts = template(complaints, item, "word of a command", properties)
        for part in parts:
            if "field" in part:
                schema = properties[part["field"]]
                part["required"] = part["field"] in required or "default" in schema
                if not _is_word(schema, alone=len(parts) == 1):
                    remedy = "a list must stand alone in its word, as in `'{field}'`"
                    complaints.at(item, f"field `{part['field']}` must hold what can be a word", remedy)
        if index == 0 and any("field" in part for part in parts):
            complaints.at(item, f"the program of a command must be fixed (got {item.shown})")
        free = parts and "field" in parts[0] and not only_operands
        if free and not _harmless(properties[parts[0]["field"]]):
            remedy = "put `--` before it, or write it as `--option={field}`"
            complaints.at(item, f"a free text must not be able to become an option (got {item.shown})", remedy)
        only_operands = only_operands or parts == [{"text": "--"}]
        words.append(parts)
    if not words:
        complaints.at(node, "handler `command` must have at least the program")
    return words


def _is_word(schema: dict[str, Any], *, alone: bool) -> bool:
    """Whether a field may hold something that a word can be made of, as far as its declaration says: no object, and
    lists of words only where each item becomes a word of its own."""
    types = _types(schema) - {"null"}
    if alone and types == {"array"}:
        return _is_word(schema.get("items", {}), alone=False)
    return not types & {"array", "object"}


def _harmless(schema: dict[str, Any]) -> bool:
    """Whether no value of the field can start with `-` unless the declaration itself says so."""
    if "enum" in schema or "const" in schema:
        return True
    return bool(_types(schema)) and _types(schema) <= _SAFE_TYPES and schema.get("minimum", -1) >= 0


def _http(complaints: Complaints, node: Node, properties: Properties) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    keys = ("method", "url", "headers", "body")
    parts = entries(node, "handler `http`", keys, complaints, required=("method", "url"))
    handler: dict[str, Any] = {"kind": "http", "method": "", "url": [], "headers": {}, "body": []}
    if "method" in parts:
        handler["method"] = read.choice(parts["method"], "method", METHODS, complaints)
    if "body" in parts:
        body = parts["body"]
        whole = template if body.kind != "mapping" else _json_body
        handler["body"] = whole(complaints, body, "body", properties)
    if "headers" in parts:
        for name, value in read.mapping(parts["headers"], "headers", complaints).items():
            handler["headers"][name] = template(complaints, value, f"header `{name}`", properties, variables=True)
    if "url" not in parts:
        return handler, []
    handler["url"] = url = template(complaints, parts["url"], "url", properties)
    effect: dict[str, Any] = {"do": "connect", "direction": "fetch" if handler["method"] in READS else "send"}
    fixed = url[0].get("text", "") if url else ""
    scheme, mark, rest = fixed.partition("://")
    if len(url) == 1 and "field" in url[0]:
        return handler, [effect | {"by": "url", "field": url[0]["field"]}]
    if scheme not in ("http", "https") or not mark or (len(url) > 1 and "/" not in rest):
        complaints.at(parts["url"], f"url must start with a fixed scheme and host (got {parts['url'].shown})")
    return handler, [effect | {"by": "fixed", "url": scheme + mark + rest.partition("/")[0] + "/"}]


def _json_body(complaints: Complaints, node: Node, what: str, properties: Properties) -> list[dict[str, Any]]:
    """A body that is written as data: a text that is one place stands for that field's value, everything else for
    itself. The same parts as of a template; fields are filled in as JSON."""
    parts: list[dict[str, Any]] = []

    def add(text: str) -> None:
        if parts and "text" in parts[-1]:
            parts[-1]["text"] += text
        else:
            parts.append({"text": text})

    def write(item: Node) -> None:
        if item.kind in ("mapping", "list"):
            pairs = item.value.items() if item.kind == "mapping" else ((None, each) for each in item.value)
            add("{" if item.kind == "mapping" else "[")
            for number, (name, each) in enumerate(pairs):
                add((", " if number else "") + ("" if name is None else json.dumps(name) + ": "))
                write(each)
            add("}" if item.kind == "mapping" else "]")
            return
        found = template(complaints, item, what, properties) if item.kind == "text" and item.value else []
        if len(found) == 1 and "field" in found[0]:
            parts.extend(found)
        elif any("field" in part for part in found):
            complaints.at(item, f"{what} must have each place by itself (got {item.shown})", "write `key: '{field}'`")
        else:
            add(json.dumps(item.value))

    write(node)
    return parts


def read_kinds(
    complaints: Complaints,
    node: Node | None,
    match: dict[str, str] | None,
    effects: list[dict[str, Any]],
    properties: Properties,
) -> dict[str, Any]:
    """How each field is brought to canonical form: as said, else as its effect or the match field needs it.

    A kind is a word of `KINDS` or `["glob", base]`: a pattern whose leading folders move into the field `base`.
    """
    needed = {effect["field"]: _kind_of(effect) for effect in effects if effect.get("field")}
    kinds: dict[str, Any] = dict(needed)
    if match and match["field"]:
        kinds.setdefault(match["field"], _KIND_OF_MATCH.get(match["kind"], match["kind"]))
    for effect in effects:  # what stands in a command or an effect must be text that can stand there
        for parts in effect.get("words", [effect.get("text", [])]):
            for part in parts:
                if "field" in part:
                    kinds.setdefault(part["field"], "text")
    for name, value in entries(node, "canonical", properties, complaints).items() if node else ():
        if value.kind == "mapping":
            parts = entries(value, "canonical form", ("glob",), complaints, required=("glob",))
            base = field(complaints, parts["glob"], "glob", properties) if "glob" in parts else ""
            if base and needed.get(base) != "path":
                complaints.at(value, f"base of a glob must be a field with a path effect (got `{base}`)")
            kinds[name] = ["glob", base]
            said = "glob"
        else:
            said = kinds[name] = read.choice(value, "canonical form", KINDS, complaints)
        wanted = needed.get(name, said)
        if said and said != wanted and (wanted, said) != ("url", "https_url"):
            message = f"canonical form of `{name}` must be `{wanted}`, as its effect says (got `{said}`)"
            complaints.at(value, message)
    return kinds


def _kind_of(effect: dict[str, Any]) -> str:
    if effect["do"] == "connect":
        return str(effect["by"])
    return _KINDS_OF_TEXT.get(effect["do"], "path")
