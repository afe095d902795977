"""A repository on disk and the home of its person, with git run in it as the oracle."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from gateway.host.machine import Machine
from gateway.host.repository import git_fact
from gateway.model.context import Context

if TYPE_CHECKING:
    from pathlib import Path


# What the machine's own settings say is no part of a test: many have those of git-lfs.
OF_THE_MACHINE = {"GIT_CONFIG_SYSTEM": "/nonexistent/gitconfig"}


def machine() -> Machine:
    """This one, without settings of git for all its users."""
    return Machine({**os.environ, **OF_THE_MACHINE})


class Place(NamedTuple):
    root: Path
    home: Path

    def git(self, *words: str, folder: str = ".") -> subprocess.CompletedProcess[bytes]:
        environment = {
            "HOME": str(self.home), "PATH": os.environ["PATH"], "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t",
            "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t", "GIT_TERMINAL_PROMPT": "0", **OF_THE_MACHINE,
        }  # fmt: skip
        return subprocess.run(
            ["git", *words], cwd=self.root / folder, env=environment, capture_output=True,
            input=b"protocol=https\nhost=h\n\n", timeout=60, check=False,
        )  # fmt: skip

    def fact(self, folder: str = "."):
        root = str(self.root)
        context = Context(root, root, str(self.home), (root,))
        return git_fact(os.path.normpath(f"{root}/{folder}"), machine(), context)

    def write(self, name: str, text: str, *, runs: bool = False) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if runs:
            path.chmod(0o755)

    @property
    def is_marked(self) -> bool:
        return (self.root / "mark").exists() or (self.root / "sub" / "mark").exists()
