"""Programs that obey files of a project whatever they are asked: the files of each, their grammar, and the keys of
which it is known that they start, write and fetch nothing. A new program is one entry of `PROGRAMS`.

What is on no list counts, and so does a text that the grammar does not take.
"""

from __future__ import annotations

from gateway.commands.steering import key_lists as lists
from gateway.commands.steering.entries import NotRead
from gateway.commands.steering.keys import unlisted
from gateway.commands.steering.tool_chains import other_go, other_rust
from gateway.core.value import Value
from gateway.model.facts import INSTALLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateway.commands.steering.entries import Entry

    Texts = Sequence[tuple[str, str]]

_MOST_KEPT = 256


class Files(Value):
    """Files of one form. `names`: what they are called, the first of them standing for files of any name; `grammar`:
    what reads them, see `GRAMMARS`; `within`: the tables that the program looks into; `keys`: see
    `gateway.commands.steering.keys`."""

    names: tuple[str, ...]
    grammar: str
    keys: str
    within: tuple[tuple[str, ...], ...] = ((),)


class Program(Value):
    """What a program obeys. `operands`: it looks for its files from the files that it is given, too; `also`: a question
    about all texts together, which answers why they say more."""

    files: tuple[Files, ...]
    operands: bool = False
    also: Callable[[Texts], str] | None = None


def _toml(text: str) -> list[Entry]:
    from gateway.commands.steering.toml_files import entries

    return entries(text)


def _ini(text: str) -> list[Entry]:
    from gateway.commands.steering.ini_files import entries

    return entries(text)


def _editorconfig(text: str) -> list[Entry]:
    from gateway.commands.steering.ini_files import editor_entries

    return editor_entries(text)


def _json(text: str) -> list[Entry]:
    from gateway.commands.steering.json_files import entries

    return entries(text)


def _yaml(text: str) -> list[Entry]:
    from gateway.commands.steering.yaml_files import entries

    return entries(text)


def _npmrc(text: str) -> list[Entry]:
    from gateway.commands.steering.npmrc import entries

    return entries(text)


def _options(text: str) -> list[Entry]:
    from gateway.commands.steering.lines import options

    return options(text)


def _variables(text: str) -> list[Entry]:
    from gateway.commands.steering.lines import container_variables

    return container_variables(text)


def _anything(text: str) -> list[Entry]:
    from gateway.commands.steering.lines import anything

    return anything(text)


def _styles(text: str) -> list[Entry]:
    from gateway.commands.steering.lines import sections

    return sections(text)


GRAMMARS: dict[str, Callable[[str], list[Entry]]] = {
    "toml": _toml,
    "ini": _ini,
    "editorconfig": _editorconfig,
    "json": _json,
    "yaml": _yaml,
    "npmrc": _npmrc,
    "options": _options,
    "variables": _variables,
    "lines": _anything,
    "sections": _styles,
}

_PYPROJECT = ("pyproject.toml",)
_FORMS = ("toml", "yml", "yaml", "json")
# Read by `tool_chains`, which knows what is installed.
_RUST = Program((Files(("rust-toolchain.toml", "rust-toolchain"), "", ""),), also=other_rust)
_CARGO = Program((*_RUST.files, Files((".cargo/config.toml", ".cargo/config"), "toml", lists.CARGO)), also=other_rust)
_MAVEN = Program((Files((".mvn/jvm.config",), "options", lists.JVM), Files((".mvn/mvnd.properties",), "lines", "")))

# One of them is a program in Python, in which a remark may hold code (`# coding: utf-7`); the others name folders.
_OF_JUPYTEXT = Files(
    (".jupytext.py", ".jupytext", "jupytext", *(f"{dot}jupytext.{form}" for dot in ("", ".") for form in _FORMS)),
    "",
    "",
)


def _jupytext(texts: Texts) -> str:
    found = (path.rpartition("/")[2] for path, text in texts if text.strip() and not path.endswith(_PYPROJECT))
    return next((f"jupytext runs or obeys all that {name} holds" for name in found), "")


