"""The short form of rules, as users of Claude Code know it, turned into predicates.

    Bash(npm run test:*)      a command of any shell tool
    Read(src/**)              an effect on paths, whatever tool has it
    WebFetch(domain:x.org)    an effect on hosts, whatever tool has it
    Agent(Explore)            a call of this tool whose match field has this value
    Agent(model:opus)         a call of this tool with this parameter (deny and ask only)
    Bash, mcp__github__*      every call of these tools

What a rule means depends on its lane: allow speaks narrowly, deny and ask widely.
"""

from __future__ import annotations

from gateway.core.value import Value
from gateway.policy.addresses import network
from gateway.spec.suggest import did_you_mean, one_of
from gateway.spec.yamltext import clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class ToolName(Value):
    """What a rule needs to know of a tool. `kind` is how `Tool(…)` matches: shell, path, url, domain, text, name,
    or "" if the tool has no match field. `fields` are its input's top-level fields, () if they are not known."""

    canonical: str
    kind: str = ""
    field: str = ""
    fields: tuple[str, ...] = ()


if TYPE_CHECKING:
    ToolNames = Mapping[str, ToolName | tuple[str, str, str]]

# The input that a tool is all about. Tested as raw text, a compound command or another spelling walks around it.
MAIN_FIELDS = ("command", "file_path", "path", "notebook_path", "url")

_ALLOWED = {"Read": ["list", "read"], "Edit": ["list", "read", "write"]}
_FORBIDDEN = {"Read": ["list", "read", "write", "delete"], "Edit": ["write", "delete"]}
_PATH_RULE = {
    "Write": "Edit",
    "NotebookEdit": "Edit",
    "MultiEdit": "Edit",
    "Glob": "Read",
    "Grep": "Read",
    "LSP": "Read",
}
_LONG_FORM = "write the long form: `{lane}: {{tool: {tool}, args: {{{field}: {value}}}}}`"


class ShortFormError(ValueError):
    """A text that is no rule, with what to do about it."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


def parse_short(text: str, lane: str, tools: ToolNames) -> dict[str, Any]:
    """The predicates that a rule in short form stands for. `lane` is deny, ask or allow.

    Raises ShortFormError; what is accepted always says something about a known tool or effect.
    """
    text = text.strip()
    opening = text.find("(")
    if opening < 0:
        if text.endswith(")"):
            raise ShortFormError(f"rule must have a `(` for its `)` (got `{clip(text)}`)", _quoting(text))
        return {"tool": [tool_pattern(text, lane, tools)]}
    name, inner = text[:opening].rstrip(), text[opening + 1 : -1]
    if text[-1] != ")":
        raise ShortFormError(f"rule must end with `)` (got `{clip(text)}`)", _quoting(text))
    if not _balanced(inner):
        remedy = f"write the long form for a pattern with a lone parenthesis: `{lane}: {{command: …}}`"
        raise ShortFormError(f"rule must have matching parentheses (got `{clip(text)}`)", remedy)
    if not name:
        raise ShortFormError(f"rule must name a tool (got `{clip(text)}`)", "a command is `Bash(…)`")
    inner = inner.strip()
    tool = tools.get(name)
    if not inner:
        raise ShortFormError(f"pattern must not be empty (got `{clip(text)}`)", f"write `{clip(name)}` for every call")
    if tool is None:
        return _of_pattern(name, inner, lane, tools)
    canonical, kind, field, fields = _facts(tool)
    if kind == "shell":
        return _shell(name, canonical, inner, lane, fields)
    if kind == "path":
        return _path(name, canonical, inner, lane, fields, text)
    if kind in ("domain", "url"):
        return _domain(name, canonical, inner, lane, fields)
    return _field(name, canonical, kind, field, inner, lane, fields)


def tool_pattern(name: str, lane: str, tools: ToolNames) -> str:
    """A tool's name or a glob over names, with aliases resolved. Raises ShortFormError."""
    tool = tools.get(name)
    if tool is not None:
        return _facts(tool)[0]
    if not name:
        raise ShortFormError("rule must not be empty")
    if not _is_name(name):
        raise ShortFormError(f"rule must be `Tool` or `Tool(…)` (got `{clip(name)}`)", _shape(name))
    server = _server_of(name)
    if "*" in name or "?" in name:
        if lane == "allow" and not server:
            raise ShortFormError(
                f"tool name must be spelled out in an allow rule (got `{clip(name)}`)",
                "only after a literal `mcp__<server>__` may it hold a `*`",
            )
        return name
    if name.startswith("mcp__") and len(name) > 5:
        return name if server else f"{name.removesuffix('__')}__*"
    if name == "Cd":
        raise ShortFormError("tool must be a known one (got `Cd`)", _CD)
    raise ShortFormError(
        f"tool must be a known one (got `{clip(name)}`)",
        did_you_mean(
            name, tools, "`gateway tools list` shows the known ones; a tool of an MCP server is `mcp__server__tool`"
        ),
    )


