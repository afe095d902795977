"""sqlite3 and duckdb: a database in a file, statements, and commands of the client that start with a dot."""

from __future__ import annotations

from gateway.commands.handing import shell_text
from gateway.commands.places import absolute, host_of
from gateway.commands.special.sql.statements import FUNCTIONS, Dialect, SqlError, Token, only_reads, statements
from gateway.commands.special.wordlists import words
from gateway.model.command import Word
from gateway.model.effect import HOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation

_SQLITE = Dialect(brackets=True)
_DUCKDB = Dialect(dollar=True)
_QUIET = words(
    ".tables .schema .indexes .indices .databases .headers .header .mode .width .separator .nullvalue .show "
    ".stats .timer .help .quit .exit .bail .echo .changes .eqp .explain .fullschema .dump .print .prompt "
    ".timeout .version .limit .lint .sha3sum .dbinfo .maxrows .maxwidth .columns .rows "
    ".large_number_rendering"
)
_READ_PRAGMAS = words(
    "table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list foreign_key_check "
    "database_list compile_options integrity_check quick_check function_list collation_list pragma_list "
    "module_list database_size show_tables version"
)
_PLAIN_PRAGMAS = words(
    "user_version page_count journal_mode schema_version encoding freelist_count page_size foreign_keys cache_size"
)
_CHANGES = words(
    "insert update delete replace create drop alter begin commit end rollback savepoint release reindex analyze vacuum"
)


# Behind these, duckdb takes a text for the name of a file.
_BEFORE_ROWS = words(
    "from join , summarize describe desc show table pivot unpivot pivot_wider pivot_longer using into update"
)
_LISTED = ("tables", "databases")
_FILES = ("readfile", "writefile", "fsdir", "zipfile")
_FILES_OF_DUCKDB = (*_FILES, "read_", "parquet_", "sniff_", "getenv")


