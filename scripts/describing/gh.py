"""The commands of GitHub's `gh`, from its help: needs gh on PATH.

    describe gh             # writes gateway/commands/gh.commands.yaml

A command only looks if its last word is one of READING, and changes what lies on the service if it is one of CHANGING.
What works on the repository here, starts programs or writes files is said below, by hand (ADDED), or left out.
"""

from __future__ import annotations

import re
from typing import Any

from describing import helptree
from describing.grouping import READS, Table

READING = re.compile(
    r"(list|view|status|diff|checks|check|watch|field-list|item-list|read-dir|commits|issues|prs|repos|code|search)$"
)
CHANGING = re.compile(
    r"(close|reopen|edit|comment|review|ready|lock|unlock|pin|unpin|transfer|delete|delete-asset|archive|unarchive|"
    r"update-branch|disable|enable|cancel|rerun|create|clone|add|remove|set|copy|link|unlink|mark-template|rename|"
    r"revert|stop|item-(add|archive|create|delete|edit)|field-(create|delete))$"
)
# Besides those that are by hand in gh.yaml: what pushes, fetches, asks an editor or starts a program.
NOT_TOLD = re.compile(
    r"^(gist (clone|edit)|issue develop|repo (clone|rename|create|fork|sync|set-default|edit)|skill|"
    r"pr (create|checkout)|codespace (create|code|cp|ssh|jupyter|logs|ports|rebuild))( |$)"
)
BY_HAND = frozenset((
    "alias", "api", "attestation", "at", "auth", "browse", "co", "completion", "config", "copilot", "extension",
    "gpg-key", "help", "licenses", "preview", "skill", "ssh-key", "status",
))  # fmt: skip
STARTS = ("--web", "--editor", "--recover", "--worktree")
FILES = ("--body-file", "--notes-file", "--env-file", "--attach", "--from-file")
# gh.yaml says what they do.
OF_ALL = ("--help", "--repo")
# What is written, sent to another host, or not told.
PLACES = re.compile(r"--(dir|output|debug-file|archive|profile|tuf-.*|hostname)$")
SERVICE = ["connect api.github.com:443 send", "credential ~/.config/gh/hosts.yml"]
CHANGES = [*SERVICE, "system service change"]
FETCHES = ["connect api.github.com:443 fetch", "credential ~/.config/gh/hosts.yml"]

