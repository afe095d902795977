"""Complaints of real programs, each as it was printed, and what they say of the plan."""

from __future__ import annotations

import pytest

from gateway.model.limits import Limits
from gateway.model.plan import FIXED, HIDDEN, READ, WRITE, Endpoint, Mount, Network, SandboxPlan
from gateway.model.result import Violation
from gateway.sandbox.after.violations import hints

PLAN = SandboxPlan(
    (
        Mount("/hid", HIDDEN, True, "secret-files"),
        Mount("/ro", READ),
        Mount("/usr", READ),
        Mount("/ws", WRITE),
        Mount("/ws/.env", HIDDEN, False, "secret-files"),
        Mount("/ws/.git/config", FIXED, False, "protected-repository-files"),
    ),
    (("/bin", "usr/bin"),),
    ("/home/dev", "/tmp"),
    "/ws",
    (),
    Network(),
    Limits(),
)
THERE = {"/outside/file", "/home/dev/.gitconfig", "/tmp/shared", "/ro/old", "/ro/locked", "/usr/bin/x"}
WRITABLE = "writing is granted in /ws, $TMPDIR"


def told(text: str, plan: SandboxPlan = PLAN, status: int = 1) -> tuple[Violation, ...]:
    return hints(plan, status, text.encode("utf-8", "surrogateescape"), THERE.__contains__)


def written(path: str, rule: str = "", hint: str = WRITABLE, count: int = 1) -> Violation:
    return Violation("write", path, rule, "output", hint, False, count)


WRITES = [
    ("bash: line 2: /ro/f: Read-only file system", "/ro/f"),
    ("touch: cannot touch '/ro/f': Read-only file system", "/ro/f"),
    ("mkdir: cannot create directory \u2018/ro/d\u2019: Read-only file system", "/ro/d"),
    ("rm: cannot remove '/ro/old': Read-only file system", "/ro/old"),
    ("mv: cannot move '/ro/old' to '/ro/new': Read-only file system", "/ro/old"),
    ("mv: cannot move '/ws/a' to '/ro/a': Read-only file system", "/ro/a"),
    ("cp: cannot create regular file '/ro/new': Read-only file system", "/ro/new"),
    ("ln: failed to create symbolic link '/ro/l': Read-only file system", "/ro/l"),
    ("chmod: changing permissions of '/ro/old': Read-only file system", "/ro/old"),
    ("tee: /ro/f: Read-only file system", "/ro/f"),
    ("sed: couldn't open temporary file /ro/sedlJZzXt: Read-only file system", "/ro/sedlJZzXt"),
    ("tar: /ro/x.tar: Cannot open: Read-only file system", "/ro/x.tar"),
    ("dd: failed to open '/ro/f': Read-only file system", "/ro/f"),
    ("sh: 1: cannot create /ro/f: Read-only file system", "/ro/f"),
    ("OSError: [Errno 30] Read-only file system: '/ro/f'", "/ro/f"),
    ("Error: EROFS: read-only file system, open '/ro/f'", "/ro/f"),
    ("fatal: cannot mkdir /ro/r: Read-only file system", "/ro/r"),
    ("fatal: Unable to create '/ro/repo/.git/index.lock': Read-only file system", "/ro/repo/.git/index.lock"),
    ("/usr/bin/ld: cannot open output file /ro/a.out: Read-only file system", "/ro/a.out"),
    (
        "go build command-line-arguments: copying /tmp/go-build1/b001/exe/a.out: open /ro/x: read-only file system",
        "/ro/x",
    ),
    (
        "error: failed to create directory `/ro/target`\n\nCaused by:\n  Read-only file system (os error 30)",
        "/ro/target",
    ),
    ("touch: cannot touch '/bin/x': Read-only file system", "/usr/bin/x"),
    # As the fallback has it
    ("touch: cannot touch '/ro/f': Permission denied", "/ro/f"),
    ("sh: 1: cannot create /ro/f: Permission denied", "/ro/f"),
    ("PermissionError: [Errno 13] Permission denied: '/ro/f'", "/ro/f"),
    ("Error: EACCES: permission denied, open '/ro/f'", "/ro/f"),
    ("rm: cannot remove '/ro/old': Permission denied", "/ro/old"),
    ("mkdir: cannot create directory '/elsewhere/d': Permission denied", "/elsewhere/d"),
]


