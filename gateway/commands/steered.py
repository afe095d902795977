"""Files of a project that choose which program a name starts, or turn a reader into a writer."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_RUST = (("rust-toolchain.toml", "rust-toolchain"), ("path=",))
# Of each program: the names of the files, and what in them says so once blanks and quotes are taken away.
STEERED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    **dict.fromkeys(
        ("cargo", "rustc", "rustdoc", "rustfmt", "rust-analyzer", "rustup", "clippy-driver", "miri"), _RUST
    ),
    **dict.fromkeys(("mvn", "mvnd"), ((".mvn/jvm.config", ".mvn/mvnd.properties"), ("-", "@"))),
    # Whatever it is asked, npm looks for a newer one of itself: where these say, with the token that they make up.
    "npm": ((".npmrc",), ("registry", "proxy", "cache", "logs-dir", "_auth", "certfile", "keyfile", "${", "\\")),
    "dotnet": (("global.json",), ("paths:",)),
    "ruff": (("ruff.toml", ".ruff.toml", "pyproject.toml"), ("fix=true", "fix-only=true", "extend=")),
    "codespell": (("setup.cfg", ".codespellrc", "pyproject.toml"), ("write-changes",)),
    "autopep8": (("setup.cfg", "tox.ini", ".pep8", ".flake8", "pyproject.toml"), ("in-place", "in_place")),
}


def steered(program: str, texts: Sequence[tuple[str, str]] | None) -> str:
    """Why the project's files may make a program do something else than its words say; "" if they do not. None: what
    they hold is not known."""
    if texts is None:
        return f"what the project's files tell {program} to do is not known"
    signs = STEERED[program][1]
    for path, text in texts:
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
    return ""


def _extends_what_is_read(text: str) -> bool:
    """Whether every `extend` leads to one of the files further up, which are looked at anyway."""
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and key.strip() == "extend":
            steps = value.strip().strip("\"'").split("/")
            if steps[-1] not in STEERED["ruff"][0] or not all(step == ".." for step in steps[:-1]):
                return False
    return True
