"""The operations of AWS, from the models of botocore as the command line awscli puts them: needs awscli.

    describe aws            # writes gateway/commands/aws.services-*.yaml, gateway/sandbox/egress/aws_reads.txt

An operation only reads if its name begins with one of READING; every other one changes the account. It hands out
secrets if its name says so (SECRET_NAMES), or if what it answers with holds a member that the model marks as sensitive
and whose name is that of a secret (SECRET_MEMBERS). Options are those of the operations of a service that read, and of
those that do not; one that is a switch for one operation and takes a value for another is left out, and so asks.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from describing.writing import words, write_parts

READING = (
    "batch-describe",
    "batch-get",
    "describe",
    "filter",
    "get",
    "head",
    "list",
    "lookup",
    "query",
    "scan",
    "search",
)
# Every operation of these names; only they are not written out one by one.
PATTERNS = ("describe-", "list-")
SECRET_NAMES = re.compile(
    r"(login-password|authorization-token|session-token|federation-token|access-token|auth-token|open-id-token|"
    r"credentials?(-|$)|password|secret-value|private-key|access-keys?$|key-pairs?$|api-keys?$|data-key|get-parameter|"
    r"presigned|signed-url|get-id$|-token$|-token-|user-data|console-output|access-portal|session-endpoint)"
)
NO_SECRETS = frozenset(("describe-key-pairs", "list-access-keys", "list-service-specific-credentials"))
# What shows environments, start scripts or connections as they were set, passwords too, without a mark in the model.
SECRETS_UNMARKED = frozenset((
    "batch-get-builds", "batch-get-projects", "describe-configuration-settings", "describe-endpoints",
    "describe-instance-attribute", "describe-job-definitions", "describe-jobs", "describe-tasks", "get-connection",
    "get-connections",
))  # fmt: skip
SECRET_MEMBERS = re.compile(
    r"(?i)(password|secret|credential|accesskey|apikey|sharedkey|privatekey|streamkey|mackey|userdata|plaintext|"
    r"token|variables|secretstring|secretbinary)"
)
# Marked as sensitive, but no secret: places in a list; and what is shown as asterisks until it holds.
NO_SECRET_MEMBERS = re.compile(r"(?i)((next|continuation|client|pagination|request)token|secret(arn|id|name))$|pending")
# Kinds of arguments whose values are texts, switches or `file://`. What has another kind is left out, or named below.
PLAIN = frozenset((
    "AddressesArgument", "BooleanArgument", "CLIArgument", "CidrArgument", "CliInputJSONArgument", "CountArgument",
    "FlattenedArgument", "GenerateCliSkeletonArgument", "GroupOwnerArgument", "ListArgument",
    "NegativeBooleanParameter",
    "PageArgument", "PortArgument", "PositiveBooleanArgument", "ProtocolArgument", "PutMetricArgument",
    "ReplacedZipFileArgument", "SourceGroupArgument", "TagsArgument", "ZipFileArgument",
    "_NestedBlobArgumentParamOverwrite",
))  # fmt: skip
READS_PATH = frozenset(("LaunchKeyArgument",))
WRITES_PATH = frozenset(("FileArgument", "QueryOutFileArgument", "StatefulArgument"))
OUTFILES = frozenset(("StreamingOutputArgument", "S3SelectStreamOutputArgument"))
# What the command line adds to a service, and services that are described by hand.
BY_HAND = frozenset(("s3", "configure"))

# What the command line adds to a service and what was read about it; whatever else it adds is left out.
ADDED: dict[str, dict[str, Any]] = {
    "ecr": {"get-login-password": {"operands": [], "effects": [
        "connect api.ecr.amazonaws.com:443 fetch", "credential ~/.aws", "system secret show",
    ]}},
    "ecr-public": {"get-login-password": {"operands": [], "effects": [
        "connect api.ecr-public.amazonaws.com:443 fetch", "credential ~/.aws", "system secret show",
    ]}},
    "eks": {"get-token": {
        "values": "--cluster-id --cluster-name --role-arn", "operands": [],
        "effects": ["credential ~/.aws", "connect sts.amazonaws.com:443 fetch", "system secret show"],
    }},
    "logs": {"tail": {
        "flags": "--follow", "operands": [{"kind": "text"}],
        "values": "--filter-pattern --format --log-stream-name-prefix --log-stream-names --since",
        "effects": ["connect logs.amazonaws.com:443 fetch", "credential ~/.aws"],
    }},
    "rds": {"generate-db-auth-token": {
        "values": "--hostname --port --username", "operands": [],
        "effects": ["credential ~/.aws", "system secret show"],
    }},
}  # fmt: skip


def model(operation: Any) -> Any:
    return operation._operation_model  # noqa: SLF001


def command_table(command: Any) -> Any:
    return command._get_command_table()  # noqa: SLF001


@dataclass
class Shape:
    """The operations of a service that do alike."""

    names: set[str] = field(default_factory=set)
    flags: set[str] = field(default_factory=set)
    values: set[str] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)

    def described(self, group: str) -> dict[str, Any]:
        told: dict[str, Any] = {"use": group}
        files = self.reads | self.writes
        unclear = (self.flags & self.values) | (self.reads & self.writes)
        if flags := self.flags - files - unclear:
            told["flags"] = words(flags)
        if values := self.values - files - unclear:
            told["file_urls"] = words(values)
        if files - unclear:
            told["options"] = {
                name: {"value": "path", "does": "read" if name in self.reads else "write"}
                for name in sorted(files - unclear)
            }
        return told


def _sensitive(shape: Any, path: str = "", seen: frozenset[str] = frozenset()) -> list[str]:
    """The paths of members that the model marks."""
    if shape is None or shape.name in seen:
        return []
    seen |= {shape.name}
    found = [path] if shape.metadata.get("sensitive") else []
    if shape.type_name == "structure":
        for name, member in shape.members.items():
            found += _sensitive(member, f"{path}.{name}", seen)
    elif shape.type_name in ("list", "map"):
        found += _sensitive(shape.member if shape.type_name == "list" else shape.value, path, seen)
    return found


def hands_out(name: str, output: Any) -> bool:
    if name in NO_SECRETS:
        return False
    if SECRET_NAMES.search(name) or name in SECRETS_UNMARKED:
        return True
    paths = _sensitive(output)
    return any(SECRET_MEMBERS.search(each.rsplit(".", 1)[-1]) and not NO_SECRET_MEMBERS.search(each) for each in paths)


def reads(name: str) -> bool:
    return any(name == each or name.startswith(each + "-") for each in READING)


def _shape(name: str, operation: Any) -> str:
    secret = hands_out(name, model(operation).output_shape)
    takes = any(type(each).__name__ in OUTFILES for each in operation.arg_table.values())
    if not reads(name):
        return "changes-takes" if takes else "changes-secret" if secret else "changes"
    if takes:
        return "takes"
    return "secret" if secret else "asked"


def _options(shape: Shape, operation: Any) -> None:
    body = model(operation).get_streaming_input()
    for name, argument in operation.arg_table.items():
        kind = type(argument).__name__
        if kind in OUTFILES:
            continue
        if kind in WRITES_PATH:
            shape.writes.add(f"--{name}")
        elif kind in READS_PATH or (body is not None and getattr(argument, "argument_model", None) is body):
            shape.reads.add(f"--{name}")
        elif kind not in PLAIN:
            continue
        elif argument.cli_type_name == "boolean" or kind == "GenerateCliSkeletonArgument":
            shape.flags.add(f"--{name}")
        else:
            shape.values.add(f"--{name}")


def service(command: Any) -> dict[str, Any]:
    shapes: dict[str, Shape] = defaultdict(Shape)
    table = command_table(command)
    waits: list[str] = []
    host = ""
    for name, operation in table.items():
        if type(operation).__name__ == "WaitCommand":
            waits = sorted(operation._build_subcommand_table())  # noqa: SLF001
        if type(operation).__name__ != "ServiceOperation":
            continue
        host = model(operation).service_model.metadata["endpointPrefix"]
        shape = shapes[_shape(name, operation)]
        shape.names.add(name)
        _options(shape, operation)
    subcommands: dict[str, Any] = {}
    for group in ("asked", "takes", "secret", "changes", "changes-takes", "changes-secret"):
        if group not in shapes:
            continue
        shape = shapes[group]
        names = set(shape.names)
        if group == "asked":
            for pattern in PATTERNS:
                if any(each.startswith(pattern) for each in names):
                    names = {each for each in names if not each.startswith(pattern)} | {pattern + "*"}
        told = shape.described(group)
        told["effects"] = f"connect {host}.amazonaws.com:443 " + ("send" if group.startswith("changes") else "fetch")
        subcommands[words(names)] = told
    if waits:
        told = shapes["asked"].described("asked")
        told["effects"] = f"connect {host}.amazonaws.com:443 fetch"
        told.pop("use")
        subcommands["wait"] = {"subcommands": {words(waits): {"use": "asked", **told}}}
    return {"subcommands": {**subcommands, "help": []}}


def reading_requests() -> str:
    """What requests name that only read and hand out no secrets: a line for each prefix of `X-Amz-Target`, and for each
    version of the services that take a form, with their operations. One that is not so in any service of a name is left
    out."""
    import botocore.session
    from botocore import xform_name

    session = botocore.session.get_session()
    found: dict[str, set[str]] = defaultdict(set)
    others: dict[str, set[str]] = defaultdict(set)
    for name in session.get_available_services():
        models = session.get_service_model(name)
        forms = {*models.metadata.get("protocols", ()), models.metadata["protocol"]}
        for operation in models.operation_names:
            each, typed = models.operation_model(operation), xform_name(operation, "-")
            streams = each.has_event_stream_output or each.has_event_stream_input or each.has_streaming_output
            is_free = reads(typed) and not hands_out(typed, each.output_shape) and not streams
            known = found if is_free else others
            if "json" in forms:
                known[models.metadata["targetPrefix"]].add(operation)
            if not forms.isdisjoint(("query", "ec2")):
                known[models.api_version].add(operation)
    rows = {name: sorted(operations - others[name]) for name, operations in found.items()}
    return "".join(f"{name} {' '.join(operations)}\n" for name, operations in sorted(rows.items()) if operations)


def main() -> None:
    import awscli
    from awscli.clidriver import create_clidriver
    from botocore import __version__

    services: dict[str, dict[str, Any]] = {}
    for name, command in sorted(command_table(create_clidriver()).items()):
        if type(command).__name__ == "ServiceCommand" and name not in BY_HAND:
            services[name] = found = service(command)
            found["subcommands"] |= ADDED.get(name, {})
    write_parts("aws", "services", (f"awscli {awscli.__version__}", f"botocore {__version__}"), services)
    with open("gateway/sandbox/egress/aws_reads.txt", "w", encoding="ascii") as file:
        file.write(reading_requests())