@pytest.mark.parametrize(("text", "path"), WRITES, ids=[text[:50] for text, _path in WRITES])
def test_a_write_that_the_plan_refuses_is_told_with_what_may_be_written(text: str, path: str) -> None:
    assert told(text) == (written(path),)


READS = [
    "cat: /hid/secret: Permission denied",
    "head: cannot open '/hid/secret' for reading: Permission denied",
    "grep: /hid/secret: Permission denied",
    "bash: line 10: /hid/secret: Permission denied",
    "PermissionError: [Errno 13] Permission denied: '/hid/secret'",
    "Error: EACCES: permission denied, open '/hid/secret'",
    "cc1: fatal error: /hid/secret: Permission denied",
    "warning: unable to access '/hid/secret': Permission denied",
    "open /hid/secret: permission denied",
    "error: could not read `/hid/secret`\n\nCaused by:\n  Permission denied (os error 13)",
]


@pytest.mark.parametrize("text", READS)
def test_a_hidden_file_is_told_with_the_rule_that_hides_it(text: str) -> None:
    hint = "hidden by policy rule secret-files; ask the person for what you need of it"
    assert told(text) == (Violation("read", "/hid/secret", "secret-files", "output", hint, False),)


def test_of_a_secret_of_the_workspace_the_setting_is_told_that_shows_it_to_tests() -> None:
    plan = PLAN.replace(mounts=(*PLAN.mounts, Mount("/ws/certs/a.pem", HIDDEN, False, "workspace-secrets")))
    (found,) = told("Error: EACCES: permission denied, open '/ws/certs/a.pem'", plan)
    assert (found.target, "`sandbox: {show: [PATTERN]}` of their policy" in found.hint) == ("/ws/certs/a.pem", True)


@pytest.mark.parametrize(
    ("name", "told_of"), [(".env", True), (".env.local", True), (".envrc", False), ("secret", False)]
)
def test_of_a_file_of_variables_that_a_rule_denies_it_is_told_how_programs_get_values(name: str, told_of: bool) -> None:
    plan = PLAN.replace(mounts=(*PLAN.mounts, Mount(f"/ws/{name}", HIDDEN, False, "secret-files")))
    (found,) = told(f"Error: EACCES: permission denied, open '/ws/{name}'", plan)
    assert ("`sandbox: {set: {NAME: VALUE}}` of their policy" in found.hint) == told_of


def test_a_hidden_file_is_known_by_its_name_in_the_folder_of_the_call() -> None:
    (found,) = told("cat: .env: Permission denied")
    assert (found.kind, found.target, found.rule) == ("read", "/ws/.env", "secret-files")


@pytest.mark.parametrize(
    "text",
    [
        "error: could not lock config file .git/config: Read-only file system",
        "bash: .git/config: Read-only file system",
        "rm: cannot remove '.git/config': Device or resource busy",
    ],
)
def test_a_protected_file_is_told_with_its_rule(text: str) -> None:
    rule = "protected-repository-files"
    hint = f"protected by policy rule {rule}: show the person the change instead"
    assert told(text) == (written("/ws/.git/config", rule, hint),)


@pytest.mark.parametrize("plan", [PLAN, PLAN.replace(held=("/ws/.git/config",))], ids=["fixed", "compared as well"])
def test_a_folder_that_holds_something_protected_cannot_be_moved(plan: SandboxPlan) -> None:
    hint = "it holds /ws/.git/config, which is protected, so it cannot be moved or removed"
    assert told("mv: cannot move '.git' to 'x': Device or resource busy", plan) == (
        written("/ws/.git", "protected-repository-files", hint),
    )


