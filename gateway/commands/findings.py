"""What the analysis of one text has found so far: the only mutable thing in the analysis."""

from __future__ import annotations

from gateway.commands.places import CHANGERS, absolute, escaped, stream
from gateway.commands.variables import assigned, holds_command, secret, zone_file
from gateway.model.analysis import Pending
from gateway.model.command import Word
from gateway.model.effect import HOLE, Code, Connect, Effect, Env, Exec, Item, Opaque, Touch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.description import Description
    from gateway.commands.invocation import Invocation
    from gateway.commands.pipes import Pipes
    from gateway.model.command import Part

MAX_GUESSES = 64  # of commands and texts that may be handed on by words of which nobody knows what they are


class Findings:
    """Collects parts, items and questions. `command` and `script` analyse what a command hands on."""

    __slots__ = (
        "activating",
        "aliases",
        "command",
        "git",
        "globs",
        "handed_on",
        "held",
        "home",
        "items",
        "lookup",
        "moves",
        "parts",
        "paths",
        "pending",
        "pipes",
        "programs",
        "script",
        "secrets",
        "shadowed",
        "sourced",
        "span",
        "tokens",
        "tried",
        "unordered",
    )

    def __init__(
        self,
        home: str,
        lookup: Callable[[str], Description | None],
        command: Callable[..., None],
        script: Callable[..., None],
    ) -> None:
        self.held: list[tuple[str, Word, int]] = []
        self.home = home
        self.lookup = lookup
        self.command = command
        self.script = script
        self.parts: list[Part] = []
        self.items: list[Item] = []
        self.tokens: tuple[str, ...] = ()
        self.paths: list[str] = []
        self.globs: list[str] = []
        self.programs: list[str] = []
        self.git: list[str] = []
        self.pending: list[Pending] = []
        self.aliases: dict[str, str] = {}  # of the shell, which its settings say whether it heeds
        self.secrets: list[str] = []
        self.shadowed: frozenset[str] = frozenset()  # programs whose names the text gives another meaning
        self.handed_on = 0
        self.span: tuple[int, int] | None = None
        self.moves: tuple[int, int] | None = None  # where HOME or an XDG folder is set
        self.pipes: Pipes | None = None
        self.tried: set[tuple[str, ...]] | None = None  # while commands are guessed: those that were
        self.activating = False  # the command that is looked at sources what only sets variables
        self.sourced: list[tuple[int, str]] = []
        self.unordered = False

    def secret(self, word: Word, mark: str) -> None:
        """A word is login material; with `mark`, what stands behind that in it is."""
        value = word.text.partition(mark)[2] if mark else word.text
        self.secrets += [piece for piece in value.split(HOLE) if piece]

    def begin_guessing(self) -> bool:
        """From now on commands are guessed among words, which may hand on words to guess among. Whether they were not
        before: whoever gets True calls `end_guessing`, and tries its own words whatever became of the bound."""
        if self.tried is not None:
            return False
        self.tried = set()
        return True

    def end_guessing(self, start: int, end: int, part: int) -> None:
        """The guesses are made. Where not all could be, what stands here is in doubt."""
        if self.has_guessed_enough:
            self.opaque("more commands could start in it than are tried", start, end, part)
        self.tried = None

    def tries(self, *words: str) -> bool:
        """Whether this command, or text if the first word is empty, is to be looked at: it was not guessed yet. Several
        ways lead to the same words, and from there on there would be several again."""
        if self.tried is None:
            return True
        if words in self.tried or self.has_guessed_enough:
            return False
        self.tried.add(words)
        return True

    @property
    def has_guessed_enough(self) -> bool:
        """Whether the bound is hit."""
        return self.tried is not None and len(self.tried) >= MAX_GUESSES

    def add(self, effect: Effect, start: int, end: int, part: int = -1) -> None:
        """One item. Inside a text that is handed on, places are those of the word that holds the text."""
        if self.span is not None:
            start, end = self.span
        self.items.append(Item.make((effect, start, end, part)))

    def _changes(self, kind: str, part: int) -> bool:
        """Whether a part takes a name away, puts something else in its place or changes what may be done with it. To
        open a device, as a redirect does, is no effect; to do that to one is."""
        if kind == "delete":
            return True
        if kind != "write" or part < 0:
            return False
        started = (item.effect for item in reversed(self.items) if item.part == part)
        return any(isinstance(effect, Exec) and effect.program in CHANGERS for effect in started)

    def touch(self, kind: str, word: Word, cwds: tuple[str, ...], part: int, tree: bool = False) -> None:
        """The effect of `kind` on the path that a word names, in each folder the command may run in."""
        text, start, end, pattern = word.text, word.start, word.end, word.pattern
        if self.span is not None:
            start, end = self.span
        if word.names is not None:
            for question, target in word.names.asks:
                if question != "dash":
                    if question == "blanks":
                        for cwd in cwds or ("",):
                            self.ask(question, part, absolute(target, escaped(cwd)), "", start, end)
                    else:
                        self.ask(question, part, target, "", start, end)
            for folder in word.names.below:
                skips = word.names.skips if kind in ("list", "read") or (kind == "delete" and not tree) else ""
                self.items.append(Item(Touch(kind, folder, True, False, "", skips), start, end, part))
                self.paths.append(folder)
            if word.names.below:
                return
        for cwd in cwds or ("",):
            if pattern is not None and HOLE not in text:
                path = absolute(pattern, escaped(cwd))
                if HOLE not in path:
                    self.items.append(Item(Touch(kind, path, tree, True), start, end, part))
                    self.globs.append(path)
                    continue
            path = absolute(text, cwd)
            if path[:8] == "/dev/fd/" or path[:14] == "/proc/self/fd/":
                continue
            if HOLE not in path:
                if path[:5] == "/dev/" and stream(path):
                    if not self._changes(kind, part):
                        continue
                    kind = "delete"  # a mode grants the writing into it, and not this
                self.paths.append(path)
            self.items.append(Item.make((Touch.make((kind, path, tree, False, "", "")), start, end, part)))

    def code(self, run: Invocation, why: str) -> None:
        """The command runs something that its description does not tell."""
        words = run.words
        effect = Code.make((run.name, run.argv or tuple([w.text for w in words]), why))
        if self.items and self.items[-1].part == run.part and self.items[-1].effect == effect:
            return  # the same option once more
        self.add(effect, words[0].start, words[-1].end, run.part)

    def opaque(self, why: str, start: int, end: int, part: int = -1) -> None:
        """Something between these places of the text runs or happens, and nobody can say what."""
        self.add(Opaque(why), start, end, part)

    def connect(self, host: str, port: int, direction: str, word: Word, part: int) -> None:
        """A connection to a host. `port`: 0 where it is not known; `direction`: as `Connect` has it."""
        self.add(Connect(host, port, direction), word.start, word.end, part)

    def env(self, name: str, access: str, start: int, end: int, part: int) -> None:
        """A variable is read or set (`access`): reading counts where it may hold a secret, or nobody knows which it is.
        One that moves the places of other files is noted."""
        if access == "read" and name.isidentifier() and not secret(name):
            return
        self.add(Env(name, access), start, end, part)
        if access == "set" and (name == "HOME" or name[:4] == "XDG_"):
            self.moves = (start, end)

    def env_set(self, name: str, word: Word, part: int) -> None:
        """A variable is set for a program, unless it is one that changes nothing."""
        if assigned(name, True):
            self.env(name, "set", word.start, word.end, part)
            self.command_in(name, word.replace(text=word.text.partition("=")[2]), part)
        if file := zone_file(name, word.text.partition("=")[2]):
            self.touch("read", Word(file, word.start, word.end), (), part)

    def command_in(self, name: str, value: Word, part: int) -> None:
        """Keeps what a variable holds, where that is a command that some program starts: `analyse` looks at it."""
        if " " in value.text and holds_command(name):
            self.held.append((name, value, part))

    def ask(self, kind: str, part: int, target: str, extra: str, start: int, end: int) -> None:
        """A question that only the facts of the host answer; `settle` does. Asked twice, it counts once."""
        if self.span is not None:
            start, end = self.span
        question = Pending.make((kind, part, target, extra, start, end))
        self.pending.append(question)
        if kind == "dash" or kind == "blanks":
            self.globs.append(target)
