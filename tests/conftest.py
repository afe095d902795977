"""What all tests share: golden files, the engine in a frozen project, and the command line as a process of its own."""

from __future__ import annotations

import functools
import gc
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import fuzzing as fuzzing  # loads the profile of all properties
import pytest
import starting
from _pytest.tmpdir import tmppath_result_key
from leftovers import changed, contained_here, end_rooms, end_services, left
from patience import patience
from warmed import going_with_the_process, keep_policies, packed_once, warm
from workers import run as run_in_workers

from gateway.api.gateway import Gateway
from gateway.config import shipped
from gateway.config.layers import PolicyFile
from gateway.config.load import Options, policy_from
from gateway.config.shipped import load_tools
from gateway.core.gc_pause import keep
from gateway.core.places import Places, packaged
from gateway.host.frozen import world
from gateway.judge.policy_tests import check_examples

shipped._pack_descriptions = packed_once
TESTS = Path(__file__).parent
GOLDEN = TESTS / "golden"

# Whoever starts the tests in the background has the shell (or nohup) ignore these, also for all that they start.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)

# Compiling its modules anew is most of what a small program costs. And how streams are kept is for tests to say.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.pop("PYTHONUNBUFFERED", None)
sys.dont_write_bytecode = False


# A `python3` that is a script, which looks for the one to start, takes longer for that than programs of tests do: then
# the Python that lies under this one comes first.
_found, _under = shutil.which("python3"), Path(sys.executable).resolve().parent
if _found is not None and Path(_found).read_bytes()[:2] == b"#!" and (_under / "python3").exists():
    os.environ["PATH"] = f"{_under}{os.pathsep}{os.environ['PATH']}"


# What a machine of CI has, or `scripts/test` installs there: a test that is not run for want of it has not been run
# anywhere, and fails.
HAD_BY_CI = (
    "bubblewrap", "the extra `bashlex`",
    "namespaces do not hold", "no sandbox holds", "this system has no sandbox", "this system cannot confine",
    "git is not", "the oracle is git", "bash is not", "there is no bash", "setpriv is not", "there is no /proc here",
    "the package cryptography is not", "the package mcp is not", "an ordinary user can reach no Python",
    "the attempts are made on Linux", "Chromium is not",
)  # fmt: skip


def must_run(reason: str) -> bool:
    """Whether what a test is skipped for is no excuse in CI."""
    return reason.removeprefix("Skipped: ").startswith(HAD_BY_CI)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    report = yield
    if report.skipped and os.environ.get("CI") and isinstance(report.longrepr, tuple) and must_run(report.longrepr[2]):
        report.outcome, report.longrepr = "failed", f"{item.nodeid} must run in CI, and did not: {report.longrepr[2]}"
    return report


