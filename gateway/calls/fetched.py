"""What each fetcher runs, and how a call finds what it got."""

from __future__ import annotations

import os

from gateway.core.plain_files import open_plain
from gateway.core.value import Value
from gateway.policy.fetching import cargo, pip, uv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gateway.policy.fetching import Fetch
    from gateway.policy.fetching.base import Files

    # Words to run, each with further variables.
    Steps = list[tuple[list[str], dict[str, str]]]


class With(Value):
    """`variables`: by which the call's programs find what was fetched; `copied`: a folder whose content goes to the
    installer's cache, "" for none: by the call itself before its program starts, so that it lands where what the call
    writes does."""

    variables: Mapping[str, str] = {}
    copied: str = ""
    cache: str = ""

    def words(self, words: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """What starts in the place of a program, and becomes it when all is copied."""
        return (b"/bin/sh", b"-c", _COPIES, b"sh", os.fsencode(self.copied), os.fsencode(self.cache), *words)


_COPIES = (
    b'source=$1 target=$2; shift 2; /bin/mkdir -p -- "$target" && /bin/cp -R -f -- "$source/." "$target/" && exec "$@"'
)


class By(Value):
    """`steps`: what is run, told the program, what to fetch, the files, the folder of the step, the one that is kept
    and the version of Python that it is for; `given`: how the call finds it. Raises OtherwiseError."""

    steps: Callable[[str, Fetch, Files, str, str, str], Steps]
    given: Callable[[Files, str, str], With]


def _pip_steps(python: str, fetch: Fetch, files: Files, place: str, cache: str, version: str) -> Steps:
    chosen = ["--python-version", version] if version else []
    if pip.CONSTRAINTS in files:
        chosen += ["-c", f"{place}/{pip.CONSTRAINTS}"]
    words = [
        python, "-I", "-m", "pip", "--isolated", "--no-input", "--disable-pip-version-check", "--cache-dir", cache,
        "download", "--quiet", "--progress-bar", "off", "--only-binary=:all:", "--dest", place, *chosen, *fetch.flags,
        "-r", f"{place}/{pip.LIST}",
    ]  # fmt: skip
    return [(words, {})]


def _pip_given(_files: Files, place: str, _cache: str) -> With:
    return With({
        "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": place, "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "UV_NO_INDEX": "1", "UV_FIND_LINKS": place, "UV_PYTHON_DOWNLOADS": "never", "UV_OFFLINE": "1",
    })  # fmt: skip


def _cargo_steps(program: str, _fetch: Fetch, files: Files, place: str, cache: str, _version: str) -> Steps:
    variables = {"CARGO_HOME": cache, "CARGO_TERM_COLOR": "never", "CARGO_NET_RETRY": "1", "RUSTUP_AUTO_INSTALL": "0"}
    folders = [name for name in (cargo.LOCKED, cargo.WANTED) if f"{name}/Cargo.toml" in files]
    return [
        ([program, "fetch", "--quiet", "--manifest-path", f"{place}/{name}/Cargo.toml"], variables) for name in folders
    ]


def _cargo_given(files: Files, place: str, cache: str) -> With:
    """The crates of both lock files that the step has written, and what the index says of them, without what other
    projects had fetched."""
    wanted: dict[tuple[str, str], None] = {}
    for name in (cargo.LOCKED, cargo.WANTED):
        if f"{name}/Cargo.toml" in files:
            with open_plain(f"{place}/{name}/Cargo.lock") as file:
                found = cargo.locked_in(file.read().decode("utf-8", "replace"))
            wanted.update(((crate, version), None) for crate, version, _sum in found)
    made = f"{place}/registry"
    for kind in ("index", "cache"):
        for source in os.listdir(f"{cache}/registry/{kind}") if wanted else ():
            if kind == "cache":
                names = {f"{name}-{version}.crate" for name, version in wanted}
            else:
                names = {"config.json", *(f".cache/{_of_index(name.lower())}" for name, _version in wanted)}
            _link_all(f"{cache}/registry/{kind}/{source}", f"{made}/{kind}/{source}", names)
    os.makedirs(made, exist_ok=True)
    return With({"CARGO_NET_OFFLINE": "true", "RUSTUP_AUTO_INSTALL": "0"}, made)


def _link_all(source: str, target: str, names: Iterable[str]) -> None:
    for name in names:
        if os.path.isfile(f"{source}/{name}"):
            os.makedirs(os.path.dirname(f"{target}/{name}"), exist_ok=True)
            os.link(f"{source}/{name}", f"{target}/{name}")


def _of_index(name: str) -> str:
    """Where the index has a crate."""
    if len(name) < 4:
        return f"{len(name)}/{name}" if len(name) < 3 else f"3/{name[0]}/{name}"
    return f"{name[:2]}/{name[2:4]}/{name}"


def _uv_steps(program: str, _fetch: Fetch, files: Files, place: str, _cache: str, version: str) -> Steps:
    """The index is read first, so that it names the files that the lock file asks for."""
    variables = {
        "UV_CACHE_DIR": f"{place}/{_UV}", "UV_NO_CONFIG": "1", "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1",
        "UV_PROJECT_ENVIRONMENT": f"{place}/environment", "UV_LINK_MODE": "hardlink",
    }  # fmt: skip
    chosen = ["--python", version] if version else []
    named = [program, "pip", "compile", "-q", "--no-deps", "--universal", "--no-build", *chosen, f"{place}/{uv.NAMES}"]
    steps = [[*named, "-o", f"{place}/named"]]
    if uv.BUILD in files:
        built = [program, "pip", "install", "-q", "--no-build", *chosen, "--target", f"{place}/built"]
        steps.append([*built, "-r", f"{place}/{uv.BUILD}"])
    synced = [program, "sync", "-q", "--project", f"{place}/{uv.PROJECT}", "--no-install-workspace", "--no-build"]
    if any(name.startswith(f"{uv.PROJECT}/") and name.count("/") > 1 for name in files):
        synced.append("--all-packages")
    return [(each, variables) for each in (*steps, [*synced, "--all-extras", "--all-groups", *chosen])]


def _uv_given(_files: Files, place: str, _cache: str) -> With:
    return With({"UV_OFFLINE": "1", "UV_PYTHON_DOWNLOADS": "never", "UV_LINK_MODE": "copy"}, f"{place}/{_UV}")


_UV = "uv-cache"
BY = {"pip": By(_pip_steps, _pip_given), "cargo": By(_cargo_steps, _cargo_given), "uv": By(_uv_steps, _uv_given)}
"""By the name of the fetcher."""
