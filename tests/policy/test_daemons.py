"""Calls that only look at what Docker's daemon tells are shown it; no other call is, whoever lets it run."""

from __future__ import annotations

import pytest

from gateway.model.call import RawCall
from gateway.model.plan import Endpoint
from gateway.policy.confine import Enforced, confinement, grants_of
from gateway.sandbox.network import network_of
from gateway.sandbox.profile import Profile

PROFILE = {"daemons": ["docker"]}
ALL = {"id": "all", "allow": {"effect": ["code", "env", "system", "connect", "read", "write", "opaque"]}}
USER = {"settings": {"sandbox": PROFILE}, "rules": [ALL]}


@pytest.fixture
def looks(guard):
    """What the proxy lets through of a call that policy lets run, () for nothing."""

    def look(text: str, profile=PROFILE) -> tuple[str, ...]:
        found = grants_of(guard({"user": USER}).check(RawCall("Bash", {"command": text})), profile).look
        return found.also if found is not None else ()

    return look


@pytest.mark.parametrize(
    "text",
    [
        "docker ps", "docker ps -a --filter name=web --format '{{.ID}}'", "docker images", "docker logs --tail 50 web",
        "docker version", "docker info", "docker network ls", "docker volume ls", "docker container ls",
        "docker top web", "docker inspect -f '{{.State.Status}}' web", "docker ps | grep web | head -3",
        "cd src && docker ps; ls", "docker logs web > log.txt 2>&1", "docker system df", "docker stats --no-stream",
    ],
)  # fmt: skip
def test_a_look_is_shown_by_the_clients_own_daemon(looks, text: str) -> None:
    assert looks(text) == ("docker",)
    assert looks(text, {"daemons": []}) == looks(text, {}) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("docker inspect web", ("docker", "docker-inspect")),
        ("docker ps && docker container inspect web", ("docker", "docker-inspect")),
        ("docker top web -o pid,args", ("docker", "docker-top")),
    ],
)
def test_what_shows_environments_is_let_through_where_it_was_predicted(
    looks, text: str, expected: tuple[str, ...]
) -> None:
    assert looks(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        # Changes, and code beside a look
        "docker run alpine ls", "docker exec web ls", "docker stop web", "docker cp web:/etc/shadow .", "docker rm web",
        "docker pull x", "docker push x", "docker search x", "docker login", "docker compose up", "docker build .",
        "docker ps; ./x", "docker ps | sh", "docker ps | python3 x.py", "docker ps && npm test", "docker ps; make",
        "docker ps | xargs docker rm", "docker logs web | node x.js", "docker ps; curl https://acme.example/",
        # Another daemon, or another program
        "docker -H tcp://evil.example:2375 ps", "docker --context x ps", "DOCKER_HOST=tcp://e.example:1 docker ps",
        "DOCKER_CONFIG=. docker ps", "export DOCKER_HOST=x; docker ps", "./docker ps", "podman ps", "nerdctl ps",
        "env docker ps", "sh -c 'docker ps'", "docker $X", "docker ps $(cat x)", "docker() { ./x; }; docker ps",
        "docker some-plugin", "echo docker ps", "curl --unix-socket /var/run/docker.sock http://x/containers/json",
        "docker ps 'unclosed",
    ],
)  # fmt: skip
def test_nothing_else_is_shown_what_the_daemon_tells(looks, text: str) -> None:
    assert looks(text) == ()


def test_the_network_of_a_look_is_the_daemon_alone(guard) -> None:
    verdict = guard({"user": {"settings": {"sandbox": PROFILE}}}).check(RawCall("Bash", {"command": "docker ps"}))
    grants = grants_of(verdict, PROFILE)
    network, withheld = network_of(grants, Profile(PROFILE, {}), (), (), daemon=("/run/docker.sock", ""))
    daemon = Endpoint(
        "docker.invalid", 0, "sandbox", "read", also=("docker",), socket="/run/docker.sock", told="DOCKER_HOST"
    )
    assert (network.mode, network.allow, withheld) == ("listed", (daemon,), [])
    without, withheld = network_of(grants, Profile(PROFILE, {}), (), (), daemon=("", "there is no socket"))
    assert (without.mode, withheld) == ("off", [("docker's daemon", "there is no socket")])
    said = confinement(verdict, Enforced(profile=(("daemons", ["docker"]),)))
    assert (said.network, said.hosts) == ("listed", ("docker's daemon (only read from)",))
