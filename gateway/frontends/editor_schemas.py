"""The line at the beginning of new files by which editors know their keys, and the schema that it names.

The schema lies beside the layer's files, so that the line holds for whoever has the folder: a team's lies in the
repository. Editors with the YAML language server check and complete by it.
"""

from __future__ import annotations

import os

from gateway.core.errors import ConfigError, Problem
from gateway.frontends.jsontext import pretty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

POLICY, TOOLS, COMMAND = "policy", "tools", "command"
FOLDER = ".schemas"


def schema_of(kind: str) -> dict[str, Any]:
    """The JSON Schema of policy files, of `tools.yaml` or of descriptions of programs."""
    if kind == POLICY:
        from gateway.spec.schema import policy_schema

        return policy_schema()
    if kind == TOOLS:
        from gateway.spec.tools_schema import tools_schema

        return tools_schema()
    from gateway.spec.commandschema import command_schema

    return command_schema()


def headed(text: str, path: str, base: str, kind: str) -> str:
    """The text of a file at `path`, of the layer in `base`, with the line in front."""
    schema = os.path.relpath(os.path.join(base, FOLDER, f"{kind}.json"), os.path.dirname(path))
    return f"# yaml-language-server: $schema={schema}\n{text}"


def write_schema(base: str, kind: str) -> None:
    """Writes the schema of this version beside the layer's files. Raises ConfigError where that cannot be."""
    from gateway.core.cache import replace_whole

    path = os.path.join(base, FOLDER, f"{kind}.json")
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        replace_whole(path, (pretty(schema_of(kind)) + "\n").encode())
    except OSError as error:
        remedy = "name a folder that you may write, or make this one writable"
        raise ConfigError(Problem(f"cannot be written: {error.strerror}", file=path, remedy=remedy)) from error
