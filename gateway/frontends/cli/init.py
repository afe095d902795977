"""`gateway init`: puts the gateway into an agent's settings, shows the change first, and takes it out again."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.agents import AGENTS, dialect_of
from gateway.config.load import project_root
from gateway.core.errors import ConfigError, GatewayError, Problem
from gateway.core.places import places
from gateway.core.value import Value
from gateway.frontends.cli import console
from gateway.frontends.jsontext import pretty
from gateway.frontends.output import write
from gateway.frontends.parameter_files import FOLDER
from gateway.frontends.session import folder
from gateway.install import apart, files, own_copy, planning, user_policy
from gateway.install.agents import agent_named
from gateway.install.base import MANAGED, PROJECT, SERVER, USER, Site, shell_line
from gateway.install.hook_lines import hook_lines, server_line
from gateway.install.own_hooks import is_own
from gateway.install.pieces import TEXT, Entry, Member, Target
from gateway.install.receipts import Receipts
from gateway.policy.wording import visible
from gateway.render.settings_diff import brief, difference, shown
from gateway.render.style import is_terminal, style_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateway.install.base import Agent
    from gateway.install.planning import Plan
    from gateway.install.receipts import Kept

DONE, DECLINED, UNTRUSTED = 0, 1, 3


def init(
    agent: Annotated[
        str | None,
        typer.Argument(metavar="AGENT", help=f"{', '.join(AGENTS)}; without it, those found here are listed."),
    ] = None,
    project: Annotated[bool, typer.Option("--project", help="For this project instead of for this user.")] = False,
    managed: Annotated[bool, typer.Option("--managed", help="For everybody on this machine; as root.")] = False,
    mcp: Annotated[bool, typer.Option("--mcp", help="Offer the gateway's own tools as an MCP server, too.")] = False,
    native: Annotated[
        bool,
        typer.Option("--native", help="Write the policy's deny rules as the agent's own rules, too: a second defence."),
    ] = False,
    preset: Annotated[
        list[str] | None,
        typer.Option("--preset", metavar="NAME", help=f"Add a preset to your policy: {', '.join(user_policy.TRADES)}."),
    ] = None,
    edits: Annotated[
        str, typer.Option("--edits", metavar="MODE", help="Let edits and contained work run unasked: accept or follow.")
    ] = "",
    install_apart: Annotated[
        bool,
        typer.Option("--install-apart", help="Copy this gateway to a place of its own first, and guard from there."),
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take out exactly what was put in.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the change and make none.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask, and say in short what is changed.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="With --yes: show every line that is changed.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON; takes --yes or --dry-run.")] = False,
    cwd: Annotated[
        str | None, typer.Option("--cwd", metavar="DIR", help="The folder whose project counts."), FOLDER
    ] = None,
) -> int:
    """Put the gateway into an agent's settings.

    Shows the change and asks first; --undo takes it out. What stands there stays as it is. Exit status: 0, 1 if you
    declined, 2 where nothing could be changed, 3 if the agent will not run the hook yet.
    """
    root = project_root(os.path.realpath(folder(cwd, "--cwd")))
    if agent is None:
        return _list(root, json)
    found = agent_named(agent)
    if found is None:
        raise ConfigError(Problem(f"agent must be one of {', '.join(AGENTS)} (got `{agent}`)"))
    if project and managed:
        raise ConfigError(Problem("--project and --managed must not be given together"))
    if undo and install_apart:
        raise ConfigError(Problem("--undo and --install-apart must not be given together"))
    if json and not (yes or dry_run):
        raise ConfigError(Problem("--json must be given with --yes or --dry-run"))
    for each in preset or ():
        if each not in user_policy.TRADES:
            raise ConfigError(Problem(f"--preset must be one of {', '.join(user_policy.TRADES)} (got `{each}`)"))
    if edits not in ("", *user_policy.EDITS):
        raise ConfigError(Problem(f"--edits must be one of {', '.join(user_policy.EDITS)} (got `{edits}`)"))
    if (preset or edits) and (project or managed or undo):
        raise ConfigError(
            Problem("--preset and --edits are for your own policy: use them without --project and the like")
        )
    level = MANAGED if managed else PROJECT if project else USER
    if level not in found.LEVELS:
        remedy = f"use {' or '.join(_option(each) for each in found.LEVELS)}"
        raise ConfigError(Problem(f"{found.TITLE} has no hooks at the level `{level}`", remedy=remedy))
    where = places()
    how = _How(dry_run, yes, json, brief=yes and not dry_run and not diff)
    if install_apart and not own_copy.is_running(own_copy.place_for(level, where.home)):
        return _apart(level, root, where.home, how)
    if not undo:
        inside = apart.problem(level, root, where.home, sys.executable)
        if inside is not None:
            raise ConfigError(inside)
    site = Site(level, where.home, root, dict(os.environ))
    wish = user_policy.Wish(tuple(dict.fromkeys(preset or ())), edits)
    return _Init(found, site, Receipts(where.state), how, wish).run(undo, mcp, native)


class _How(Value):
    """How one run goes. `brief`: changes are shown by their numbers of lines."""

    dry_run: bool
    yes: bool
    json: bool
    brief: bool


def _apart(level: str, root: str, home: str, how: _How) -> int:
    """Makes the copy that is to guard, where the person agrees, and has that go on with what this was asked for. Comes
    back only where nothing was done. Raises ConfigError."""
    place = own_copy.place_for(level, home)
    wrong = own_copy.problem(place, root, home)
    if wrong is not None:
        raise ConfigError(wrong)
    wanted = own_copy.described(place)
    packages = dict(wanted.packages)
    told = f"{visible(wanted.place)}: {own_copy.NAME} {packages[own_copy.NAME]} and {len(packages) - 1} packages"
    if how.dry_run:
        copied = {"place": wanted.place, "packages": packages, "made": wanted.made}
        text = f"{'a copy of this gateway would lie' if wanted.made else 'a copy of this gateway lies'} in {told}\n"
        write(pretty({"apart": copied, "made": False}) + "\n" if how.json else text)
        return DONE
    if wanted.made:
        if not how.json:
            write(f"a copy of this gateway is to lie in {told}\n")
        if not _agreed(how, "make this copy?"):
            write("nothing was changed\n")
            return DECLINED
        own_copy.copy(wanted)
    if not how.json:
        write(f"{'copied to' if wanted.made else 'the copy is in place:'} {visible(wanted.place)}\n")
    sys.stdout.flush()
    python = own_copy.python_of(place)
    words = [each for each in sys.argv[1:] if each != "--install-apart"]
    os.execve(python, [python, "-I", "-m", "gateway", *words], dict(os.environ))
    raise AssertionError("the copy goes on")


def _agreed(how: _How, question: str) -> bool:
    if how.yes:
        return True
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        remedy = "run it at a terminal, or look at --dry-run and give --yes"
        raise ConfigError(Problem("the change must be agreed to by a person at a terminal", remedy=remedy))
    write(f"{question} [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


class _Init:
    """One run of the command."""

    def __init__(self, agent: Agent, site: Site, receipts: Receipts, how: _How, wish: user_policy.Wish) -> None:
        self.agent, self.site, self.receipts = agent, site, receipts
        self.wish = wish
        self.how, self.dry_run = how, how.dry_run
        self.style = style_for(sys.stdout)
        self.changed: list[files.Change] = []
        self.notes: list[str] = []
        self.meaning: list[str] = []

    def run(self, undo: bool, mcp: bool, native: bool) -> int:
        kept = self.receipts.read(self.agent.NAME, self.site.level, self.site.place)
        status = self._undo(kept) if undo else self._put(kept, mcp, native)
        if self.how.json:
            write(pretty(self._as_data(status)) + "\n")
        return status

    def _put(self, kept: Mapping[str, Kept], mcp: bool, native: bool) -> int:
        targets = [*self.agent.hooks(self.site, hook_lines(self.agent.NAME))]
        if mcp:
            targets.append(self.agent.server(self.site, server_line()))
        if native:
            targets += self._native()
        codex = self.agent.NAME == "codex" and self.site.level != MANAGED
        targets += put_before(kept, targets, mcp, native)
        stay = [path for path, each in kept.items() if each.form == TEXT and not native]
        targets += self._policy(kept, stay)
        plan = planning.to_put((*targets, *(_trust_of(kept) if codex else ())), kept, stay)
        if not self._make(plan, "nothing to change: the gateway is in these settings already"):
            return DECLINED
        if codex and not self.dry_run:
            return self._trust(targets, plan.receipt, stay)
        self._remark()
        return DONE

    def _undo(self, kept: Mapping[str, Kept]) -> int:
        targets = [
            *self.agent.hooks(self.site, hook_lines(self.agent.NAME)),
            self.agent.server(self.site, server_line()),
        ]
        if user_policy.is_changed(places(), kept):
            kept = {path: each for path, each in kept.items() if path != user_policy.path_of(places())}
            self.notes.append(f"{user_policy.path_of(places())} was changed since: it is yours, and stays")
        if not kept:
            targets = targets[:-1]  # a server of that name may be anybody's
        plan = planning.to_take(targets, kept)
        if not self._make(plan, "nothing to take out: the gateway is not in these settings"):
            return DECLINED
        if not self.dry_run:
            files.remove_empty(plan.folders)
        for each in plan.notes:
            self._say(f"note: {visible(each)}\n")
        return DONE

    def _policy(self, kept: Mapping[str, Kept], stay: list[str]) -> list[Target]:
        """The user's policy, where there is none yet, and what it means."""
        if self.site.level != USER:
            return []
        holds = user_policy.cannot_hold()
        wish = self.wish.replace(guarded=not holds)
        found = user_policy.target(places(), wish, kept)
        if found is None:
            stay.append(user_policy.path_of(places()))
            if self.wish.trades or self.wish.edits:
                self.notes.append("--preset and --edits change no policy that you have: say it there, under `extends`")
        rewrites = bool(getattr(dialect_of(self.agent.NAME), "REWRITES", ()))
        self.meaning = user_policy.told(self.agent.TITLE, rewrites, holds, None if found is None else found.content)
        return [] if found is None else [found]

    def _native(self) -> list[Target]:
        from gateway.config.load import Options
        from gateway.install.exported_files import native
        from gateway.install.exported_rules import second_net
        from gateway.judge.effective_policy import ACTIVE, effective
        from gateway.judge.judge import Judge

        options = Options(self.site.project)
        gateway = Judge(options)
        found = effective(places(), options, gateway.registry)
        layers = ("builtin", "enterprise", "user") if self.site.level != PROJECT else None
        rules = [
            each.rule for each in found.rules
            if each.state == ACTIVE and each.level == "enforce" and (layers is None or each.layer in layers)
        ]  # fmt: skip
        net = second_net(rules)
        targets, left = native(self.agent, self.site, net)
        self.notes += left
        self.notes += [f"rule {name} is left to the hook: it {why}" for name, why in net.left]
        return list(targets)

    def _trust(self, targets: Sequence[Target], receipt: Mapping[str, Kept], stay: Sequence[str]) -> int:
        """Asks Codex for the hashes of the hooks that were just put in, and records them when a person agrees."""
        from gateway.agents.codex import EVENTS
        from gateway.install import codex, codextrust
        from gateway.install.detection import found_program

        manual = "start codex, look at them with /hooks, and trust them there"
        program = found_program(self.agent, os.environ, self.site.project)
        source = os.path.realpath(codex.hooks(self.site, hook_lines("codex"))[0].path)
        try:
            if not program:
                raise GatewayError("codex is not on PATH")
            found = codextrust.listed(program, self.site.project, os.environ)
        except GatewayError as error:
            self.notes.append(
                f"Codex skips these hooks until they are trusted, and could not be asked ({error}): {manual}"
            )
            self._remark()
            return UNTRUSTED
        # To the letter: a shell runs the line, and it is not enough that ours stands somewhere in it.
        lines = [shell_line(hook_lines("codex")(event)) for event in EVENTS]
        own = [each for each in found if each.command in lines and os.path.realpath(each.source) == source]
        if not own:
            self.notes.append(f"Codex does not see these hooks: does it trust {self.site.project}? Then init again")
            self._remark()
            return UNTRUSTED
        config = codex.config(self.site.replace(level=USER))
        plan = planning.to_put((*targets, codextrust.trusting(config, own)), receipt, stay)
        if plan.changes:
            self._say("Codex reports these hooks, which it runs only if they are trusted as they are:\n")
            for each in own:
                self._say(f"  {visible(each.event)}: {visible(each.command)}\n    {each.hash}\n")
        if not self._make(plan, ""):
            self.notes.append(f"Codex skips these hooks until they are trusted: {manual}")
            self._remark()
            return UNTRUSTED
        self._remark()
        return DONE

    def _make(self, plan: Plan, nothing: str) -> bool:
        """Shows a plan, asks, and carries it out; False where a person declined. Raises ConfigError."""
        self.notes += plan.notes
        if plan.changes:
            self._say(brief(plan.changes) if self.how.brief else shown(plan.changes, self.style))
            self.changed += plan.changes
        elif nothing:
            self._say(nothing + "\n")
        if self.dry_run:
            return True
        if plan.changes:
            if not _agreed(self.how, "make this change?"):
                self._say("nothing was changed\n")
                return False
            files.write(plan.changes)
        self.receipts.write(self.agent.NAME, self.site.level, self.site.place, plan.receipt)
        for each in plan.changes:
            self._say(f"{'removed' if each.after is None else 'wrote'} {visible(each.path)}\n")
        return True

    def _remark(self) -> None:
        place, tree = apart.in_working_tree(self.site.home, sys.executable)
        own = (f"this gateway lies in the git working tree {tree}: let no agent work there ({place})",) if tree else ()
        remarks = (*self.agent.remarks(self.site), *own, *self.notes)
        for each in self.meaning:
            self._say(f"- {visible(each)}\n")
        self.notes = list(remarks)
        for each in remarks:
            self._say(f"note: {visible(each)}\n")
        if not self.dry_run:
            self._say(f"try it: gateway doctor --agent {self.agent.NAME}\n")
            self._say("see what it does, and answer, on a page: gateway console\n" if console.is_installed() else "")

    def _say(self, text: str) -> None:
        if not self.how.json and text:
            write(text)

    def _as_data(self, status: int) -> dict[str, object]:
        changes = [
            {"path": each.path, "diff": "".join(difference(each))} | ({"removed": True} if each.after is None else {})
            for each in self.changed
        ]
        return {
            "agent": self.agent.NAME, "level": self.site.level, "status": status, "made": not self.dry_run,
            "changes": changes, "notes": self.notes, "means": self.meaning,
        }  # fmt: skip


