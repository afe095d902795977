"""Whether `git undo` is the program `git-undo` that a description speaks of. Pure.

git starts a program of its own folder or of the search path, else an alias of that name, else, where settings say so,
whatever is called nearly like it.
"""

from __future__ import annotations

from gateway.commands.incoming_files import put_there
from gateway.commands.parts import add_code
from gateway.model.effect import Env, Item, Touch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.analysis import Pending
    from gateway.model.command import Part
    from gateway.model.context import Context
    from gateway.model.facts import Facts

ANY = "*"
"""In the place of such a name: any may have another one."""

_SETTINGS = ("/.gitconfig", "/config", "/config.worktree")
_VARIABLES = ("GIT_", "XDG_CONFIG_HOME", "HOME", "PATH")


def program(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, context: Context) -> None:
    """It is, where no call can write the file that PATH gives, and no setting, nor the text, has that name as an
    alias; else it is code. `question`: its `extra` is the program."""
    why = _doubt(items, parts, question, facts, context)
    if why:
        add_code(items, parts, question, why)


def _doubt(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, context: Context) -> str:
    name = question.extra
    written = put_there(parts, items, facts.searched) if facts.searched else ()
    if name in facts.untrusted_programs or name in facts.chosen or name in written or "git" in written:
        return f"{name} lies where it could have been replaced"
    if facts.wanders and parts[question.part].cwds != (context.cwd,):
        return f"{name} is looked for in folders that depend on where git starts"
    if any(_sets(item, question.part, parts) for item in items):
        return f"settings of git are written in the same text, which may have another {name}"
    fact = facts.clients.get(question.target)
    if fact is None or fact.why:
        return f"nobody can tell what {name} is: {fact.why if fact else 'the settings of git are not known'}"
    short = name.partition("-")[2]
    if any(row[1] in (short, ANY) for row in fact.rows):
        return f"settings of git say what {short} means"
    return ""


def _sets(item: Item, own: int, parts: tuple[Part, ...]) -> bool:
    """Whether another command may give a name another meaning."""
    effect = item.effect
    if item.part == own:
        return False
    if isinstance(effect, Env):
        return effect.access == "set" and effect.name.startswith(_VARIABLES)
    if not isinstance(effect, Touch) or effect.kind != "write":
        return False
    part = parts[item.part] if item.part >= 0 else None
    is_git_config = part is not None and part.program == "git" and part.subcommands[:1] == ("config",)
    return is_git_config or f"{effect.real or effect.path}".lower().endswith(_SETTINGS)
