"""Files that somebody else may have made anything of are read without waiting."""

from __future__ import annotations

import ast
import os
import re
import socket
from pathlib import Path

import pytest

from gateway.core.plain_files import NotPlainError, open_plain

PACKAGE = Path(__file__).parents[2] / "gateway"
# Modules that open by the built-in function, each only what no call may write: files of the gateway's own state, of its
# package and of the kernel; what the person names on the command line; and what they have opened themselves before.
OPENING = {
    "agent/transcript.py", "approval/page_wire.py", "audit/files.py", "calls/fetching.py", "config/prebuilt.py",
    "config/wheel.py", "frontends/batch.py", "frontends/cli/changes.py", "frontends/cli/commands.py",
    "frontends/cli/exec.py", "frontends/cli/new.py", "frontends/cli/policy.py", "frontends/cli/policy_export.py",
    "frontends/cli/replay.py", "frontends/console/files.py", "frontends/console_sources.py",
    "frontends/doctor_contained.py", "frontends/doctor_installation.py", "frontends/workers.py", "install/live.py",
    "install/own_copy.py", "replay/columns.py", "replay/decisions.py", "sandbox/after/new_repositories.py",
    "sandbox/after/originals.py", "sandbox/after/quarantine.py", "sandbox/attempts.py",
    "sandbox/backends/spaces_room.py", "sandbox/backends/whole_attempts.py", "sandbox/cgroup.py",
    "sandbox/changes/keeping.py", "sandbox/changes/leaving.py", "sandbox/changes/recreated_files.py",
    "sandbox/changes/store.py", "sandbox/changes/layer_extraction.py", "sandbox/changes/undo.py",
    "sandbox/diagnosis.py", "sandbox/drafts.py", "sandbox/egress/authority.py", "sandbox/egress/inject.py",
    "sandbox/egress/surroundings.py", "sandbox/joining.py", "sandbox/launched/rootfs.py",
    "sandbox/launched/supervisor.py", "sandbox/layers.py", "sandbox/overlays.py",
    "sandbox/probe_cache.py", "sandbox/rooms.py", "sandbox/usage.py",
}  # fmt: skip


OPENS = re.compile(r"(?<![.\w])open\s*\(")  # a call by that name cannot be spelled without it


def test_a_file_is_read_and_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"said")
    (tmp_path / "link").symlink_to("file")
    found = []
    for name in ("file", "link"):
        with open_plain(str(tmp_path / name)) as file:
            found.append(file.read())
    assert found == [b"said", b"said"]


@pytest.mark.parametrize("kind", ["fifo", "folder", "socket", "device", "a link to a fifo"])
def test_anything_else_is_refused_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)  # addresses of sockets are short
    path = str(tmp_path / "x")
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        os.mkdir(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("x")
    elif kind == "device":
        path = os.devnull
    else:
        os.mkfifo("y")
        os.symlink("y", path)
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(OSError, match=r"regular|such device") as raised:
        open_plain(path)
    assert (kind == "socket" or raised.type is NotPlainError, len(os.listdir("/dev/fd"))) == (True, before)


def test_whoever_opens_by_the_builtin_function_is_known() -> None:
    found = set()
    for path in PACKAGE.rglob("*.py"):
        source = path.read_text("utf-8")
        for node in ast.walk(ast.parse(source)) if OPENS.search(source) else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open":
                first = node.args[0] if node.args else None
                text = first.values[0].value if isinstance(first, ast.JoinedStr) and first.values else first
                text = getattr(text, "value", text)
                if not (isinstance(text, str | bytes) and str(text).lstrip("b'").startswith("/proc/")):
                    found.add(str(path.relative_to(PACKAGE)))
    assert found == OPENING