class _Client:
    """One run of the client: the database it has open, and what its texts do there."""

    def __init__(self, findings: Findings, run: Invocation, duck: bool) -> None:
        self.findings = findings
        self.run = run
        self.duck = duck
        self.dialect = _DUCKDB if duck else _SQLITE
        self.changes = False
        self.used = False
        self.rows = False  # of tables, which may be views
        self.opens = False

    def touch(self, kind: str, text: str, word: Word, tree: bool = False) -> None:
        self.findings.touch(kind, Word(text or HOLE, word.start, word.end), self.run.cwds, self.run.part, tree)

    def doubt(self, why: str) -> None:
        self.run.doubts.append(f"{self.run.name}'s {why}")

    def text(self, text: str, word: Word) -> None:
        """One text: commands with a dot at the start of a line, and statements."""
        pending: list[str] = []
        for line in text.split("\n"):
            whole = "\n".join(pending)
            if line[:1] == "." and (not whole.strip() or self._ended(whole)):
                self._statements(whole, word)
                pending = []
                self._dot(line, word)
            else:
                pending.append(line)
        self._statements("\n".join(pending), word)

    def _ended(self, text: str) -> bool:
        try:
            statements(text, self.dialect)
        except SqlError:
            return False
        return True

    def _statements(self, text: str, word: Word) -> None:
        if not text.strip():
            return
        self.used = True
        if any(line.lstrip()[:1] == "." for line in text.split("\n")[1:]):
            # Inside a text of several lines it is a command or not, as the client sees the statement's end.
            self.doubt("text holds a line that may be a command")
        try:
            found = statements(text, self.dialect)
        except SqlError:
            self.doubt("statement is not understood")
            return
        for statement in found:
            self._statement(statement, word)

    def _statement(self, statement: tuple[Token, ...], word: Word) -> None:
        first = statement[0].text.lower()
        self._functions(statement, word)
        if self.duck:
            self._duck(statement, first, word)
            listing = first == "show" and len(statement) == 2 and statement[1].text.lower() in _LISTED
            named = [token.text.lower() for token in statement if token.kind == "word"]
            self.rows = self.rows or (not listing and not _BEFORE_ROWS.isdisjoint(named))
        if first == "pragma":
            self._pragma(statement)
        elif first == "attach":
            self.changes = True
            file = statement[2 if statement[1:2] and statement[1].text.lower() == "database" else 1 :]
            if len(file) > 1 and file[0].kind in ("string", "name") and file[1].text.lower() == "as":
                self._open(file[0].text, word)
            else:
                self.touch("write", HOLE, word)
        elif first == "vacuum" and any(token.text.lower() == "into" for token in statement):
            known = statement[-1].kind == "string" and statement[-2].text.lower() == "into"
            self.touch("write", statement[-1].text if known else HOLE, word)
        elif not only_reads(statement, _FILES_OF_DUCKDB if self.duck else _FILES) or any(
            token.text.lower() == "into" for token in statement
        ):
            self.changes = True
            judged = self.duck and first in ("copy", "install", "load", "export")
            if not judged and (first not in _CHANGES or self._virtual(statement)):
                self.doubt("statement is not understood")

    @staticmethod
    def _virtual(statement: tuple[Token, ...]) -> bool:
        return any(token.kind == "word" and token.text.lower() in ("virtual", "trigger") for token in statement)

    def _functions(self, statement: tuple[Token, ...], word: Word) -> None:
        """Functions of the client that reach files or run something, wherever they are called."""
        for at, token in enumerate(statement[:-1]):
            if statement[at + 1] != Token("sign", "("):
                continue
            name = token.text.lower()
            argument = statement[at + 2] if at + 3 < len(statement) else None
            alone = argument is not None and argument.kind == "string" and statement[at + 3].text in (")", ",")
            text = argument.text if alone and argument is not None else HOLE
            if name == "writefile":
                self.touch("write", text, word)
            elif name in ("readfile", "zipfile") or (self.duck and name.startswith(("read_", "parquet_", "sniff_"))):
                self._source(text, word)
            elif name in ("fsdir", "glob") and (self.duck or name == "fsdir"):
                self.touch("list", text, word, True)
            elif self.duck and name == "getenv":
                self.findings.env("*" if text == HOLE else text, "read", word.start, word.end, self.run.part)
            elif token.kind == "name" or (name not in FUNCTIONS and statement[0].text.lower() not in _CHANGES):
                self.doubt(f"function {name.replace(HOLE, '?')} is not described")
            elif name in ("load_extension", "edit", "eval", "fts3_tokenizer"):
                self.doubt(f"function {name} runs code")

    def _source(self, text: str, word: Word) -> None:
        """A file, a pattern of files, or an address that a statement takes its rows from."""
        if "://" in text:
            _, host, port = host_of(text)
            self.findings.connect(host, port, "fetch", word, self.run.part)
            return
        known, star, _ = text.partition("*")
        self.touch("read", known.rpartition("/")[0] or "." if star else text, word, bool(star))

    def _duck(self, statement: tuple[Token, ...], first: str, word: Word) -> None:
        for at, token in enumerate(statement[:-1]):
            name, following = token.text.lower(), statement[at + 1]
            file = following.kind == "string" or (
                following.kind == "name" and not {".", "/"}.isdisjoint(following.text)
            )
            if token.text.lower() in _BEFORE_ROWS and token.kind != "string" and file:
                self._source(following.text, word)
            if token.kind == "word" and name == "to" and first == "copy":
                self.touch("write", following.text if following.kind == "string" else HOLE, word)
        if first == "export":
            last = next((token.text for token in statement if token.kind == "string"), HOLE)
            self.touch("write", last, word, True)
        elif first in ("install", "load"):
            self.findings.code(self.run, "loads an extension of the database")
            self.findings.connect("extensions.duckdb.org", 80, "fetch", word, self.run.part)

    def _pragma(self, statement: tuple[Token, ...]) -> None:
        name = statement[1].text.lower().rpartition(".")[2] if len(statement) > 1 else ""
        if name in _READ_PRAGMAS or (name in _PLAIN_PRAGMAS and len(statement) == 2):
            return
        self.changes = True
        if name not in _PLAIN_PRAGMAS and name not in ("synchronous", "optimize", "wal_checkpoint", "busy_timeout"):
            self.doubt(f"setting {name} is not described")

    def _open(self, text: str, word: Word) -> None:
        if text in ("", ":memory:"):
            return
        if text[:5] == "file:":
            text = text[5:].partition("?")[0] if "%" not in text and "//" not in text else HOLE
        elif "://" in text:
            self._source(text, word)
            return
        self.opens = True
        self.touch("read", text, word)
        self.touch("write", text, word)

    def _dot(self, line: str, word: Word) -> None:
        pieces = line.split()
        name, given = pieces[0].lower(), pieces[1:]
        plain = all(not set(piece) & set("'\"\\" + HOLE) for piece in given)
        if name in (".shell", ".system"):
            shell_text(self.findings, self.run, [Word(line[len(name) :].strip(), word.start, word.end)], self.run.name)
            return
        if name in _QUIET:
            self.used = self.used or name not in (".help", ".quit", ".exit", ".print", ".version")
            return
        target = given[-1] if given and plain else HOLE
        if target[:1] == "|" or (given and given[0][:1] == "|"):
            shell_text(self.findings, self.run, [Word(line.partition("|")[2], word.start, word.end)], self.run.name)
        elif name in (".output", ".once", ".log", ".trace", ".backup", ".save", ".clone"):
            if any(piece[:1] == "-" for piece in given):
                self.doubt(f"command {name} has options that are not described")
            elif given and (name in (".backup", ".save", ".clone") or target not in ("stdout", "stderr", "off")):
                self.touch("write", target, word)
        elif name == ".read":
            self.touch("read", target, word)
            self.doubt(f"command {name} runs the statements of a file")
        elif name == ".import":
            files = [piece for piece in given if piece[:1] != "-"]
            self.touch("read", files[0] if plain and files else HOLE, word)
            self.changes = True
        elif name == ".open":
            self._open(target, word)
        elif name == ".restore":
            self.touch("read", target, word)
            self.changes = True
        else:
            self.doubt(f"command {name.replace(HOLE, '?')} is not described")


