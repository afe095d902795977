"""Sandbox refusals recognised in what a command printed, told apart from ordinary failures.

The kernel tells nobody whom it refused, but programs complain. A complaint counts only if the plan does refuse what it
is about: a file that its owner made unreadable, or one that is missing for everybody, yields nothing. Such a finding is
a hint and never certain. Pure but for what it asks about files outside.
"""

from __future__ import annotations

from functools import cache
from os import geteuid, stat
from os.path import lexists
from posixpath import dirname, join, normpath

from gateway.model.limits import LIMITS
from gateway.model.plan import FIXED, HIDDEN, READ, WORKSPACE_SECRETS, WRITE
from gateway.model.result import Violation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from re import Pattern

    from gateway.model.plan import Mount, SandboxPlan

MOST = 20
MOST_LINES = 400
_READ_ONLY, _DENIED, _MISSING, _BUSY = "read-only", "denied", "missing", "busy"
_PHRASES = (
    ("read-only file system", _READ_ONLY),
    ("erofs", _READ_ONLY),
    ("os error 30", _READ_ONLY),
    ("permission denied", _DENIED),
    ("operation not permitted", _DENIED),
    ("eacces", _DENIED),
    ("eperm", _DENIED),
    ("device or resource busy", _BUSY),
    ("no such file or directory", _MISSING),
    ("enoent", _MISSING),
    ("directory nonexistent", _MISSING),
)
# Words before or after a path that show that it was to be changed.
_CHANGES = (
    "cannot create", "cannot touch", "cannot remove", "cannot move", "cannot overwrite", "can't create", "cannot make",
    "cannot write", "could not write", "unable to create", "could not create", "failed to create", "failed to write",
    "failed to open for writing", "could not lock", "unable to write", "opening output file", "open output file",
    "couldn't open", "mkdir", "unlink", "rename", "rmdir", "changing permissions", "cannot change", "setting times",
    "cannot set", "copyfile", "symlink", "cannot rename", "failed to remove", "dirty",
)  # fmt: skip
_NOT_PATHS = frozenset(("open", "read", "write", "stat", "mkdir"))
_LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0")
_OWN = ("/proc", "/dev", "/sys")
_SHOWN = ", or to name it in `sandbox: {show: [PATTERN]}` of their policy, where tests need it"
# What a rule denies no setting shows; a program that gives up without such a file, rather than without its values,
# has to be told of it.
_SET = (
    "; `sandbox: {set: {NAME: VALUE}}` of their policy gives programs the values, and no `sandbox: {show}` opens what "
    "a rule denies: have the program look for no such file (`envDir: false` for vite and vitest)"
)


def hints(
    plan: SandboxPlan, status: int, stderr_tail: bytes, exists: Callable[[str], bool] = lexists
) -> tuple[Violation, ...]:
    """What the plan seems to have refused, each once, with how often it was complained of. `exists`: whether there is
    something at a path outside the sandbox."""
    found: dict[tuple[str, str], Violation] = {}
    lines = stderr_tail.decode("utf-8", "surrogateescape").splitlines()[-MOST_LINES:]
    for number, line in enumerate(lines):
        for violation in _of_line(plan, line, lines[max(0, number - 3) : number], exists):
            key = (violation.kind, violation.target)
            known = found.get(key)
            found[key] = violation if known is None else known.replace(count=known.count + 1)
            if len(found) >= MOST:
                return tuple(found.values())
    for violation in _of_end(plan, status, lines):
        found.setdefault((violation.kind, violation.target), violation)
    return tuple(found.values())


