"""A kubeconfig as kubectl reads it: where its contexts lead, and what of it runs programs."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from gateway.commands.steering.entries import NotRead
from gateway.commands.steering.kubeconfig import rows

if TYPE_CHECKING:
    from pathlib import Path

FILE = "/home/dev/.kube/config"


def read(**said: Any) -> list[tuple[str, ...]]:
    return rows([(FILE, json.dumps(said))])


def cluster(**said: Any) -> list[tuple[str, ...]]:
    return read(clusters=[{"name": "c", "cluster": said}])


def user(**said: Any) -> list[tuple[str, ...]]:
    return read(users=[{"name": "u", "user": said}])


@pytest.mark.parametrize(
    ("said", "row"),
    [
        ({"server": "https://h.example:6443"}, ("https://h.example:6443", "")),
        ({"server": "https://h.example/k8s/clusters/x"}, ("https://h.example", "")),
        ({"server": "http://[fd00::1]:80", "insecure-skip-tls-verify": True}, ("http://[fd00::1]:80", "")),
        ({"server": "https://h", "certificate-authority": "ca.pem"}, ("https://h", "", "/home/dev/.kube/ca.pem")),
        (
            {
                "server": "https://h",
                "certificate-authority-data": "x",
                "insecure-skip-tls-verify": False,
                "tls-server-name": "x",
                "disable-compression": True,
                "extensions": [],
            },
            ("https://h", ""),
        ),
        ({"server": "https://a:b@h.example"}, ("", "its cluster's address is none")),
        ({"server": "https://h.example\\@evil.example"}, ("", "its cluster's address is none")),
        ({"server": "h.example"}, ("", "its cluster's address is none")),
        ({}, ("", "its cluster's address is none")),
        (
            {"server": "https://h", "proxy-url": "http://p"},
            ("", "its cluster says `proxy-url`, which may lead elsewhere"),
        ),
        ({"server": "https://h", "later": "x"}, ("", "its cluster says `later`, which may lead elsewhere")),
    ],
)
def test_a_cluster_is_where_it_leads_or_why_nobody_can_tell(said: dict[str, Any], row: tuple[str, ...]) -> None:
    found = cluster(**said)
    assert found[-1] == ("cluster", "c", *row)
    assert found[:-1] in ([], [("unverified", "c")])


@pytest.mark.parametrize(
    ("said", "unverified"),
    [
        ({"server": "https://h.example:6443"}, False),
        ({"server": "https://h.example", "insecure-skip-tls-verify": False}, False),
        ({"server": "https://h.example", "insecure-skip-tls-verify": True}, True),
        ({"server": "https://h.example", "insecure-skip-tls-verify": "yes"}, True),
        ({"server": "http://h.example"}, True),
        ({"server": "HTTPS://h.example"}, True),
    ],
)
def test_a_cluster_that_need_not_prove_to_be_one_is_told(said: dict[str, Any], unverified: bool) -> None:
    assert (("unverified", "c") in cluster(**said)) is unverified


RUNS = "its login comes from `{}`, which may run a program"


@pytest.mark.parametrize(
    ("said", "row"),
    [
        ({"token": "not-to-be-told"}, ("",)),
        ({"client-key": "k", "client-certificate": "/c"}, ("", "/c", "/home/dev/.kube/k")),
        ({"tokenFile": "../t"}, ("", "/home/dev/t")),
        (
            {
                "client-certificate-data": "x",
                "client-key-data": "x",
                "username": "x",
                "password": "x",
                "as": "x",
                "as-uid": "x",
                "as-groups": ["x"],
                "as-user-extra": {},
                "extensions": [],
            },
            ("",),
        ),
        ({"exec": {"command": "aws"}}, (RUNS.format("exec"),)),
        ({"token": "not-to-be-told", "auth-provider": {"name": "gcp"}}, (RUNS.format("auth-provider"),)),
        ({"later": "x"}, (RUNS.format("later"),)),
    ],
)
def test_a_user_is_the_files_of_a_login_and_what_runs_for_it(said: dict[str, Any], row: tuple[str, ...]) -> None:
    found = user(**said)
    assert found == [("user", "u", *row)]
    assert "not-to-be-told" not in str(found)


@pytest.mark.parametrize(
    "text",
    [
        "clusters: x", "clusters: [x]", "clusters: [{name: a, cluster: {}, more: 1}]", "- a", "a: 1\n---\nb: 2",
        "users: [{name: a, name: b}]", "users: [{name: a, user: &x {token: b}}, {name: b, user: {<<: *x}}]", "a: [",
    ],
)  # fmt: skip
def test_what_is_no_kubeconfig_is_not_read(text: str) -> None:
    with pytest.raises(NotRead):
        rows([(FILE, text)])


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_of_several_files_the_first_that_names_something_counts_as_for_kubectl(tmp_path: Path) -> None:
    def text(server: str, current: str) -> str:
        return json.dumps({
            "clusters": [{"name": "c", "cluster": {"server": server}}], "current-context": current,
            "contexts": [{"name": name, "context": {"cluster": "c", "user": ""}} for name in ("one", "two")],
        })  # fmt: skip

    texts = [text("https://first", ""), text("https://second", "two")]
    files = [tmp_path / "a", tmp_path / "b"]
    for file, each in zip(files, texts, strict=True):
        file.write_text(each)
    told = subprocess.run(
        ["kubectl", "config", "view", "--minify", "-o", "jsonpath={.current-context} {.clusters[0].cluster.server}"],
        env={"KUBECONFIG": ":".join(map(str, files)), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin:/usr/local/bin"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = rows([(str(file), each) for file, each in zip(files, texts, strict=True)])
    current = next(row[1] for row in found if row[0] == "current")
    assert told.stdout == f"{current} {next(row[2] for row in found if row[0] == 'cluster')}" == "two https://first"
