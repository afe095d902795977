"""`gateway exec` where nobody planned for it: odd workspaces and homes, full and read-only disks, names in other cases,
repositories in repositories, another user, and many calls at once. From the command line to the kernel and back."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fuzzing import THOROUGH
from inprocess import called
from warmed import warm

from gateway.api.executor import Executor
from gateway.api.gateway import Gateway
from gateway.config.load import Options
from gateway.sandbox.backends.spaces import Spaces
from gateway.sandbox.run import Runner

from .world import AS_NOBODY, NOBODY, python_for_everybody, reachable

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what holds it is Linux")
POLICY = """\
version: 1
extends: [guard]
settings: {sandbox: {write: ["./**"]}}
rules: [{id: everything, allow: "Bash(*)"}]
"""
MAIN = [sys.executable, "-c", "import sys; from gateway.frontends.main import main; sys.exit(main())"]
NOT_READY = 99  # what a preparation ends with that this machine does not let us make


class Here:
    """A folder for everything, with the policy, and the command line in a project."""

    def __init__(self, top: Path, project: Path, home: Path) -> None:
        self.top, self.project, self.home = top, project, home
        self.policies = top / "policies"
        for folder in (project, home, self.policies):
            folder.mkdir(parents=True, exist_ok=True)
        (self.policies / "user.yaml").write_text(POLICY, encoding="utf-8")
        cache = top / "cache"
        warm(cache / "gateway")
        self.environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(cache), "TOP": str(top)}
        self.environment |= {"PROJECT": str(project), "PYTHONDONTWRITEBYTECODE": "1"}
        self.environment["PYTHONPATH"] = os.pathsep.join(reachable())

    def words(self, text: str) -> list[str]:
        return [*MAIN, "exec", "--policies", str(self.policies), "-c", text]

    def run(self, text: str, *, where: Path | None = None) -> subprocess.CompletedProcess[bytes]:
        return called(self.words(text)[len(MAIN) :], where or self.project, self.environment)

    def prepared(self, script: str, text: str) -> subprocess.CompletedProcess[bytes]:
        """The same where a script, as root of a mount namespace that ends with it, has made the machine a strange one;
        `"$@"` is the call."""
        if os.geteuid() != 0:
            pytest.skip("only root can make such a place in which the mounts are root's own")
        done = subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *self.words(text)],
            cwd="/", env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False,
        )  # fmt: skip
        if done.returncode == NOT_READY or b"unshare failed" in done.stderr:
            pytest.skip(f"this machine lets us make no such place: {done.stderr.decode(errors='replace').strip()}")
        return done


@pytest.fixture(scope="module", autouse=True)
def _namespaces_hold() -> None:
    if not (probe := Spaces().probe()).works:
        pytest.skip(f"namespaces do not hold here: {probe.reason}")


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return Here(tmp_path, tmp_path / "project", tmp_path / "home")


NAMES = {
    "spaces": "a b  c",
    "ends of lines": "a\nb\n",
    "bytes that are no text": os.fsdecode(b"a\xff\xfe"),
    "what a shell would read": "$(touch x) 'a\" *",
    "a dash in front": "--bind",
    "a backslash": "a\\040b",
    "a long name": "n" * 250,
}
WORK = "set -e; test ! -e made; echo x | tee made > /dev/null; mkdir d; mv made d/made; cat d/made; grep -r hidden ."


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_the_name_of_a_workspace_may_hold_anything(tmp_path: Path, name: str) -> None:
    here = Here(tmp_path, tmp_path / name, tmp_path / "home")
    (here.project / ".env").write_text("hidden\n", encoding="ascii")
    done = here.run(WORK)
    assert (done.returncode, done.stdout, b"Permission denied" in done.stderr) == (2, b"x\n", True), done
    assert sorted(os.listdir(here.project)) == [".env", "d"]
    assert sorted(os.listdir(tmp_path)) == sorted([name, "cache", "home", "policies"])


def test_a_workspace_that_is_a_link_is_the_folder_that_it_leads_to(here: Here) -> None:
    link = here.top / "link"
    link.symlink_to(here.project)
    done = here.run("touch made && pwd -P", where=link)
    assert (done.returncode, done.stdout) == (0, f"{here.project}\n".encode()), done
    assert os.listdir(here.project) == ["made"]


# Below /tmp all would be the sandbox's own: these lie elsewhere.
ELSEWHERE = (
    "mount -t tmpfs -o size=1m none /mnt && mkdir -p /mnt/{0} /mnt/{1} || exit 99; export HOME=/mnt/{1}; cd /mnt/{0}; "
    "echo text > file; echo private > ~/letter; "
    # What no analysis sees: the home of the call is listed, and written to.
    'echo \'import os; h = os.environ["HOME"]; print(sorted(os.listdir(h))); open(h + "/gone", "w")\' > peek.py; '
)
PEEK = "python3 -I -S peek.py"
INSIDE = {
    "HOME is the workspace": ("home", "home"),
    "HOME lies in the workspace": ("project", "project/home"),
    "HOME lies deep in the workspace": ("project", "project/a/b/home"),
}


@pytest.mark.parametrize(("project", "home"), INSIDE.values(), ids=INSIDE)
def test_a_folder_that_holds_home_is_never_opened_as_a_whole(here: Here, project: str, home: str) -> None:
    script = ELSEWHERE.format(project, home)
    done = here.prepared(script + '"$@"; echo $?; ls', "touch made")
    assert (done.returncode, done.stdout.split(b"\n")[0], b"made" in done.stdout) == (0, b"126", False), done
    assert b"as a whole, which no sandbox is given" in done.stderr
    done = here.prepared(script + '"$@"; test ! -e ~/gone', f"cat file; {PEEK}")
    shown = [b"['file', 'peek.py']"] if project == home else [b"[]"]  # what the call itself names is there
    assert (done.returncode, done.stdout.split(b"\n")) == (0, [b"text", *shown, b""]), done


def test_the_gateways_own_folders_are_hidden_from_the_first_call_on(here: Here) -> None:
    done = here.prepared(ELSEWHERE.format("project", "home") + '"$@"; ls ~/.local/state', "grep -rl . ~")
    assert (done.returncode, done.stdout) == (0, b"/mnt/home/letter\ngateway\n"), done
    assert b".local/state/gateway: Permission denied" in done.stderr


def test_a_folder_beside_home_in_the_workspace_is_opened(here: Here) -> None:
    script = ELSEWHERE.format("project", "project/home") + "mkdir src; "
    done = here.prepared(script + '"$@"; ls src', f"touch src/made; {PEEK}")
    assert (done.returncode, done.stdout) == (0, b"[]\nmade\n"), done


def test_a_workspace_in_home_is_open_while_the_rest_stays_closed(here: Here) -> None:
    script = ELSEWHERE.format("home/code/project", "home")
    done = here.prepared(script + '"$@"; ls made ~', f"touch made; {PEEK}")
    assert (done.returncode, done.stdout) == (0, b"['code']\nmade\n\n/mnt/home:\ncode\nletter\n"), done


MOUNTED = 'mount -t tmpfs -o size=1m none "$PROJECT" || exit 99; cd "$PROJECT"; '


def test_a_workspace_on_another_mount_is_written(here: Here) -> None:
    done = here.prepared(MOUNTED + '"$@" && ls', "stat -f -c %T . && touch made")
    assert (done.returncode, done.stdout) == (0, b"tmpfs\nmade\n"), done
    assert os.listdir(here.project) == []


def test_a_mount_in_the_workspace_is_a_part_of_it(here: Here) -> None:
    inner = 'mkdir "$PROJECT/inner" && mount -t tmpfs -o size=1m none "$PROJECT/inner" || exit 99; cd "$PROJECT"; '
    done = here.prepared(inner + '"$@" && ls inner', "touch inner/made")
    assert (done.returncode, done.stdout) == (0, b"made\n"), done


FULL = MOUNTED + "echo x > small; head -c 2000000 /dev/zero > filler 2> /dev/null; "


def test_a_full_disk_is_told_to_the_command_and_nothing_else_breaks(here: Here) -> None:
    done = here.prepared(FULL + '"$@"; echo $?; ls', "cp filler new")
    assert (done.returncode, done.stdout) == (0, b"1\nfiller\nnew\nsmall\n"), done
    assert b"No space left on device" in done.stderr


def test_on_a_full_disk_one_can_make_room(here: Here) -> None:
    done = here.prepared(FULL + '"$@"; echo $?; ls', "rm filler && cp small new")
    assert (done.returncode, done.stdout) == (0, b"0\nnew\nsmall\n"), done


# What has an effect must be recorded before it runs, and what has none need not be.
FULL_HOME = (
    'mount -t tmpfs -o size=64k none "$HOME" || exit 99; head -c 99999 /dev/zero > "$HOME/filler" 2> /dev/null; '
)
READ_ONLY = MOUNTED + 'echo x > small; mount -o remount,bind,ro / || exit 99; touch "$TOP/x" 2> /dev/null && exit 99; '
UNRECORDED = {"a home on a full disk": FULL_HOME + 'cd "$PROJECT"; echo x > small; ', "a read-only root": READ_ONLY}


@pytest.mark.parametrize("script", UNRECORDED.values(), ids=UNRECORDED)
def test_where_nothing_can_be_kept_only_what_changes_nothing_runs(here: Here, script: str) -> None:
    done = here.prepared(script + '"$@"; echo $?', "cat small")
    assert (done.returncode, done.stdout, b"not recorded" in done.stderr) == (0, b"x\n0\n", True), done
    done = here.prepared(script + '"$@"; echo $?; test ! -e made', "touch made")
    assert (done.returncode, done.stdout, b"not be recorded" in done.stderr) == (0, b"126\n", True), done


def test_a_read_only_root_is_no_hindrance_where_home_can_be_written(here: Here) -> None:
    script = 'mount -t tmpfs -o size=1m none "$HOME" || exit 99; ' + READ_ONLY
    done = here.prepared(script + '"$@"; ls', "touch made ~/x /var/tmp/y && mktemp > /dev/null && cat small")
    assert (done.returncode, done.stdout) == (0, b"x\nmade\nsmall\n"), done
    assert done.stderr.startswith(b"gateway: written to folders of this call's own, gone with it: "), done


CASES = {
    "a hidden file is read": "cat .ENV .Env; cat ./.eNV",
    "a hook is written": "mkdir -p .GIT/HOOKS; echo owned | tee .GIT/HOOKS/pre-commit .git/Hooks/pre-commit",
    "the configuration is exchanged": "rm -f .GIT/CONFIG; mv .GIT .other; echo owned | tee .git/CONFIG",
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_what_is_there_is_not_reached_by_its_name_in_another_case(here: Here, text: str) -> None:
    (here.project / ".git" / "hooks").mkdir(parents=True)
    (here.project / ".git" / "config").write_text("as it was\n", encoding="ascii")
    (here.project / ".env").write_text("hidden\n", encoding="ascii")
    done = here.run(text)
    assert b"hidden" not in done.stdout, done
    assert not (here.project / ".git" / "hooks" / "pre-commit").exists()
    assert (here.project / ".git" / "config").read_text(encoding="ascii") == "as it was\n"


GIT = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
INNER = {
    "a hook is written": "echo owned | tee inner/.git/hooks/pre-commit",
    "the configuration is written": "git -C inner config core.fsmonitor ./x",
    "the hooks' folder is exchanged": "mv inner/.git/hooks inner/.git/h && mkdir inner/.git/hooks",
    "the repository is exchanged": "mv inner/.git inner/g && mkdir inner/.git",
    "a folder on the way is exchanged": "mv inner outer && mkdir -p inner/.git/hooks",
    "the repository of a submodule is configured": "echo owned | tee -a .git/modules/sub/config",
    "a hook of a submodule is written": "echo owned | tee .git/modules/sub/hooks/pre-commit",
}


def repositories(here: Here) -> None:
    """A repository in a repository, and what git keeps of a submodule."""
    for folder in (here.project, here.project / "inner"):
        subprocess.run(["git", "init", "-q", folder], check=True)
        (folder / ".git" / "hooks").mkdir(exist_ok=True)
    module = here.project / ".git" / "modules" / "sub"
    subprocess.run(["git", "init", "-q", "--bare", module], check=True)
    (module / "hooks").mkdir(exist_ok=True)


def told(top: Path) -> dict[str, str]:
    """What git would obey, by path."""
    found = {}
    for path in sorted(top.glob("**/.git/**/*")):
        if "hooks" in path.parts or path.name == "config":
            found[str(path.relative_to(top))] = path.read_text() if path.is_file() else ""
    return found


@GIT
@pytest.mark.parametrize("text", INNER.values(), ids=INNER)
def test_repositories_in_repositories_are_held_like_the_outer_one(here: Here, text: str) -> None:
    repositories(here)
    before = told(here.project)
    done = here.run(text)
    assert done.returncode != 0, done
    assert told(here.project) == before


@GIT
@pytest.mark.parametrize("text", INNER.values(), ids=INNER)
def test_without_a_sandbox_they_are_not_held(here: Here, text: str) -> None:
    repositories(here)
    before = told(here.project)
    done = subprocess.run(["sh", "-c", text], cwd=here.project, capture_output=True, check=False)
    assert done.returncode == 0, done
    assert told(here.project) != before


SEEN = (
    "id -u; touch made; cat ../outside/letter; echo owned | tee ../outside/new; ls; cat /proc/self/status | grep CapEff"
)


@pytest.mark.skipif(os.geteuid() != 0, reason="this run is by an ordinary user already: all of the above is by one")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_an_ordinary_user_is_held_from_the_command_line_to_the_kernel() -> None:
    with tempfile.TemporaryDirectory(prefix="gateway-user-") as folder:
        top = Path(folder)
        here = Here(top, top / "project", top / "home")
        (top / "outside").mkdir()
        (top / "outside" / "letter").write_text("private\n", encoding="ascii")
        shutil.copytree(top / "cache", top / "copied")  # that one shares its files with all tests
        shutil.rmtree(top / "cache")
        here.environment["XDG_CACHE_HOME"] = str(top / "copied")
        for path in (top, *top.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        if not (python := python_for_everybody()):
            pytest.skip("an ordinary user can reach no Python of this version, or not this checkout")
        words = [*AS_NOBODY, python, *here.words(SEEN)[1:]]
        done = subprocess.run(
            words, cwd=here.project, env=here.environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
            check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, f"{NOBODY}\nowned\nmade\nCapEff:\t0000000000000000\n".encode()), (
            done
        )
        assert (here.project / "made").stat().st_uid == NOBODY
        assert not (top / "outside" / "new").exists()


MANY = 100 if THOROUGH else 30


def test_many_calls_at_once_have_each_their_own_sandbox_and_answer(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in here.environment.items():
        monkeypatch.setenv(name, value)
    gateway = Gateway(Options(cwd=str(here.project), policies=str(here.policies), binding=True))
    text = "echo {0} | tee -a /tmp/mine > /dev/null; touch at-{0}; cat /tmp/mine; exit {1}"
    with (
        Runner(str(here.top / "quarantine")) as runner,
        Executor(gateway, runner=runner) as executor,
        ThreadPoolExecutor(MANY) as pool,
    ):
        found = list(pool.map(lambda number: executor.run(text.format(number, number % 7)).result, range(MANY)))
    assert [(each.ended, each.status, each.stdout) for each in found] == [
        ("exited", number % 7, b"%d\n" % number) for number in range(MANY)
    ]
    assert len(os.listdir(here.project)) == MANY
