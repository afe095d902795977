"""How a person opens pages: in a browser when the console starts, and by pressing Enter at its terminal."""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import sys
from typing import TYPE_CHECKING

from gateway.core.programs import refusal
from gateway.core.value import Value
from gateway.frontends.console.guard import LOOPBACK

if TYPE_CHECKING:
    import asyncio
    import socket
    from collections.abc import Callable

    from gateway.frontends.console.remote.elsewhere import Elsewhere
    from gateway.frontends.console.tokens import Tokens

_OPENER_SECONDS = 30.0  # how long the file that a browser is sent to lies there
# What opens a file in the person's browser: macOS' and the desktops' own, and where it may look for one.
OPENERS = ("/usr/bin/open", "/usr/bin/xdg-open")
_PATH = "/usr/local/bin:/usr/bin:/bin:/snap/bin"
_SHOWN = (
    "HOME", "LANG", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR",
    "XDG_SESSION_TYPE", "XDG_CURRENT_DESKTOP",
)  # fmt: skip


class Wanted(Value):
    """What a person asked for. `port`: 0 for any. `prints`: the address is shown instead of opened. `reader`: a line
    for `curl` is shown, with a token that only reads."""

    port: int = 0
    prints: bool = False
    reader: bool = False


class Opener:
    """Opens a page when it begins, and whenever somebody presses Enter at its terminal."""

    def __init__(
        self,
        tokens: Tokens,
        folder: str,
        listening: socket.socket,
        wanted: Wanted,
        say: Callable[[str], None],
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self._tokens = tokens
        self._folder = folder
        self._address = f"http://{LOOPBACK}:{listening.getsockname()[1]}/"
        self._wanted = wanted
        self._say = say
        self._elsewhere = elsewhere
        self._file = ""
        self._opening: subprocess.Popen[bytes] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Opens the first page."""
        self._loop = loop
        self.open()
        if self._wanted.reader:
            token = self._tokens.new_reader()
            self._say(f"only to read: curl -H 'Authorization: Bearer {token}' {self._address}live\n")
        if _is_terminal():
            self._say("Enter opens it once more, Ctrl-C ends it\n")
            loop.add_reader(0, self._typed)
        if self._elsewhere is not None:
            self._say(self._elsewhere.typed("") if _is_terminal() else f"people answer at {self._elsewhere.origin}\n")

    def open(self) -> None:
        """Opens a page with a token of its own."""
        address = f"{self._address}#{self._tokens.new_start()}"
        if not self._wanted.prints:
            self._file = self._written(address)
            if self._started():
                self._say(f"opened {self._address} in your browser\n")
                if self._loop is not None:
                    self._loop.call_later(_OPENER_SECONDS, self.forget)
                return
            self.forget()
            self._say("no browser can be opened from here\n")
        self._say(f"open once, within ten minutes: {address}\n")

    def forget(self) -> None:
        """Removes the file that a browser was sent to."""
        if self._file:
            with contextlib.suppress(OSError):
                os.unlink(self._file)
            self._file = ""

    def close(self) -> None:
        """Ends."""
        self.forget()
        if self._opening is not None and self._opening.poll() is None:
            self._opening.terminate()
            self._opening.wait()
        if self._loop is not None and _is_terminal():
            self._loop.remove_reader(0)
            self._say("\n")  # behind the ^C that terminals show

    def _typed(self) -> None:
        line = os.read(0, 4096)
        if not line:
            assert self._loop is not None
            self._loop.remove_reader(0)
            return
        if line.strip() and self._elsewhere is not None:
            self._say(self._elsewhere.typed(line.decode("utf-8", "replace")))
            return
        self.forget()
        self.open()

    def _started(self) -> bool:
        """Whether the system's own opener was started with the file. A browser that PATH or a variable leads to may be
        one that a call put there, and would be handed the token."""
        shows = {name: os.environ[name] for name in _SHOWN if os.environ.get(name)}
        opener = next((each for each in OPENERS if os.path.exists(each) and not refusal(each)), "")
        if not opener or not (shows.keys() & {"DISPLAY", "WAYLAND_DISPLAY"} or sys.platform == "darwin"):
            return False
        environment = {**shows, "PATH": _PATH}
        nothing = subprocess.DEVNULL
        try:
            self._opening = subprocess.Popen(
                [opener, self._file], cwd="/", env=environment, stdin=nothing, stdout=nothing, stderr=nothing
            )
        except OSError:
            return False
        return True

    def _written(self, address: str) -> str:
        """A file that leads there: an address on a command line would stand in the list of processes."""
        self.forget()
        path = f"{self._folder}/open-{secrets.token_hex(8)}.html"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={address}"><title>gateway</title>\n')
        return path


def _is_terminal() -> bool:
    try:
        return os.isatty(0)
    except OSError:
        return False
