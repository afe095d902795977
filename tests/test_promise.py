"""What runs without a question can do no more than the analysis predicted, even where the analysis is wrong.

Descriptions of programs are made wrong on purpose. The call is allowed, because it seems harmless; then the kernel
stops what was not predicted, and the result says so. The twin runs the same call under the same wrong description with
the backend `none`, which the user's layer names: there the harm is done.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from warmed import warm

from gateway.api.executor import Executor
from gateway.api.gateway import Gateway
from gateway.config.load import Options
from gateway.core.value import Value
from gateway.model.decision import Decision
from gateway.sandbox.backends.bubblewrap import Bubblewrap
from gateway.sandbox.backends.landlock import Landlock
from gateway.sandbox.backends.spaces import Spaces
from gateway.sandbox.backends.unconfined import Unconfined
from gateway.sandbox.run import Runner
from gateway.spec.commands import compile_description

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel that stops it is Linux")
SECRET = "for-nobody-inside"


class Lie(Value):
    """`program` is described as `says`; `text` is the call. `harm`: what shows that more was done than that, a file
    that must hold other content then, or "" when it is the output or the server outside that shows it. `told`: kind
    and target of the violation, with `.` for the workspace."""

    program: str
    says: str
    text: str
    harm: str
    told: tuple[str, str]


READS = "operands: [{kind: path, does: read, rest: true}]"
LISTS = "operands: [{kind: path, does: list, rest: true}]"
NOTHING = "operands: [{kind: text, rest: true}]"
_FETCH = "import os, socket; socket.create_connection((os.environ['ADDRESS'], int(os.environ['PORT'])), 5)"
_WRITE = "open('kept', 'w').write('harmed')"
LIES = {
    "a writer that only reads": Lie("tee", READS, "tee kept", "kept", ("write", "./kept")),
    "a maker of files that only reads": Lie("touch", READS, "touch new", "new", ("write", "./new")),
    "a mover that only lists": Lie("mv", LISTS, "mv kept moved", "kept", ("write", "./kept")),
    "a copier that only reads": Lie("cp", READS, "cp other kept", "kept", ("write", "./kept")),
    "a remover that only lists": Lie("rm", LISTS, "rm -f kept", "kept", ("write", "./kept")),
    "a writer beyond what it says": Lie(
        "sort", "values: -o\n" + READS, "sort -o kept other", "kept", ("write", "./kept")
    ),
    "a reader of secrets that reads nothing": Lie("cat", NOTHING, "cat .env", "", ("read", "./.env")),
    "a reader elsewhere that reads nothing": Lie("head", NOTHING, "head ../beside", "", ("read", "../beside")),
    "a network program that is local": Lie(
        "python3", f"values: -c\n{NOTHING}", f'python3 -c "{_FETCH}"', "", ("net", "network")
    ),
    "code that only prints": Lie(
        "python3", f"values: -c\n{NOTHING}", f'python3 -c "{_WRITE}"', "kept", ("write", "./kept")
    ),
}


class Place:
    """A project with a secret in it, something beside it, and a server outside that counts who comes."""

    def __init__(self, top: Path, listener: socket.socket) -> None:
        self.project = top / "project"
        self.project.mkdir()
        self.files = {"kept": "as it was", "other": "harmed", ".env": SECRET}
        for name, text in self.files.items():
            (self.project / name).write_text(text, encoding="utf-8")
        beside = top / "beside"
        beside.write_text(SECRET, encoding="utf-8")
        self.visitors: list[object] = []
        self.policies = top / "policies"
        self.policies.mkdir()
        self.environment = {"PORT": str(listener.getsockname()[1]), "ADDRESS": own_address()}
        threading.Thread(target=self._receive, args=(listener,), daemon=True).start()

    def _receive(self, listener: socket.socket) -> None:
        try:
            while True:
                connection, address = listener.accept()
                self.visitors.append(address)
                connection.close()
        except OSError:
            return

    def harmed(self, lie: Lie, output: bytes) -> bool:
        """Whether the call did what was not predicted."""
        if lie.harm:
            path = self.project / lie.harm
            return (path.read_text("utf-8") if path.exists() else None) != self.files.get(lie.harm)
        return SECRET.encode() in output or bool(self.visitors)

    def gateway(self, lie: Lie | None = None, weaker: str = "") -> Gateway:
        """One that believes the lie."""
        (self.policies / "user.yaml").write_text(
            f"version: 1\nextends: [guard]\nsettings:\n  sandbox: {{env: [PORT, ADDRESS]{weaker}}}\n", encoding="utf-8"
        )
        made = Gateway(Options(str(self.project), str(self.policies), root=str(self.project), binding=True))
        if lie is None:
            return made
        text = f"names: [{lie.program}]\nclasses: [read]\nflags: -f\n{lie.says}\n"
        wrong, right = compile_description(text, "wrong.yaml"), made.describe
        made.describe = lambda name: wrong if name == lie.program else right(name)
        made._pipeline = made._new_pipeline()
        return made


def own_address() -> str:
    """An address of this machine that is not its loopback, "" if it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trial:
        try:
            trial.connect(("192.0.2.1", 9))
        except OSError:
            return ""
        return str(trial.getsockname()[0])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    warm(home / ".cache" / "gateway")
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    with socket.create_server(("0.0.0.0", 0)) as listener:
        made = Place(tmp_path, listener)
        for name, value in made.environment.items():
            monkeypatch.setenv(name, value)
        yield made
        listener.shutdown(socket.SHUT_RDWR)


