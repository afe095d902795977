"""The reference as a page, `docs/rules.md`, and word by word for `gateway policy help`."""

# ruff: noqa: E501  the prose of the page

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.limits import LIMITS
from gateway.policy.predicates import PREDICATES
from gateway.spec.reference import settings, words
from gateway.spec.reference.predicates import DESCRIBED
from gateway.spec.suggest import nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.spec.reference.entry import Entry


class Group(Value):
    """Words of one kind. `kind`: what one of them is. `about`: what is said of all of them, as Markdown."""

    title: str
    kind: str
    entries: dict[str, Entry]
    about: str


_SCOPES = {"call": "of the call as a whole", "part": "of one command", "effect": "of one effect"}


def _predicates(scope: str) -> dict[str, Entry]:
    return {name: each for name, each in DESCRIBED.items() if PREDICATES[name].scope == scope}


def groups() -> tuple[Group, ...]:
    """Everything that the reference speaks of, in the order of the page."""
    return (
        Group("A policy file", "key of a policy file", words.FILE, (
            "A policy is YAML. Every key but `version` may be left out; a key that is not known is an error, and a broken file "
            "stops all decisions. `gateway policy schema` prints the JSON Schema for editors."
        )),
        Group("A rule", "key of a rule", words.RULE, (
            "An entry of `rules:` has one of `deny`, `ask`, `allow` and `require`, and what belongs to it. Behind a lane stands "
            "a [short form](#short-forms), a mapping of [predicates](#predicates) that must all hold, or a list of these of "
            "which one must hold. The order of rules means nothing: each effect of a call gets the strictest answer, and the "
            "call the strictest of its effects. *Allow* speaks narrowly: of the words as written, and of nothing unknown. "
            "*Deny* and *ask* speak widely: of any spelling, and of what may be meant."
        )),
        Group("Short forms", "short form", words.SHORT, (
            "As users of Claude Code know them; where the two differ stands in [short-form.md](short-form.md)."
        )),
        Group("Predicates", "predicate", {}, (
            "All predicates of a mapping must hold. A list behind a predicate means any of; behind one that ends in `_not`, none of."
        )),
        *(
            Group(f"Predicates {of}", "predicate", _predicates(scope), "")
            for scope, of in _SCOPES.items()
        ),
        Group("An option's value", "question", words.OPTION_VALUES, ""),
        Group("Tests of a value", "test of a value", words.VALUES, (
            "Behind each field of `args`. Several tests in one mapping must all pass."
        )),
        Group("Effects", "kind of effect", words.EFFECTS, (
            "What a call does, whichever tool or command does it. `effect:` names kinds. Predicates that test a field hold only "
            "for the kinds that have it."
        )),
        Group("Path patterns", "path pattern", words.PATTERNS, (
            "As in `.gitignore`, with a start: in `Read(…)`, `Edit(…)`, `path`, `path_not`, `cwd` and `sends`. A pattern that "
            "matches a folder matches all below it. Of a link, an allow rule must cover the name and where it leads, a deny or "
            "ask rule one of the two. In every other predicate a pattern is a glob over a text, in which `*` also matches `/`."
        )),
        Group("Layers", "layer", words.LAYERS, (
            "From the upper to the lower. A lower layer never weakens an upper one's deny or ask, unless that rule delegates it."
        )),
        Group("Settings", "setting", settings.SETTING, (
            "Single values under `settings:`. The lowest layer's holds unless an upper one locked or bounded it; of sections "
            "each key by itself."
        )),
        Group("The sandbox", "key of the setting `sandbox`", settings.SANDBOXED, (
            "What a confined call sees and may do beyond what was predicted of it: [sandbox.md](sandbox.md)."
        )),
        Group("Limits", "key of the setting `limits`", settings.LIMITED, "Bounds on every call."),
    )  # fmt: skip


def page() -> str:
    """The whole page, as Markdown."""
    lines = [
        "# Rules",
        "",
        "<!-- Written by `python tests/spec/test_reference.py` from the program's own tables; a test holds it. -->",
        "",
        (
            "Every word of a policy file, with examples that the tests run: in the columns *holds for* and *not for* stand calls that "
            "a rule speaks of and does not speak of. They are judged in a project `/home/dev/project` on the branch `main`. On the "
            "command line: `gateway policy help WORD`. To begin with: [tutorial.md](tutorial.md)."
        ),
        "",
    ]
    for group in groups():
        lines += [f"## {group.title}", "", *([group.about, ""] if group.about else [])]
        rules = [(name, each) for name, each in group.entries.items() if each.examples]
        if rules:
            lines += list(_table(group, rules))
        pieces = [(name, each) for name, each in group.entries.items() if each.files]
        for name, each in pieces:
            lines += [f"**`{name}`**: {each.about}.{_behind(each.more)}", ""]
            for piece in each.files:
                lines += ["```yaml", *piece.split("\n"), "```", ""]
        plain = [(name, each) for name, each in group.entries.items() if not each.files and not each.examples]
        lines += [f"- **`{name}`**: {each.about}." for name, each in plain] + ([""] if plain else [])
        if group.title == "Settings":
            lines += list(_sections())
    return "\n".join(lines).rstrip("\n") + "\n"


