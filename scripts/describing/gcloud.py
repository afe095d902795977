"""The commands of Google Cloud, from the table for completion that the SDK carries: needs the SDK.

    describe gcloud [/usr/lib/google-cloud-sdk]     # writes gateway/commands/gcloud.groups-*.yaml

The table names each released command with its options, and which of them are switches. A command only reads if its
last word is one of READING, and changes the project if it is one of CHANGING; one with any other name is left out, and
so asks: it may copy files, open a tunnel, start a program. So is every option whose name speaks of files and places
(PLACES). What shows secrets (SECRETS) is told as that, and so is what shows more than a table of what may hold them
(SETTINGS). Commands in trial (`alpha`, `beta`) are left out.
"""

from __future__ import annotations

import importlib.util
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from describing.grouping import Group
from describing.writing import write_parts

SDK = "/usr/lib/google-cloud-sdk"
READING = re.compile(
    r"(list|describe|search|lookup|wait|versions|query|show|resolve|read|"
    r"(list|describe|get|check|search|query|analyze|show|lookup)-[a-z0-9-]+)$"
)
CHANGING = re.compile(
    r"(create|delete|update|set|add|remove|start|stop|restart|reset|enable|disable|patch|cancel|abandon|suspend|resume|"
    r"pause|resize|rename|undelete|restore|approve|reject|deny|move|promote|failover|switchover|rollback|purge|retry|"
    r"detach|attach|destroy|untag|upgrade|star|unstar|revert|reboot|seek|snapshot|undeploy|drain|advance|terminate|"
    r"(add|remove|set|delete|update|create|enable|disable|start|stop|attach|detach|mark|clear|suspend|resume|abandon|"
    r"recreate|reschedule|perform|undeploy|cancel)-[a-z0-9-]+)$"
)
# Their last operand is a file.
FILED = re.compile(r"(set-iam-policy|set-policy|set-custom-constraint)$")
# Their last operand is a file that they write, with a key in it.
KEYS = re.compile(r"iam service-accounts keys create$")
# Of what reads: what begins with `check-` or `analyze-` may send what is to be checked, and these fetch to disk.
NO_READING = re.compile(
    r"^(ml|model-armor|domains registrations get-register-parameters|container .*get-credentials|"
    r".*get-credentials|.*get-mount-command|anthos|iam simulator|compute diagnose|logging read|"
    r"asset analyze-iam-policy-longrunning|topic)( |$)"
)
SECRETS = re.compile(
    r"(get-(auth-string|key-string|guest-attributes|serial-port-output|screenshot|access-token|register-parameters|"
    r"authorization)|reset-windows-password|reset-secret|authorization-codes?|"
    r"api-keys describe|oauth-clients|ssl client-certs|hmac|generate-|password)"
)
# What may hold variables, start scripts or settings with secrets: shown with `describe`, or with a format of one's own.
SETTINGS = re.compile(
    r"^(run|functions|app|composer|compute (instances|instance-templates|project-info)|workstations|infra-manager|"
    r"deployment-manager|notebooks|services api-keys|scheduler)( |$)"
)
PLACES = re.compile(
    r"file|path$|-path-|dir$|-dir-|directory|folder$|dest|source|script|ssh|cert|-key$|keystore|from-|config$|"
    r"browser|launch|tunnel|local|download|upload|output|password|secret|token|metadata-from|gcs|archive|manifest|"
    r"env-vars|flags|schema$|definition|spec$|policy$|template$|credentials"
)
GLOBAL = frozenset((
    "--access-token-file", "--account", "--billing-project", "--configuration", "--flags-file", "--flatten",
    "--format", "--help", "--impersonate-service-account", "--log-http", "--project", "--quiet", "--trace-token",
    "--user-output-enabled", "--verbosity", "--version",
))  # fmt: skip
# Of this machine, of whoever is logged in, or not of a service: by hand.
BY_HAND = frozenset((
    "alpha", "anthos", "auth", "beta", "bq", "cheat-sheet", "cloud-shell", "components", "config", "docker",
    "emulators", "feedback", "help", "info", "init", "interactive", "preview", "survey", "topic", "version",
    "source", "storage",
))  # fmt: skip
WAYS = {"asked": "fetch", "secret": "fetch", "listed": "fetch", "changed": "send", "filed": "send"}
# Commands with names of their own, and what was read about them.
ADDED: dict[str, dict[str, Any]] = {
    "logging": {
        "read": {
            "use": "asked",
            "values": "--billing-account --bucket --folder --freshness --location --order --organization "
            "--resource-names --view",
            "effects": "connect logging.googleapis.com:443 fetch",
        },
        "tail": {"use": "asked", "values": "--buffer-window", "effects": "connect logging.googleapis.com:443 fetch"},
        "write": {
            "use": "changed", "values": "--payload-type --severity",
            "effects": "connect logging.googleapis.com:443 send",
        },
    },
}  # fmt: skip
# Hosts of groups whose name is not that of their service.
HOSTS = {
    "access-context-manager": "accesscontextmanager", "active-directory": "managedidentities", "ai": "aiplatform",
    "ai-platform": "ml", "api-gateway": "apigateway", "app": "appengine", "artifacts": "artifactregistry",
    "asset": "cloudasset", "billing": "cloudbilling", "builds": "cloudbuild", "deploy": "clouddeploy",
    "functions": "cloudfunctions", "identity": "cloudidentity", "infra-manager": "config", "kms": "cloudkms",
    "ml-engine": "ml", "organizations": "cloudresourcemanager", "projects": "cloudresourcemanager",
    "resource-manager": "cloudresourcemanager", "scheduler": "cloudscheduler", "service-directory":
    "servicedirectory", "services": "serviceusage", "sql": "sqladmin", "tasks": "cloudtasks",
    "scc": "securitycenter", "org-policies": "orgpolicy", "secrets": "secretmanager",
}  # fmt: skip
SAME = frozenset((
    "alloydb", "apigee", "apphub", "batch", "composer", "compute", "container", "dataflow", "dataplex",
    "dataproc", "datastore", "datastream", "dns", "domains", "eventarc", "file", "firestore", "healthcare", "iam",
    "iap", "ids", "logging", "memcache", "metastore", "monitoring", "netapp", "notebooks", "privateca", "pubsub",
    "recommender", "redis", "run", "spanner", "workflows", "workstations",
))  # fmt: skip


