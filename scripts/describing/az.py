"""The commands of Azure, from the tables of azure-cli itself: needs azure-cli, and says so with DESCRIBE_PYTHON.

    describe az             # writes gateway/commands/az.groups-*.yaml

A command only reads if its last word is one of READING, and changes the subscription if it is one of CHANGING; one
with any other name is left out, and so asks: it may copy files, open a tunnel, start a program. So is every option
whose name speaks of files and places (PLACES): what it reads or writes is not told by the tables. What reads and is
named after secrets (SECRETS) hands them out. A value with `@` in front is read from that file, whatever the option.
"""

from __future__ import annotations

import atexit
import os
import re
import tempfile
from collections import defaultdict
from typing import Any

from describing.grouping import READS, Group
from describing.writing import write_parts

READING = re.compile(
    r"(list|show|exists|check-name|check-name-availability|check-health|list-[a-z0-9-]+|show-[a-z0-9-]+|wait|usage)$"
)
CHANGING = re.compile(
    r"(create|delete|update|set|add|remove|start|stop|restart|enable|disable|assign|unassign|attach|detach|move|scale|"
    r"resize|deallocate|redeploy|reimage|renew|regenerate|failover|purge|recover|undelete|lock|unlock|approve|reject|"
    r"cancel|retry|tag|untag|upgrade|clear|set-[a-z-]+|add-[a-z-]+|remove-[a-z-]+|update-[a-z-]+|delete-[a-z-]+|"
    r"create-[a-z-]+|enable-[a-z-]+|disable-[a-z-]+|start-[a-z-]+|stop-[a-z-]+)$"
)
SECRETS = re.compile(
    r"(^|[ -])(keys?|secrets?|credentials?|tokens?|passwords?|connection-strings?|conn-strings?|sas|kubeconfig|"
    r"publishing-(profiles|credentials)|appsettings|settings|env-vars?|access-policy|user-data|host-keys?|admin-keys?|"
    r"query-keys?|authorization-rules?|auth|certificates?|logins?)( |-|$)"
)
# Metadata of these alone: no secret stands in what they print.
NO_SECRETS = frozenset(("keyvault list", "keyvault show", "keyvault secret list", "keyvault key list", "ad app list"))
PLACES = re.compile(
    r"file|path|dir$|-dir-|directory|folder|dest|source|script|ssh|generate|key-value|output-|log|cert|browse|open"
)
# Of this machine, of whoever is logged in, or not of Azure: by hand.
BY_HAND = frozenset((
    "account", "bicep", "cache", "cloud", "config", "configure", "demo", "devops", "extension", "feedback",
    "find", "init",
    "interactive", "login", "logout", "pipelines", "repos", "rest", "self-test", "survey", "upgrade", "version",
))  # fmt: skip
# Functions that make a value of a text and open no file. Every other one, and every list and object, may.
PLAIN = (None, "bool", "datetime_format", "duration_format", "float", "int", "str")
GLOBAL = frozenset(("--ids", "-h", "--help"))
KINDS = {"": "flags", "value": "at_paths", "file": READS}


def shape(command: str) -> str:
    last = command.rpartition(" ")[2]
    if READING.match(last):
        return "secret" if SECRETS.search(command) and command not in NO_SECRETS else "shown"
    return "changes" if CHANGING.match(last) else ""


def takes(settings: Any) -> str:
    """What an option's value is: a text, a text or the name of a file that holds it, or nobody can tell."""
    if settings.get("nargs") not in (None, "+", "*", 1):
        return "unclear"
    kind, action = settings.get("type"), str(settings.get("action"))
    plain = getattr(kind, "__name__", kind) in PLAIN and (action == "None" or "AAZSimpleTypeArg" in action)
    return "value" if plain else "file"


def tables() -> dict[str, dict[str, str]]:
    """Each command with its options, and what each of them takes: "" for none, else how many words."""
    settings = tempfile.TemporaryDirectory(prefix="az-")  # it writes there whatever it is asked; no person's is read
    atexit.register(settings.cleanup)
    os.environ.setdefault("AZURE_CONFIG_DIR", settings.name)
    from azure.cli.core import get_default_cli

    cli = get_default_cli()
    invoked = cli.invocation_cls(
        cli_ctx=cli, parser_cls=cli.parser_cls, commands_loader_cls=cli.commands_loader_cls, help_cls=cli.help_cls
    )
    cli.invocation = invoked
    loader = invoked.commands_loader
    found = loader.load_command_table(None)
    loader.load_arguments(None)
    options: dict[str, dict[str, str]] = {}
    for name, command in found.items():
        options[name] = {}
        for argument in command.arguments.values():
            settings = argument.type.settings
            if "Ignore" in str(settings.get("action")):
                continue
            for spelled in settings.get("options_list") or ():
                text = getattr(spelled, "target", spelled)
                if isinstance(text, str) and text.startswith("-"):
                    switch = str(settings.get("action")) in ("store_true", "store_false")
                    options[name][text] = "" if switch else takes(settings)
    return options


def main() -> None:
    from azure.cli.core import __version__

    roots: dict[str, Group] = defaultdict(Group)
    for command, options in tables().items():
        *above, last = command.split()
        if not above or above[0] in BY_HAND or not (use := shape(command)):
            continue
        kinds = {
            option: KINDS[taken]
            for option, taken in options.items()
            if option not in GLOBAL and taken != "unclear" and not PLACES.search(option)
        }
        roots[above[0]].add(tuple(above[1:]), [last], use, kinds)
    groups = {name: told for name, group in roots.items() if (told := group.described())}
    write_parts("az", "groups", (f"azure-cli {__version__}",), groups)
