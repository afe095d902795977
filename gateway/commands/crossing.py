"""What the commands of one text do together: files written and then run, links made or unpacked and then followed, what
is sent."""

from __future__ import annotations

from gateway.commands.incoming_files import COPIERS
from gateway.commands.pipes import Pipes
from gateway.commands.places import absolute
from gateway.commands.remote_shells import given_away
from gateway.model.analysis import Pending
from gateway.model.effect import HOLE, Code, Connect, Item, Opaque, Touch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation
    from gateway.model.command import Word
    from gateway.shell.script import Script

MAX_CONNECTIONS = 32
MAX_COMMANDS = 500
MAX_LINKS = 64
MAX_COPIES = 2_000
_START_UP = ("BASH_ENV", "ENV")
# Names and endings of files that programs run, or take commands from, because they lie in the folder.
_BUILD_FILES = frozenset(
    ("makefile", "gnumakefile", "package.json", "justfile", "taskfile.yml", "rakefile", "gemfile", "dockerfile",
     "cmakelists.txt", "tox.ini", "setup.cfg", ".npmrc", ".yarnrc", ".envrc", "noxfile.py", "pom.xml", "go.mod")
)  # fmt: skip
_CODE_ENDINGS = (
    ".py", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", ".sh", ".bash", ".rb", ".pl", ".rs", ".go", ".c", ".h", ".mk",
    ".cmake", ".gradle", ".kts", ".toml", ".lua", ".php", ".java", ".pyc", ".so", ".pth",
)  # fmt: skip


def known_of(text: str) -> str:
    """A text for a shell with its unknown parts: what is known of it still counts for rules that deny."""
    if text.endswith("\n" + HOLE):
        text = text[:-1]
    return text.replace(HOLE, "${unknown}")


def behind_text(findings: Findings, run: Invocation, word: Word) -> bool:
    """Runs the text that a process substitution gives a shell as its script; False if it is none, or not known."""
    found = findings.pipes.behind(word) if findings.pipes is not None else None
    if found is None or found.text is None:
        return False
    if HOLE in found.text:
        findings.opaque(f"{run.name} runs text that is not known before the run", word.start, word.end, run.part)
    text = known_of(found.text)
    findings.script(findings, text, run.cwds, (*run.via, run.name), (word.start, word.end), run.part)
    return True


def run_written(findings: Findings, word: Word, cwds: tuple[str, ...], via: tuple[str, ...], part: int) -> None:
    """A script is run that the text itself may have written: what it would do stands beside the code, for rules that
    deny. What really stands in the file only the run will tell."""
    if findings.pipes is None or not word.literal:
        return
    for cwd in cwds:
        text = findings.pipes.content(absolute(word.text, cwd), word.start)
        if text is not None:
            text = known_of(text)
            findings.script(findings, text, cwds, (*via, word.text), (word.start, word.end), part)


def pipes_of(script: Script, findings: Findings, shadowed: frozenset[str], outer: Pipes | None = None) -> Pipes:
    """What flows between the commands of a text; `shadowed` names are not the programs that descriptions speak of."""
    return Pipes(script, findings.lookup, shadowed, outer)


def cross(findings: Findings, pipes: Pipes, places: list[int], first: int) -> None:
    """Adds what follows from the commands of a text together. `places`: the first part of each command, and the end;
    `first`: the index of the text's first item."""
    script = pipes.script
    kinds = {item.effect.kind for item in findings.items[first:]}
    if "connect" in kinds:
        _sends(findings, pipes, places, first)
        given_away(findings, pipes, places, first)
    if "write" in kinds and len(script.commands) > 1:
        _links(findings, places, first)
        _copied(findings, first)
        if "connect" in kinds and "code" in kinds:
            _fetched(findings, pipes, places, first)
    for assignment in script.assignments:
        if assignment.name in _START_UP and assignment.value.literal and assignment.value.text:
            cwds = script.commands[0].cwds if script.commands else ()
            run_written(findings, assignment.value, cwds, (assignment.name,), -1)


def _command_of(places: list[int], part: int) -> int:
    """The command that a part belongs to."""
    low, high = 0, len(places) - 1
    while low < high:
        middle = (low + high) // 2
        if places[middle + 1] <= part:
            low = middle + 1
        else:
            high = middle
    return low


