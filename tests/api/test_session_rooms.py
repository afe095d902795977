"""What the calls and tools of one session share, from the library to the kernel: files of `/tmp`, servers, and what a
rule lets be written in the real one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from sandbox.changes.worlds import tree
from warmed import warm

from gateway.api.changes import Changes
from gateway.api.executor import Executor
from gateway.api.gateway import Gateway
from gateway.calls.containing import cannot_contain
from gateway.config.load import Options
from gateway.core.places import Places
from gateway.model.call import RawCall

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gateway.calls.output import Done
    from gateway.calls.session import Session

pytestmark = pytest.mark.skipif(bool(cannot_contain()), reason="namespaces do not hold here")
POLICY = """
version: 1
extends: [daily]
settings: {mode: accept_edits}
rules:
  - {id: real, allow: Edit(/REAL*)}
"""
SERVER = """
import http.server, sys
server = http.server.HTTPServer(("127.0.0.1", 8899), http.server.SimpleHTTPRequestHandler)
open("up", "w").close()
server.serve_forever()
"""


REAL = f"/tmp/gateway-test-{os.urandom(6).hex()}"


@pytest.fixture
def real() -> Iterator[str]:
    """A name in the real temporary folder at which nothing is."""
    path = f"{REAL}-{os.getpid()}"  # one for each process, so that one policy names it in all its tests
    yield path
    for each in (path, f"{path}-d"):
        if os.path.isdir(each):
            os.rmdir(each)
        elif os.path.lexists(each):
            os.unlink(each)


@pytest.fixture
def gateway(tmp_path: Path, real: str) -> Iterator[Gateway]:
    for name in ("workspace", "home", "policies"):
        (tmp_path / name).mkdir()
    (tmp_path / "policies/user.yaml").write_text(POLICY.replace("REAL", real))
    where = Places(
        str(tmp_path / "etc"), str(tmp_path / "config"), state=str(tmp_path / "state"), cache=warm(tmp_path / "cache"),
        home=str(tmp_path / "home"),
    )  # fmt: skip
    work = str(tmp_path / "workspace")
    with Gateway(Options(work, str(tmp_path / "policies"), root=work, binding=True), where=where) as gateway:
        yield gateway


class Told:
    """A call, and what the model is told of it."""

    def __init__(self, gateway: Gateway, session: Session, tool: str, **given: object) -> None:
        self.done: Done = gateway.call(RawCall(tool, given), session=session)
        self.text = "".join(getattr(each, "text", "") for each in self.done.output.blocks)
        self.decision = self.done.verdict.decision.word


def test_tools_and_commands_of_a_session_speak_of_the_same_files_in_tmp(gateway: Gateway, tmp_path: Path) -> None:
    own = next((each.name for each in tmp_path.parents if str(each.parent) == "/tmp"), "none")
    with gateway.session() as session:
        assert Told(gateway, session, "Write", file_path="/tmp/s.py", content="print('it works')\n").decision == "allow"
        assert Told(gateway, session, "Bash", command="python3 /tmp/s.py").text.startswith("it works")
        ran = Told(
            gateway, session, "Bash", command="sed -i s/works/runs/ /tmp/s.py && echo x > /tmp/o && chmod +x /tmp/s.py"
        )
        assert "[written to the session's own temporary folder, which its commands share: " in ran.text
        assert "print('it runs')" in Told(gateway, session, "Read", file_path="/tmp/s.py").text
        assert Told(gateway, session, "Grep", pattern="runs", path="/tmp").text.splitlines()[-1] == "/tmp/s.py"
        with gateway.session() as other:
            assert Told(gateway, other, "Bash", command=f"ls -A /tmp | grep -vx {own}").text == "[Exit status 1]"
            assert not Told(gateway, other, "Read", file_path="/tmp/s.py").text.count("runs")
        place = dict(session.context.shared)["/tmp"]
        assert os.path.exists(f"{place}/s.py")
    assert not os.path.exists(place)
    assert not os.path.exists("/tmp/s.py")


def test_links_that_code_leaves_in_tmp_lead_a_tool_nowhere_unjudged(gateway: Gateway, tmp_path: Path) -> None:
    (tmp_path / "home/.ssh").mkdir()
    (tmp_path / "home/.ssh/id_rsa").write_text("secret")
    (tmp_path / "home/notes").write_text("private")
    code = "import os\n" + "".join(
        f"os.symlink({str(tmp_path / target)!r}, '/tmp/{name}')\n"
        for name, target in (("k", "home/.ssh/id_rsa"), ("n", "home/notes"))
    )
    (tmp_path / "workspace/x.py").write_text(code)
    with gateway.session() as session:
        assert Told(gateway, session, "Bash", command="python3 -S x.py").done.result.status == 0
        assert Told(gateway, session, "Read", file_path="/tmp/k").decision == "deny"
        assert Told(gateway, session, "Read", file_path="/tmp/n").decision == "ask"
        assert Told(gateway, session, "Write", file_path="/tmp/n", content="x").decision == "ask"


def test_what_lies_in_the_real_tmp_is_somebody_elses(gateway: Gateway, real: str) -> None:
    other = f"{real[:-12]}x{real[-11:]}-other"  # no name that may begin as the one that policy allows
    with open(other, "w") as file:
        file.write("not yours")
    try:
        with gateway.session() as session:
            assert Told(gateway, session, "Read", file_path=other).decision == "ask"
            assert "No such file" in Told(gateway, session, "Bash", command=f"cat {other}").text
    finally:
        os.unlink(other)


def test_a_server_of_one_call_is_reached_by_the_others_of_its_session(gateway: Gateway, tmp_path: Path) -> None:
    (tmp_path / "workspace/server.py").write_text(SERVER)
    wait = "while [ ! -e up ]; do sleep 0.05; done; "
    with gateway.session() as session, gateway.session() as other:
        started = Told(gateway, session, "Bash", command="python3 server.py", run_in_background=True)
        assert started.decision == "allow"
        reached = Told(
            gateway, session, "Bash", command=wait + "curl -sS -o page http://localhost:8899/ && wc -l < page"
        )
        assert (reached.decision, reached.done.result.status) == ("allow", 0)
        refused = Told(gateway, other, "Bash", command="curl -sS http://127.0.0.1:8899/")
        assert (refused.decision, refused.done.result.status) == ("allow", 7)


def test_code_that_writes_where_all_is_gone_is_told_of(gateway: Gateway, tmp_path: Path) -> None:
    code = "import os; open(os.path.expanduser('~/out.txt'), 'w').write('x'); open(os.path.expanduser('~/.rc'), 'w')"
    (tmp_path / "workspace/x.py").write_text(code)
    with gateway.session() as session:
        told = Told(gateway, session, "Bash", command="python3 -S x.py").text
    where = f"{tmp_path}/home/out.txt"
    assert told == f"[written to folders of this call's own, gone with it: {where}; keep files in the workspace]"


def test_a_target_that_a_rule_names_is_written_in_the_real_tmp(gateway: Gateway, real: str) -> None:
    with Executor(gateway) as executor:
        executor.run(f"echo one > {real}; echo lost > /tmp/lost")
        assert not os.path.exists("/tmp/lost")
        with open(real) as file:
            assert file.read() == "one\n"
        executor.run(f"echo two >> {real}; mkdir {real}-d")
        with open(real) as file:
            assert file.read() == "one\ntwo\n"
        assert os.path.isdir(f"{real}-d")


def test_in_a_session_such_a_target_is_the_same_file_for_all_its_calls(
    gateway: Gateway, real: str, tmp_path: Path
) -> None:
    (tmp_path / "workspace/x.py").write_text(f"print(open({real!r}).read())")
    with gateway.session() as session:
        assert Told(gateway, session, "Bash", command=f"echo one > {real}").text == f"[Files changed: {real}]"
        assert Told(gateway, session, "Bash", command="python3 -S x.py").text.startswith("one")


def test_without_a_rule_the_real_tmp_is_never_written(gateway: Gateway) -> None:
    name = f"/tmp/other-{os.urandom(6).hex()}"
    with Executor(gateway) as executor:
        done = executor.run(f"echo x > {name}")
    assert (done.result.status, os.path.exists(name)) == (0, False)


WAYS = {
    "a folder": "os.symlink(work, f'{own}/l'); open(f'{own}/l/f', 'w').write('new')",
    "the file": "os.symlink(f'{work}/f', f'{own}/k'); open(f'{own}/k', 'w').write('new')",
    "a link": "os.symlink(work, f'{own}/l'); os.symlink(f'{own}/l', f'{own}/m'); open(f'{own}/m/f', 'w').write('new')",
    "a renamed link": "os.mkdir(f'{own}/d'); os.symlink(work, f'{own}/d/l'); os.rename(f'{own}/d', f'{own}/e'); "
    "open(f'{own}/e/l/f', 'w').write('new')",
    "another one of its name": "os.mkdir(f'{own}/a'); os.mkdir(f'{own}/d'); os.mkdir(f'{own}/e'); "
    "os.symlink(f'{own}/a', f'{own}/d/l'); os.symlink(work, f'{own}/e/l'); open(f'{own}/d/l/f', 'w').write('no'); "
    "os.rename(f'{own}/d', f'{own}/x'); os.rename(f'{own}/e', f'{own}/d'); open(f'{own}/d/l/f', 'w').write('new')",
    "what is not there yet": "os.symlink(f'{work}/g', f'{own}/k'); open(f'{own}/k', 'w').write('new')",
    "a relative link": "os.symlink('../' * 12 + work[1:] + '/f', f'{own}/k'); open(f'{own}/k', 'w').write('new')",
    "a second name": "os.symlink(work, f'{own}/l'); os.link(f'{own}/l/f', f'{own}/l/h'); "
    "open(f'{own}/l/h', 'w').write('new')",
    "its own folder": "os.chdir(work); open('/proc/self/cwd/f', 'w').write('new')",
    "its own folder, another spelling": "os.chdir(work); open('//proc/./self/cwd/f', 'w').write('new')",
    "a link to its own folder": "os.chdir(work); os.symlink('/proc/self/cwd', f'{own}/l'); "
    "open(f'{own}/l/f', 'w').write('new')",
    "what it has open": "d = os.open(f'{work}/f', os.O_RDONLY); open(f'/proc/self/fd/{d}', 'w').write('new')",
    "a folder that it has open": "d = os.open(work, os.O_RDONLY); open(f'/dev/fd/{d}/f', 'w').write('new')",
    "a link to what it has open": "d = os.open(f'{work}/f', os.O_RDONLY); "
    "os.symlink(f'/proc/self/fd/{d}', f'{own}/k'); open(f'{own}/k', 'w').write('new')",
    "a way up": "open('/proc/..' + work + '/f', 'w').write('new')",
    "a deletion": "os.symlink(work, f'{own}/l'); os.unlink(f'{own}/l/f')",
    "a mode": "os.symlink(f'{work}/f', f'{own}/k'); os.chmod(f'{own}/k', 0o600)",
}


@pytest.mark.parametrize(
    ("way", "own"),
    [*((way, "/tmp") for way in WAYS), ("a folder", "HOME"), ("the file", "HOME"), ("a link", "/dev/shm")],
)
def test_what_is_changed_by_way_of_a_link_elsewhere_can_be_taken_back(
    gateway: Gateway, tmp_path: Path, way: str, own: str
) -> None:
    work = tmp_path / "workspace"
    (work / "f").write_text("old")
    before = tree(work)
    start = f"import os; work = {str(work)!r}; own = os.path.expanduser({own.replace('HOME', '~')!r}); "
    (work / "x.py").write_text(start + WAYS[way])
    with gateway.session() as session:
        ran = Told(gateway, session, "Bash", command="python3 -S x.py")
        assert (ran.done.result.status, ran.done.verdict.changes, tree(work) == before) == (0, "keep", False)
    (work / "x.py").unlink()
    assert Changes(gateway).undo(1).stays == {}
    assert tree(work) == before


def test_what_is_changed_by_way_of_another_process_is_not_changed(gateway: Gateway, tmp_path: Path) -> None:
    """Nobody outside can tell which process a number inside is; the twin reads by that way."""
    work = tmp_path / "workspace"
    (work / "f").write_text("old")
    way = "way = f'/proc/{os.getppid()}/cwd/f'; print(open(way).read())\nopen(way, 'w').write('new')"
    (work / "x.py").write_text(f"import os\nif os.fork(): os.wait()\nelse:\n  {way}".replace("\nopen", "\n  open"))
    with gateway.session() as session:
        ran = Told(gateway, session, "Bash", command="python3 -S x.py")
    assert (work / "f").read_text() == "old"
    assert "old" in ran.text
    assert "Operation not permitted" in ran.text
