"""The build step: what a wheel carries besides the code, made from the checkout that it is built from."""

from __future__ import annotations

import json
import os
import shutil
from glob import glob

from gateway.config import prebuilt
from gateway.config.compiling import pack_descriptions, pack_foreign
from gateway.config.load import tool_names
from gateway.core.cache import digest
from gateway.core.places import CHECKOUT, PACKAGE
from gateway.spec.policy import parse_policy
from gateway.spec.tools import compile_tools
from gateway.tools.registry import Registry


def build(data: str) -> None:
    """Fills the folder `gateway/data` of a built package: `tools.yaml` and `policies/` for people, and everything that
    start-up would read from YAML in compiled form. Raises ConfigError if any of it is broken."""
    os.makedirs(os.path.join(data, "policies"), exist_ok=True)
    tools_file = os.path.join(CHECKOUT, "tools.yaml")
    shutil.copy(tools_file, data)
    tools = compile_tools(_read(tools_file), tools_file)
    names = tool_names(Registry(tools))
    policies = {}
    for path in sorted(glob(os.path.join(CHECKOUT, "policies", "*.yaml"))):
        shutil.copy(path, os.path.join(data, "policies"))
        content = _read(path)
        doc = parse_policy(content, path, names)
        rules = [{**rule, "matches": [], "not_matches": []} for rule in doc["rules"]]
        policies[digest([content])] = {**doc, "rules": rules, "tests": []}
    packed = pack_descriptions()
    foreign = pack_foreign(Registry(tools))
    sources = sorted(glob(os.path.join(PACKAGE, "**", "*.py"), recursive=True))
    stamp = digest([json.dumps(tools), packed, foreign, *map(_read, sources)])
    _write(data, prebuilt.TOOLS, prebuilt.pack_tools(stamp, tools))
    _write(data, prebuilt.POLICIES, _dump(policies))
    _write(data, prebuilt.COMMANDS, packed)
    _write(data, prebuilt.FOREIGN, foreign)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _dump(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def _write(folder: str, name: str, content: bytes) -> None:
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content)