_BEGIN, _END = "<!-- limits: begin, generated -->\n", "<!-- limits: end -->\n"


def with_limits(text: str) -> str:
    """The page of the sandbox with its table of limits as they are. Raises ValueError where it has no place for it."""
    before, _, rest = text.partition(_BEGIN)
    _, found, after = rest.partition(_END)
    if not found:
        raise ValueError("the page has no marks between which the limits stand")
    rows = [f"| `{name}` | {each.about} | {each.shown()} | {each.kept} |\n" for name, each in LIMITS.items()]
    head = "| `limits` | of | where nothing is set | holds |\n| --- | --- | --- | --- |\n"
    return f"{before}{_BEGIN}{head}{''.join(rows)}{_END}{after}"


def _table(group: Group, entries: list[tuple[str, Entry]]) -> Iterator[str]:
    for name, each in entries:
        of = _fields(name) if group.kind == "kind of effect" else _kinds(name) if group.kind == "predicate" else ""
        yield f"**`{name}`**: {each.about}.{_behind(each.more)}{_behind(of)}"
        yield ""
        yield "| rule | holds for | not for |"
        yield "| --- | --- | --- |"
        for example in each.examples:
            cells = (_cell(example.rule), _cell(example.holds), _cell(example.not_for) if example.not_for else "")
            yield "| " + " | ".join(cells) + " |"
        yield ""


def _cell(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def _behind(text: str) -> str:
    return f" {text}" if text else ""


def _fields(kind: str) -> str:
    """The predicates that test a field of this kind of effect."""
    names = [f"`{name}`" for name, each in PREDICATES.items() if kind in each.kinds]
    return f"Tested by {', '.join(names)}." if names else ""


def _kinds(name: str) -> str:
    predicate = PREDICATES[name]
    choices = f"One or more of {', '.join(f'`{each}`' for each in predicate.choices)}." if predicate.choices else ""
    kinds = f"Of the effects {', '.join(f'`{each}`' for each in predicate.kinds)}." if predicate.kinds else ""
    alone = "Not alone in an allow rule." if predicate.circumstance else ""
    return " ".join(filter(None, (choices, kinds, alone)))


def _sections() -> Iterator[str]:
    for section, keys in settings.SECTIONS.items():
        yield f"Keys of `{section}`:"
        yield ""
        yield from (f"- `{key}`: {about}." for key, about in keys.items())
        yield ""


def lookup(word: str) -> str:
    """What the reference says of a word, as text; "" if it does not know it."""
    found = []
    for group in groups():
        for name, each in group.entries.items():
            if word in (name, name.partition("(")[0]):
                found.append(_told(group, name, each))
    for section, keys in settings.SECTIONS.items():
        if word in keys:
            found.append(f"{word} (key of the setting `{section}`): {keys[word]}.\n")
    return "\n".join(found)


def _told(group: Group, name: str, each: Entry) -> str:
    of = _fields(name) if group.kind == "kind of effect" else _kinds(name) if group.kind == "predicate" else ""
    lines = [f"{name} ({group.kind}): {each.about}.", *filter(None, (each.more, of))]
    for example in each.examples:
        lines += ["", f"  - {example.rule}", f"    # holds for: {example.holds}"]
        lines += [f"    # not for:   {example.not_for}"] if example.not_for else []
    for piece in each.files:
        lines += ["", *(f"  {line}" for line in piece.split("\n"))]
    return "\n".join(lines) + "\n"


def known() -> tuple[str, ...]:
    """Every word that `lookup` knows, each once."""
    names = [name for group in groups() for name in group.entries]
    names += [key for keys in settings.SECTIONS.values() for key in keys]
    return tuple(dict.fromkeys(names))


def near(word: str) -> tuple[str, ...]:
    """Words that may have been meant: the nearest by spelling, and those that hold it."""
    spelled = nearest(word, known())
    holding = [name for name in known() if len(word) > 2 and word.casefold() in name.casefold()]
    return tuple(dict.fromkeys(filter(None, (spelled, *holding))))


def overview() -> str:
    """All words by group, as text."""
    lines = []
    for group in groups():
        if group.entries:
            lines += [f"{group.title}:", "  " + "  ".join(group.entries), ""]
    return "\n".join(lines)
