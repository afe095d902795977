"""Each client reads through a host that may only be read from as it does without, by what it trusts; and where it
trusts none of it, the call is told so in one sentence, however the client ended its handshake."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fuzzing import THOROUGH
from networks import egress_of

from gateway.model.plan import Endpoint, Network
from gateway.sandbox.egress import authority, surroundings
from gateway.sandbox.egress.authority import Authority

from .conftest import Sandbox
from .real_clients import BUNDLE, CLIENTS, STORE, Client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateway.model.result import Violation
    from gateway.sandbox.egress.service import Egress

    from .conftest import Outside

pytestmark = [
    pytest.mark.usefixtures("can_confine"),
    pytest.mark.skipif(not authority.available(), reason="the package cryptography is not installed"),
]
FULL = Network("listed", (Endpoint("good.example", 0, "full"),))
# The rest of the line is what the usual run has time for.
USUAL = ("curl", "wget")
# Run after the client: its status, then each file that it left in its folder.
TREE = """
mkdir -p /tmp/home /tmp/tree && cd /tmp/tree && export HOME=/tmp/home
({script}
) 2>/tmp/said; printf '\nstatus %s\n' $?; tail -c 3000 /tmp/said >&2
find . -type f ! -path '*/.git/*' | LC_ALL=C sort | grep -vE '{differ}' | xargs -r -d '\\n' sha256sum
"""
# Files in which clients write down when, or by what name they were called.
DIFFER = r"/(\.package-lock\.json|\.modules\.yaml|\.pnpm-workspace-state.*|\.yarn-state\.yml|installed\..*|pkgcache.*)$"


class Trusting:
    """An egress whose calls trust what they are told here, in place of what it would tell them."""

    def __init__(self, egress: Egress, certificates: bytes, by: tuple[str, ...] | None) -> None:
        """`by`: what is told of the certificates (a variable, BUNDLE, STORE); None for everything."""
        self._egress, self._certificates, self._by = egress, certificates, by
        self.attach = egress.attach

    def environment(self, network: Network) -> tuple[tuple[str, str], ...]:
        told = surroundings.variables(network, True)
        kept = self._by if self._by is not None else tuple(name for name, _value in told)
        return tuple((name, value) for name, value in told if value != surroundings.CERTIFICATES or name in kept)

    def files(self, network: Network) -> tuple[tuple[str, bytes], ...]:
        found = surroundings.files(network, self._certificates)
        plain = {path for path, _content in surroundings.files(network, b"")} | {surroundings.CERTIFICATES}
        stores = set(surroundings.java_stores())
        if self._by is None:
            return found
        return tuple(
            (path, content) for path, content in found
            if path in plain or (STORE if path in stores else BUNDLE) in self._by
        )  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Authority, Path]]:
    made = Authority()
    path = tmp_path_factory.mktemp("trusted") / "trusted.pem"
    path.write_bytes(made.certificate())
    yield made, path
    made.close()


class Site:
    """The one host of a client, and its runs. `run` gives what it printed: its status and tree."""

    def __init__(self, client: Client, egress: Egress, own: bytes, folder: Path) -> None:
        self.client, self.egress, self.own, self.folder = client, egress, own, folder
        self.reads = Network("listed", (Endpoint("good.example", 0, "reads", "read", also=client.also),))

    def run(self, network: Network, certificates: bytes, by: tuple[str, ...] | None = None) -> tuple[str, Sandbox]:
        trusting = Trusting(self.egress, authority.system_bundle() + b"\n" + certificates, by)
        box = Sandbox(trusting, network, self.folder)  # type: ignore[arg-type]
        script = TREE.replace("{script}", self.client.script).replace("{differ}", DIFFER)
        # Where rustup keeps cargo is below the home of whoever runs this.
        done = box.run("sh", "-c", script, seconds=60, RUSTUP_HOME=os.path.expanduser("~/.rustup"))
        self.said = done.stderr
        return done.stdout, box

    def without(self) -> str:
        return self.run(FULL, self.own)[0]

    def read(self, by: tuple[str, ...] | None = None) -> tuple[str, Sandbox]:
        return self.run(self.reads, self.egress._authority.certificate(), by)


@pytest.fixture
def site(
    request: pytest.FixtureRequest, outside: Outside, files_of: Callable[..., tuple[str, int]], tmp_path: Path,
    server: tuple[Authority, Path],
) -> Iterator[Site]:  # fmt: skip
    client: Client = request.param
    if subprocess.run(client.has, shell=True, capture_output=True).returncode:
        pytest.skip(f"{client.name} is not installed")
    made, path = server
    (tmp_path / "made").mkdir()
    outside.serve("good.example", 443, files_of(client.made(tmp_path / "made"), made.context("good.example")))
    with egress_of(outside.resolve, outside.route, str(path)) as egress:
        yield Site(client, egress, made.certificate(), tmp_path)


def ended(printed: str) -> str:
    """The status of the client, of what its run printed."""
    found = re.search(r"^status (\d+)$", printed, re.MULTILINE)
    return found[1] if found else "none"


def met(box: Sandbox) -> list[Violation]:
    """What a client met that the host of this test is about: gcloud looks whether it runs in Google's cloud."""
    return [each for each in box.violations if each.target != "metadata.google.internal"]


TRIED = CLIENTS if THOROUGH else tuple(each for each in CLIENTS if each.name in USUAL)


@pytest.mark.parametrize("site", TRIED, indirect=True, ids=lambda each: each.name)
def test_a_client_reads_as_without_and_one_that_trusts_nothing_is_told_so_in_one_sentence(site: Site) -> None:
    found, box = site.read()
    assert (ended(found), [each.hint for each in met(box)]) == ("0", []), site.said
    assert found == site.without(), site.said
    _found, box = site.read(by=())
    if not site.client.trusts:
        assert met(box) == []
        return
    assert [(each.rule, each.target) for each in met(box)] == [("", "good.example:443")], site.said
    assert re.fullmatch(
        r"good\.example:443: this host may only be read from, and the client does not trust the certificate that "
        r"this takes \([^;]+\); do without it, or have the client trust /run/gateway-certificates\.pem, or send a "
        r"plain request for http://good\.example/ to the proxy\.",
        met(box)[0].hint,
    )


@pytest.mark.parametrize("site", TRIED if THOROUGH else TRIED[1:], indirect=True, ids=lambda each: each.name)
def test_a_client_trusts_by_each_thing_that_the_documentation_names(site: Site) -> None:
    for by in site.client.trusts:
        assert ended(site.read(by=(by,))[0]) == "0", (by, site.said)


def test_the_documentation_names_each_client_and_what_it_trusts_by() -> None:
    page = (Path(__file__).parents[3] / "docs/sandbox.md").read_text(encoding="utf-8")
    page = page.partition("| client | trusts by |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `?([\w ,`]+?)`? \| ([^|]*) \| [^|]*\d[^|]* \|$", page, re.MULTILINE)
    said = {name: tuple(re.findall(r"`([A-Z_]+)`|the (bundle|store)", trusts)) for name, trusts in rows}
    assert {name: tuple(a or b for a, b in found) for name, found in said.items()} == {
        each.name: each.trusts for each in CLIENTS
    }
