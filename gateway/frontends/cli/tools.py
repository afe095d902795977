"""`gateway tools`: what is declared."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.config.load import Options, project_root, tool_files
from gateway.config.shipped import load_tools
from gateway.core.errors import ConfigError, Problem
from gateway.core.places import places
from gateway.frontends.jsontext import pretty
from gateway.frontends.output import write
from gateway.frontends.session import folder
from gateway.policy.wording import visible
from gateway.render.style import style_for

if TYPE_CHECKING:
    from typing import Any

    from gateway.tools.registry import Registry
    from gateway.tools.tool import Tool

app = typer.Typer(
    name="tools",
    help="Show the tools that are declared.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)

_Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def _registry() -> Registry:
    """The tools that are declared for the current folder, those of its layers included."""
    here = os.path.realpath(folder(None, ""))
    where = places()
    return load_tools(where, tool_files(where, Options(here, root=project_root(here))))


@app.command("list")
def list_tools(json: _Json = False) -> int:
    """List every tool with its level, what its rules match, and what it does."""
    registry = _registry()
    aliases = _aliases(registry)
    if json:
        write(pretty([_summary(registry[name], aliases.get(name, [])) for name in registry]) + "\n")
        return 0
    style = style_for(sys.stdout)
    widest = max(map(len, registry), default=0)
    room = max((len(_form(registry[name])) for name in registry), default=0)
    lines = []
    for name in registry:
        tool = registry[name]
        head = style.paint(f"{name:<{widest}}", "strong")
        lines.append(f"{head}  {tool.level:<8} {_form(tool):<{room}} {visible(tool.entry['summary'])}")
    write("\n".join(lines) + "\n")
    return 0


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tool's name or alias.")], json: _Json = False
) -> int:
    """Show one tool: what a model reads, what it may send, and what a call does."""
    registry = _registry()
    canonical = registry.canonical_name(name)
    if canonical not in registry:
        from gateway.tools.words import suggestion

        remedy = suggestion(name, registry.names()) or "see `gateway tools list`"
        raise ConfigError(Problem(f"tool must be a declared one (got `{name}`)", remedy=remedy))
    tool = registry[canonical]
    aliases = _aliases(registry).get(canonical, [])
    if json:
        write(
            pretty({**_summary(tool, aliases), "description": tool.description(), "input": tool.input_schema()}) + "\n"
        )
        return 0
    write(_text(tool, aliases))
    return 0


def _aliases(registry: Registry) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in registry.names():
        canonical = registry.canonical_name(name)
        if name != canonical:
            found.setdefault(canonical, []).append(name)
    return found


def _summary(tool: Tool, aliases: list[str]) -> dict[str, Any]:
    return {
        "name": tool.name,
        "aliases": aliases,
        "summary": tool.entry["summary"],
        "level": tool.level,
        "match": tool.entry["match"],
        "effects": _effects(tool),
        "enabled": tool.entry["enabled"],
    }


def _form(tool: Tool) -> str:
    """What a rule that speaks of this tool's calls looks like. Paths and hosts hold for every tool."""
    does = {effect["do"] for effect in tool.entry["effects"]}
    if tool.match_kind == "path":
        return "Edit(path)" if does & {"write", "delete"} else "Read(path)"
    if tool.match_kind in ("domain", "url"):
        return "WebFetch(domain:host)"
    return f"{tool.name}({tool.match})" if tool.match else tool.name


def _effects(tool: Tool) -> list[str]:
    """The declared effects, each with the field that names its target."""
    found = []
    for effect in tool.entry["effects"]:
        words = [effect["do"]]
        if effect.get("direction"):
            words.append(effect["direction"])
        if effect.get("field"):
            words.append(effect["field"] + ("/**" if effect.get("tree") else ""))
        found.append(" ".join(words))
    return found or ["opaque"]


def _text(tool: Tool, aliases: list[str]) -> str:
    style = style_for(sys.stdout)
    lines = [f"{style.paint(tool.name, 'strong')}  {visible(tool.entry['summary'])}"]
    facts = {
        "level": tool.level,
        "aliases": ", ".join(aliases),
        "rules": _form(tool),
        "effects": ", ".join(_effects(tool)),
    }
    lines += [f"  {style.paint(f'{name:<9}', 'dim')}{value}" for name, value in facts.items() if value]
    lines += ["", style.paint("input", "strong")]
    for field, part in tool.entry["input"].get("properties", {}).items():
        if field in tool.internal:
            continue
        kind = part.get("type", "any")
        kind = " or ".join(kind) if isinstance(kind, list) else kind
        notes = [kind, *(["required"] if field in tool.required else [])]
        notes += [f"default {part['default']!r}"] if "default" in part else []
        lines.append(f"  {field} ({', '.join(notes)})  {visible(part.get('description', ''))}".rstrip())
    lines += ["", style.paint("description", "strong")]
    lines += [f"  {visible(line)}".rstrip() for line in tool.description().splitlines()]
    return "\n".join(lines) + "\n"
