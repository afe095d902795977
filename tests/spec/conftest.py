"""The tools that the rules of these tests may name."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from gateway.spec.schema import policy_schema
from gateway.spec.short import ToolName


@pytest.fixture(scope="session")
def schema() -> Any:
    """What says whether data has the form of a policy file; that the schema itself is one is told in test_schema."""
    return jsonschema.Draft202012Validator(policy_schema())


@pytest.fixture(scope="session")
def tools():
    bash = ToolName("Bash", "shell", "command", ("command", "timeout", "description", "run_in_background"))
    agent = ToolName("Agent", "name", "subagent_type", ("description", "prompt", "subagent_type", "model", "name"))
    return {
        "Bash": bash,
        "Monitor": ToolName("Monitor", "shell", "command"),
        "Read": ToolName("Read", "path", "file_path", ("file_path", "offset", "limit")),
        "Edit": ToolName("Edit", "path", "file_path"),
        "Write": ToolName("Write", "path", "file_path"),
        "NotebookEdit": ToolName("NotebookEdit", "path", "notebook_path"),
        "Glob": ToolName("Glob", "path", "path", ("pattern", "path")),
        "Grep": ToolName("Grep", "path", "path", ("pattern", "path", "output_mode")),
        "Archive": ToolName("Archive", "path", "folder"),
        "WebFetch": ToolName("WebFetch", "domain", "url", ("url", "prompt")),
        "Agent": agent,
        "Task": agent,
        "Skill": ToolName("Skill", "name", "name", ("name", "args")),
        "Courier": ("Courier", "name", "to"),
        "Note": ToolName("Note", "text", "body", ("body",)),
        "Sleep": ToolName("Sleep", "", "", ("duration",)),
        "TodoWrite": ToolName("TodoWrite"),
    }