def _sqlite(findings: Findings, run: Invocation) -> None:
    _client(findings, run, False)


def _duckdb(findings: Findings, run: Invocation) -> None:
    _client(findings, run, True)


def _client(findings: Findings, run: Invocation, duck: bool) -> None:
    if not run.options.isdisjoint(("-version", "-help", "--version", "--help")):
        return
    client = _Client(findings, run, duck)
    words = [values[0] for option, values in run.values if values and "-init" not in option["names"]]
    first = run.operands[0] if run.operands else None
    words += run.operands[1:]
    given = [values for option, values in run.values if not {"-cmd", "-init"} & set(option["names"])]
    for word in words:
        if word.splits or word.pattern is not None:
            client.doubt("text is not known before the run")
        client.text(word.text, word)
    if len(run.operands) < 2 and not given:
        if run.stdin == "text":
            client.text(run.stdin_text, run.words[0].replace(text=""))
        else:
            findings.code(run, "runs statements that are not known before the run")
            client.changes = True
    if first is not None:
        _database(findings, run, client, first)
    if client.opens and client.rows:
        # Its views read whatever file or address they name.
        findings.ask("views", run.part, run.name, "", run.words[0].start, run.words[-1].end)


def _database(findings: Findings, run: Invocation, client: _Client, word: Word) -> None:
    """The file is read, and written by anything but reading; a file that is not there is made."""
    path = word.text
    if path in ("", ":memory:"):
        return
    if path[:5] == "file:":
        path = path[5:].partition("?")[0] if "%" not in path and "//" not in path else HOLE
    client.opens = True
    client.touch("read", path, word)
    if client.changes and "-readonly" not in run.options:
        client.touch("write", path, word)
    elif "-readonly" not in run.options:
        for cwd in run.cwds or ("",):
            full = absolute(path, cwd)
            findings.ask("made", run.part, full, "", word.start, word.end)


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {"sqlite": _sqlite, "duckdb": _duckdb}
