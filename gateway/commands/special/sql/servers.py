"""psql and mysql: statements that a server runs, and commands of the client that stay here."""

from __future__ import annotations

from gateway.commands.handing import shell_text
from gateway.commands.places import host_of
from gateway.commands.special.sql.statements import Dialect, SqlError, Token, only_reads, statements
from gateway.commands.special.wordlists import words
from gateway.model.command import Word
from gateway.model.effect import HOLE, Connect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

_POSTGRES = Dialect(dollar=True)
_MYSQL = Dialect(backslash=True, hash_comment=True)
# psql's commands that only show something or change how it is shown.
_SHOWING = words(
    "conninfo dt dt+ d d+ l l+ du du+ dn dn+ di di+ dv dv+ df df+ ds dT dx dx+ dp z da db dC dc dD dF dg dm "
    "dO dy x timing pset q a t H C f encoding errverbose echo qecho warn if elif else endif prompt "
    "crosstabview list sf sv gx g"
)
_MYSQL_WORDS = frozenset(("system", "source", "tee", "notee", "pager", "nopager", "edit", "delimiter", "use", "help"))


class _Server:
    """What one client's texts do, here and on the server."""

    def __init__(self, findings: Findings, run: Invocation, dialect: Dialect) -> None:
        self.findings = findings
        self.run = run
        self.dialect = dialect
        self.reads = True

    def doubt(self, why: str) -> None:
        self.reads = False
        self.run.doubts.append(f"{self.run.name}'s {why}")

    def touch(self, kind: str, text: str, word: Word) -> None:
        self.findings.touch(kind, Word(text or HOLE, word.start, word.end), self.run.cwds, self.run.part)

    def shell(self, text: str, word: Word) -> None:
        shell_text(self.findings, self.run, [Word(text.strip(), word.start, word.end)], self.run.name)

    def sql(self, text: str, word: Word) -> None:
        try:
            found = statements(text, self.dialect)
        except SqlError:
            self.doubt("statement is not understood")
            return
        for statement in found:
            self.statement(statement, word)

    def statement(self, statement: tuple[Token, ...], word: Word) -> None:
        if only_reads(statement):
            return
        self.reads = False
        lower = [token.text.lower() if token.kind == "word" else "" for token in statement]
        if any(token == Token("sign", "\\") or token.text[:1] == "\\" for token in statement if token.kind != "string"):
            self.doubt("text holds a command of the client that is not understood")
        if "copy" in lower[:1] and "program" in lower:
            self.findings.opaque("the database's server runs a program", word.start, word.end, self.run.part)
        if "load" in lower[:1] and "local" in lower and "infile" in lower:
            file = statement[lower.index("infile") + 1] if lower.index("infile") + 1 < len(statement) else None
            self.touch("read", file.text if file is not None and file.kind == "string" else HOLE, word)


def _connection(server: _Server) -> None:
    """Text that only reads fetches; everything else may send."""
    if not server.reads or server.run.doubts:
        return
    for at in range(server.run.first, len(server.findings.items)):
        item = server.findings.items[at]
        effect = item.effect
        if isinstance(effect, Connect) and effect.direction == "send" and item.part == server.run.part:
            server.findings.items[at] = item.replace(effect=effect.replace(direction="fetch"))


def _texts(server: _Server, options: tuple[str, ...], read: Callable[[_Server, str, Word], None]) -> None:
    run = server.run
    texts = [values[0] for option, values in run.values if values and not set(options).isdisjoint(option["names"])]
    for word in texts:
        if word.splits or word.pattern is not None or HOLE in word.text:
            server.doubt("statement is not known before the run")
        read(server, word.text, word)
    if not texts and run.options.isdisjoint(("-f", "-l", "-V", "-?", "--help")):
        if run.stdin == "text" and HOLE not in run.stdin_text:
            read(server, run.stdin_text, Word("", run.words[0].start, run.words[-1].end))
        else:
            server.doubt("statements are those of its input")
    elif not run.options.isdisjoint(("-f",)):
        server.doubt("statements are those of a file")


def _psql(findings: Findings, run: Invocation) -> None:
    server = _Server(findings, run, _POSTGRES)
    for word in [values[0] for option, values in run.values if "-d" in option["names"]] + run.operands[:1]:
        _named(server, word)
    _texts(server, ("-c",), _psql_text)
    _connection(server)


def _named(server: _Server, word: Word) -> None:
    """A database may be named with its host: `postgresql://host/name` or `host=… dbname=…`."""
    text = word.text
    if "://" in text:
        _, host, port = host_of(text)
    elif "host=" in text or "service=" in text or "hostaddr=" in text or HOLE in text:
        plain = [piece[5:] for piece in text.split() if piece.startswith("host=")]
        alone = len(plain) == 1 and "hostaddr=" not in text and "service=" not in text and HOLE not in text
        _, host, port = host_of(plain[0], "postgresql") if alone else ("", HOLE, 0)
    else:
        return
    if "hostaddr" in text or "," in text:
        host = HOLE
    items = server.findings.items
    items[server.run.first :] = [
        item
        for item in items[server.run.first :]
        if not (isinstance(item.effect, Connect) and item.effect.host == "localhost" and item.part == server.run.part)
    ]
    server.findings.connect(host, port, "send", word, server.run.part)


