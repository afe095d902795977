"""Files by which version managers choose what the names of programs start: whether they name versions alone.

A place, a plugin or an address from which a program would be taken, built or fetched is no version. Tasks, hooks and
variables of a `mise.toml` are obeyed only once its person trusts the file; but a script that it takes its variables
from, and a variable by which programs start others, reach each program that is started through it.
"""

from __future__ import annotations

import re

from gateway.commands.steering import toml_files
from gateway.commands.steering.entries import NotRead
from gateway.commands.steering.keys import unlisted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.steering.entries import Entry

_VERSION = re.compile(r"(?:(?:prefix|sub-[\d.]+|lts):)?[A-Za-z0-9^~*][\w.+-]*")
_NODE_VERSION = re.compile(r"lts/[\w*-]+|[A-Za-z0-9][\w.+-]*")
# A tool, or a package of a registry that everybody uses.
_TOOL = re.compile(r"(?:(?:core|npm|cargo|go|pipx|gem|aqua):)?@?[\w.-]+(?:/[\w.@-]+)*")
_MISE = (
    "min-version tools.* tools.*.version tools.*.os env.** vars.** tasks.** task-config.** hooks.** watch-files.** "
    "settings.experimental settings.quiet settings.verbose settings.jobs settings.color settings.lockfile "
    "settings.legacy-version-file settings.idiomatic-version-file settings.idiomatic-version-file-enable-tools "
    "settings.disable-tools settings.not-found-auto-install settings.auto-install settings.yes "
    "settings.python.uv-venv-auto settings.task-output"
)
_PROTO = "settings.auto-install settings.auto-clean settings.detect-strategy settings.telemetry"
# By these a program starts, loads or sends something, whatever it is asked.
_STEERING_VARIABLES = re.compile(
    r"_|PATH|HOME|SHELL|IFS|ENV|BASH_.*|ZDOTDIR|LD_.*|DYLD_.*|GIT_.*|SSH_.*|.*_OPTIONS|.*OPTS?|.*PAGER|.*EDITOR|VISUAL|"
    r"BROWSER|.*FLAGS|PYTHON.*|PERL5.*|RUBY.*|GEM_.*|BUNDLE_.*|NODE_PATH|NPM_CONFIG_.*|npm_config_.*|LUA_.*|PHP.*|"
    r"CLASSPATH|JAVA_TOOL_.*|CARGO.*|RUSTC.*|RUSTUP_.*|GO[A-Z]+|.*_PROXY|.*_proxy|DOCKER_.*|MISE_.*|RIPGREP_CONFIG_PATH"
)
_BY_NAME = (".python-version", ".ruby-version", ".node-version", ".nvmrc")


def names_a_place(path: str, text: str) -> bool:
    """Whether a file may make a version manager start something else than an installed or published version."""
    name = path[path.rfind("/") + 1 :]
    try:
        if name == ".tool-versions":
            return not all(_is_version_line(line) for line in text.splitlines())
        if name in _BY_NAME:
            return not all(_NODE_VERSION.fullmatch(word) for word in _words(text))
        if name == ".prototools":
            return not _is_plain_proto(toml_files.entries(text))
        if name.endswith(".toml"):
            return not _is_plain_mise(toml_files.entries(text))
    except NotRead:
        pass
    return True


def _words(text: str) -> list[str]:
    return [word for line in text.splitlines() for word in line.partition("#")[0].split()]


def _is_version_line(line: str) -> bool:
    words = line.partition("#")[0].split()
    return not words or (_TOOL.fullmatch(words[0]) is not None and all(_VERSION.fullmatch(word) for word in words[1:]))


def _is_plain_mise(found: list[Entry]) -> bool:
    if unlisted(found, (), _MISE):
        return False
    for path, value in found:
        if path[0] == "tools":
            told = len(path) == 2 or path[2] == "version"
            if not _TOOL.fullmatch(path[1]) or (told and not _VERSION.fullmatch(str(value))):
                return False
        elif path[0] == "env" and (len(path) < 2 or _STEERING_VARIABLES.fullmatch(path[1]) or "{{" in str(value)):
            return False
    return True


def _is_plain_proto(found: list[Entry]) -> bool:
    for path, value in found:
        if len(path) == 1:
            if not _TOOL.fullmatch(path[0]) or ":" in path[0] or not _VERSION.fullmatch(str(value)):
                return False
        elif unlisted([(path, value)], (), _PROTO):
            return False
    return True