def put_before(kept: Mapping[str, Kept], wanted: Sequence[Target], mcp: bool, native: bool) -> list[Target]:
    """What earlier runs put in besides the hooks, and this one was not asked for: it stays until --undo."""
    found = []
    for path, each in kept.items():
        now = [piece for target in wanted if target.path == path for piece in target.pieces]
        stays = []
        for piece in each.made.pieces:
            is_server = isinstance(piece, Member) and piece.key == SERVER
            if is_own_hook(piece) or piece in now or _is_trust(piece) or (mcp if is_server else native):
                continue
            stays.append(piece)
        if stays:
            found.append(Target(path, each.form, tuple(stays)))
    return found


def is_own_hook(piece: Entry | Member) -> bool:
    """Whether a piece is a hook that starts the gateway."""
    return isinstance(piece, Entry) and is_own(piece.value)


def _is_trust(piece: Entry | Member) -> bool:
    return isinstance(piece, Member) and piece.at[:2] == ("hooks", "state")


def _trust_of(kept: Mapping[str, Kept]) -> list[Target]:
    """The trust that was recorded before, so that it stays as long as the hooks do."""
    found = []
    for path, each in kept.items():
        pieces = tuple(piece for piece in each.made.pieces if _is_trust(piece))
        if pieces:
            found.append(Target(path, each.form, pieces))
    return found


def _option(level: str) -> str:
    return {USER: "neither --project nor --managed", PROJECT: "--project", MANAGED: "--managed"}[level]


def _list(root: str, json: bool) -> int:
    """Which agents are found here, and at which levels the gateway is in their settings."""
    from gateway.install.detection import agents_here

    found = agents_here(places(), root, dict(os.environ))
    if json:
        write(pretty({"agents": [each.as_dict() for each in found]}) + "\n")
        return DONE
    widest = max(len(name) for name in AGENTS)
    for each in found:
        state = f"gateway is in it for: {', '.join(each.levels)}" if each.levels else "without the gateway"
        what = each.program or (f"settings in {each.settings}" if each.settings else "not found")
        write(f"{each.agent:<{widest}}  {visible(what)}{'' if what == 'not found' else f', {state}'}\n")
    write("\nput it in: gateway init AGENT   (--project, --managed; --dry-run shows the change)\n")
    return DONE