# What the tests of real programs get them from.
REAL = {"clients", "servers", "place"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is a thorough run's alone. And without real clients one row of each of their tables is enough to
    say that they were not there."""
    real = config.getoption("--real-clients")
    seen: set[tuple[Path, str]] = set()
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        row = (item.path, item.name.partition("[")[0])
        needed = real or "real_" not in item.path.name or REAL.isdisjoint(getattr(item, "fixturenames", ()))
        (kept if (needed or row not in seen) and not fuzzing.left_out(item) else left).append(item)
        seen.add(row)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


# Tens of thousands of collected tests are not looked through for garbage again and again, nor is what each of them
# makes as often as in a small program.
gc.disable()


def pytest_collection_finish() -> None:
    keep()
    gc.enable()
    gc.set_threshold(200_000, 20, 20)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "thorough: the test is a thorough run's alone (`fuzzing.thorough`)")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files under tests/golden anew instead of comparing with them; then read the diff",
    )
    parser.addoption(
        "--real-clients",
        metavar="DIR",
        help="run the tests with real agent clients, installed from npm below this folder if they are not there",
    )
    parser.addoption("--workers", type=int, default=0, metavar="N", help="run the tests in N processes")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    workers = min(session.config.getoption("--workers"), len(session.items))
    if workers < 2 or session.config.option.collectonly or session.testsfailed:
        return None
    run_in_workers(session, workers)
    return True


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """A new folder, in the same place for every test of this process: what is compiled goes by its place, and need not
    be compiled by each. It goes with a test that passed, and has the name of one that failed: what thousands of tests
    would leave takes minutes to remove."""
    base = tmp_path_factory.getbasetemp()
    place = base / "here"
    place.mkdir(mode=0o700)
    before = changed()
    yield place
    keep_policies()
    if changed() != before and left(("gateway-room-",)):  # perhaps another process's
        end_rooms([place])
    # `mktemp` would look through the folders of all tests before.
    named = re.sub(r"\W", "_", request.node.name)[:30] + f"-{len(_looked_through)}"
    place.rename(base / named)
    _looked_through.add(named)
    if all(request.node.stash.get(tmppath_result_key, {}).values()):
        _passed.append(base / named)
    if len(_passed) >= 200:
        _remove_passed()


# The folders of tests that have left no room.
_looked_through: set[str] = set()
# Those of tests that passed, until they are removed, many by one program.
_passed: list[Path] = []


def _remove_passed() -> None:
    subprocess.run(["rm", "-rf", *_passed], stderr=subprocess.DEVNULL, check=False)
    _passed.clear()


@pytest.fixture(scope="session", autouse=True)
def left_by_modules(tmp_path_factory: pytest.TempPathFactory):
    """Rooms and services of places that several tests share are left to nobody, either."""
    yield
    end_services(tmp_path_factory.getbasetemp())
    if left(("gateway-room-",)):
        base = tmp_path_factory.getbasetemp()
        end_rooms(each for each in base.iterdir() if each.name not in _looked_through)
    _remove_passed()


_left_before = left()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says what of the gateway's is left in the temporary folder, by these tests or by whoever ran beside them."""
    if found := left() - _left_before - going_with_the_process():
        terminalreporter.write_line(f"left in the temporary folder: {len(found)}, such as {min(found)}")


@pytest.fixture
def golden(request: pytest.FixtureRequest):
    """Compares a text with the file of that name under tests/golden, whole."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        known = path.read_text(encoding="utf-8") if path.exists() else ""
        assert text == known, f"{path} differs; `pytest --update-golden` writes it anew"

    return compare


FROZEN = {
    "home": "/home/dev",
    "root": "/home/dev/project",
    "branch": "main",
    "files": [".git/HEAD", ".git/config", "README.md", "src/a.py", "src/gen/b.py", ".env", "/home/dev/other/c.py"],
    "links": {"to-src": "/home/dev/project/src", "src/gen/to-a": "/home/dev/project/src/a.py", "loop": "loop"},
}


@pytest.fixture(scope="session")
def guard(tmp_path_factory: pytest.TempPathFactory):
    """A gateway in a frozen project, under `builtin` and what the test says of each layer: its rules in long form, or a
    whole document. No disk is looked at."""
    nowhere = "/nonexistent/gateway"
    where = Places(nowhere, nowhere, nowhere, warm(tmp_path_factory.mktemp("compiled") / "gateway"), FROZEN["home"])
    tools = load_tools(where)
    builtin = packaged("policies/builtin.yaml")

    def open_(
        layers: dict[str, Any] | None = None, *, mode: str = "", confined: bool = True, trusted: bool = True
    ) -> Gateway:
        place = world(FROZEN)
        files = [PolicyFile("builtin", builtin, Path(builtin).read_bytes(), place.root, "/")]
        for layer, given in (layers or {}).items():
            document = {"version": 1, **({"rules": given} if isinstance(given, list) else given)}
            files.append(PolicyFile(layer, f"{layer}.yaml", json.dumps(document).encode(), place.root, place.root))
        options = Options(place.root, mode=mode, root=place.root)
        loaded = policy_from(files, options, tools, place.home, trusted=trusted, verify=check_examples)
        return Gateway(
            options,
            where=where,
            confined=confined,
            host=place.host,
            environment={"PATH": "/usr/bin"},
            loaded=loaded,
            contains=contained_here,
        )

    return open_


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with a project in it that is a git repository. Shared: tests leave it as it is."""
    folder = tmp_path_factory.mktemp("user") / "home"
    project = folder / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (project / "src").mkdir()
    (project / "src" / "main.py").write_text("print()\n", encoding="utf-8")
    warm(folder.parent / "cache" / "gateway")
    return folder


@pytest.fixture(scope="session")
def command(home: Path):
    """Arguments of `starting.run` that make it run `gateway` with these words in the project of `home`."""

    def arguments(*words: str | bytes, cwd: Path | None = None, **env: str | None) -> dict[str, Any]:
        environment = {
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home.parent / "cache"),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(TESTS.parent),
            "PYTHONWARNINGS": "error",
            **env,
        }
        return {
            "args": [sys.executable, "-m", "gateway", *words],
            "cwd": cwd or home / "project",
            "env": {name: value for name, value in environment.items() if value is not None},
        }

    return arguments


@pytest.fixture(scope="session")
def gateway(command):
    """Runs `gateway` as a process; returns the finished one with its output as bytes. Keywords are the environment."""

    def run(*words: str | bytes, input: bytes | None = None, cwd: Path | None = None, **env: str | None):  # noqa: A002 - as subprocess has it
        arguments = command(*words, cwd=cwd, **env)
        stdin = {"stdin": subprocess.DEVNULL} if input is None else {"input": input}
        return starting.run(**arguments, **stdin, capture_output=True, timeout=patience(60), check=False)

    return run


@pytest.fixture(scope="session")
def in_process(command):
    """The same without a process of its own, for tests that are about what is said and done."""
    from inprocess import called

    def run(*words: str | bytes, input: bytes | None = None, cwd: Path | None = None, **env: str | None):  # noqa: A002 - as above
        arguments = command(cwd=cwd, **env)
        return called([os.fsdecode(word) for word in words], arguments["cwd"], arguments["env"], input or b"")

    return run


@pytest.fixture(scope="session")
def one_look_at_certificates():
    """Every client of HTTP reads all certificates of the system; here they share one look at them."""
    import httpcore2

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(httpcore2, "default_ssl_context", functools.cache(httpcore2.default_ssl_context))
        yield


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A project of its own on the disk, in which calls run."""
    from running import Ground

    made = Ground(tmp_path, monkeypatch)
    yield made
    made.close()
