"""What a person's own settings say of where programs connect: told only of files that no call can write."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.host.clients import client_fact, socket_of
from gateway.host.frozen import FrozenHost
from gateway.model.context import Context
from gateway.model.facts import ClientFact

HOME, ROOT = "/home/dev", "/home/dev/project"
KUBE = 'clusters: [{name: c, cluster: {server: "https://c.example"}}]\nusers: [{name: u, user: {token: secret}}]'
ROWS = (("cluster", "c", "https://c.example", ""), ("user", "u", ""))
DEFAULT = f"{HOME}/.kube/config"


def fact(name: str, contents: dict[str, str], links: dict[str, str] | None = None, **environment: str) -> ClientFact:
    world: dict[str, Any] = {"home": HOME, "root": ROOT, "files": ["x"], "contents": contents, "links": links or {}}
    host = FrozenHost(world | {"environment": environment})
    return client_fact(name, host, Context(ROOT, ROOT, HOME, (ROOT,)))


@pytest.mark.parametrize(
    ("contents", "links", "environment", "expected"),
    [
        ({DEFAULT: KUBE}, {}, {}, ClientFact("", (DEFAULT,), ROWS)),
        ({}, {}, {}, ClientFact("there is no kubeconfig")),
        ({"/k/a": KUBE}, {}, {"KUBECONFIG": "/k/a:/k/none"}, ClientFact("", ("/k/a",), ROWS)),
        ({DEFAULT: KUBE, f"{ROOT}/k": KUBE}, {}, {"KUBECONFIG": f"{ROOT}/k"}, ClientFact(f"calls may write {ROOT}/k")),
        ({DEFAULT: KUBE}, {}, {"KUBECONFIG": f"{ROOT}/none:{DEFAULT}"}, ClientFact(f"calls may write {ROOT}/none")),
        ({DEFAULT: KUBE}, {}, {"KUBECONFIG": "k"}, ClientFact("calls may write k")),
        ({f"{ROOT}/k": KUBE}, {DEFAULT: f"{ROOT}/k"}, {}, ClientFact(f"calls may write {DEFAULT}")),
        ({"/tmp/k": KUBE}, {f"{HOME}/.kube": "/tmp"}, {}, ClientFact(f"calls may write {HOME}/.kube/kuberc")),
        ({DEFAULT: "clusters: x"}, {}, {}, ClientFact("`clusters` is no list")),
        ({DEFAULT: KUBE, f"{HOME}/.kube/kuberc": "x"}, {}, {}, ClientFact("kuberc gives kubectl other options")),
        ({DEFAULT: KUBE}, {}, {"KUBERC": "/x"}, ClientFact("kuberc gives kubectl other options")),
        ({DEFAULT: f'users: [{{name: u, user: {{tokenFile: "{ROOT}/t"}}}}]'}, {}, {},
         ClientFact("", (DEFAULT,), (("user", "u", f"calls may write {ROOT}/t", f"{ROOT}/t"),))),
    ],
)  # fmt: skip
def test_a_kubeconfig_counts_where_no_call_can_write_it(
    contents: dict[str, str], links: dict[str, str], environment: dict[str, str], expected: ClientFact
) -> None:
    found = fact("kubernetes", contents, links, **environment)
    assert found == expected
    assert "secret" not in str(found)


CHOSEN = (("chosen", ""), ("region", ""))
AWS = {f"{HOME}/.aws/config": "[default]\nregion = eu-west-1\n"}


@pytest.mark.parametrize(
    ("contents", "environment", "expected"),
    [
        ({}, {}, ClientFact("", (), CHOSEN)),
        (AWS, {}, ClientFact("", (), (*CHOSEN, ("profile", "default", "eu-west-1", "")))),
        ({}, {"AWS_PROFILE": "a", "AWS_DEFAULT_REGION": "r"}, ClientFact("", (), (("chosen", "a"), ("region", "r")))),
        ({}, {"AWS_REGION": "a", "AWS_DEFAULT_REGION": "b"},
         ClientFact("AWS_REGION and AWS_DEFAULT_REGION differ")),
        ({}, {"AWS_ENDPOINT_URL": "https://x"}, ClientFact("AWS_ENDPOINT_URL is set")),
        ({}, {"AWS_CONFIG_FILE": "/x"}, ClientFact("AWS_CONFIG_FILE is set")),
        ({f"{HOME}/.aws/cli/alias": "[toplevel]\nec2 = !x"}, {}, ClientFact("aliases give its words other meanings")),
        ({f"{HOME}/.aws/models/ec2/x.json": "{}"}, {}, ClientFact(f"{HOME}/.aws/models may lead elsewhere")),
    ],
)  # fmt: skip
def test_settings_of_aws(contents: dict[str, str], environment: dict[str, str], expected: ClientFact) -> None:
    assert fact("aws", contents, **environment) == expected


@pytest.mark.parametrize(
    ("contents", "environment", "why"),
    [
        ({}, {}, ""),
        ({f"{HOME}/.config/gcloud/configurations/config_b": "[proxy]\naddress = x\n"}, {},
         "its configuration sets `proxy/address`, which may lead elsewhere or run a program"),
        ({}, {"CLOUDSDK_CONFIG": "/x"}, "CLOUDSDK_CONFIG is set"),
    ],
)  # fmt: skip
def test_configurations_of_gcloud_that_nobody_can_follow(
    contents: dict[str, str], environment: dict[str, str], why: str
) -> None:
    assert fact("gcloud", contents, **environment) == ClientFact(why)


def test_projects_and_regions_of_gcloud_are_those_of_its_configurations_and_of_the_environment() -> None:
    folder = f"{HOME}/.config/gcloud/configurations"
    contents = {f"{folder}/config_{name}": f"[core]\nproject = {name}\n" for name in "ba"}
    more = {f"{folder}/config_c": "[core]\naccount = x\n[run]\nregion = europe-west1\n"}
    found = fact("gcloud", contents | more, CLOUDSDK_CORE_PROJECT="e")
    assert found == ClientFact(
        "", (), (("project", "a"), ("project", "b"), ("region", "europe-west1"), ("project", "e"))
    )


def test_without_a_home_nobody_knows_whose_settings_hold() -> None:
    host = FrozenHost({"home": HOME, "root": ROOT, "files": []})
    assert client_fact("kubernetes", host, Context(ROOT, ROOT, "")).why == "nobody knows whose settings hold"


OF_X = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
META = f"{HOME}/.docker/contexts/meta/{OF_X}/meta.json"
MADE = '{"Endpoints": {"docker": {"Host": "%s"}}}'
CHOOSES = f"{HOME}/.docker/config.json"
USUAL = ("/var/run/docker.sock", "")


@pytest.mark.parametrize(
    ("contents", "environment", "expected"),
    [
        ({}, {}, USUAL),
        ({CHOOSES: '{"auths": {"r.example": {"auth": "c2VjcmV0"}}}'}, {}, USUAL),
        ({CHOOSES: '{"currentContext": "default"}'}, {}, USUAL), ({}, {"DOCKER_CONTEXT": "default"}, USUAL),
        ({}, {"DOCKER_HOST": "unix:///run/user/1/docker.sock"}, ("/run/user/1/docker.sock", "")),
        ({CHOOSES: '{"currentContext": "x"}', META: MADE % "unix:///d"}, {}, ("/d", "")),
        ({META: MADE % "ssh://h"}, {"DOCKER_CONTEXT": "x"}, ("", "its daemon is reached by no socket of this machine")),
        ({CHOOSES: '{"currentContext": "y"}'}, {}, ("", "its daemon is reached by no socket of this machine")),
        ({CHOOSES: '{"currentContext": 3}'}, {}, ("", "Docker's settings do not say `currentContext` by one text")),
        ({CHOOSES: "x"}, {}, ("", "no JSON")),
        ({}, {"DOCKER_HOST": "tcp://h:2375"}, ("", "its daemon is reached by no socket of this machine")),
        ({}, {"DOCKER_HOST": "unix://d"}, ("", "its daemon is reached by no socket of this machine")),
        ({}, {"DOCKER_HOST": f"unix://{ROOT}/d"}, ("", f"calls may write {ROOT}/d")),
        ({}, {"DOCKER_HOST": "unix:///tmp/d"}, ("", "calls may write /tmp/d")),
        ({}, {"DOCKER_CONFIG": "/x"}, ("", "DOCKER_CONFIG is set")),
    ],
)  # fmt: skip
def test_dockers_socket_is_the_one_that_its_client_would_take(
    contents: dict[str, str], environment: dict[str, str], expected: tuple[str, str]
) -> None:
    world: dict[str, Any] = {
        "home": HOME,
        "root": ROOT,
        "files": ["x"],
        "contents": contents,
        "environment": environment,
    }
    assert socket_of("docker", FrozenHost(world), Context(ROOT, ROOT, HOME, (ROOT,))) == expected


PERSONS = f"{HOME}/.gitconfig"


@pytest.mark.parametrize(
    ("contents", "environment", "expected"),
    [
        ({}, {}, ClientFact()),
        ({PERSONS: "[alias]\n st = status\n[user]\n name = Ann"}, {}, ClientFact("", (), (("alias", "st"),))),
        ({PERSONS: '[alias "Undo"]\n command = !x'}, {}, ClientFact("", (), (("alias", "undo"),))),
        ({PERSONS: "[include]\n path = /etc/more", "/etc/more": "[alias]\n A = b"}, {},
         ClientFact("", (), (("alias", "a"),))),
        ({PERSONS: f"[include]\n path = {ROOT}/more"}, {},
         ClientFact(f"{PERSONS} includes {ROOT}/more, which calls may write")),
        ({"/etc/gitconfig": "[alias]\n a = b"}, {}, ClientFact("", (), (("alias", "a"),))),
        ({f"{ROOT}/.git/HEAD": "x", f"{ROOT}/.git/config": "[alias]\n a = b"}, {},
         ClientFact("", (), (("alias", "a"),))),
        ({PERSONS: "[help]\n autocorrect = 10"}, {}, ClientFact("", (), (("alias", "*"),))),
        ({PERSONS: "[help]" + "".join(f"\n autocorrect = {no}" for no in ("never", "0", "false", "no", "Off", "show"))},
         {}, ClientFact()),
        ({PERSONS: "[extensions]\n worktreeConfig = no"}, {}, ClientFact()),
        ({PERSONS: "[extensions]\n worktreeConfig"}, {}, ClientFact("", (), (("alias", "*"),))),
        ({PERSONS: '[git-extras "create-branch"]\n remote = x'}, {},
         ClientFact("", (), (("alias", "create-branch"), ("alias", "feature")))),
        ({PERSONS: "[git-extras]\n default-branch = x"}, {}, ClientFact()),
        ({PERSONS: '[gitflow "path"]\n hooks = /x'}, {}, ClientFact("", (), (("alias", "flow"),))),
        ({f"{HOME}/.gitflow_export": "x"}, {}, ClientFact("", (), (("alias", "flow"),))),
        ({}, {"GIT_EXEC_PATH": "/x"}, ClientFact("GIT_EXEC_PATH is set")),
        ({PERSONS: "[alias"}, {}, ClientFact(f"{PERSONS} is not understood as git's settings")),
    ],
)  # fmt: skip
def test_names_that_settings_of_git_give_other_meanings_are_told(
    contents: dict[str, str], environment: dict[str, str], expected: ClientFact
) -> None:
    assert fact("git", contents, **environment) == expected
