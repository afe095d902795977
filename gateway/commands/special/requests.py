"""Programs whose words tell by a sign what they are: HTTPie's items, gh's hosts, settings, yq's expressions."""

from __future__ import annotations

from gateway.commands.places import host_of
from gateway.commands.special.wordlists import words
from gateway.model.command import Word
from gateway.model.effect import HOLE, Connect, Credential, System

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

_QUIET_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))


def _httpie(findings: Findings, run: Invocation) -> None:
    """`[METHOD] URL [ITEM…]`: `k=v`, `k:=v` are data, `k@f`, `k=@f`, `k:=@f` files, `k:v` headers, `k==v` a query."""
    words = list(run.operands)
    if not words:
        return
    method = ""
    if words[0].text.isalpha() and words[0].text.isupper() and len(words) > 1:
        method = words.pop(0).text
    url, items = words[0], words[1:]
    unsure = any(HOLE in word.text or not word.literal for word in (url, *items))
    sends = unsure or "send" in run.flags or bool(run.stdin) or "--raw" in run.options
    sends = sends or (bool(method) and method not in _QUIET_METHODS)
    for word in items:
        name, file = _item(word.text)
        sends = sends or name
        if file:
            sends = True
            path = Word(file, word.start, word.end)
            findings.touch("read", path, run.cwds, run.part)
    if any("--session" in option["names"] and "/" in values[0].text for option, values in run.values if values):
        run.doubts.append("a session is kept in a file of its own")
    text = url.text
    if text[:1] == ":":
        text = "localhost" + (text if text[1:2].isdigit() else text[1:])
    if text[:3] == "://":
        text = text[3:]
    _, host, port = host_of(text, "https" if run.name in ("https", "xhs") else "http")
    findings.connect(
        host if url.literal else HOLE, port if url.literal else 0, "send" if sends else "fetch", url, run.part
    )


def _item(text: str) -> tuple[bool, str]:
    """Whether an item is part of what is sent, and the file it names."""
    for at, sign in enumerate(text):
        rest = text[at:]
        if sign == "\\":
            return True, HOLE
        if rest[:2] == "==":
            return False, rest[3:] if rest[2:3] == "@" else ""
        for mark in (":=@", "=@", "@"):
            if rest.startswith(mark):
                return True, rest[len(mark) :].partition(";type=")[0]
        if rest[:2] == ":=" or sign == "=":
            return True, ""
        if sign == ":":
            return False, rest[2:] if rest[1:2] == "@" else ""
    return True, ""


def _field(findings: Findings, run: Invocation, word: Word) -> bool:
    """`key=value` of gh, and `key=@file`; whether it is known which."""
    _, _, value = word.text.partition("=")
    if HOLE in word.text[: len(word.text) - len(value) + 1]:
        return False
    if value[:1] == "@" and value != "@-":
        findings.touch("read", Word(value[1:], word.start, word.end), run.cwds, run.part)
    return True


_SERVICES = {"gh": "api.github.com", "hub": "api.github.com", "glab": "gitlab.com"}


def _service(findings: Findings, run: Invocation) -> None:
    """`-R HOST/OWNER/NAME`, a URL as the repository or an operand, `--hostname HOST`: another host is asked."""
    suspects = [word for word in run.operands if "://" in word.text]
    host = ""
    for option, values in run.values:
        if not values:
            continue
        if "--hostname" in option["names"]:
            host = values[0].text
        elif "-R" in option["names"]:
            suspects.append(values[0])
        elif "--field" in option["names"] and not _field(findings, run, values[0]):
            run.doubts.append(f"{values[0].text.replace(HOLE, '?')} may send a file")
    for word in suspects:
        text = word.text
        if HOLE in text:
            host = HOLE
        elif "://" in text:
            host = host_of(text)[1]
        elif text.count("/") == 2:
            host = text.partition("/")[0]
    usual = _SERVICES[run.name]
    if not host or host.lower() in (usual, "github.com" if usual != "gitlab.com" else usual):
        return
    host = HOLE if HOLE in host else host.lower()
    for at in range(run.first, len(findings.items)):
        item = findings.items[at]
        if isinstance(item.effect, Connect) and item.effect.host == usual:
            findings.items[at] = item.replace(effect=Connect(host, 443, item.effect.direction))


def _modules(findings: Findings, run: Invocation) -> None:
    """`go list -m host/path@version` asks the host, or the proxy on its behalf."""
    for word in run.operands:
        if "@" in word.text or HOLE in word.text or "-versions" in run.options:
            findings.connect(HOLE, 0, "fetch", word, run.part)


def _sysctl(findings: Findings, run: Invocation) -> None:
    """`name=value` sets, `name` shows."""
    for word in run.operands:
        if "=" in word.text or HOLE in word.text:
            findings.add(System("kernel", word.text), word.start, word.end, run.part)


def _cargo_plain(findings: Findings, run: Invocation) -> None:
    """Subcommands of cargo that start no more than the compiler, to ask for its version, or the formatter: what the
    project's settings say of programs, places and variables counts, which what builds anyway need not look at."""
    for cwd in run.cwds or ("",):
        findings.ask("settings", run.part, cwd, "cargo itself", run.words[0].start, run.words[-1].end)