# What works on files here, and what was read about it.
ADDED: dict[tuple[str, ...], dict[str, Any]] = {
    ("pr",): {
        "create": {"code": "pushes the branch, and runs the repository's hooks", "effects": SERVICE},
        "checkout": {"code": "runs the repository's hooks", "effects": SERVICE},
        "merge": {
            "use": "changed",
            "flags": "--admin --auto --disable-auto -m|--merge -r|--rebase -s|--squash",
            "values": "-A|--author-email -b|--body --match-head-commit -t|--subject",
            "options": {
                "-F|--body-file": {"value": "path", "does": READS},
                "-d|--delete-branch": {"does": "code leaves the branch, and runs the repository's hooks"},
            },
        },
    },
    ("release",): {
        "create|new": {
            "flags": "-d|--draft --fail-on-no-commits --generate-notes -p|--prerelease --verify-tag",
            "optionals": "--latest",
            "values": "--discussion-category -n|--notes --notes-start-tag --target -t|--title",
            "options": {"-F|--notes-file": {"value": "path", "does": READS}},
            "operands": [{"kind": "text"}, {"kind": "path", "does": READS, "rest": True, "optional": True}],
            "effects": CHANGES,
        },
        "upload": {
            "flags": "--clobber",
            "operands": [{"kind": "text"}, {"kind": "path", "does": READS, "rest": True}],
            "effects": CHANGES,
        },
        "download": {
            "flags": "--clobber --skip-existing",
            "values": "-A|--archive -p|--pattern",
            "options": {
                "-D|--dir": {"value": "path", "does": "write", "tree": True},
                "-O|--output": {"value": "path", "does": "write"},
            },
            "operands": [{"kind": "text", "optional": True}],
            "effects": [*FETCHES, {"do": ["write . tree"], "unless": ["--dir", "--output"]}],
        },
    },
    ("run",): {
        "download": {
            "values": "-n|--name -p|--pattern",
            "options": {"-D|--dir": {"value": "path", "does": "write", "tree": True}},
            "operands": [{"kind": "text", "rest": True, "optional": True}],
            "effects": [*FETCHES, {"do": ["write . tree"], "unless": ["--dir"]}],
        },
    },
    ("gist",): {
        "create|new": {
            "flags": "-p|--public",
            "values": "-d|--desc -f|--filename",
            "operands": [{"kind": "path", "does": READS, "rest": True, "optional": True}],
            "effects": CHANGES,
        },
    },
    ("repo",): {
        "create|new": {
            "use": "changed",
            "flags": "--add-readme --disable-issues --disable-wiki --include-all-branches --internal --private "
            "--public",
            "values": "-d|--description -g|--gitignore -h|--homepage -l|--license -t|--team -p|--template",
            "options": {
                "-c|--clone": {"does": "code starts git"},
                "--push": {"does": "code pushes, and runs the repository's hooks"},
                "-s|--source": {"value": "path", "does": [READS, "code starts git there"]},
            },
        },
        "fork": {
            "flags": "--default-branch-only",
            "values": "--fork-name --org",
            "operands": [{"kind": "text", "optional": True}],
            "options": {"--clone": {"does": "code starts git"}, "--remote": {"does": "code changes git's settings"}},
            "effects": CHANGES,
        },
        "clone": {
            "flags": "--no-upstream",
            "values": "-u|--upstream-remote-name",
            "operands": [{"kind": "text"}, {"kind": "path", "does": "write", "tree": True, "optional": True}],
            "after": {"kind": "text", "does": "code hands words to git"},
            "effects": [*FETCHES, "connect github.com:443 fetch", "write . tree"],
        },
        "rename sync set-default": {"code": "changes the work tree or git's settings", "effects": SERVICE},
        "read-file": {
            "use": "shown",
            "flags": "--clobber",
            "options": {"-o|--output": {"value": "path", "does": "write"}},
        },
        "edit": {
            "use": "changed",
            "optionals": "--allow-forking --allow-update-branch --delete-branch-on-merge --enable-auto-merge "
            "--enable-discussions --enable-issues --enable-merge-commit --enable-projects --enable-rebase-merge "
            "--enable-squash-merge --enable-wiki --template",
            "flags": "--accept-visibility-change-consequences",
            "values": "--add-topic --default-branch -d|--description -h|--homepage --remove-topic --visibility",
        },
    },
    ("issue",): {
        "develop": {"code": "changes the work tree", "effects": SERVICE},
    },
    ("workflow",): {
        "run": {
            "use": "changed",
            "flags": "--json",
            "values": "-f|--raw-field -r|--ref",
            "options": {"-F|--field": {"value": "text", "keep": True}},
        },
    },
    ("variable",): {
        "set": {
            "use": "changed",
            "values": "-b|--body -e|--env -o|--org -r|--repos -v|--visibility",
            "options": {"-f|--env-file": {"value": "path", "does": READS}},
        },
    },
    ("secret",): {
        "set": {
            "use": "changed",
            "flags": "--no-store --no-repos-selected -u|--user",
            "values": "-a|--app -b|--body -e|--env -o|--org -r|--repos -v|--visibility",
            "options": {"-f|--env-file": {"value": "path", "does": READS}},
        },
    },
}


def shape(path: tuple[str, ...]) -> str:
    if NOT_TOLD.match(" ".join(path)) or path[-1] in added(path[:-1]):
        return ""
    if READING.match(path[-1]):
        return "shown"
    return "changed" if CHANGING.match(path[-1]) and len(path) > 1 else ""


def added(path: tuple[str, ...]) -> set[str]:
    return {name for names in ADDED.get(path, ()) for name in names.replace("|", " ").split()}


def option(path: tuple[str, ...], names: tuple[str, ...], form: str) -> str:
    del path
    long = names[-1]
    if long in STARTS or long in OF_ALL or PLACES.match(long):
        return ""
    if long == "--json":
        # Without its value gh says in its own words that one is missing.
        return helptree.VALUE
    return READS if long in FILES and form == helptree.VALUE else form


def main() -> None:
    root = helptree.tree("gh", probes=True, wanted=lambda name: name not in BY_HAND)
    helptree.write_part("gh", "commands", helptree.group("gh", root, Table(shape, option)), ADDED)
