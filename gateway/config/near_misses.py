"""File names that are almost those of a policy: a policy under such a name would silently have no effect.

`policy.yml`, `Policy.yaml`, `policies.d`, a folder inside `policy.d`, a `.gateway` that is a file. What people put
aside on purpose (`policy.yaml.bak`, `policy.yaml~`, `README.md`) is none of them.
"""

from __future__ import annotations

import os

from gateway.core.errors import ConfigError, Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

POLICY, DROP_INS, TOOLS, COMMANDS = "policy.yaml", "policy.d", "tools.yaml", "commands"
# What a layer's folder holds: rules, tools, descriptions of programs; and for `gateway agent` skills and agents.
KNOWN = frozenset((POLICY, DROP_INS, TOOLS, COMMANDS, "skills", "agents"))
# Folders of which every file with this ending is read.
_READ_WHOLE = (DROP_INS, COMMANDS)
_ENDING = ".yaml"
# What people write for it, or what an editor makes of it; "" for a name that has no ending.
_ENDINGS = ("", "yaml", "yml", "yam", "ymal", "yaml.txt", "yml.txt", "json", "toml")
# In a folder of which every such file is read, a name without an ending, or with another format's, is somebody's notes.
_TEXT_ENDINGS = tuple(f".{each}" for each in _ENDINGS if each.startswith("y"))
_SHORT = 5
# What a project's policy may have been called instead of a folder `.gateway`.
_FOR_FOLDER = (".yaml", ".yml", ".d", ".json", ".toml", "s")


def misnamed(folder: str) -> list[Problem]:
    """What lies in or in the place of a layer's folder and looks like policy, but is not read as such. Raises
    ConfigError for a folder that cannot be listed."""
    names = _listed(folder)
    if names is None:
        return [Problem(f"must be a folder (got {_kind(folder)}): what it says is not read", file=folder)]
    found = [
        Problem(f"is not read: its name must be `{name}`", file=os.path.join(folder, each), remedy=f"mv it to {name}")
        for each in sorted(set(names) - KNOWN)
        for name in [meant(each, (POLICY, DROP_INS, TOOLS, COMMANDS))]
        if name and not _is_same(os.path.join(folder, each), os.path.join(folder, name))
    ]
    for name in _READ_WHOLE:
        if name in names:
            found += _in_whole(os.path.join(folder, name))
    return found


def beside(folder: str, instead: str = "") -> list[Problem]:
    """What lies beside a layer's folder under a name that looks like its own. `instead`: one more folder that people
    take for it, if it holds policy."""
    where, name = os.path.split(folder)
    plain = name.lstrip(".")
    paths = [folder + ending for ending in _FOR_FOLDER]
    paths += [os.path.join(where, each) for each in (name.upper(), name[: -len(plain)] + plain.capitalize())]
    if instead and any(meant(each, (POLICY, DROP_INS)) for each in _listed(instead) or ()):
        paths.append(instead)
    is_project = name != plain
    holds = f"a project's policy is `{name}/{POLICY}`" if is_project else f"policy is `{folder}/{POLICY}`"
    return [
        Problem(f"is not read: {holds}", file=path)
        for path in dict.fromkeys(paths)
        if os.path.lexists(path) and not _is_same(path, folder)
    ]


def meant(name: str, expected: Iterable[str]) -> str:
    """Which of these names another name was meant for, "" for none. A name that is one of them is meant for it."""
    if name in expected:
        return name
    for each in expected:
        stem, _dot, ending = each.partition(".")
        given, _dot, other = name.casefold().strip().lstrip(".").partition(".")
        endings = ("", "d") if ending == "d" else _ENDINGS if ending else ("",)
        if other in endings and _is_close(given, stem, "d" if ending == "d" else ""):
            return each
    return ""


def _in_whole(folder: str) -> list[Problem]:
    names = _listed(folder)
    if names is None:
        return [Problem(f"must be a folder (got {_kind(folder)}): what it says is not read", file=folder)]
    found = []
    for name in sorted(names):
        path = os.path.join(folder, name)
        if not name.endswith(_ENDING) and name.casefold().strip().endswith(_TEXT_ENDINGS):
            found.append(Problem(f"is not read: its name must end with `{_ENDING}`", file=path, remedy="rename it"))
        elif not name.startswith(".") and os.path.isdir(path) and _holds_yaml(path):
            remedy = f"put its files into {os.path.basename(folder)} itself"
            found.append(Problem("is not read: a folder in a folder", file=path, remedy=remedy))
    return found


def _holds_yaml(folder: str) -> bool:
    return any(name.casefold().endswith(_TEXT_ENDINGS) for name in _listed(folder) or ())


def _listed(folder: str) -> list[str] | None:
    """The names in a folder, [] where there is none, None where something else has its name."""
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return None if os.path.islink(folder) else []
    except NotADirectoryError:
        return None if os.path.lexists(folder) else []
    except OSError as error:
        raise ConfigError(Problem(f"cannot be listed: {error.strerror}", file=folder)) from error


def _kind(path: str) -> str:
    return "a link that leads nowhere" if not os.path.exists(path) else "a file"


def _is_same(one: str, other: str) -> bool:
    """Whether two names are one file, as where names in either case are the same."""
    try:
        return os.path.samestat(os.lstat(one), os.lstat(other)) and not os.path.islink(one)
    except OSError:
        return False


def _is_close(given: str, stem: str, tail: str) -> bool:
    """Whether a word is another one, up to its number, what joins its parts, and one slip."""
    word, stem = _letters(given), _singular(stem)
    return any(_slips(each, other) for each in (word, word.removesuffix(tail)) for other in (stem, _plural(stem)))


def _letters(word: str) -> str:
    """A word without what joins its parts."""
    return "".join(each for each in word if each.isalnum())


def _singular(word: str) -> str:
    return word.removesuffix("s")


def _plural(word: str) -> str:
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"


def _slips(one: str, other: str) -> bool:
    """Whether two words differ by at most one slip: a letter more, a letter less, two that changed places; or another
    letter, which in a short word makes another word (`pool`)."""
    if one == other:
        return True
    start = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    rest, others = one[start:], other[start:]
    if rest[1:] == others or rest == others[1:] or (rest[1::-1] + rest[2:] == others and len(rest) > 1):
        return True
    return rest[1:] == others[1:] and len(other) > _SHORT