def _init_script(findings: Findings, run: Invocation) -> None:
    """A service's name is one of a folder's; one with a slash leads to any script."""
    del findings
    for word in run.operands[:1]:
        if "/" in word.text or HOLE in word.text:
            run.doubts.append(f"{word.text.replace(HOLE, '?')} may be any script")


# Of both programs of this name: one has a language of its own, one hands the expression to jq.
_LOADING = ("load", "import", "include", "modulemeta", "input", "system", "eval")


def _yq(findings: Findings, run: Invocation) -> None:
    """An expression that loads files, or asks for variables."""
    words = [values[0] for option, values in run.values if "--expression" in option["names"] and values]
    if not words and "given" not in run.flags:
        words = run.operands[:1]
        if len(run.operands) == 1:
            # What names a file is no expression.
            findings.touch("read", run.operands[0], run.cwds, run.part)
    for word in words:
        if HOLE in word.text or not word.literal:
            run.doubts.append("the expression is not known before the run")
        elif any(name in word.text.lower() for name in _LOADING):
            run.doubts.append("the expression may load files or run programs")
        if HOLE in word.text or "env" in word.text.lower():
            findings.env("*", "read", word.start, word.end, run.part)


def _pegged(findings: Findings, run: Invocation) -> None:
    """svn's `PATH@REVISION`: what the service holds under that name, but for the few revisions that lie here."""
    words = [*run.operands, *[values[0] for option, values in run.values if "--old" in option["names"] and values]]
    for word in words:
        if "@" in word.text.rstrip("@") or HOLE in word.text:
            findings.connect(HOLE, 0, "fetch", word, run.part)
            findings.add(Credential("svn", f"{findings.home or HOLE}/.subversion"), word.start, word.end, run.part)


_FILTERS = words(
    "state exclude all connected synchronized bucket big established syn-sent syn-recv fin-wait-1 fin-wait-2 time-wait "
    "closed close-wait last-ack listening closing new-syn-recv bound-inactive dst src dport sport and or not eq neq ne "
    "ge geq le leq gt lt autobound dev fwmark cgroup unix inet inet6 link netlink vsock tipc"
)


def _looked_up(findings: Findings, run: Invocation) -> None:
    """Hosts that a filter of sockets names are looked up first, wherever a name may lead: `ss dst NAME`,
    `lsof -i @NAME`."""
    found = [(word, word.text) for word in run.operands] if run.name == "ss" else []
    for option, values in run.values:
        if run.name == "lsof" and "-i" in option["names"] and values:
            found.append((values[0], values[0].text.partition("@")[2]))
    if run.name == "lsof" and "-i" in run.options:
        found += [(word, word.text.partition("@")[2]) for word in run.operands if "@" in word.text]
    for word, text in found:
        for piece in text.replace("(", " ").replace(")", " ").replace("=", " ").replace("!", " ").split():
            if piece[:1] in (":", "<", ">") or piece in _FILTERS:
                continue
            wide = piece.count(":") > 1 or piece[:1] == "["
            host = piece if wide else piece.rpartition(":")[0] or piece
            if HOLE in piece or not set(host.lower()) <= (_OF_WIDE if wide else _OF_ADDRESSES):
                findings.connect(HOLE if HOLE in host else host, 53, "fetch", word, run.part)


def _resolved(findings: Findings, run: Invocation) -> None:
    """Names that are asked for: `dig example.com @1.1.1.1`. What is not written here may carry anything to whoever
    answers for the name, as `dig $(cat x).example.com` does."""
    written = all(word.literal and HOLE not in word.text for word in run.words) and not run.has(["-f"])
    servers = (
        [word for word in run.operands if word.text[:1] == "@" and len(word.text) > 1] if run.name == "dig" else []
    )
    direction = "fetch" if written else "send"
    for word in servers or run.words[:1]:
        host = word.text[1:] if servers and HOLE not in word.text else HOLE
        findings.connect(host, 53 if host != HOLE else 0, direction, word, run.part)


def _sources(findings: Findings, run: Invocation) -> None:
    """What is to be installed from an address comes from its host, wherever it stands among the words: as an operand,
    as the value of an option, behind `name @`, with another scheme before it (`git+https:`)."""
    for word in run.words[1:]:
        head, mark, rest = word.text.partition("://")
        if mark:
            scheme = head[len(head.rstrip(_OF_SCHEMES)) :].rpartition("+")[2].lower()
            if scheme != "file":
                _, host, port = host_of(f"{scheme}://{rest}")
                findings.connect(host if word.literal else HOLE, port if word.literal else 0, "fetch", word, run.part)
        elif HOLE in word.text:
            findings.connect(HOLE, 0, "fetch", word, run.part)


_OF_SCHEMES = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-"
_OF_ADDRESSES = frozenset("0123456789./*-")
_OF_WIDE = frozenset("0123456789abcdef.:*/[]%-")


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {
    "cargo_plain": _cargo_plain,
    "httpie": _httpie,
    "init_script": _init_script,
    "looked_up": _looked_up,
    "resolved": _resolved,
    "go_modules": _modules,
    "pegged": _pegged,
    "service": _service,
    "sources": _sources,
    "sysctl": _sysctl,
    "yq": _yq,
}