def _sends(findings: Findings, pipes: Pipes, places: list[int], first: int) -> None:
    """Asks `settle` to note on each connection which files' content may reach it."""
    script = pipes.script
    redirects, commands = script.redirects, script.commands
    asked = 0
    for place, item in enumerate(findings.items[first:], first):
        effect = item.effect
        if not isinstance(effect, Connect) or effect.direction == "listen":
            continue
        asked += 1
        if asked > MAX_CONNECTIONS or len(commands) > MAX_COMMANDS:
            findings.items[place] = item.replace(effect=effect.replace(direction="send", sends=(HOLE,)))
            continue
        own = -1
        if item.part >= 0:
            own = _command_of(places, item.part)
        else:
            for redirect in redirects:
                if redirect.kind == "net" and (redirect.start <= item.start <= redirect.end or findings.span):
                    own = redirect.part
        if own < 0:
            continue
        # A repository's own folder is what git works on, not what it is told to send.
        git = commands[own].words[0].text.rpartition("/")[2] == "git"
        if git and not script.flows and commands[own].feeder is None:
            continue
        given = pipes.in_words(own)
        sources = set(given)
        if effect.direction == "send" or item.part < 0:
            sources |= pipes.upstream(own)
        parts: list[int] = []
        for source in sources:
            parts += range(places[source], places[source + 1])
        spans = [(r.word.start, r.word.end) for r in redirects if r.kind == "read" and r.part in sources]
        mine = range(0)
        if effect.direction == "send":
            if not git:
                mine = range(places[own], places[own + 1])
            spans += [(r.word.start, r.word.end) for r in redirects if r.kind == "read" and r.part == own]
        if findings.span is not None and spans:
            spans = [findings.span]
        _ask_sent(findings, item, parts, mine, spans)


def _ask_sent(findings: Findings, item: Item, parts: list[int], mine: range, spans: list[tuple[int, int]]) -> None:
    """The question for one connection: what parts before it read and ran, and what its own part reads."""
    for each in findings.items:
        kind = each.effect.kind
        if (kind == "read" and (each.part in mine or each.part in parts or (each.start, each.end) in spans)) or (
            kind in ("code", "opaque") and each.part in parts
        ):
            told = [",".join(map(str, numbers)) for numbers in (sorted(set(parts)), mine)]
            told.append(",".join([f"{start}-{end}" for start, end in spans]))
            findings.pending.append(
                Pending("sends", item.part, item.effect.target, ";".join(told), item.start, item.end)
            )
            return


def _links(findings: Findings, places: list[int], first: int) -> None:
    """A path through a link that the text makes is also one where the link leads."""
    links: list[tuple[str, str]] = []
    for part in findings.parts[places[0] :]:
        if part.program != "ln" or not part.operands or HOLE in "".join(part.operands):
            continue
        for cwd in part.cwds or ():
            target = part.operands[0]
            name = target.rstrip("/").rpartition("/")[2]
            place = absolute(part.operands[-1] if len(part.operands) > 1 else name, cwd)
            for link in (place, f"{place}/{name}"):
                soft = "-s" in part.options
                links.append((link, absolute(target, link.rpartition("/")[0] or "/" if soft else cwd)))
    if not links:
        return
    if len(links) > MAX_LINKS:
        findings.opaque("more links are made than are followed", 0, 0)
        return
    for item in findings.items[first:]:
        effect = item.effect
        if not isinstance(effect, Touch) or effect.glob or HOLE in effect.path:
            continue
        if item.part >= 0 and findings.parts[item.part].program == "ln":
            continue
        for link, target in links:
            if (effect.path + "/").startswith(link + "/"):
                path = absolute(target + effect.path[len(link) :], "/")
                findings.items.append(item.replace(effect=effect.replace(path=path)))
                findings.paths.append(path)


