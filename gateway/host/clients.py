"""Where programs connect that take it from a person's own settings: a kubeconfig's cluster, the region and profile of
AWS, the configurations of gcloud. Of these files only what is no secret is told, and only of files that no call can
write; the host is looked at through `gateway.host.base.Host` alone. A new client is one entry of `_CLIENTS`.
"""

from __future__ import annotations

from gateway.commands.steering.entries import NotRead
from gateway.host.git_settings import may_be_written
from gateway.model.facts import ClientFact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.host.base import Host
    from gateway.model.context import Context

MOST_FILES = 32


class _Unclear(Exception):
    """Why nobody can tell where the client connects."""


def client_fact(name: str, host: Host, context: Context) -> ClientFact:
    """What the settings of a client say. Never raises for what the host holds."""
    if not context.home:
        return ClientFact("nobody knows whose settings hold")
    try:
        return _CLIENTS[name](host, context)
    except (_Unclear, NotRead) as unclear:
        return ClientFact(str(unclear))


def _text(file: str, host: Host, context: Context) -> str:
    """The text of a person's own file, "" where there is none."""
    if not file.startswith("/") or may_be_written(file, host, context):
        raise _Unclear(f"calls may write {file}")
    text = host.read(file)
    if not text and not host.is_missing(file) and not host.is_empty(file):
        raise _Unclear(f"{file} cannot be read")
    return text


def _kubernetes(host: Host, context: Context) -> ClientFact:
    from gateway.commands.steering.kubeconfig import rows

    folder = f"{context.home}/.kube"
    said = host.variable("KUBECONFIG")
    files = tuple([each for each in said.split(":") if each]) if said else (f"{folder}/config",)
    if host.variable("KUBERC") not in ("", "off") or _text(f"{folder}/kuberc", host, context):
        raise _Unclear("kuberc gives kubectl other options")
    if len(files) > MOST_FILES:
        raise _Unclear("KUBECONFIG names too many files")
    texts = [(file, text) for file in files if (text := _text(file, host, context))]
    if not texts:
        raise _Unclear("there is no kubeconfig")
    found = []
    for row in rows(texts):
        at = {"cluster": 3, "user": 2}.get(row[0], 0)
        unsafe = [file for file in row[at + 1 :] if may_be_written(file, host, context)] if at else []
        found.append((*row[:at], f"calls may write {unsafe[0]}", *row[at + 1 :]) if unsafe else row)
    return ClientFact("", tuple([file for file, _text in texts]), tuple(found))


# By these in the environment that calls begin with the command line of AWS reads other files, or reaches other hosts.
_AWS_ELSEWHERE = (
    "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_ENDPOINT_URL", "AWS_USE_FIPS_ENDPOINT",
    "AWS_USE_DUALSTACK_ENDPOINT", "AWS_DATA_PATH", "AWS_CLI_AUTO_PROMPT",
)  # fmt: skip


def _aws(host: Host, context: Context) -> ClientFact:
    from gateway.commands.steering.cloud_settings import aws_rows

    folder = f"{context.home}/.aws"
    for name in _AWS_ELSEWHERE:
        if host.variable(name):
            raise _Unclear(f"{name} is set")
    if _text(f"{folder}/cli/alias", host, context):
        raise _Unclear("aliases give its words other meanings")
    if not host.is_missing(f"{folder}/models"):
        raise _Unclear(f"{folder}/models may lead elsewhere")
    found = aws_rows(_text(f"{folder}/config", host, context), _text(f"{folder}/credentials", host, context))
    profile = _one(host, "AWS_DEFAULT_PROFILE", "AWS_PROFILE")
    region = _one(host, "AWS_REGION", "AWS_DEFAULT_REGION")
    return ClientFact("", (), (("chosen", profile), ("region", region), *found))


def _one(host: Host, *names: str) -> str:
    """What variables of one meaning say."""
    said = {value for name in names if (value := host.variable(name))}
    if len(said) > 1:
        raise _Unclear(f"{' and '.join(names)} differ")
    return said.pop() if said else ""


def _gcloud(host: Host, context: Context) -> ClientFact:
    from gateway.commands.steering.cloud_settings import gcloud_rows, gcloud_why

    if host.variable("CLOUDSDK_CONFIG"):
        raise _Unclear("CLOUDSDK_CONFIG is set")
    folder = f"{context.home}/.config/gcloud/configurations"
    if may_be_written(folder, host, context):
        raise _Unclear(f"calls may write {folder}")
    try:
        names = [] if host.is_missing(folder) else [name for name, _kind in host.entries(folder)]
    except OSError:
        raise _Unclear(f"{folder} cannot be read") from None
    if len(names) > MOST_FILES:
        raise _Unclear("there are too many configurations")
    texts = [_text(f"{folder}/{name}", host, context) for name in sorted(names)]
    if why := next(filter(None, map(gcloud_why, texts)), ""):
        raise _Unclear(why)
    found = [row for text in texts for row in gcloud_rows(text)]
    if chosen := host.variable("CLOUDSDK_CORE_PROJECT"):
        found.append(("project", chosen))
    return ClientFact("", (), tuple(dict.fromkeys(found)))


def _git(host: Host, context: Context) -> ClientFact:
    from gateway.host.git_names import git_names  # lazy: few calls start programs through git

    return git_names(host, context)


_CLIENTS: dict[str, Callable[[Host, Context], ClientFact]] = {
    "git": _git,
    "kubernetes": _kubernetes,
    "kubernetes helm": _kubernetes,
    "aws": _aws,
    "gcloud": _gcloud,
}


def socket_of(name: str, host: Host, context: Context) -> tuple[str, str]:
    """The socket of the daemon that a client speaks to, and why there is none to be told, "" if there is."""
    try:
        return _SOCKETS[name](host, context), ""
    except (_Unclear, NotRead) as unclear:
        return "", str(unclear)


_UNIX = "unix://"
_OF_DOCKER = "/var/run/docker.sock"


def _docker(host: Host, context: Context) -> str:
    from gateway.commands.steering.docker_contexts import chosen, place, socket

    if host.variable("DOCKER_CONFIG"):
        raise _Unclear("DOCKER_CONFIG is set")
    said = host.variable("DOCKER_HOST")
    if not said:
        folder = f"{context.home}/.docker"
        name = host.variable("DOCKER_CONTEXT") or chosen(_text(f"{folder}/config.json", host, context))
        said = (
            socket(_text(f"{folder}/{place(name)}", host, context))
            if name not in ("", "default")
            else f"{_UNIX}{_OF_DOCKER}"
        )
    path = said.removeprefix(_UNIX)
    if not said.startswith(_UNIX) or not path.startswith("/"):
        raise _Unclear("its daemon is reached by no socket of this machine")
    if may_be_written(path, host, context):
        raise _Unclear(f"calls may write {path}")
    return path


_SOCKETS: dict[str, Callable[[Host, Context], str]] = {"docker": _docker}