def _of_line(plan: SandboxPlan, line: str, before: list[str], exists: Callable[[str], bool]) -> Iterator[Violation]:
    lower = line.lower()
    filtered = tuple(_of_filter(plan, lower))
    if filtered:
        yield from filtered
        return
    error = next((error for phrase, error in _PHRASES if phrase in lower), "")
    if error:
        candidates = list(_paths(line))
        changes = any(word in lower for word in _CHANGES)
        if not candidates and "os error" in lower:  # Rust tells the path some lines before
            for earlier in reversed(before):
                candidates = list(_paths(earlier))
                if candidates:
                    changes = any(word in earlier.lower() for word in _CHANGES)
                    break
        for candidate in candidates:
            violation = _of_path(plan, candidate, error, changes, exists)
            if violation is not None:
                yield violation
                return
    yield from _of_network(plan, line, lower)


@cache
def _quoted() -> Pattern[str]:
    import re

    return re.compile(r"'([^']+)'|\u2018([^\u2019]+)\u2019|`([^`']+)[`']|\"([^\"]+)\"")


@cache
def _before() -> Pattern[str]:
    import re

    # What stands right before ": Permission denied" and the like.
    return re.compile(
        r"(?:^|: )([^:'\"\u2018`]+?): (?:\[Errno \d+\] |Cannot open: )?"
        r"(?:read-only|permission|operation|no such|device|directory nonexistent)",
        re.IGNORECASE,
    )


@cache
def _absolute() -> Pattern[str]:
    import re

    return re.compile(r"(?<![\w.])/[^\s:'\"\u2018\u2019`]+")


def _paths(line: str) -> Iterator[str]:
    """What may be the path that a complaint is about, likeliest first."""
    found = [next(each for each in match.groups() if each is not None) for match in _quoted().finditer(line)]
    for match in _before().finditer(line):
        text = match[1].strip()
        if " /" in text:
            found.append(text[text.rindex(" /") + 1 :])
        found += [text, text.rpartition(" ")[2]]
    found += [match[0] for match in _absolute().finditer(line)]
    for text in dict.fromkeys(found):
        if text and text not in _NOT_PATHS and "\0" not in text and len(text) < 4096:
            yield text