def _copied(findings: Findings, first: int) -> None:
    """Links in a tree that the text copies or moves lead from the copy where they led before; there nobody has looked
    at them yet."""
    made: dict[int, list[str]] = {}
    sources: dict[int, list[str]] = {}
    for item in findings.items[first:]:
        effect = item.effect
        part = findings.parts[item.part] if item.part >= 0 else None
        keeping = COPIERS.get(part.program) if part is not None else None
        if part is None or keeping is None or not isinstance(effect, Touch) or effect.glob or HOLE in effect.path:
            continue
        if keeping and keeping.isdisjoint(part.options):
            continue
        if effect.kind == "write":
            made.setdefault(item.part, []).append(effect.path)
        elif effect.kind in ("read", "delete"):
            sources.setdefault(item.part, []).append(effect.path)
    copies: dict[str, list[str]] = {}
    for at, there in [(at, there) for at, found in sources.items() for there in dict.fromkeys(found)]:
        for place in made.get(at, ()):
            copies.setdefault(place, []).append(there)
            copies.setdefault(f"{place.rstrip('/')}/{there.rpartition('/')[2]}", []).append(there)
    asked = 0
    for item in findings.items[first:] if copies else ():
        effect = item.effect
        if not isinstance(effect, Touch) or effect.kind == "list" or effect.glob or HOLE in effect.path:
            continue
        end = len(effect.path)
        while (end := effect.path.rfind("/", 0, end)) > 0:
            for there in copies.get(effect.path[:end], ()):
                asked += 1
                if asked > MAX_COPIES:
                    findings.opaque("more trees are copied than are followed", 0, 0)
                    return
                before = there + effect.path[end:]
                findings.paths.append(before)
                told = f"{effect.kind}{' tree' if effect.tree else ''}\0{before}"
                findings.ask("through", item.part, effect.path, told, item.start, item.end)


def _fetched(findings: Findings, pipes: Pipes, places: list[int], first: int) -> None:
    """Code that the text fetches and then runs is nothing that a rule for the program allows."""
    fetching = {
        item.part
        for item in findings.items[first:]
        if isinstance(item.effect, Connect)
        and item.part >= 0
        and (item.effect.direction == "fetch" or findings.parts[item.part].program != "git")
    }
    if not fetching:
        return
    if len(pipes.script.commands) > MAX_COMMANDS:
        findings.opaque("too many commands to tell whether what is fetched is run", 0, 0)
        return
    sources = {_command_of(places, part) for part in fetching}
    fetched: list[tuple[str, bool]] = []
    for index in range(len(pipes.script.commands)):
        parts = range(places[index], places[index + 1])
        reads = [
            item.effect
            for item in findings.items[first:]
            if item.part in parts and isinstance(item.effect, Touch) and item.effect.kind == "read"
        ]
        takes = index in sources or not sources.isdisjoint(pipes.upstream(index) | pipes.in_words(index)) or any(
            _within(effect.path, fetched) or any((path + "/").startswith(effect.path + "/") for path, _ in fetched)
            for effect in reads
        )  # fmt: skip
        if not takes:
            continue
        spans = [(r.word.start, r.word.end) for r in pipes.script.redirects if r.part == index and r.kind == "write"]
        for item in findings.items[first:]:
            effect = item.effect
            here = item.part in parts or (item.part < 0 and (item.start, item.end) in spans)
            if here and isinstance(effect, Touch) and effect.kind == "write" and not effect.path.startswith("/dev/"):
                fetched.append((effect.path, effect.tree))
    if not fetched:
        return
    for item in findings.items[first:]:
        if isinstance(item.effect, Code) and item.part >= 0 and item.part not in fetching:
            why = _runs_fetched(findings, item, fetched, first)
            if why:
                findings.items.append(Item(Opaque(why), item.start, item.end, item.part))


def _within(path: str, fetched: list[tuple[str, bool]]) -> bool:
    return any(path == one or (tree and path.startswith(one.rstrip("/") + "/")) for one, tree in fetched)


def _runs_fetched(findings: Findings, item: Item, fetched: list[tuple[str, bool]], first: int) -> str:
    part = findings.parts[item.part]
    for cwd in part.cwds or ():
        paths = [absolute(part.argv[0], cwd)] if "/" in part.argv[0] else []
        paths += [
            each.effect.path
            for each in findings.items[first:]
            if each.part == item.part and isinstance(each.effect, Touch) and each.effect.kind == "read"
        ]
        for path in paths:
            if HOLE in path or _within(path, fetched):
                return f"runs {path.rpartition('/')[2].replace(HOLE, '?')}, which this text may have fetched"
        for path, tree in fetched:
            name = path.rpartition("/")[2].lower()
            code = tree or HOLE in path or name in _BUILD_FILES or name.endswith(_CODE_ENDINGS)
            below = (path + "/").startswith(cwd.rstrip("/") + "/") or (tree and cwd.startswith(path))
            if code and (below or HOLE in path):
                return f"may run {name.replace(HOLE, '?') or path}, which this text fetched"
    return ""
