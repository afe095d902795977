"""The `language_servers:` setting: servers that answer questions about code, started when one is first asked."""

from __future__ import annotations

import re

from gateway.policy import variables
from gateway.spec import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.spec.yamltext import Complaints, Node

LANGUAGE_SERVER = {
    "command": "the program and its words; it is judged like a command of Bash, and confined to reading",
    "languages": "languages that it serves, of those whose endings are known: `python`, `typescript`",
    "extensions": "endings of file names that it serves, or whole names, each with its language: `.py: python`",
    "env": "variables that it gets: a text, or `env:NAME` for the value of a variable",
    "initialization": "data that it is handed when it starts",
    "configuration": "its settings by section, handed over after the start and whenever it asks",
    "seconds": "how long it may take to answer, 30 by default",
    "start_seconds": "how long it may take to start, 60 by default",
    "after_edit": "how long an edit waits for what is newly wrong, in seconds, 2 by default; 0 for not at all",
}
NAME_PATTERN = "[A-Za-z0-9][A-Za-z0-9_.-]*"
ENDING_PATTERN = "[^/\\x00]+"
SECONDS, MOST_SECONDS = 30, 600
START_SECONDS, MOST_START_SECONDS = 60, 600
AFTER_EDIT, MOST_AFTER_EDIT = 2, 60
# language, as the protocol names it -> endings
LANGUAGES = {
    "c": ".c .h",
    "clojure": ".clj .cljs .cljc",
    "cpp": ".cc .cpp .cxx .hh .hpp .hxx",
    "csharp": ".cs",
    "css": ".css",
    "dart": ".dart",
    "dockerfile": "Dockerfile .dockerfile",
    "elixir": ".ex .exs",
    "elm": ".elm",
    "erlang": ".erl .hrl",
    "fsharp": ".fs .fsi .fsx",
    "go": ".go",
    "haskell": ".hs",
    "html": ".html .htm",
    "java": ".java",
    "javascript": ".js .mjs .cjs",
    "javascriptreact": ".jsx",
    "json": ".json",
    "jsonc": ".jsonc",
    "julia": ".jl",
    "kotlin": ".kt .kts",
    "less": ".less",
    "lua": ".lua",
    "makefile": "Makefile .mk",
    "markdown": ".md",
    "nix": ".nix",
    "ocaml": ".ml .mli",
    "perl": ".pl .pm",
    "php": ".php",
    "powershell": ".ps1 .psm1",
    "python": ".py .pyi .pyw",
    "r": ".r .R",
    "ruby": ".rb",
    "rust": ".rs",
    "scala": ".scala .sbt",
    "scss": ".scss",
    "shellscript": ".sh .bash",
    "sql": ".sql",
    "svelte": ".svelte",
    "swift": ".swift",
    "terraform": ".tf",
    "toml": ".toml",
    "typescript": ".ts .mts .cts",
    "typescriptreact": ".tsx",
    "vue": ".vue",
    "xml": ".xml",
    "yaml": ".yaml .yml",
    "zig": ".zig",
}

_name = re.compile(NAME_PATTERN)
_ending = re.compile(ENDING_PATTERN)


def read_language_servers(node: Node, complaints: Complaints) -> dict[str, Any]:
    """The servers by name, checked, as plain data; of languages the endings."""
    found: dict[str, Any] = {}
    for name, item in read.mapping(node, "`language_servers`", complaints).items():
        if not _name.fullmatch(name):
            message = f"a language server's name must be letters, digits, `-`, `_` and `.` (got `{name}`)"
            complaints.at_key(item, message)
        found[name] = _server(name, item, complaints)
    return found


def _server(name: str, item: Node, complaints: Complaints) -> dict[str, Any]:
    given = read.known_keys(item, f"language server `{name}`", LANGUAGE_SERVER, complaints)
    server: dict[str, Any] = {
        "command": [], "extensions": {}, "env": {}, "initialization": None, "configuration": {},
        "seconds": SECONDS, "start_seconds": START_SECONDS, "after_edit": AFTER_EDIT,
    }  # fmt: skip
    if item.kind == "mapping" and "command" not in given:
        complaints.at(item, f"language server `{name}` must have a `command`")
    if item.kind == "mapping" and not {"languages", "extensions"} & given.keys():
        complaints.at(item, f"language server `{name}` must have `languages` or `extensions`")
    if "command" in given:
        server["command"] = read.texts(given["command"], "`command`", complaints)
    if "languages" in given:
        for language in read.choices(given["languages"], "`languages`", LANGUAGES, complaints):
            server["extensions"].update(dict.fromkeys(LANGUAGES.get(language, "").split(), language))
    if "extensions" in given:
        if given["extensions"].value == {}:
            remedy = "write the endings that it serves, such as `.py: python`, or leave it out beside `languages`"
            complaints.at(given["extensions"], "`extensions` must not be empty", remedy)
        for ending, each in read.mapping(given["extensions"], "`extensions`", complaints).items():
            if not _ending.fullmatch(ending) or ending == ".":
                message = f"`extensions` must hold endings such as `.py`, or whole names (got `{ending}`)"
                complaints.at_key(each, message)
            server["extensions"][ending] = read.text(each, f"`{ending}`", complaints)
    if "env" in given:
        server["env"] = _env(given["env"], complaints)
    if "initialization" in given:
        server["initialization"] = read.data(given["initialization"], "`initialization`", complaints)
    if "configuration" in given:
        sections = read.mapping(given["configuration"], "`configuration`", complaints)
        server["configuration"] = {key: read.data(each, f"`{key}`", complaints) for key, each in sections.items()}
    for key, least, most in (
        ("seconds", 1, MOST_SECONDS), ("start_seconds", 1, MOST_START_SECONDS), ("after_edit", 0, MOST_AFTER_EDIT),
    ):  # fmt: skip
        if key in given:
            server[key] = read.integer(given[key], f"`{key}`", complaints, least, most)
    return server


def _env(node: Node, complaints: Complaints) -> dict[str, str]:
    values = read.mapping(node, "`env`", complaints)
    for key, each in values.items():
        if not variables.is_settable(key):
            complaints.at_key(each, f"`env` must not hold `{key}`", "the sandbox makes it, or nobody may set it")
    return {key: read.text(each, f"`{key}`", complaints, empty=True) for key, each in values.items()}