def host(group: str) -> str:
    """The host that a group talks to, `?` where its name is not known."""
    service = HOSTS.get(group) or (group if group in SAME else "")
    return f"{service}.googleapis.com:443" if service else "?"


def shape(path: tuple[str, ...]) -> str:
    words = " ".join(path)
    if KEYS.match(words):
        return ""
    if READING.match(path[-1]) and not NO_READING.match(words):
        if SECRETS.search(words):
            return "secret"
        if SETTINGS.match(words):
            return "listed" if path[-1] == "list" or path[-1].startswith("list-") else "secret"
        return "asked"
    if FILED.match(path[-1]):
        return "filed"
    return "changed" if CHANGING.match(path[-1]) and not SECRETS.search(words) else ""


def kinds(options: dict[str, Any]) -> dict[str, str]:
    """Each option that is no place with its kind; a switch has its opposite."""
    found: dict[str, str] = {}
    for option, takes in options.items():
        if option in GLOBAL or PLACES.search(option):
            continue
        if takes == "bool":
            found |= dict.fromkeys((option, f"--no-{option[2:]}"), "flags")
        else:
            found[option] = "values"
    return found


def leaves(tree: dict[str, Any], path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], dict[str, Any]]]:
    if not tree["commands"]:
        return [(path, tree["flags"])]
    return [leaf for name, below in tree["commands"].items() for leaf in leaves(below, (*path, name))]


def completions(sdk: Path) -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location("completions", sdk / "data/cli/gcloud_completions.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError(sdk)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tree: dict[str, Any] = module.STATIC_COMPLETION_CLI_TREE
    return tree


def main(sdk: str = SDK) -> None:
    version = (Path(sdk) / "VERSION").read_text("utf-8").strip()
    roots: dict[str, Group] = defaultdict(Group)
    for path, options in leaves(completions(Path(sdk))):
        if len(path) < 2 or path[0] in BY_HAND or path[-1] in ADDED.get(path[0], ()) or not (found := shape(path)):
            continue
        roots[path[0]].add(path[1:-1], [path[-1]], found, kinds(options))
    groups: dict[str, dict[str, Any]] = {}
    for name, group in roots.items():
        place = host(name)
        told = group.described({shape: [f"connect {place} {way}"] for shape, way in WAYS.items()})
        told["subcommands"] |= ADDED.get(name, {})
        groups[name] = told
    write_parts("gcloud", "groups", (f"Google Cloud SDK {version}",), groups)
