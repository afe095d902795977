"""TOML, changed in place by tomlkit, which keeps comments, order and blanks."""

from __future__ import annotations

from gateway.core.errors import ConfigError, Problem
from gateway.install.jsonc import MISSING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any


class TomlDocument:
    """One file, with the methods of `JsonDocument`."""

    def __init__(self, text: str, file: str) -> None:
        """Raises ConfigError with the place where it is broken."""
        import tomlkit
        from tomlkit.exceptions import ParseError, TOMLKitError

        self.file = file
        self._mark = "\ufeff" if text.startswith("\ufeff") else ""
        try:
            self._document = tomlkit.parse(text.removeprefix("\ufeff"))
        except ParseError as error:
            problem = Problem(
                str(error).partition(" at line")[0].lower(),
                file=file,
                line=error.line,
                column=error.col,
                remedy="repair it by hand",
            )
            raise ConfigError(problem) from error
        except TOMLKitError as error:
            raise ConfigError(Problem(str(error), file=file, remedy="repair it by hand")) from error

    @property
    def text(self) -> str:
        """The whole file as it is to be written."""
        import tomlkit

        return self._mark + tomlkit.dumps(self._document)

    def get(self, path: tuple[str, ...]) -> Any:
        """The plain value at a path of keys, `MISSING` where there is none."""
        found = self._find(path)
        return MISSING if found is MISSING else _plain(found)

    def ensure(self, path: tuple[str, ...], empty: Any) -> list[tuple[str, ...]]:
        """As `JsonDocument.ensure`."""
        import tomlkit

        made = []
        for depth in range(1, len(path) + 1):
            kind = empty if depth == len(path) else {}
            found = self._find(path[:depth])
            if found is MISSING:
                # A table that only holds tables needs no line of its own.
                new: Any = tomlkit.array() if kind == [] else tomlkit.table(is_super_table=depth < len(path))
                self._find(path[: depth - 1])[path[depth - 1]] = new
                made.append(path[:depth])
            elif not isinstance(found, kind.__class__):
                what = "a list" if kind == [] else "a table"
                problem = Problem(f"`{'.'.join(path[:depth])}` must be {what}", file=self.file, remedy="repair it")
                raise ConfigError(problem)
        return made

    def set(self, path: tuple[str, ...], key: str, value: Any) -> None:
        """As `JsonDocument.set`."""
        self._find(path)[key] = value

    def extend(self, path: tuple[str, ...], values: Sequence[Any]) -> None:
        """As `JsonDocument.extend`."""
        holder = self._find(path)
        for value in values:
            holder.append(_inline(value))

    def replace(self, path: tuple[str, ...], index: int, value: Any) -> None:
        """As `JsonDocument.replace`."""
        self._find(path)[index] = _inline(value)

    def remove_key(self, path: tuple[str, ...], key: str) -> None:
        """As `JsonDocument.remove_key`."""
        del self._find(path)[key]

    def remove_items(self, path: tuple[str, ...], indexes: Collection[int]) -> None:
        """As `JsonDocument.remove_items`."""
        for index in sorted(indexes, reverse=True):
            del self._find(path)[index]

    def _find(self, path: tuple[str, ...]) -> Any:
        found: Any = self._document
        for key in path:
            if not isinstance(found, dict) or key not in found:
                return MISSING
            found = found[key]
        return found


def _inline(value: Any) -> Any:
    """A table that stands in a list is written on one line."""
    import tomlkit

    if isinstance(value, dict):
        table = tomlkit.inline_table()
        table.update({key: _inline(item) for key, item in value.items()})
        return table
    if isinstance(value, list):
        return [_inline(item) for item in value]
    return value


def _plain(value: Any) -> Any:
    return value.unwrap() if hasattr(value, "unwrap") else value
