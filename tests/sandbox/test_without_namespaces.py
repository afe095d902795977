"""A host that refuses namespaces, from the choice of a backend to the end of a call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.sandbox.backends.landlock import Landlock

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or Landlock().abi() < 6, reason="this kernel has no Landlock of version 6"
)

HERE = Path(__file__).parent
SCRIPT = """
import json, os, sys
from gateway.model.limits import Limits
from gateway.model.plan import READ, WRITE, Mount, Network, SandboxPlan
from gateway.sandbox.base import SandboxError, Streams
from gateway.sandbox.backends.choose import choose
ws, weaker = sys.argv[1], tuple(sys.argv[2:])
system = sorted({os.path.realpath(each) for each in ("/bin", "/lib", "/lib64", "/usr") if os.path.isdir(each)})
mounts = tuple(sorted([*(Mount(each, READ) for each in system), Mount(ws, WRITE)]))
links = tuple((f"/{each}", os.readlink(f"/{each}")) for each in ("bin", "lib", "lib64") if os.path.islink(f"/{each}"))
plan = SandboxPlan(mounts, links, ("/tmp",), ws, (("PATH", "/usr/bin:/bin"),), Network(), Limits(), weaker=weaker)
try:
    choice = choose(plan)
except SandboxError as error:
    print(json.dumps({"refused": error.reason}))
    sys.exit()
nowhere = os.open(os.devnull, os.O_RDWR)
streams = Streams(nowhere, nowhere, nowhere)
running = choice.backend.start(plan, ["sh", "-c", "echo inside > in; echo outside > ../out; test -e in"], streams)
running.release()
status = running.wait()
running.close()
print(json.dumps({"backend": choice.backend.name, "status": status, "passed": [each.name for each in choice.passed]}))
"""


def answer(tmp_path: Path, *weaker: str, namespaces: bool) -> dict[str, object]:
    """What the script says where namespaces are refused, or are not."""
    ws = tmp_path / "ws"
    ws.mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), *sys.path]),
    }
    command = [sys.executable, "-c", SCRIPT, str(ws), *weaker]
    if not namespaces:
        command = [sys.executable, str(HERE / "container.py"), *command]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert not (tmp_path / "out").exists()
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_the_fallback_is_chosen_and_holds(tmp_path: Path) -> None:
    assert answer(tmp_path, "landlock", namespaces=False) == {
        "backend": "landlock",
        "status": 0,
        "passed": ["namespaces", "bubblewrap"],
    }
    assert (tmp_path / "ws" / "in").read_text() == "inside\n"


def test_without_leave_for_it_nothing_runs(tmp_path: Path) -> None:
    refused = str(answer(tmp_path, namespaces=False)["refused"])
    assert refused.startswith("no sandbox can hold this call, so it does not run (namespaces: ")
    assert "landlock: policy does not permit the weaker form `landlock`" in refused
    assert not (tmp_path / "ws" / "in").exists()


def test_with_namespaces_the_better_one_is_chosen(tmp_path: Path) -> None:
    from gateway.sandbox.backends.spaces import Spaces

    probe = Spaces().probe()
    if not probe.works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    assert answer(tmp_path, "landlock", namespaces=True) == {"backend": "namespaces", "status": 0, "passed": []}
