"""The folder tree that a command runs in: a home with planted secrets and a project that is a real git repository.

It holds what `tests/worlds/project.yaml` says, so that the lines of the corpus mean something, with contents that
programs can work on. Nothing in it is real.
"""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path

import yaml

HOME = "/home/dev"
ROOT = f"{HOME}/project"
TEMP = "/tmp"
WORLD = Path(__file__).parents[1] / "worlds" / "project.yaml"
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nplanted\n-----END OPENSSH PRIVATE KEY-----\n"

CONTENTS = {
    "README.md": "# Project\n\nTODO: write more.\nfoo bar x\n",
    "Makefile": "all:\n\t@echo made\ntest:\n\t@echo tested\nclean:\n\trm -rf build\n",
    "package.json": '{"name": "project", "version": "1.0.0", "scripts": {"test": "echo tested"}}\n',
    "package-lock.json": '{"name": "project", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": {}}}\n',
    "pyproject.toml": '[project]\nname = "project"\nversion = "1.0"\n',
    "Cargo.toml": '[package]\nname = "project"\nversion = "1.0.0"\nedition = "2021"\n',
    "go.mod": "module example.com/project\n\ngo 1.20\n",
    "f": "one x 1\ntwo y 2\nthree z 3\n",
    "x": "x 1\nrm -i\n",
    "y": "y 2\n",
    "a file.txt": "blanks\n",
    "notes.txt": "note TODO\n",
    "todo.txt": "todo\n",
    "analysis.ipynb": '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}\n',
    "src/main.py": "import os\n\n\ndef main():\n    # TODO: more\n    print('x')\n\n\nmain()\n",
    "src/app.ts": "export const x: number = 1;\n",
    "src/lib.rs": "pub fn x() -> i32 { 1 }\n",
    "src/util/strings.py": "X = 'x'\n",
    "src/main.c": "int main(void) { return 0; }\n",
    "data/users.csv": "name,age\nann,30\nbob,25\n",
    "config/app.yaml": "debug: true\nname: app\n",
    "scripts/build.sh": "#!/bin/sh\necho built\n",
    "scripts/deploy.sh": "#!/bin/sh\necho deployed\n",
    "node_modules/left-pad/index.js": "module.exports = 1;\n",
    "build/app.js": "console.log(1);\n",
    ".gitignore": "build/\nnode_modules/\n.env*\n",
    ".env": "TOKEN=planted\n",
    ".npmrc": "//registry.example.com/:_authToken=planted\n",
    ".mcp.json": '{"mcpServers": {}}\n',
    ".claude/settings.json": "{}\n",
    ".vscode/tasks.json": "{}\n",
    ".gateway/policy.yaml": "version: 1\n",
    f"{HOME}/.gitconfig": "[user]\n\tname = Dev\n\temail = dev@example.com\n",
    f"{HOME}/.ssh/id_rsa": KEY,
    f"{HOME}/.ssh/config": "Host *\n",
    f"{HOME}/.netrc": "machine example.com login dev password planted\n",
    f"{HOME}/.aws/credentials": "[default]\naws_access_key_id = planted\naws_secret_access_key = planted\n",
    f"{HOME}/.kube/config": "apiVersion: v1\nkind: Config\n",
    f"{HOME}/.bashrc": "# nothing\n",
    f"{TEMP}/x": "x\n",
}
EXECUTABLE = ("scripts/build.sh", "scripts/deploy.sh")
IDENTITY = {
    "GIT_AUTHOR_NAME": "Dev", "GIT_AUTHOR_EMAIL": "dev@example.com", "GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "Dev", "GIT_COMMITTER_EMAIL": "dev@example.com", "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z",
    "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C",
}  # fmt: skip


def plant(folder: str) -> None:
    """Makes the tree below a new folder: `home` (to be seen at `HOME`) and `tmp` (at `TEMP`)."""
    world = yaml.safe_load(WORLD.read_text(encoding="utf-8"))
    for sub in ("home/project", "tmp"):
        os.makedirs(f"{folder}/{sub}")
    contents = {name: "text x\n" for name in world["files"] if ".git/" not in name} | CONTENTS
    for name, text in contents.items():
        if place := _place(folder, name):
            os.makedirs(os.path.dirname(place), exist_ok=True)
            Path(place).write_text(text, encoding="utf-8")
    for name in EXECUTABLE:
        os.chmod(_place(folder, name), 0o755)
    os.chmod(_place(folder, f"{HOME}/.ssh"), 0o700)
    os.chmod(_place(folder, f"{HOME}/.ssh/id_rsa"), 0o600)
    _archives(f"{folder}/home/project")
    for link, target in world["links"].items():
        os.symlink(target, _place(folder, link))
    _repository(f"{folder}/home/project", world)
    other = f"{folder}/home/other"
    _git(other, "init", "-q", "-b", "main")


def _place(folder: str, name: str) -> str:
    """Where a file of the world lies below the folder, "" for what is the system's."""
    path = os.path.join(ROOT, name)
    if path.startswith(HOME + "/"):
        return f"{folder}/home{path[len(HOME) :]}"
    if path.startswith(TEMP + "/"):
        return f"{folder}/tmp{path[len(TEMP) :]}"
    return ""


def _archives(project: str) -> None:
    stamp = 1_700_000_000
    with tarfile.open(f"{project}/a.tar.gz", "w:gz") as archive, zipfile.ZipFile(f"{project}/a.zip", "w") as packed:
        for name, text in (("inside/one.txt", b"one\n"), ("inside/two.txt", b"two\n")):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(text), stamp
            archive.addfile(entry, io.BytesIO(text))
            packed.writestr(zipfile.ZipInfo(name), text)
    with tarfile.open(f"{project}/a.tar", "w") as archive:
        archive.add(f"{project}/src", "src")
    Path(f"{project}/f.gz").write_bytes(gzip.compress(b"packed\n", mtime=stamp))
    Path(f"{project}/a.gz").write_bytes(gzip.compress(b"packed\n", mtime=stamp))


def _repository(project: str, world: dict[str, dict[str, str]]) -> None:
    _git(project, "init", "-q", "-b", "main")
    for name, url in world["remotes"].items():
        _git(project, "remote", "add", name, url)
    _git(project, "add", "-A")
    _git(project, "commit", "-q", "-m", "first")
    Path(f"{project}/README.md").write_text(CONTENTS["README.md"] + "changed\n", encoding="utf-8")
    _git(project, "branch", "topic")
    _git(project, "tag", "v1")
    os.makedirs(f"{project}/.git/hooks", exist_ok=True)
    Path(f"{project}/.git/hooks/pre-commit.sample").write_text("#!/bin/sh\n", encoding="utf-8")


def _git(folder: str, *words: str) -> None:
    subprocess.run(
        ["git", *words],
        cwd=folder,
        env={**IDENTITY, "PATH": os.environ.get("PATH", os.defpath), "HOME": folder},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
