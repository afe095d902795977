"""The environment of a confined call."""

# ruff: noqa: E501  one case a line

from __future__ import annotations

from typing import Any

import pytest

from gateway.policy.variables import environment_of, is_secret, is_settable

BUILT = {"HOME": "/h", "LANG": "C.UTF-8", "PATH": "/usr/bin", "TMPDIR": "/tmp"}
CASES: dict[str, tuple[dict[str, str], dict[str, Any], dict[str, str]]] = {
    "nothing is passed on by itself": ({"FOO": "1", "HOME": "/x", "PATH": "/y", "TMPDIR": "/z"}, {}, {}),
    "what every program may know is": ({"LANG": "de", "LC_TIME": "en", "TERM": "x"}, {}, {"LANG": "de", "LC_TIME": "en", "TERM": "x"}),
    "globs name more": ({"GO_A": "1", "GOX": "2"}, {"env": ["GO_*"]}, {"GO_A": "1"}),
    "a glob passes no secrets": ({"A_TOKEN": "1", "A_KEY": "2", "A": "3"}, {"env": ["A*"]}, {"A": "3"}),
    "a glob passes no URL with a password": ({"A_URL": "postgres://me:pw@host/db", "B_URL": "https://host/"}, {"env": ["*_URL"]}, {"B_URL": "https://host/"}),
    "exactly named, a secret is passed on": ({"A_TOKEN": "1"}, {"env": ["A_TOKEN"]}, {"A_TOKEN": "1"}),
    "a glob passes nothing that makes programs load something": ({"LD_PRELOAD": "x", "NODE_OPTIONS": "-r x"}, {"env": ["*"]}, {}),
    "what bash would obey is never passed on": ({"BASH_ENV": "x", "ENV": "y", "BASH_FUNC_ls%%": "z"}, {"env": ["BASH_ENV", "ENV", "*"]}, {}),
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
        (("/h/.aws",), {"AWS_PROFILE"}),
        (("/h/.kube/config", "/k/b"), {"KUBECONFIG"}),
        (("/h/.kube/config",), set()),  # kubectl would read another cluster's
        (("/h/.config/gcloud",), {"CLOUDSDK_CORE_PROJECT"}),
        (("/h/.config/gcloud/x",), set()),
    ],
)
def test_with_a_login_go_the_variables_that_choose_it(lent: tuple[str, ...], named: set[str]) -> None:
    given = {
        "AWS_PROFILE": "dev", "AWS_ENDPOINT_URL": "https://x", "AWS_SECRET_ACCESS_KEY": "x", "CLOUDSDK_CORE_PROJECT": "p",
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


@pytest.mark.parametrize(
    "name", ["GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "API_KEY", "npm_config__auth_token"]
)
def test_these_look_like_login_material(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ["LANG", "KEYBOARD", "MONKEY", "AUTHOR", "JAVA_HOME"])
def test_these_do_not(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize(("name", "expected"), [("CI", True), ("PATH", False), ("BASH_ENV", False), ("A=B", False)])
def test_what_may_be_set(name: str, expected: bool) -> None:
    assert is_settable(name) is expected