def _psql_text(server: _Server, text: str, word: Word) -> None:
    """Statements, with commands of the client in lines of their own or behind them."""
    kept: list[str] = []
    for line in text.split("\n"):
        if line.lstrip()[:1] == "\\":
            _meta(server, line.strip(), word)
        elif "\\g" in line and line.count("'") % 2 == 0:
            before, _, behind = line.partition("\\g")
            kept.append(before + ";")
            _sent(server, behind, word)
        else:
            kept.append(line)
    server.sql("\n".join(kept), word)


def _sent(server: _Server, behind: str, word: Word) -> None:
    """`\\g FILE`, `\\g |COMMAND`: where the answer goes; `\\gexec` runs it."""
    target = behind.strip()
    if behind[:1] not in ("", " ", "x"):
        server.doubt("text holds a command of the client that is not understood")
    elif target[:1] == "|":
        server.shell(target[1:], word)
    elif target.lstrip("x").strip():
        server.touch("write", target.lstrip("x").strip() if " " not in target and "'" not in target else HOLE, word)


def _meta(server: _Server, line: str, word: Word) -> None:
    name, _, rest = line[1:].partition(" ")
    rest = rest.strip()
    if line[1:2] == "!":
        server.shell(line[2:], word)
    elif "`" in line:
        server.shell(line.partition("`")[2].partition("`")[0], word)
    elif "\\" in rest and name != "echo":
        server.doubt("text holds several commands of the client")
    elif name in ("o", "out", "w", "write"):
        if rest[:1] == "|":
            server.shell(rest[1:], word)
        elif rest:
            server.touch("write", rest if " " not in rest and "'" not in rest else HOLE, word)
    elif name in ("g", "gx"):
        _sent(server, " " + rest, word)
    elif name == "copy":
        _copy(server, rest, word)
    elif name in ("i", "ir", "include", "include_relative"):
        server.touch("read", rest if " " not in rest and "'" not in rest else HOLE, word)
        server.doubt("statements are those of a file")
    elif name not in _SHOWING:
        server.doubt(f"command {name.replace(HOLE, '?')} is not described")


def _copy(server: _Server, rest: str, word: Word) -> None:
    """`\\copy … to|from FILE|PROGRAM 'COMMAND'|STDIN`: the file or program is this machine's."""
    try:
        found = statements(rest, server.dialect)
    except SqlError:
        found = []
    tokens = found[0] if found else ()
    lower = [token.text.lower() if token.kind == "word" else "" for token in tokens]
    at = next((i for i in range(len(lower) - 1, -1, -1) if lower[i] in ("to", "from")), -1)
    if at < 0 or at + 1 >= len(tokens):
        server.doubt("command copy is not understood")
        return
    if lower[at] == "from":
        server.reads = False
    elif not only_reads((Token("word", "select"), *tokens[:at])):
        server.doubt("command copy is not understood")
    if lower[at + 1] == "program":
        server.shell(tokens[at + 2].text if at + 2 < len(tokens) else HOLE, word)
    elif lower[at + 1] not in ("stdin", "stdout", "pstdin", "pstdout"):
        plain = tokens[at + 1].kind == "string"
        server.touch("read" if lower[at] == "from" else "write", tokens[at + 1].text if plain else HOLE, word)


def _mysql(findings: Findings, run: Invocation) -> None:
    if "--help" in run.options:
        return
    server = _Server(findings, run, _MYSQL)
    _texts(server, ("-e",), _mysql_text)
    _connection(server)


def _mysql_text(server: _Server, text: str, word: Word) -> None:
    """The client looks for its own commands at the start of a line and, with a backslash, anywhere."""
    kept: list[str] = []
    for line in text.split("\n"):
        bare = line.strip()
        name = bare.split(None, 1)[0].rstrip(";").lower() if bare else ""
        rest = bare[len(name) :].strip().rstrip(";")
        if bare[:2] == "\\!" or name == "system":
            server.shell(bare[2:] if bare[:1] == "\\" else rest, word)
        elif bare[:2] == "\\." or name == "source":
            server.touch("read", bare[2:].strip() if bare[:1] == "\\" else rest, word)
            server.doubt("statements are those of a file")
        elif bare[:2] == "\\T" or name == "tee":
            server.touch("write", bare[2:].strip() if bare[:1] == "\\" else rest, word)
        elif bare[:2] == "\\P" or name == "pager":
            server.shell(bare[2:] if bare[:1] == "\\" else rest, word)
        elif name in _MYSQL_WORDS and name not in ("use", "help"):
            server.doubt(f"command {name} is not described")
        else:
            kept.append(line.replace("\\G", ";").replace("\\g", ";"))
    text = "\n".join(kept)
    # A client's own command may also stand behind the first statement.
    for piece in text.split(";")[1:]:
        if piece.strip() and piece.split()[0].lower() in _MYSQL_WORDS - {"use", "help"}:
            server.doubt("text holds a command of the client that is not understood")
    server.sql(text, word)


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {"psql": _psql, "mysql": _mysql}
