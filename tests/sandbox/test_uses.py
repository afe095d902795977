"""Ordinary work through the whole of it: judged by a policy, planned, confined, with the toolchains of this machine."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from fuzzing import THOROUGH, thorough
from networks import egress_of

from gateway.api.executor import Executor
from gateway.api.gateway import Gateway
from gateway.config.load import Options
from gateway.sandbox.backends.spaces import Spaces
from gateway.sandbox.run import Runner

from .egress.conftest import Outside

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

POLICY = """\
version: 1
extends: [daily]
settings: {sandbox: {network: listed, hosts: [index.example]}}
rules: [{id: everything, allow: "Bash(*)"}]
"""
GIT = "git -c user.name=a -c user.email=a@b -c commit.gpgsign=false"
# Those of `LONG` take a second and more, and what they need of the sandbox is shown in every run: by javac in
# test_attempts.py, by what go needs in test_around.py.
LONG = ("go", "javac")
USES = {
    "git": f"echo a > a && git add a && {GIT} commit -qm x && git log --oneline && git switch -qc topic && git status",
    "gcc": "printf 'int main(void){return 0;}' > m.c && gcc -o m m.c && ./m",
    "cargo": "cargo init -q --vcs none --name a c && cd c && cargo build -q --offline && ./target/debug/a",
    "go": "mkdir g && cd g && printf 'package main\\nfunc main(){}\\n' > m.go && go mod init x && "
    "go build -o m . && ./m",
    "javac": "printf 'class A{public static void main(String[] a){}}' > A.java && javac A.java && java A",
    "node": 'node -e \'require("fs").writeFileSync("made", "x")\' && test -s made',
    "python3": "python3 -m venv --without-pip v && v/bin/python -c 1",
    "mktemp": "mktemp -d -p /var/tmp && mktemp && cd && touch x && test -e x",
    "make": "printf 'all: a b\\n%%:\\n\\ttouch $@\\n' > Makefile && make -s -j2 && test -e b",
}


def _tar(name: str, text: str) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text.encode()))
    return made.getvalue()


def _wheel() -> bytes:
    made = io.BytesIO()
    about = "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n"
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("thing.py", "value = 42\n")
        archive.writestr("thing-1.0.dist-info/METADATA", about)
        archive.writestr("thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("thing-1.0.dist-info/RECORD", "")
    return made.getvalue()


def _pages() -> dict[str, bytes]:
    package = _tar("package/package.json", json.dumps({"name": "thing", "version": "1.0.0"}))
    about = {
        "tarball": "http://index.example/thing.tgz",
        "integrity": "sha512-" + base64.b64encode(hashlib.sha512(package).digest()).decode(),
    }
    version = {"name": "thing", "version": "1.0.0", "dist": about}
    return {
        "/simple/thing/": b'<!DOCTYPE html><a href="/thing-1.0-py3-none-any.whl">thing-1.0-py3-none-any.whl</a>',
        "/thing-1.0-py3-none-any.whl": _wheel(),
        "/thing": json.dumps(
            {"name": "thing", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
        ).encode(),
        "/thing.tgz": package,
    }


@pytest.fixture
def index() -> Iterator[ThreadingHTTPServer]:
    pages = _pages()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = pages.get(self.path)
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/html" if self.path.startswith("/simple") else "application/json")
            self.send_header("Content-Length", str(len(found or b"")))
            self.end_headers()
            self.wfile.write(found or b"")

        def log_message(self, *_words: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def executor(tmp_path: Path, index: ThreadingHTTPServer) -> Iterator[Executor]:
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    project, policies = tmp_path / "project", tmp_path / "policies"
    for folder in (project, policies):
        folder.mkdir()
    subprocess.run(["git", "init", "-q", project], check=False)
    (policies / "user.yaml").write_text(POLICY, encoding="utf-8")
    outside = Outside()
    outside.serve("index.example", 80, ("127.0.0.1", index.server_port))
    runner = Runner(str(tmp_path / "q"), (), egress_of(outside.resolve, outside.route))
    with Executor(Gateway(Options(str(project), str(policies), root=str(project))), runner=runner) as made:
        yield made


def does(executor: Executor, text: str) -> None:
    with open(os.path.join(executor.gateway.options.cwd, "script"), "w", encoding="utf-8") as file:
        file.write(text)
    done = executor.run("sh script")
    assert (done.result.ended, done.result.status) == ("exited", 0), done.result
    assert [each for each in done.result.violations if each.certain] == []


@pytest.mark.parametrize("program", [each for each in USES if THOROUGH or each not in LONG])
def test_it_works_inside(executor: Executor, program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    if program == "cargo" and subprocess.run(["cargo", "--version"], capture_output=True, check=False).returncode:
        pytest.skip("cargo is a link to rustup, which finds no toolchain for this user")
    does(executor, USES[program])


def test_pip_installs_from_an_index_that_is_granted(executor: Executor) -> None:
    found = "import importlib.util as found, sys; sys.exit(found.find_spec('pip') is None)"
    if subprocess.run(["python3", "-c", found], capture_output=True, check=False).returncode:
        pytest.skip("pip is not installed")
    options = "-q --no-cache-dir --disable-pip-version-check --trusted-host index.example"
    does(
        executor,
        f"PIP_CONFIG_FILE=/dev/null python3 -m pip install {options} --index-url http://index.example/simple "
        "--target t thing; PYTHONPATH=t python3 -c 'import thing; assert thing.value == 42'",
    )


@thorough  # npm fetches from an index in every run in egress/test_offline.py
def test_npm_installs_from_an_index_that_is_granted(executor: Executor) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    does(
        executor,
        "npm install --no-audit --no-fund --registry http://index.example/ thing && "
        "test -s node_modules/thing/package.json",
    )
