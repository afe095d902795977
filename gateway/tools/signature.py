"""What introspection sees of a tool: a typed signature and a docstring, made from the declaration when asked for."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Any, Literal

from gateway.model.call import Call
from gateway.model.context import Context

_TYPES: dict[str, Any] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict, "null": None,
}  # fmt: skip


def signature(entry: dict[str, Any]) -> Signature:
    """`(context=None, /, *, file_path: str, limit: int = …) -> Call`, required fields first as declared.

    Fields whose name is no Python name (`-A`) are given as `**{"-A": 3}`; the signature then ends in `**fields`.
    """
    schema = entry["input"]
    required = schema.get("required", ())
    named = []
    others = entry["open"]
    for name, part in schema.get("properties", {}).items():
        if not name.isidentifier():
            others = True
            continue
        default = Parameter.empty if name in required else part.get("default")
        named.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=_annotation(part)))
    named.sort(key=lambda parameter: parameter.default is not Parameter.empty)
    context = Parameter("context", Parameter.POSITIONAL_ONLY, default=None, annotation=Context | None)
    rest = [Parameter("fields", Parameter.VAR_KEYWORD, annotation=Any)] if others else []
    return Signature([context, *named, *rest], return_annotation=Call)


def documentation(entry: dict[str, Any], description: str) -> str:
    """Summary, description and one line for each field."""
    schema = entry["input"]
    required = schema.get("required", ())
    lines = [entry["summary"], "", description.strip()]
    if schema.get("properties"):
        lines += ["", "Fields:"]
    for name, part in schema.get("properties", {}).items():
        said = " ".join(part.get("description", "").split())
        default = f" (default: {part['default']!r})" if "default" in part else ""
        lines.append(f"    {name}{'' if name in required else '?'}: {said}{default}".rstrip(": "))
    return "\n".join(lines)


def _annotation(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    kinds = schema.get("type")
    if kinds is None:
        return Any
    found = [_TYPES[kind] for kind in (kinds if isinstance(kinds, list) else [kinds])]
    annotation = found[0]
    for other in found[1:]:
        annotation = annotation | other
    return annotation
