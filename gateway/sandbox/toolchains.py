"""The folders that programs on the search path need to be readable, where the system view does not hold them.

Compilers and interpreters that a person installed into HOME lie in folders of their own, which are found from the
search path alone. HOME itself, what lies above it, and folders that everybody can write are never among them.
"""

from __future__ import annotations

from posixpath import basename, dirname

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.host.base import Host

MAX_LINKS = 500
MAX_ENTRIES = 64
# Managers of versions that keep everything below one folder.
_WHOLE = (
    ".pyenv", ".rbenv", ".nodenv", ".goenv", ".jenv", ".asdf", ".volta", ".sdkman", ".fnm", ".deno", ".ghcup",
    ".rustup", ".phpenv", ".plenv", ".tfenv", ".swiftly", ".linuxbrew", "homebrew",
)  # fmt: skip
# Those that lie further down, and the part of them that a program needs.
_BELOW = (".local/share/mise", ".local/share/uv", ".local/share/fnm", ".local/share/pipx", ".local/pipx")
# What stands beside a folder of programs in an installation.
_BESIDE = ("lib", "lib64", "libexec", "share", "include")
_SHARED = ("", ".local", ".config", ".cache", "Library")


class Toolchains:
    """Looks for the folders of one search path. One use."""

    def __init__(self, host: Host, home: str, covered: tuple[str, ...], writable: tuple[str, ...]) -> None:
        """`covered`: folders that can be read anyhow; `writable`: those in which agents can make anything up. Both
        with a slash at the end."""
        self._host = host
        self._home = home
        self._covered = covered
        self._writable = writable
        self._found: dict[str, None] = {}

    def of(self, search_path: tuple[str, ...]) -> tuple[str, ...]:
        """The folders, resolved and sorted, none of them within another."""
        for entry in search_path[:MAX_ENTRIES]:
            self._entry(entry)
        found = sorted(self._found)
        return tuple([each for each in found if not any(each.startswith(other + "/") for other in found)])

    def _entry(self, entry: str) -> None:
        real = self._folder(entry)
        if not real:
            return
        self._virtual(real)
        if (real + "/").startswith(self._covered):
            return
        self._installation(real)
        if basename(real) in ("bin", "shims"):
            self._links(real)

    def _installation(self, folder: str) -> None:
        """The roots of the installation that a folder of programs belongs to."""
        segments = folder.split("/")
        for at, segment in enumerate(segments):
            if segment in _WHOLE:
                self._add("/".join(segments[: at + 1]))
                return
        for below in _BELOW:
            before, mark, _ = (folder + "/").partition(f"/{below}/")
            if mark:
                self._add(f"{before}/{below}")
                return
        if ".nvm" in segments:
            self._add(dirname(folder))
            return
        self._add(folder)
        above = dirname(folder)
        if ".cargo" in segments:
            home = "/".join(segments[: segments.index(".cargo")])
            self._add(f"{home}/.rustup")
        elif basename(folder) in ("bin", "sbin") and not self._is_shared(above):
            for name in _BESIDE:
                self._add(f"{above}/{name}")

    def _is_shared(self, folder: str) -> bool:
        """Whether many installations, and other things, lie in a folder."""
        return any(folder == f"{self._home}/{name}".rstrip("/") for name in _SHARED)

    def _virtual(self, folder: str) -> None:
        """A virtual environment of Python, and the installation that it was made from."""
        above = dirname(folder)
        text = self._host.read(f"{above}/pyvenv.cfg")
        if not text:
            return
        self._add(above)
        for line in text.splitlines():
            name, mark, value = line.partition("=")
            if mark and name.strip() == "home":
                base = self._folder(value.strip())
                if not base or (base + "/").startswith(self._covered):
                    return
                # The file may be the agent's own: what it names must at least hold an interpreter.
                if any(name.startswith("python") for name, _ in self._entries(base)):
                    self._installation(base)
                return

    def _links(self, folder: str) -> None:
        """Programs that are links to other installations (`~/.local/bin/uv`)."""
        links = [name for name, kind in self._entries(folder) if kind == "link"]
        for name in links[:MAX_LINKS]:
            fact = self._host.path(f"{folder}/{name}")
            if fact is None or fact.kind != "file":
                continue
            there = dirname(fact.real)
            known = tuple(f"{each}/" for each in self._found)
            if not (there + "/").startswith((*self._covered, *known)) and self._may_be(there):
                self._installation(there)

    def _entries(self, folder: str) -> list[tuple[str, str]]:
        try:
            return self._host.entries(folder)
        except OSError:
            return []

    def _folder(self, path: str) -> str:
        """Where a folder lies, "" if there is none that may be used."""
        if not path.startswith("/"):
            return ""
        fact = self._host.path(path)
        return fact.real if fact is not None and fact.kind == "dir" and self._may_be(fact.real) else ""

    def _may_be(self, real: str) -> bool:
        """Never HOME, what lies above it, or what agents could have made (but the workspace, which is covered)."""
        if real == "/" or (self._home + "/").startswith(real + "/"):
            return False
        return (real + "/").startswith(self._covered) or not (real + "/").startswith(self._writable)

    def _add(self, path: str) -> None:
        fact = self._host.path(path)
        if fact is None or fact.kind == "missing" or not self._may_be(fact.real):
            return
        if not (fact.real + "/").startswith(self._covered):
            self._found[fact.real] = None