_CD = "a session's folders are a setting: name them under `settings: workspace`; to protect a folder write `Read(…)`"


def _facts(tool: Any) -> tuple[str, str, str, tuple[str, ...]]:
    canonical, kind, field, *rest = tool
    return canonical, kind, field, tuple(rest[0]) if rest else ()


def _is_name(name: str) -> bool:
    return all(c.isalnum() or c in "_-.*?:/" for c in name) and name[0] not in "-./:"


def _server_of(name: str) -> str:
    """The literal server in `mcp__server__tool`, "" if there is none."""
    parts = name.split("__", 2)
    if len(parts) < 3 or parts[0] != "mcp" or not parts[2] or "*" in parts[1] or "?" in parts[1]:
        return ""
    return parts[1]


def _shape(name: str) -> str:
    if "{" in name or ":" in name:
        return "a rule in long form is a mapping under `rules:`"
    return "a command is `Bash(…)`, a path `Read(…)` or `Edit(…)`" if " " in name or "/" in name else ""


def _quoting(text: str) -> str:
    """A rule that lost a part of itself to YAML."""
    if text.count("(") == text.count(")"):
        return "nothing may follow the closing parenthesis"
    return "put the rule in quotes if it holds `, ` or ` #`"


def _balanced(inner: str) -> bool:
    if "(" not in inner and ")" not in inner:
        return True
    depth = 0
    for character in inner:
        if character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
            if depth < 0:
                return False
    return depth == 0


def _shell(name: str, canonical: str, inner: str, lane: str, fields: tuple[str, ...]) -> dict[str, Any]:
    if inner == "*":
        return {"tool": [canonical]}
    if inner.endswith(":*"):
        before = inner[:-2].rstrip()
        if not before:
            raise ShortFormError(f"pattern must not be empty (got `{name}(:*)`)", f"write `{name}` for every call")
        if before in MAIN_FIELDS:
            _parameter(name, canonical, inner, lane, fields)
        return {"command": [before + " *"]}
    return _parameter(name, canonical, inner, lane, fields) or {"command": [inner]}


def _path(name: str, canonical: str, inner: str, lane: str, fields: tuple[str, ...], text: str) -> dict[str, Any]:
    found = _parameter(name, canonical, inner, lane, fields)
    if found is not None:
        return found
    kinds = (_ALLOWED if lane == "allow" else _FORBIDDEN).get(canonical)
    if kinds is None:
        if inner == "*":
            return {"tool": [canonical]}
        right = _PATH_RULE.get(canonical)
        rule = f"`{right}(…)`" if right else "`Read(…)` or `Edit(…)`"
        example = f"write `{right or 'Read'}({clip(inner)})`: it holds for every tool, `{canonical}` included"
        raise ShortFormError(f"rule on paths must be {rule} (got `{clip(text)}`)", example)
    return {"effect": list(kinds), "path": [inner]}


def _domain(name: str, canonical: str, inner: str, lane: str, fields: tuple[str, ...]) -> dict[str, Any]:
    if inner == "*":
        return {"tool": [canonical]}
    before, colon, host = inner.partition(":")
    if colon and before.rstrip() == "domain":
        host = host.lstrip()
        complaint = host_problem(host)
        if complaint:
            raise ShortFormError(f"domain must be {complaint[0]} (got `{clip(host)}`)", complaint[1])
        narrow = {"direction": ["fetch"]} if lane == "allow" else {}
        return {"effect": ["connect"], **narrow, "host": [host]}
    found = _parameter(name, canonical, inner, lane, fields)
    if found is not None:
        return found
    raise ShortFormError(
        f"rule on `{name}` must be `{name}(domain:…)` (got `{clip(f'{name}({inner})')}`)",
        f"write `{name}(domain:{clip(_host_in(inner))})`",
    )


