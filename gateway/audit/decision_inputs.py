"""The inputs of a decision, as two texts beside the record's lines: facts and circumstances, each stored once.

A line names them by keyed digests, which hold them to what they were as the seal holds the line. What secrets stand in,
or what is larger than the bound, is not kept: such a decision cannot be judged again, and the line says so. Pure.
"""

from __future__ import annotations

from _blake2 import blake2b

from gateway.core.plainjson import encoder, loads
from gateway.model.context import Context
from gateway.model.facts import ClientFact, Facts, GitFact, Origin, PathFact, Seen, TreeFact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gateway.audit.redact import Redactor

MOST_BYTES = 65_536  # of one text
# In the place of a digest: why there is none.
SECRET, LARGE, OFF = "secret", "large", ""
_MOST_KEPT = 512
_SIZE = 16

_encode = encoder(sort_keys=True)
_NO_FACTS = Facts()
_NO_CONTEXT = Context("", "", "").replace(now=0.0)


class Beside:
    """Makes the texts of decisions for one record. Safe to use from several threads."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._contexts: dict[Any, tuple[str, str]] = {}
        self._texts: dict[str, str] = {}

    def of(self, seen: Seen, key: bytes) -> tuple[str, tuple[tuple[str, str], ...]]:
        """The field of a line as JSON, and the texts that it names, each with its digest."""
        context = seen.context
        # Where a call is made stands in its line: names of folders look like secrets more often than others. So do
        # digests.
        own = (context.cwd, context.root, context.home, context.scratch, seen.origin.revision, seen.origin.code)
        said = tuple(each for each in own if len(each) > 1)
        facts, told = self._kept(_encode(facts_data(seen)), key, said, commands=bool(seen.facts.settings))
        # All but the time is the same for many calls.
        same = (context.replace(now=0.0), seen.origin, seen.branch_known, seen.shell, seen.server)
        known = None if seen.annotations else self._contexts.get(same)
        if known is None:
            known = self._kept(_encode(context_data(seen)), key, said, commands=True)
            if len(self._contexts) >= _MOST_KEPT:
                self._contexts.clear()
            if not seen.annotations:
                self._contexts[same] = known
        circumstances, text = known
        field = f'["{facts}","{circumstances}",{context.now!r}]'
        return field, ((facts, told), (circumstances, text))

    def _kept(self, text: str, key: bytes, said: tuple[str, ...], *, commands: bool) -> tuple[str, str]:
        """The digest of a text with the text, or why it is not kept with nothing. `said`: what stands in the line;
        `commands`: the text may hold commands."""
        found = self._texts.get(text)
        if found is None:
            if len(text) > MOST_BYTES:
                return LARGE, ""
            redactor = self._redactor
            looked = text
            for each in said:
                looked = looked.replace(each, "")
            clean = redactor.is_clean(looked, commands=commands) or not redactor.text(looked, MOST_BYTES)[1]
            found = named(text.encode("ascii"), key) if clean else SECRET
            if len(self._texts) >= _MOST_KEPT:
                self._texts.clear()
            self._texts[text] = found
        return found, text if found != SECRET else ""


def named(text: bytes, key: bytes) -> str:
    """The digest that a line has of a text."""
    return blake2b(text, key=key, digest_size=_SIZE).hexdigest()


def facts_data(seen: Seen) -> dict[str, Any]:
    """What was found on the host, as plain data: only what says something."""
    facts = seen.facts
    found: dict[str, Any] = {}
    if facts.paths:
        found["paths"] = dict(facts.paths)
    if facts.replace(paths={}) != _NO_FACTS:
        for name in ("globs", "programs", "git", "names", "nests"):
            value = getattr(facts, name)
            if value:
                found[name] = dict(value)
        for name in ("untrusted_programs", "chosen"):
            value = getattr(facts, name)
            if value:
                found[name] = sorted(value)
        if facts.trees:
            found["trees"] = sorted([list(key), value] for key, value in facts.trees.items())
        if facts.settings:
            found["settings"] = sorted(
                ([list(key), value] for key, value in facts.settings.items()), key=lambda row: row[0]
            )
        if facts.searched:
            found["searched"] = facts.searched
        if facts.wanders:
            found["wanders"] = True
        if facts.activates:
            found["activates"] = dict(facts.activates)
        if facts.clients:
            found["clients"] = dict(facts.clients)
    if seen.own is not None:
        found["own"] = seen.own
    if seen.others:
        found["others"] = seen.others
    if seen.cannot:
        found["cannot"] = seen.cannot
    if seen.unfetched is not None:
        found["unfetched"] = seen.unfetched
    return found


def context_data(seen: Seen) -> dict[str, Any]:
    """The circumstances without the time, as plain data: only what is not as usual."""
    found: dict[str, Any] = _unusual(seen.context.replace(now=0.0), _NO_CONTEXT)
    found["origin"] = _unusual(seen.origin, Origin(""))
    if not seen.branch_known:
        found["branch_known"] = False
    if seen.shell != "bash":
        found["shell"] = seen.shell
    if seen.server:
        found["server"] = seen.server
    if seen.annotations:
        found["annotations"] = dict(seen.annotations)
    return found


def _unusual(value: Any, usual: Any) -> dict[str, Any]:
    return {name: each for name, each, other in zip(value._fields, value, usual, strict=True) if each != other}


def seen_of(facts: bytes, circumstances: bytes, now: float) -> Seen:
    """What a decision was made with, from its texts. Raises ValueError for what no version of this code wrote, and
    where it holds something that this one does not know: half of it would be another decision."""
    try:
        found, told = loads(facts), loads(circumstances)
        origin = _value(Origin, told.pop("origin"), {"root": ""})
        rest = {name: told.pop(name) for name in ("branch_known", "shell", "server", "annotations") if name in told}
        outside = {name: found.pop(name) for name in ("own", "others", "cannot", "unfetched") if name in found}
        outside = {name: _frozen(value) for name, value in outside.items()}
        context = _value(Context, told, {"cwd": "", "root": "", "home": ""})
        return Seen(context.replace(now=now), _facts(found), origin, **rest, **outside)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not as this version of the gateway writes it ({error})") from error


_READ: dict[str, Callable[[Any], Any]] = {
    "paths": lambda rows: {path: PathFact(*each) for path, each in rows.items()},
    "globs": lambda rows: {pattern: None if each is None else tuple(each) for pattern, each in rows.items()},
    "programs": dict,
    "git": lambda rows: {folder: GitFact(*_frozen(each)) for folder, each in rows.items()},
    "trees": lambda rows: {tuple(key): TreeFact(*_frozen(each)) for key, each in rows},
    "untrusted_programs": frozenset,
    "names": dict,
    "settings": lambda rows: {_frozen(key): _frozen(each) for key, each in rows},
    "nests": dict,
    "chosen": frozenset,
    "searched": tuple,
    "wanders": bool,
    "activates": lambda rows: {path: tuple(names) for path, names in rows.items()},
    "clients": lambda rows: {name: ClientFact(*_frozen(each)) for name, each in rows.items()},
}


def _facts(found: Mapping[str, Any]) -> Facts:
    return Facts(**{name: _READ[name](value) for name, value in found.items()})


def _value(kind: Any, found: Mapping[str, Any], needed: Mapping[str, Any]) -> Any:
    return kind(**{**needed, **{name: _frozen(value) for name, value in found.items()}})


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