PROGRAMS: dict[str, Program] = {
    "ack": Program((Files((".ackrc",), "options", lists.ACK),)),
    "autopep8": Program(
        (
            Files(("setup.cfg", "tox.ini", ".pep8", ".flake8"), "ini", f"{lists.PEP8} in-place=no", lists.PEP8_TABLES),
            Files(_PYPROJECT, "toml", f"{lists.PEP8} in-place=never", (("tool", "autopep8"),)),
        ),
        operands=True,
    ),
    "biome": Program(
        (Files(("biome.json", "biome.jsonc", ".biome.json", ".biome.jsonc"), "json", lists.BIOME),), operands=True
    ),
    "bun": Program((Files(("bunfig.toml",), "toml", lists.BUN),)),
    "cargo": _CARGO,
    "cargo itself": Program(
        (*_RUST.files, Files((".cargo/config.toml", ".cargo/config"), "toml", lists.CARGO_WITHOUT_BUILDING)),
        also=other_rust,
    ),
    "clippy-driver": _RUST,
    "codespell": Program(
        (
            Files(("setup.cfg", ".codespellrc"), "ini", lists.CODESPELL, (("codespell",),)),
            Files(_PYPROJECT, "toml", f"{lists.CODESPELL} write-changes=never", (("tool", "codespell"),)),
        )
    ),
    "compose": Program(
        (Files(lists.COMPOSE_FILES, "yaml", lists.COMPOSE), Files((".env",), "variables", lists.COMPOSE_VARIABLES))
    ),
    "compose variables": Program((Files((), "variables", lists.COMPOSE_VARIABLES),)),
    "cross": _CARGO,
    "deno": Program((Files(("deno.json", "deno.jsonc"), "json", lists.DENO),)),
    "djlint": Program((Files((".djlint_rules.yaml",), "yaml", lists.DJLINT_RULES),), operands=True),
    "dotnet": Program((Files(("global.json",), "json", lists.DOTNET),)),
    # A policy file shows the way to others, which it extends.
    "gateway policy": Program((Files((), "yaml", lists.POLICY),)),
    "go": Program((Files(("go.work", "go.mod"), "", ""),), also=other_go),
    "interrogate": Program(
        (
            Files(_PYPROJECT, "toml", lists.INTERROGATE, (("tool", "interrogate"),)),
            Files(("setup.cfg",), "ini", lists.INTERROGATE, (("tool:interrogate",),)),
        ),
        operands=True,
    ),
    "isort": Program(
        (
            Files((".isort.cfg",), "ini", lists.ISORT, (("settings",), ("isort",))),
            Files(("setup.cfg", "tox.ini"), "ini", lists.ISORT, (("isort",), ("tool:isort",))),
            Files(_PYPROJECT, "toml", lists.ISORT, (("tool", "isort"),)),
            Files((".editorconfig",), "editorconfig", lists.EDITORCONFIG, lists.EDITOR_TABLES),
        ),
        operands=True,
    ),
    "jupytext": Program(
        (_OF_JUPYTEXT, Files(_PYPROJECT, "toml", "", (("tool", "jupytext"),))), operands=True, also=_jupytext
    ),
    "miri": _RUST,
    "mvn": _MAVEN,
    "mvnd": _MAVEN,
    # Whatever it is asked, npm looks for a newer one of itself: where these say, with the token that they make up.
    "npm": Program((Files((".npmrc",), "npmrc", lists.NPM),)),
    "radon": Program(
        (
            Files(("radon.cfg", "setup.cfg"), "ini", lists.RADON, (("radon",),)),
            Files(_PYPROJECT, "toml", lists.RADON, (("tool", "radon"),)),
        )
    ),
    "ruff": Program(
        (
            Files(("ruff.toml", ".ruff.toml"), "toml", lists.RUFF),
            Files(_PYPROJECT, "toml", lists.RUFF, (("tool", "ruff"),)),
        ),
        operands=True,
    ),
    "rust-analyzer": _RUST,
    "rustc": _RUST,
    "rustdoc": _RUST,
    "rustfmt": _RUST,
    "rustup": _RUST,
    "taplo": Program((Files(("taplo.toml", ".taplo.toml"), "toml", lists.TAPLO),)),
    # `uv cache clean` takes away the folder that these name.
    "uv": Program(
        (Files(("uv.toml",), "toml", lists.UV), Files(_PYPROJECT, "toml", lists.UV, (("tool", "uv"),)))
    ),
    "vale": Program((Files((".vale.ini", "_vale.ini", "vale.ini"), "sections", lists.VALE),)),
    "vulture": Program((Files(_PYPROJECT, "toml", lists.VULTURE, (("tool", "vulture"),)),)),
    # Options, such as those that start programs, from the folder that it is started in.
    "yt-dlp": Program((Files(("yt-dlp.conf",), "lines", ""),)),
    "yamllint": Program((Files((".yamllint", ".yamllint.yaml", ".yamllint.yml"), "yaml", lists.YAMLLINT),)),
}  # fmt: skip

_answered: dict[tuple[str, tuple[tuple[str, str], ...]], str] = {}


def files_of(question: str) -> tuple[str, tuple[str, ...]]:
    """The program that a question about settings is of, and the names of the files: those of the table, or the one that
    stands behind the program's name."""
    program, _, file = question.partition("\0")
    return program, (file,) if file else tuple([name for each in PROGRAMS[program].files for name in each.names])


def objection(program: str, texts: Texts | None) -> str:
    """Why the project's files may make a program do something else than its words say; "" if they do not. None: what
    they hold is not known. The texts stand with their paths, the nearest first."""
    if texts is None:
        return f"what the project's files tell {program} to do is not known"
    if not texts:
        return ""
    key = (program, tuple(texts))
    found = _answered.get(key)
    if found is None:
        if len(_answered) >= _MOST_KEPT:
            _answered.clear()
        found = _answered[key] = _objection(program, PROGRAMS[program], texts)
    return found


def _objection(program: str, obeyed: Program, texts: Texts) -> str:
    for path, text in texts:
        files = _files(obeyed, path)
        if path == INSTALLED or not files.grammar or not text.strip():
            continue
        name = path.removeprefix("/").rpartition("/")[2]
        try:
            found = GRAMMARS[files.grammar](text)
        except NotRead as unclear:
            return f"{name} is not read as {program} may read it ({unclear})"
        for within in files.within:
            more = unlisted(found, within, files.keys)
            if more:
                return f"{name} tells {program} to do more ({more[:80]})"
    return obeyed.also(texts) if obeyed.also is not None else ""


def _files(obeyed: Program, path: str) -> Files:
    """The form of a file: by its name, or the first one for a file of any name."""
    for each in obeyed.files:
        if f"/{path}".endswith(tuple([f"/{name}" for name in each.names])):
            return each
    return obeyed.files[0]