def _loads_variables(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name == ".env" or name.startswith(".env.")


def _of_path(
    plan: SandboxPlan, text: str, error: str, changes: bool, exists: Callable[[str], bool]
) -> Violation | None:
    absolute = text.startswith("/")
    path = _linked(plan, normpath(text if absolute else f"{plan.cwd}/{text}"))
    mount = _ruling(plan, path)
    access = "" if mount is None else mount.access
    if mount is not None and access == HIDDEN and error in (_DENIED, _READ_ONLY, _BUSY):
        hint = f"hidden by policy rule {mount.rule}" if mount.rule else "hidden from this call"
        more = _SHOWN if mount.rule == WORKSPACE_SECRETS else _SET if _loads_variables(path) else ""
        way = f"ask the person for what you need of it{more}"
        return Violation("read", path, rule=mount.rule, source="output", hint=f"{hint}; {way}", certain=False)
    if mount is not None and access == FIXED and (error in (_READ_ONLY, _BUSY) or (error == _DENIED and changes)):
        by = f" by policy rule {mount.rule}" if mount.rule else ""
        return Violation(
            "write",
            path,
            rule=mount.rule,
            source="output",
            hint=f"protected{by}: show the person the change instead",
            certain=False,
        )
    if error == _BUSY:
        kept = dict.fromkeys(plan.held, "") | {each.path: each.rule for each in plan.mounts if each.access == FIXED}
        below = next((each for each in kept if _within(each, path)), "")
        if below:
            what = "it is a link that is" if below == path else f"it holds {below}, which is"
            hint = f"{what} protected, so it cannot be moved or removed"
            return Violation("write", path, rule=kept[below], source="output", hint=hint, certain=False)
        return None
    if access == WRITE:
        return None
    if access in (READ, FIXED):
        # What is not there cannot be read, so who was denied it wanted to make it.
        denied = error == _DENIED and ((absolute and (changes or not exists(path))) or _is_ours(path))
        if error == _READ_ONLY or denied:
            return Violation(
                "write", path, rule=mount.rule if mount else "", source="output", hint=_writable(plan), certain=False
            )
        return None
    there = exists(path) or (changes and exists(dirname(path)))
    if not (absolute or there) or any(_within(path, own) for own in _OWN):
        return None
    private = next((each for each in plan.private if _within(path, each)), "")
    if private:
        known = exists(path)
        if error in (_MISSING, _DENIED) and path != private and (known or (there and dirname(path) != private)):
            whose = "this session" if private in dict(plan.shared) else "this call"
            hint = f"{whose} has a {private} of its own, which starts empty"
            return Violation("read" if known else "write", path, rule="", source="output", hint=hint, certain=False)
        return None
    if error == _MISSING and not there:
        return None
    if error == _READ_ONLY or changes:
        return Violation("write", path, rule="", source="output", hint=_writable(plan), certain=False)
    readable = _some([each.path for each in plan.mounts if each.access in (READ, WRITE)])
    return Violation(
        "read",
        path,
        rule="",
        source="output",
        hint=f"not granted to this call, which can read {readable}",
        certain=False,
    )


def _is_ours(path: str) -> bool:
    """Whether this user may read and write it, or make it in its folder, so that only a sandbox would deny it."""
    for each, bits in ((path, 0o600), (dirname(path), 0o700)):
        try:
            found = stat(each)
        except OSError:
            continue
        return found.st_uid == geteuid() and found.st_mode & bits == bits
    return False


def _writable(plan: SandboxPlan) -> str:
    roots = [each.path for each in plan.mounts if each.access == WRITE]
    own = ["$TMPDIR"] if "/tmp" in plan.private else []
    return f"writing is granted in {_some([*roots, *own])}" if roots or own else "this call may not write anywhere"


def _some(paths: list[str], most: int = 6) -> str:
    shown = ", ".join(paths[:most]) or "nothing"
    return shown if len(paths) <= most else f"{shown} and {len(paths) - most} more"


def _within(path: str, folder: str) -> bool:
    return (path + "/").startswith(folder.rstrip("/") + "/")


def _linked(plan: SandboxPlan, path: str) -> str:
    for link, target in plan.links:
        if _within(path, link):
            return normpath(join(dirname(link), target) + path[len(link) :])
    return path


def _ruling(plan: SandboxPlan, path: str) -> Mount | None:
    return max(
        (each for each in plan.mounts if _within(path, each.path)), key=lambda each: len(each.path), default=None
    )


@cache
def _unresolved() -> Pattern[str]:
    import re

    name = r"['\"\u2018]?(?P<{}>[A-Za-z0-9_.:-]+)"
    forms = (
        "could not resolve host(?:name)?:? " + name.format("a"),
        "getaddrinfo (?:enotfound|eai_again|eai_fail) " + name.format("b"),
        "lookup " + name.format("c") + r"(?: on \S+)?:? (?:no such host|temporary|server misbehaving|dial|.*refused)",
        "failed to connect to " + name.format("d"),
        "connect (?:enetunreach|ehostunreach|econnrefused) " + name.format("e"),
        "unable to resolve host address " + name.format("f"),
        r"(?:can't connect to|connect to|connecting to) (?:remote host )?\(?" + name.format("g"),
        r"failed to fetch:? `?https?://" + name.format("h"),
    )
    return re.compile("|".join(forms), re.IGNORECASE)


_UNREACHED = (
    "network is unreachable", "temporary failure in name resolution", "name or service not known", "enetunreach",
    "address family not supported", "nodename nor servname", "eafnosupport", "name resolution error",
    "failed to lookup address", "could not resolve",
)  # fmt: skip


def _of_network(plan: SandboxPlan, line: str, lower: str) -> Iterator[Violation]:
    match = _unresolved().search(line)
    if match is None and not any(phrase in lower for phrase in _UNREACHED):
        return
    host = ""
    if "unix://" in lower:  # a daemon's socket, whatever stands before it
        words = line[lower.index("unix://") + len("unix://") :].split()
        path = words[0].rstrip(".:,'\")") if words else ""
        hint = f"whoever has this socket may do what its daemon can; a rule's calls get it by `sockets: [/{path}]`"
        if "docker" in lower:
            hint += ", and what Docker's client shows (`docker ps`) works by `daemons: [docker]`"
        yield Violation("net", path, rule="", source="output", hint=hint, certain=False)
        return
    if match is not None:
        host = next(group for group in match.groups() if group).rstrip(".:").lower()
        head, _, port = host.rpartition(":")
        host = head if head and port.isdecimal() and ":" not in head else host
    if host.startswith(_LOOPBACK):
        return
    network = plan.network
    if network.mode == "off":
        from gateway.sandbox.egress.report import helping  # lazy: few calls fail so

        hint = f"no network is granted to this call; do without it, or {helping(host or 'HOST')}"
        yield Violation("net", host or "network", rule="", source="output", hint=hint, certain=False)
        return
    if not host:
        return
    denied = next((each for each in network.deny if _is_host(host, each.host)), None)
    if denied is not None:
        yield Violation(
            "net", host, rule=denied.rule, source="output", hint=f"denied by policy rule {denied.rule}", certain=False
        )
    elif network.mode == "listed" and not any(_is_host(host, each.host) for each in network.allow):
        hint = f"this call may reach {_some([each.host for each in network.allow])}"
        yield Violation("net", host, rule="", source="output", hint=hint, certain=False)


def _is_host(name: str, pattern: str) -> bool:
    return pattern in ("*", name) or (pattern.startswith("*.") and name.endswith(pattern[1:]) and name != pattern[2:])


# What programs say whose system calls the filter refuses, and what lets them be made.
_FILTERED = (
    ("ptrace", ("ptrace", "could not trace the inferior", "personality set failed"), "debuggers and leak checks"),
    ("perf", ("perf_event_open", "perf_event_paranoid"), "profilers"),
    (
        "namespaces",
        ("unshare", "create new namespace", "move to new namespace", "no usable sandbox", "clone_new", "setns"),
        "browsers and containers",
    ),
)


# LeakSanitizer names no system call that failed, only what it takes for the cause.
_REFUSED = ("not permitted", "eperm", "inferior", "does not work under ptrace")


def _of_filter(plan: SandboxPlan, lower: str) -> Iterator[Violation]:
    """What a program was kept from asking of the kernel, and what of the policy would let it."""
    for permit, phrases, kind in _FILTERED:
        if permit not in plan.permits and any(each in lower for each in phrases):
            if permit != "namespaces" and not any(each in lower for each in _REFUSED):
                continue
            hint = f"calls may not use {permit}; for {kind} a rule's calls get it by `sandbox: {{permit: [{permit}]}}`"
            if "leaksanitizer" in lower:  # which ends every program that is built with it, leak or no leak
                hint += "; `ASAN_OPTIONS=detect_leaks=0` checks all but leaks"
            yield Violation("kernel", permit, rule="", source="output", hint=hint, certain=False)


def _of_end(plan: SandboxPlan, status: int, lines: list[str]) -> Iterator[Violation]:
    text = "\n".join(lines).lower()
    for name, limit in LIMITS.items():
        bound = getattr(plan.limits, limit.field) if limit.status or limit.phrases else 0
        if bound and (status == limit.status if limit.status else any(each in text for each in limit.phrases)):
            hint = f"the limit `{name}` ({limit.about}) is {bound / limit.factor:,.12g} {limit.unit}"
            yield Violation("limit", limit.field, rule="", source="output", hint=hint, certain=False)
    if status == 159:
        yield Violation(
            "kernel",
            "system call",
            rule="",
            source="filter",
            hint="a system call that no confined command may make",
            certain=False,
        )
