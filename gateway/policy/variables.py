"""The environment of a confined call: an allowlist. What nobody named is not passed on, and what looks like login
material only where somebody named exactly that variable. Pure."""

from __future__ import annotations

from gateway.policy import globs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping
    from typing import Any

USUAL = (
    "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "COLORTERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR",
    "CLICOLOR_FORCE", "USER", "LOGNAME", "SHELL", "CI",
)  # fmt: skip
USUAL_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
# Those that the plan makes itself, and those that would make bash read or run something before the command.
BUILT = ("PATH", "HOME", "TMPDIR", "PWD", "OLDPWD")
NEVER = ("BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "PS4", "BASH_FUNC_*", "BASH_XTRACEFD")
_SECRETS = (
    "*TOKEN*", "*SECRET*", "*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*CREDENTIAL*", "*PRIVATE*", "*COOKIE*",
    "*APIKEY*", "*API_KEY*", "*ACCESS_KEY*", "*_KEY", "*_KEYS", "*_KEY_ID", "*_PAT", "*_PWD", "*_AUTH", "*_DSN",
    "*_AUTH_*", "KEY_*", "*CONNECTION_STRING*",
)  # fmt: skip
# They make programs load or obey something: only by their exact names.
_LOADERS = (
    "LD_*", "DYLD_*", "GIT_*", "PYTHONSTARTUP", "PYTHONINSPECT", "PERL5OPT", "PERL5DB", "RUBYOPT", "NODE_OPTIONS",
    "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "SSH_*", "DBUS_*", "GPG_*",
)  # fmt: skip

# Beside which login, in the home folder, variables choose among what lies there.
_BESIDE_LOGIN = {
    ".aws": ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"),
    ".config/gcloud": (
        "CLOUDSDK_ACTIVE_CONFIG_NAME", "CLOUDSDK_CORE_PROJECT", "CLOUDSDK_COMPUTE_REGION", "CLOUDSDK_COMPUTE_ZONE",
    ),
}  # fmt: skip
# What goes with a login, so that its program asks no other host about itself.
_TOLD_BESIDE = {
    ".config/gcloud": {
        "CLOUDSDK_CORE_CHECK_GCE_METADATA": "false", "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "true",
        "CLOUDSDK_CORE_ENABLE_FEATURE_FLAGS": "false", "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "true",
        "CLOUDSDK_SURVEY_DISABLE_PROMPTS": "true",
    },
}  # fmt: skip
# Programs that do not start where they cannot write beside their login: tokens that they renew, logs.
_WRITTEN_BESIDE = (".config/gcloud", ".azure")

_MOST_KNOWN = 8
_known: dict[tuple[tuple[tuple[str, str], ...], tuple[str, ...]], tuple[tuple[str, str], ...]] = {}


def environment_of(
    given: Mapping[str, str],
    profile: Mapping[str, Any],
    *,
    home: str,
    search_path: tuple[str, ...],
    sockets: Iterable[str],
    lent: Iterable[str] = (),
) -> tuple[tuple[str, str], ...]:
    """All variables of the call, sorted. `sockets`: paths that it may connect to; the variable that names ssh's agent
    is passed on only with its socket. `lent`: files and folders of logins; with them go the variables that name them,
    and choose among what lies there."""
    found = {"LANG": "C.UTF-8", **dict(_passed(tuple(given.items()), tuple(profile.get("env", ()))))}
    agent = given.get("SSH_AUTH_SOCK", "")
    if agent and agent in tuple(sockets):
        found["SSH_AUTH_SOCK"] = agent
    elif "SSH_AUTH_SOCK" in found:
        del found["SSH_AUTH_SOCK"]
    if logins := tuple(lent):
        found.update(_beside(logins, given, home))
    found.update({name: value for name, value in dict(profile.get("set", {})).items() if is_settable(name)})
    found.update({"PATH": ":".join(search_path or USUAL_PATH), "HOME": home, "TMPDIR": "/tmp"})
    return tuple(sorted(found.items()))


def _beside(lent: tuple[str, ...], given: Mapping[str, str], home: str) -> dict[str, str]:
    names = [name for folder, found in _BESIDE_LOGIN.items() if f"{home}/{folder}" in lent for name in found]
    files = [each for each in given.get("KUBECONFIG", "").split(":") if each]
    if files and set(files) <= set(lent):
        names.append("KUBECONFIG")
    told = [found for folder, found in _TOLD_BESIDE.items() if f"{home}/{folder}" in lent]
    return {name: given[name] for name in names if given.get(name)} | dict(
        pair for each in told for pair in each.items()
    )


def written_beside(lent: Container[str], home: str) -> tuple[str, ...]:
    """Of folders of logins those in which their program must be able to write, for itself at least."""
    return tuple([path for each in _WRITTEN_BESIDE if (path := f"{home}/{each}") in lent])


def _passed(given: tuple[tuple[str, str], ...], named: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """What of an environment is passed on, in its order. Remembered, since calls follow each other in the same one."""
    found = _known.get((given, named))
    if found is None:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        found = _known[given, named] = _chosen(given, named)
    return found


def _chosen(given: tuple[tuple[str, str], ...], named: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    exact = {name for name in named if globs.is_literal(name)}
    wide = _compiled([name for name in (*USUAL, *named) if name not in exact])
    return tuple(
        (name, value)
        for name, value in given
        if is_name(name)
        and not _any(_NEVER, name)
        and name not in BUILT
        and "\0" not in value
        and (name in exact or (_any(wide, name) and not is_secret(name, value) and not _any(_LOADING, name)))
    )


def is_secret(name: str, value: str = "") -> bool:
    """Whether a variable looks like login material, by its name or because its value is a URL with a password."""
    if _any(_SECRET, name.upper()):
        return True
    _, mark, rest = value.partition("://")
    authority = rest.partition("/")[0]
    return bool(mark) and ":" in authority.rpartition("@")[0]


def is_settable(name: str) -> bool:
    """Whether a policy may set this variable."""
    return is_name(name) and name not in BUILT and not _any(_NEVER, name)


def is_name(name: str) -> bool:
    """Whether a text is the name of a variable as shells have them."""
    return name.isascii() and name.replace("_", "a").isalnum() and not name[:1].isdigit()


def _compiled(patterns: Iterable[str]) -> list[Any]:
    return [globs.compile_glob(pattern) for pattern in patterns]


def _any(compiled: list[Any], name: str) -> bool:
    return any(globs.matches(pattern, name) for pattern in compiled)


_NEVER, _SECRET, _LOADING = _compiled(NEVER), _compiled(_SECRETS), _compiled(_LOADERS)
