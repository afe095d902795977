"""The folders that programs on the search path need to be readable."""

from __future__ import annotations

import pytest

from gateway.host.frozen import FrozenHost
from gateway.sandbox.toolchains import Toolchains

HOME = "/home/dev"
FILES = [
    "/usr/bin/python3",
    "/home/dev/.cargo/bin/cargo",
    "/home/dev/.rustup/toolchains/stable/bin/rustc",
    "/home/dev/.pyenv/versions/3.11.7/bin/python3",
    "/home/dev/.pyenv/shims/python",
    "/home/dev/.nvm/versions/node/v20.1.0/bin/node",
    "/home/dev/.nvm/versions/node/v18.0.0/bin/node",
    "/home/dev/.local/share/uv/python/cpython-3.12/bin/python3.12",
    "/home/dev/.local/share/other/data",
    "/home/dev/.local/lib/private",
    "/home/dev/.local/bin/script",
    "/home/dev/tools/node/bin/node",
    "/home/dev/tools/node/lib/node_modules/npm/index.js",
    "/home/dev/tools/node/notes.txt",
    "/home/dev/bin/mine",
    "/home/dev/lib/other",
    "/home/linuxbrew/.linuxbrew/bin/brew",
    "/tmp/evil/bin/ls",
    "/work/project/node_modules/.bin/tsc",
    "/work/project/venv/bin/pip",
    "/home/dev/documents/letter.txt",
]
LINKS = {
    "/home/dev/.local/bin/python3.12": "/home/dev/.local/share/uv/python/cpython-3.12/bin/python3.12",
    "/home/dev/.local/bin/letter": "/home/dev/nothing",
    "/home/dev/linked": "/home/dev/.cargo/bin",
}
CASES = {
    "the system needs nothing more": (["/usr/bin", "/bin"], []),
    "cargo needs rustup": (["/home/dev/.cargo/bin"], ["/home/dev/.cargo/bin", "/home/dev/.rustup"]),
    "a link to it is the same": (["/home/dev/linked"], ["/home/dev/.cargo/bin", "/home/dev/.rustup"]),
    "managers of versions are whole": (["/home/dev/.pyenv/versions/3.11.7/bin"], ["/home/dev/.pyenv"]),
    "shims need their manager": (["/home/dev/.pyenv/shims"], ["/home/dev/.pyenv"]),
    "a version of node stands alone": (
        ["/home/dev/.nvm/versions/node/v20.1.0/bin"],
        ["/home/dev/.nvm/versions/node/v20.1.0"],
    ),
    "links in a folder of programs are followed": (
        ["/home/dev/.local/bin"],
        ["/home/dev/.local/bin", "/home/dev/.local/share/uv"],
    ),
    "an installation is what stands beside its programs": (
        ["/home/dev/tools/node/bin"],
        ["/home/dev/tools/node/bin", "/home/dev/tools/node/lib"],
    ),
    "what stands beside `~/bin` is no installation": (["/home/dev/bin"], ["/home/dev/bin"]),
    "another place that is whole": (["/home/linuxbrew/.linuxbrew/bin"], ["/home/linuxbrew/.linuxbrew"]),
    "home and what lies above it are never needed": (["/home/dev", "/home", "/"], []),
    "what everybody can write is not": (["/tmp/evil/bin"], []),
    "what is not there is not": (["/home/dev/.gone/bin"], []),
    "the workspace is seen anyhow": (["/work/project/node_modules/.bin"], []),
    "the same folder once": (["/home/dev/bin", "/home/dev/bin"], ["/home/dev/bin"]),
}


def host(**contents: str) -> FrozenHost:
    return FrozenHost({"home": HOME, "root": "/work/project", "files": FILES, "links": LINKS, "contents": contents})


def found(path: list[str], there: FrozenHost) -> list[str]:
    look = Toolchains(there, HOME, ("/usr/", "/bin/", "/work/project/"), ("/tmp/",))
    return list(look.of(tuple(path)))


@pytest.mark.parametrize("name", CASES)
def test_the_search_path_says_what_must_be_readable(name: str) -> None:
    path, expected = CASES[name]
    assert found(path, host()) == expected


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("/usr/bin", []),
        ("/home/dev/.pyenv/versions/3.11.7/bin", ["/home/dev/.pyenv"]),
        ("/home/dev/.local/share/uv/python/cpython-3.12/bin", ["/home/dev/.local/share/uv"]),
        ("/home/dev/documents", []),
        ("/home/dev", []),
        ("/tmp/evil/bin", []),
    ],
)
def test_a_virtual_environment_needs_the_interpreter_that_it_names_and_nothing_else(
    base: str, expected: list[str]
) -> None:
    """Whoever can write the workspace can write its `pyvenv.cfg`."""
    there = host(**{"/work/project/venv/pyvenv.cfg": f"home = {base}\nversion = 3.11.7\n"})
    assert found(["/work/project/venv/bin"], there) == expected
