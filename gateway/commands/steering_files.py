"""Files of a project that choose which program a name starts, or turn a reader into a writer."""

from __future__ import annotations

from gateway.model.facts import INSTALLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_RUST = (("rust-toolchain.toml", "rust-toolchain"), ("path=",))
# A Compose file that takes others in may take them from anywhere; so may the list of files that variables give.
_COMPOSE = ("include:", "include?", "file:oci:", "file:http", "file:git", "file:ssh:", "\\x", "\\u", "COMPOSE_FILE=")
# Of each program: the names of the files, and what in them says so once blanks and quotes are taken away.
STEERED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    **dict.fromkeys(
        ("cargo", "cross", "rustc", "rustdoc", "rustfmt", "rust-analyzer", "rustup", "clippy-driver", "miri"), _RUST
    ),
    **dict.fromkeys(("mvn", "mvnd"), ((".mvn/jvm.config", ".mvn/mvnd.properties"), ("-", "@"))),
    # Whatever it is asked, npm looks for a newer one of itself: where these say, with the token that they make up.
    "npm": ((".npmrc",), ("registry", "proxy", "cache", "logs-dir", "_auth", "certfile", "keyfile", "${", "\\")),
    "go": (("go.work", "go.mod"), ()),
    "compose": (
        (
            "compose.yaml",
            "compose.yml",
            "docker-compose.yml",
            "docker-compose.yaml",
            "compose.override.yaml",
            "compose.override.yml",
            "docker-compose.override.yml",
            "docker-compose.override.yaml",
            ".env",
        ),
        _COMPOSE,
    ),
    "dotnet": (("global.json",), ("paths:",)),
    # What it is told to extend is shown, line by line, where it is no JSON.
    "biome": (("biome.json", "biome.jsonc", ".biome.json", ".biome.jsonc"), ("extends", "\\u")),
    "ruff": (("ruff.toml", ".ruff.toml", "pyproject.toml"), ("fix=true", "fix-only=true", "extend=")),
    "codespell": (("setup.cfg", ".codespellrc", "pyproject.toml"), ("write-changes",)),
    # A policy file shows the way to others, which it extends.
    "gateway policy": ((), ()),
    "autopep8": (("setup.cfg", "tox.ini", ".pep8", ".flake8", "pyproject.toml"), ("in-place", "in_place")),
}


def files_of(question: str) -> tuple[str, tuple[str, ...]]:
    """The program that a question about settings is of, and the names of the files: those of the table, or the one that
    stands behind the program's name."""
    program, _, file = question.partition("\0")
    return program, (file,) if file else STEERED[program][0]


def steered(program: str, texts: Sequence[tuple[str, str]] | None) -> str:
    """Why the project's files may make a program do something else than its words say; "" if they do not. None: what
    they hold is not known."""
    if texts is None:
        return f"what the project's files tell {program} to do is not known"
    signs = STEERED[program][1]
    if program == "go" and texts:
        from gateway.commands.toolchains import other_go  # few projects that are asked about have one

        return other_go(texts)
    if program == "gateway policy":
        return next((f"{path} extends other files" for path, text in texts if _extends_files(text)), "")
    installed = [text.split() for path, text in texts if path == INSTALLED]
    folder = texts[0][0][: texts[0][0].rfind("/")] if texts and STEERED[program] is _RUST else None
    for path, text in texts:
        if folder is not None and path[: path.rfind("/")] != folder:
            break  # the nearest one holds
        plain = "".join(text.split()).replace('"', "").replace("'", "")
        name = path[path.rfind("/") + 1 :]
        for sign in signs:
            if sign == "extend=":
                if not _extends_what_is_read(text):
                    return f"{name} takes settings for {program} from another file"
            elif sign in plain:
                return f"{name} tells {program} to do more ({sign.rstrip('=:')})"
        if name == "rust-toolchain" and "=" not in text and "/" in text:
            return f"{name} names a tool chain by its place"
        if installed and name in _RUST[0]:
            from gateway.commands.toolchains import is_installed

            if not is_installed(plain if "=" in text else text, installed[0]):
                return f"{name} names a tool chain that would be fetched first"
    return ""


def _extends_files(text: str) -> bool:
    """Whether a policy may extend a file, however its YAML is written: escapes could spell either word, and what
    follows a key may stand on a line of its own. A line that is a remark holds neither."""
    lines = [line for line in text.splitlines() if line.lstrip()[:1] != "#"]
    plain = "".join("".join(lines).split()).replace('"', "").replace("'", "")
    if any(sign in plain for sign in ("\\x", "\\u", "\\U")) or any(line.rstrip()[-1:] == "\\" for line in lines):
        return True
    return "extends" in plain and any(sign in plain for sign in ("file:", "file#"))


def _extends_what_is_read(text: str) -> bool:
    """Whether every `extend` leads to one of the files further up, which are looked at anyway."""
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and key.strip() == "extend":
            steps = value.strip().strip("\"'").split("/")
            if steps[-1] not in STEERED["ruff"][0] or not all(step == ".." for step in steps[:-1]):
                return False
    return True
