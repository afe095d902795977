"""The environment of a confined call."""

# ruff: noqa: E501  one case a line

from __future__ import annotations

from typing import Any

import pytest

from gateway.policy.variables import environment_of, is_secret, is_settable

USUAL = (
    "LANG", "LANGUAGE", "LC_ALL", "TZ", "TERM", "COLORTERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR",
    "CLICOLOR_FORCE", "USER", "LOGNAME", "SHELL", "CI",
)  # fmt: skip
SECRETS = (
    "GITHUB_TOKEN", "A_SECRET_B", "DB_PASSWORD", "PGPASSWD", "A_PASSPHRASE", "A_CREDENTIALS", "A_PRIVATE", "A_COOKIE",
    "AN_APIKEY", "API_KEY_2", "AWS_ACCESS_KEY_X", "A_KEY", "A_KEYS", "A_KEY_ID", "A_PAT", "A_PWD", "A_AUTH", "A_DSN",
    "A_AUTH_B", "KEY_A", "A_CONNECTION_STRING", "npm_config__auth_token",
)  # fmt: skip
LOADERS = (
    "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "GIT_SSH_COMMAND", "PYTHONSTARTUP", "PYTHONINSPECT", "PERL5OPT", "PERL5DB",
    "RUBYOPT", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "SSH_ASKPASS", "DBUS_SESSION_BUS_ADDRESS",
    "GPG_AGENT_INFO",
)  # fmt: skip
NEVER = ("BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "PS4", "BASH_FUNC_ls", "BASH_XTRACEFD")
GCLOUD = (
    "CLOUDSDK_ACTIVE_CONFIG_NAME", "CLOUDSDK_CORE_PROJECT", "CLOUDSDK_COMPUTE_REGION", "CLOUDSDK_COMPUTE_ZONE",
)  # fmt: skip
MADE = ("PATH", "HOME", "TMPDIR", "PWD", "OLDPWD")


def all_of(names: tuple[str, ...]) -> dict[str, str]:
    return dict.fromkeys(names, "x")


BUILT = {"HOME": "/h", "LANG": "C.UTF-8", "PATH": "/usr/bin", "TMPDIR": "/tmp"}
CASES: dict[str, tuple[dict[str, str], dict[str, Any], dict[str, str]]] = {
    "nothing is passed on by itself": ({"FOO": "1", "HOME": "/x", "PATH": "/y", "TMPDIR": "/z"}, {}, {}),
    "what every program may know is": (all_of(USUAL), {}, all_of(USUAL)),
    "globs name more": ({"GO_A": "1", "GOX": "2"}, {"env": ["GO_*"]}, {"GO_A": "1"}),
    "a glob passes no secrets": ({"A_TOKEN": "1", "A_KEY": "2", "A": "3"}, {"env": ["A*"]}, {"A": "3"}),
    "a glob passes no URL with a password": ({"A_URL": "postgres://me:pw@host/db", "B_URL": "https://host/"}, {"env": ["*_URL"]}, {"B_URL": "https://host/"}),
    "nor any other": (all_of(SECRETS), {"env": ["*"]}, {}),
    "exactly named, a secret is passed on": ({"A_TOKEN": "1"}, {"env": ["A_TOKEN"]}, {"A_TOKEN": "1"}),
    "a glob passes nothing that makes programs load something": (all_of(LOADERS), {"env": ["*"]}, {}),
    "exactly named, that is passed on": (all_of(LOADERS), {"env": [*LOADERS]}, all_of(LOADERS)),
    "what bash would obey is never passed on": (all_of((*NEVER, "BASH_FUNC_ls%%")), {"env": [*NEVER, "*"]}, {}),
    "nor what the sandbox makes": (all_of(MADE), {"env": [*MADE, "*"]}, {}),
    "names that are none are left out": ({"a b": "1", "A.B": "2", "": "3"}, {"env": ["*"]}, {}),
    "values are set": ({}, {"set": {"CI": "1", "A_TOKEN": "x"}}, {"CI": "1", "A_TOKEN": "x"}),
    "what the sandbox makes cannot be set": ({}, {"set": {"PATH": "/evil", "HOME": "/y", "LD_X": "z"}}, {"LD_X": "z"}),
    "ssh's agent is named only with its socket": ({"SSH_AUTH_SOCK": "/run/agent"}, {"env": ["SSH_AUTH_SOCK"]}, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_environment_is_an_allowlist(name: str) -> None:
    given, profile, expected = CASES[name]
    found = environment_of(given, profile, home="/h", search_path=("/usr/bin",), sockets=())
    assert found == tuple(sorted({**BUILT, **expected}.items()))


@pytest.mark.parametrize(
    ("lent", "named"),
    [
        ((), set()),
        (("/h/.aws",), {"AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"}),
        (("/h/.kube/config", "/k/b"), {"KUBECONFIG"}),
        (("/h/.kube/config",), set()),  # kubectl would read another cluster's
        (("/h/.config/gcloud",), {*GCLOUD}),
        (("/h/.config/gcloud/x",), set()),
    ],
)
def test_with_a_login_go_the_variables_that_choose_it(lent: tuple[str, ...], named: set[str]) -> None:
    given = {
        **all_of(("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", *GCLOUD)), "AWS_ENDPOINT_URL": "https://x", "AWS_SECRET_ACCESS_KEY": "x",
        "KUBECONFIG": "/h/.kube/config:/k/b", "CLOUDSDK_API_ENDPOINT_OVERRIDES_RUN": "https://x",
    }  # fmt: skip
    found = environment_of(given, {}, home="/h", search_path=("/usr/bin",), sockets=(), lent=lent)
    own = {name: value for name, value in found if name.startswith("CLOUDSDK_") and name not in given}
    assert dict(found) == BUILT | own | {name: given[name] for name in named}
    # It asks no other host about itself.
    assert (own.get("CLOUDSDK_CORE_ENABLE_FEATURE_FLAGS") == "false") is ("CLOUDSDK_CORE_PROJECT" in named)


def test_with_its_socket_the_agent_is_named() -> None:
    found = environment_of({"SSH_AUTH_SOCK": "/run/a"}, {}, home="/h", search_path=(), sockets=("/run/a",))
    assert dict(found)["SSH_AUTH_SOCK"] == "/run/a"


@pytest.mark.parametrize("name", SECRETS)
def test_these_look_like_login_material(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ["LANG", "KEYBOARD", "MONKEY", "AUTHOR", "JAVA_HOME"])
def test_these_do_not(name: str) -> None:
    assert not is_secret(name)


def test_what_may_be_set() -> None:
    assert [each for each in ("CI", "LD_X", "A=B", *MADE, *NEVER) if is_settable(each)] == ["CI", "LD_X"]
