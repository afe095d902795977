"""npm's settings, which every command of it takes as options, from npm's own definitions: needs npm and node.

    describe npm [/usr/lib/node_modules/npm]    # writes gateway/commands/npm.settings.yaml

A setting that is true or false is a switch, and so is its opposite; one that may be either a switch or a value is left
out, and so asks, as is every one that names a program, a file, a folder or a host (PLACES), or lets code run (RUNS).
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from describing.writing import part, words, write

NPM = "/usr/lib/node_modules/npm"
ASK = """
const { definitions, shorthands } = require(process.argv[1] + "/node_modules/@npmcli/config/lib/definitions")
const name = (type) => type === null ? "null" : (type && type.name) || (type && type.typeDef ? "type" : String(type))
const types = {}
for (const [key, { type }] of Object.entries(definitions))
  types[key] = (Array.isArray(type) ? type : [type]).map(name)
console.log(JSON.stringify({ types, shorthands }))
"""
PLACES = frozenset((
    "browser", "ca", "cache", "cafile", "call", "cert", "diff", "editor", "git", "globalconfig", "heading",
    "https-proxy", "init-module", "init.module", "key", "local-address", "logs-dir", "node-gyp", "node-options",
    "noproxy", "pack-destination", "package", "password", "prefix", "provenance-file", "proxy", "registry",
    "replace-registry-host", "script-shell", "shell", "userconfig", "viewer",
))  # fmt: skip
RUNS = frozenset(("allow-scripts", "dangerously-allow-all-scripts", "_auth", "otp", "usage", "version", "versions"))


def main(npm: str = NPM) -> None:
    found = json.loads(subprocess.run(("node", "-e", ASK, npm), capture_output=True, check=True).stdout)
    version = json.loads((Path(npm) / "package.json").read_text("utf-8"))["version"]
    flags: set[str] = set()
    values: set[str] = set()
    for name, types in found["types"].items():
        if name in PLACES or name in RUNS or name.startswith(("init.", "allow-")):
            continue
        switch = "Boolean" in types
        if switch and not {*types} - {"Boolean", "null"}:
            flags |= {f"--{name}", f"--no-{name}"}
        elif not switch:
            values.add(f"--{name}")
    for short, meant in found["shorthands"].items():
        spelled = f"-{short}" if len(short) == 1 else f"--{short}"
        if len(meant) > 1 or (meant[0] in flags and len(meant) == 1):
            flags.add(spelled)
        elif meant[0] in values:
            values.add(spelled)
    group = {"flags": words(flags), "values": words(values)}
    write("gateway/commands/npm.settings.yaml", {**part("npm", f"npm {version}"), "groups": {"settings": group}})