@pytest.mark.parametrize(
    ("text", "path", "hint"),
    [
        (
            "cat: /outside/file: No such file or directory",
            "/outside/file",
            "not granted to this call, which can read /ro, /usr, /ws",
        ),
        (
            "cat: /tmp/shared: No such file or directory",
            "/tmp/shared",
            "this call has a /tmp of its own, which starts empty",
        ),
        (
            "cat: /home/dev/.gitconfig: No such file or directory",
            "/home/dev/.gitconfig",
            "this call has a /home/dev of its own, which starts empty",
        ),
        (
            "cat: /outside/file: Permission denied",
            "/outside/file",
            "not granted to this call, which can read /ro, /usr, /ws",
        ),
    ],
)
def test_what_is_there_but_not_granted_is_told(text: str, path: str, hint: str) -> None:
    assert told(text) == (Violation("read", path, "", "output", hint, False),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cat: /ws/none: No such file or directory",
        "cat: none: No such file or directory",
        "cat: /nowhere/file: No such file or directory",
        "cat: /ws/locked: Permission denied",
        "bash: ./script: Permission denied",
        "cat: /ro/locked: Permission denied",
        "PermissionError: [Errno 13] Permission denied: '/ro/locked'",
        "cat: /usr/none: No such file or directory",
        "rm: cannot remove 'd': Device or resource busy",
        "kill: (1): Operation not permitted",
        "ls: /proc/1/root: Permission denied",
        "bash: foo: command not found",
        "make: *** [Makefile:2: all] Error 1",
        "E   AssertionError: assert 'Permission denied' == 'ok'",
        "curl: (7) Failed to connect to localhost port 8080: Connection refused",
        "ConnectionRefusedError: [Errno 111] Connection refused",
        "connect ECONNREFUSED 127.0.0.1:5432",
        "tests passed: No such file or directory is handled",
    ],
)
def test_an_ordinary_failure_yields_nothing(text: str) -> None:
    assert told(text) == ()


@pytest.mark.parametrize(
    ("text", "path", "more"),
    [
        (
            "Cannot connect to the Docker daemon at unix:///run/x.sock. Is the docker daemon running?", "/run/x.sock",
            ", and what Docker's client shows (`docker ps`) works by `daemons: [docker]`",
        ),
        ("failed to connect to x: unix://", "", ""),
    ],
)  # fmt: skip
def test_a_daemon_that_is_not_reached_is_a_socket_and_no_host(text: str, path: str, more: str) -> None:
    hint = f"whoever has this socket may do what its daemon can; a rule's calls get it by `sockets: [/{path}]`{more}"
    assert told(text) == (Violation("net", path, rule="", source="output", hint=hint, certain=False),)


NET = [
    ("curl: (6) Could not resolve host: example.com", "example.com"),
    ("wget: unable to resolve host address \u2018example.com\u2019", "example.com"),
    ("fatal: unable to access 'https://example.com/x/': Could not resolve host: example.com", "example.com"),
    ("urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>", "network"),
    ("OSError: [Errno 101] Network is unreachable", "network"),
    ("OSError: [Errno 97] Address family not supported by protocol", "network"),
    ("Error: getaddrinfo EAI_AGAIN example.com", "example.com"),
    ("Error: getaddrinfo ENOTFOUND example.com", "example.com"),
    ("ssh: Could not resolve hostname github.com: Temporary failure in name resolution", "github.com"),
    (
        "dial tcp: lookup proxy.golang.org on 10.0.0.1:53: dial udp 10.0.0.1:53: connect: network is unreachable",
        "proxy.golang.org",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "host"), NET, ids=[host + text[:20] for text, host in NET])
def test_a_call_without_network_is_told_so(text: str, host: str) -> None:
    hint = "no network is granted to this call; do without it, or ask for a rule that allows the command, with "
    hint += f"`settings: {{sandbox: {{hosts: [{host if host != 'network' else 'HOST'}]}}}}`"
    assert told(text) == (Violation("net", host, "", "output", hint, False),)


@pytest.mark.parametrize(
    ("text", "host", "gets"),
    [
        ("  cause: Failed to fetch: https://pypi.org/simple/six/", "pypi.org", "`pip install` or `uv sync`"),
        ("[6] Could not resolve hostname (Could not resolve host: index.crates.io)", "index.crates.io",
         "`cargo fetch`"),
        ("npm error request failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org", "registry.npmjs.org",
         "`npm install`"),
    ],
)  # fmt: skip
def test_what_lacks_packages_is_told_how_they_are_fetched_before(text: str, host: str, gets: str) -> None:
    (found,) = told(text)
    assert found.target == host
    assert found.hint.endswith(f"do without it, or run {gets} first, which gets what is missing from there: this call "
                               "finds it afterwards")  # fmt: skip


