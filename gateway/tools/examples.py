"""Runs the examples that every declared tool carries, in one fixed world."""

from __future__ import annotations

from gateway.core.errors import CallError, ConfigError, Problem
from gateway.model.call import RawCall
from gateway.model.context import Context
from gateway.tools.effects import describe, effects_of
from gateway.tools.validate import compile_validator, validate
from gateway.tools.words import json_path, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from gateway.tools.registry import Registry

WORLD = Context(
    cwd="/home/dev/project",
    root="/home/dev/project",
    home="/home/dev",
    workspace=("/home/dev/project",),
    branch="main",
)


def require_examples(registry: Registry, file: str, verdict: Callable[[RawCall, Context], str] | None = None) -> None:
    """Raises `ConfigError` with every example that gives something else than it says, and every unfit default.

    `verdict` answers `allow`, `ask` or `deny` for a call; without it the verdicts of the examples are not looked at.
    """
    problems = [problem for name in registry for problem in check_tool(registry, name, file, verdict)]
    if problems:
        raise ConfigError(problems)


def check_tool(
    registry: Registry, name: str, file: str, verdict: Callable[[RawCall, Context], str] | None = None
) -> list[Problem]:
    """What is wrong with the defaults and the examples of one tool."""
    try:
        tool = registry[name]
    except ConfigError as error:
        return [Problem(p.message, file=file, path=f"{name}{p.path[1:]}", remedy=p.remedy) for p in error.problems]
    line = tool.entry["line"]
    problems = [
        Problem(f"default of {name} must be a value that its field takes (got {quoted(value)})", file=file, line=line,
                path=path)
        for path, value in _unfit_defaults(tool.entry["input"], ())
    ]  # fmt: skip
    for example in tool.entry["examples"]:
        line, column = example["line"], example["column"]
        wrong = check_example(registry, name, example, verdict)
        problems += [Problem(message, file=file, line=line, column=column) for message in wrong]
    return problems


def check_example(
    registry: Registry,
    name: str,
    example: dict[str, Any],
    verdict: Callable[[RawCall, Context], str] | None = None,
) -> list[str]:
    """What an example gives else than it says."""
    raw = RawCall(name, example["call"])
    try:
        call = registry.canonical_call(raw, WORLD)
    except CallError as error:
        paths = sorted(problem.path for problem in error.problems)
        if "complaint" not in example:
            return [f"example of {name} must be a valid call (got: {'; '.join(map(str, error.problems))})"]
        if paths != sorted(example["complaint"]):
            return [f"example of {name} must complain about {example['complaint']} (got {paths})"]
        return []
    if "complaint" in example:
        return [f"example of {name} must complain about {example['complaint']} (got a valid call)"]
    found = []
    if "effects" in example:
        said = describe(*effects_of(registry[name], call, WORLD))
        if said != example["effects"]:
            found.append(f"example of {name} must have the effects {example['effects']} (got {said})")
    if "verdict" in example and verdict is not None:
        given = verdict(raw, WORLD)
        if given != example["verdict"]:
            found.append(f"example of {name} must give the verdict `{example['verdict']}` (got `{given}`)")
    return found


def _unfit_defaults(schema: dict[str, Any], keys: tuple[str | int, ...]) -> Iterator[tuple[str, Any]]:
    for name, part in schema.get("properties", {}).items():
        if "default" in part and validate(compile_validator(part), part["default"]):
            yield json_path((*keys, name)), part["default"]
        yield from _unfit_defaults(part, (*keys, name))
    if "items" in schema:
        yield from _unfit_defaults(schema["items"], (*keys, 0))