BACKENDS: dict[str, tuple[Callable[[], Spaces | Bubblewrap | Landlock], str]] = {
    "namespaces": (Spaces, ""),
    "bubblewrap": (Bubblewrap, ""),
    "landlock": (Landlock, ", weaker: [landlock]"),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
@pytest.mark.parametrize("name", BACKENDS)
def test_the_kernel_stops_what_was_not_predicted_and_the_record_says_so(here: Place, name: str, lie: Lie) -> None:
    backend, weaker = BACKENDS[name][0](), BACKENDS[name][1]
    probe = backend.probe()
    if not probe.works:
        pytest.skip(f"{name} does not hold here: {probe.reason}")
    if lie.program == "python3" and not here.environment["ADDRESS"]:
        pytest.skip("this machine has no address but its loopback")
    with Executor(here.gateway(lie, weaker), runner=Runner(str(here.project.parent / "q"), (backend,))) as executor:
        done = executor.run(lie.text)
    assert (done.verdict.decision, done.result.backend) == (Decision.ALLOW, name), done
    assert done.verdict.reason.rule.id in ("mode:default", "level:read")
    assert done.result.status != 0, done.result
    assert not here.harmed(lie, done.result.stdout)
    kind, target = lie.told
    target = os.path.normpath(f"{here.project}/{target}") if "/" in target else target
    assert (kind, target) in {(each.kind, each.target) for each in done.result.violations}, done.result


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_without_confinement_the_same_call_does_harm(here: Place, lie: Lie) -> None:
    if lie.program == "python3" and not here.environment["ADDRESS"]:
        pytest.skip("this machine has no address but its loopback")
    gateway = here.gateway(lie, ", weaker: [none]")
    with Executor(gateway, runner=Runner(str(here.project.parent / "q"), (Unconfined(),))) as executor:
        done = executor.run(lie.text)
    assert (done.verdict.decision, done.result.backend, done.result.status) == (Decision.ALLOW, "none", 0), done
    assert here.harmed(lie, done.result.stdout)


# What lies in /tmp counts as the call's own, so for this one the truth depends on where the tests run.
PLAIN = {name: lie for name, lie in LIES.items() if "elsewhere" not in name}


@pytest.mark.parametrize("lie", PLAIN.values(), ids=PLAIN)
def test_with_the_truth_the_same_call_is_not_simply_allowed(here: Place, lie: Lie) -> None:
    with Executor(here.gateway()) as executor:
        done = executor.run(lie.text)
    assert done.verdict.decision is not Decision.ALLOW, done.verdict
    assert not here.harmed(lie, done.result.stdout)
    assert done.result.ended == "refused"


def test_what_ran_is_what_was_judged(here: Place) -> None:
    probe = Spaces().probe()
    if not probe.works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")
    lie = LIES["a writer that only reads"]
    with Executor(here.gateway(lie)) as executor:
        done = executor.run("echo one; echo 'two  three'\necho $((1 + 1))")
    same = subprocess.run(
        ["bash", "-c", "echo one; echo 'two  three'\necho $((1 + 1))"], capture_output=True, check=True
    )
    assert (done.result.stdout, done.result.status) == (same.stdout, 0)
    assert os.path.isdir(here.project)