def test_an_error_that_names_no_host_is_about_none() -> None:
    text = "cause: failed to lookup address information: Temporary failure in name resolution"
    assert [each.target for each in told(text)] == ["network"]


def test_with_a_list_of_hosts_only_others_are_told() -> None:
    network = Network("listed", (Endpoint("*.example.com"),), (Endpoint("bad.example.com", 0, "no-bad"),))
    plan = PLAN.replace(network=network)
    assert told("Could not resolve host: www.example.com", plan) == ()
    assert told("Network is unreachable", plan) == ()
    assert told("Could not resolve host: example.org", plan) == (
        Violation("net", "example.org", "", "output", "this call may reach *.example.com", False),
    )
    assert told("Could not resolve host: bad.example.com", plan) == (
        Violation("net", "bad.example.com", "no-bad", "output", "denied by policy rule no-bad", False),
    )


@pytest.mark.parametrize(
    ("status", "text", "limits", "target"),
    [
        (152, "", Limits(cpu_seconds=2.0), "cpu_seconds"),
        (153, "", Limits(file_size=100), "file_size"),
        (1, "OSError: [Errno 24] Too many open files: 'x'", Limits(files=10), "files"),
        (1, "bash: fork: retry: Resource temporarily unavailable", Limits(processes=10), "processes"),
        (2, "/bin/sh: 0: Cannot fork", Limits(processes=10), "processes"),
        (1, "zsh: fork failed: resource temporarily unavailable", Limits(processes=10), "processes"),
    ],
)
def test_a_limit_that_was_hit_is_told(status: int, text: str, limits: Limits, target: str) -> None:
    (found,) = told(text, PLAN.replace(limits=limits), status)
    assert (found.kind, found.target, found.certain) == ("limit", target, False)
    assert told(text, PLAN, status) == ()


def test_the_same_complaint_is_counted() -> None:
    assert told("touch: cannot touch '/ro/f': Read-only file system\n" * 3) == (written("/ro/f", count=3),)


def test_there_is_an_end_to_complaints() -> None:
    text = "\n".join(f"touch: cannot touch '/ro/{n}': Read-only file system" for n in range(100))
    assert len(told(text)) == 20


@pytest.mark.parametrize(
    "text", ["\udcff: Permission denied", "'" * 5000 + ": Permission denied", "a\0b: Permission denied"]
)
def test_odd_output_does_no_harm(text: str) -> None:
    assert told(text) == ()


@pytest.mark.parametrize(
    ("text", "permit"),
    [
        ("strace: ptrace(PTRACE_TRACEME, ...): Operation not permitted", "ptrace"),
        ("warning: Could not trace the inferior process.\nwarning: ptrace: Operation not permitted", "ptrace"),
        ("error: personality set failed: Operation not permitted", "ptrace"),
        ("==21==HINT: LeakSanitizer does not work under ptrace (strace, gdb, etc)", "ptrace"),
        ("perf_event_open(..., PERF_FLAG_FD_CLOEXEC) failed: Operation not permitted", "perf"),
        ("unshare: unshare failed: Operation not permitted", "namespaces"),
        ("bwrap: No permissions to create new namespace, likely because the kernel does not allow it", "namespaces"),
        (
            "Failed to move to new namespace: PID namespaces supported, ... errno = Operation not permitted",
            "namespaces",
        ),
        ("[1:1:ERROR:zygote_host] No usable sandbox! Update your kernel", "namespaces"),
    ],
)
def test_who_is_kept_from_asking_the_kernel_is_told_what_permits_it(text: str, permit: str) -> None:
    assert {(each.kind, each.target) for each in told(text)} == {("kernel", permit)}
    assert told(text, PLAN.replace(permits=(permit,))) == ()


def test_who_cannot_look_for_leaks_is_told_how_to_check_the_rest() -> None:
    (found,) = told("==2==HINT: LeakSanitizer does not work under ptrace (strace, gdb, etc)")
    assert found.hint.endswith("`ASAN_OPTIONS=detect_leaks=0` checks all but leaks")


def test_what_a_program_says_of_tracing_alone_is_no_refusal() -> None:
    assert told("ptrace is a system call; see perf_event_open(2)") == ()