def host_problem(host: str) -> tuple[str, str] | None:
    """What a host pattern must be and how to make it one; None if it can be one."""
    if not host:
        return "a host name", ""
    if network(host) is not None:
        return None
    address, slash, bits = host.partition("/")
    if slash and bits.isdecimal() and network(address) is not None:
        return "a network with nothing behind its bits", "write it as `10.0.0.0/8` or `fd00::/8`"
    if "/" in host or " " in host or "@" in host:
        return "a host name without scheme, path or blanks", f"write `{clip(_host_in(host))}`"
    name, colon, port = host.rpartition(":")
    if colon and port.isdecimal() and ":" not in name:
        return (
            "a host name without a port",
            f"write the long form: `{{effect: connect, host: {clip(name)}, port: {port}}}`",
        )
    return None


def _host_in(text: str) -> str:
    """The host of something that looks like a URL."""
    rest = text.split("://", 1)[-1].lstrip("/")
    return rest.split("/", 1)[0].split("@")[-1].split(" ", 1)[0].split(":", 1)[0] or "example.com"


def _field(
    name: str, canonical: str, kind: str, field: str, inner: str, lane: str, fields: tuple[str, ...]
) -> dict[str, Any]:
    """Tools whose match field is a name or a free text, and tools without one."""
    if inner == "*":
        return {"tool": [canonical]}
    if not kind:
        parameter = _parameter(name, canonical, inner, lane, None)
        if parameter is None:
            raise ShortFormError(
                f"`{name}` has no field that `{name}(…)` could speak of (got `{clip(f'{name}({inner})')}`)",
                f"write `{name}` for every call, or `{name}(field:value)`",
            )
        (given,) = parameter["args"]
        if fields and given not in fields:
            remedy = did_you_mean(given, fields, f"its fields are {one_of(fields)}")
            raise ShortFormError(f"parameter must be a field of `{name}` (got `{clip(given)}`)", remedy)
        return parameter
    whole = inner
    if kind == "name":  # a name has no arguments: `Skill(review *)` is the skill with whatever it is given
        whole = inner.removesuffix(" *").rstrip()
    match = {"tool": [canonical], "args": {field: {"glob": whole}}}
    if fields or lane == "allow":
        return (_parameter(name, canonical, inner, lane, fields) if fields else None) or match
    # Nobody knows whether `plugin:review` is a name or a parameter: what forbids holds for both.
    parameter = _parameter(name, canonical, inner, lane, None)
    return {"any": [match, parameter]} if parameter else match


def _of_pattern(name: str, inner: str, lane: str, tools: ToolNames) -> dict[str, Any]:
    """`Tool(…)` where the tool is a glob or an MCP server's, of which only parameters can be told."""
    if name == "Cd":
        raise ShortFormError(f"tool must be a known one (got `Cd({clip(inner)})`)", _CD)
    pattern = tool_pattern(name, lane, tools)
    if inner == "*":
        return {"tool": [pattern]}
    found = _parameter(name, pattern, inner, lane, None)
    if found is not None:
        return found
    raise ShortFormError(
        f"rule on `{clip(name)}` must be `Tool` or `Tool(field:value)` (got `{clip(f'{name}({inner})')}`)",
        f"write `{clip(name)}` for every call",
    )


def _parameter(
    name: str, canonical: str, inner: str, lane: str, fields: tuple[str, ...] | None
) -> dict[str, Any] | None:
    """`field:value`, or None if the text is something else. `fields` None: any identifier may be a field."""
    field, colon, value = inner.partition(":")
    field, value = field.rstrip(), value.lstrip()
    if not colon or not field.isidentifier():
        return None
    main = field in MAIN_FIELDS and fields is not None
    if not main and fields is not None and field not in fields:
        return None
    if main:
        raise ShortFormError(
            f"parameter must not be the tool's main field (got `{clip(f'{name}({inner})')}`)", _main(name, field, value)
        )
    if not value:
        raise ShortFormError(f"parameter must have a value (got `{clip(f'{name}({inner})')}`)")
    if lane == "allow":
        remedy = _LONG_FORM.format(lane=lane, tool=canonical, field=field, value=clip(value))
        raise ShortFormError(f"parameters must be in deny or ask rules (got `{clip(f'{name}({inner})')}`)", remedy)
    return {"tool": [canonical], "args": {field: {"glob": value}}}


def _main(name: str, field: str, value: str) -> str:
    if field == "command":
        return f"write `{name}({clip(value)})`: it holds wherever the command hides"
    if field == "url":
        return f"write `{name}(domain:{clip(_host_in(value))})`"
    return f"write `Read({clip(value)})` or `Edit({clip(value)})`: they hold for every tool"
