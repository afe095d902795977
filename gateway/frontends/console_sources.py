"""What pages of the console show, found out by the code of the commands that say the same at a terminal."""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.util import find_spec
from typing import TYPE_CHECKING

from gateway.approval.proposals import Proposals
from gateway.approval.terminal import user
from gateway.audit.index import Index
from gateway.audit.log import FOLDER
from gateway.audit.reading import Moment, recent
from gateway.audit.refusals import Refusal, kind_of
from gateway.calls.containing import cannot_contain
from gateway.config.load import Options, project_root, tool_files
from gateway.config.shipped import load_tools
from gateway.core.errors import CallError, ConfigError, GatewayError, Problem
from gateway.core.places import places
from gateway.frontends.console.opening import Wanted
from gateway.frontends.console.process import serve
from gateway.frontends.console.sources import CallTold, Editable, Linted, Looked, Proposed, Tried
from gateway.frontends.console_policy import EDITED, Policies
from gateway.frontends.output import report, write
from gateway.frontends.proposal_answers import accepted, rejected
from gateway.frontends.rejudging import judged_again, on_one_line
from gateway.frontends.session import change, enforced
from gateway.frontends.why_text import as_data, head_of
from gateway.judge.judge import Judge
from gateway.policy.explain import explain
from gateway.render.plan import planned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from gateway.approval.proposals import Kept
    from gateway.frontends.finding import Finding
    from gateway.judge.policy_tables import Report

_WORK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "console_work.py")
_RECENT = 8 << 20  # bytes of the record that are looked through before an index is made
# What answers from elsewhere need, by the name that is imported.
_REMOTE = {"fido2": "fido2", "http_ece": "http-ece", "jwt": "pyjwt"}
_AS_FILE = "user.yaml"  # its layer in a folder of policies


def main(words: Sequence[str]) -> int:
    """The console's own process: `PORT PRINTS READER` and the folder whose project is shown."""
    port, prints, reader, cwd = words

    def say(text: str) -> None:
        write(text)
        sys.stdout.flush()

    try:
        where = places()
        wanted = Wanted(int(port), prints=prints == "1", reader=reader == "1")
        sources = ConsoleSources(cwd, os.path.join(where.state, FOLDER))
        serve(sources, where.state, wanted, say, _remote(sources, say))
    except GatewayError as error:
        return report(error, as_json=False)
    return 0


def _remote(sources: ConsoleSources, say: Callable[[str], None]) -> Mapping[str, Any] | None:
    """The setting, where it lets people answer from elsewhere. A broken policy lets nobody."""
    try:
        setting = sources.judge().loaded.settings.get("remote")
    except ConfigError:
        say("the policy cannot be read, so nobody is asked elsewhere: see the page\n")
        return None
    if setting is None or not setting.value.get("origin"):
        return None
    missing = [package for name, package in _REMOTE.items() if find_spec(name) is None]
    if missing:
        remedy = "install `agent-gateway[remote]`, in a checkout `.[remote]`"
        raise ConfigError(Problem(f"remote answers need {' and '.join(missing)}", remedy=remedy))
    found: Mapping[str, Any] = setting.value
    return found


class ConsoleSources:
    """The sources for one project and the record of this user."""

    def __init__(self, cwd: str, record: str) -> None:
        self.cwd = cwd
        self.record = record

    def judge(self) -> Judge:
        """Who judges calls there. Raises ConfigError."""
        return Judge(Options(self.cwd), contains=cannot_contain)

    def is_recent(self, name: str) -> bool:
        """Whether a call stands at the end of the record."""
        return self._recent(name) is not None

    def _recent(self, name: str) -> tuple[dict[str, Any], dict[str, Any] | None] | None:
        return recent(self.record, int(name), _RECENT) if name.isdecimal() and len(name) < 16 else None

    def call(self, name: str, *, plans: bool) -> CallTold | None:
        """A call of the record, judged once more."""
        known = self._recent(name)
        if known is None:
            with Index(self.record) as index:
                found = index.show(name)
            if len(found) != 1 or found[0].decision is None:
                return None
            known = found[0].decision, found[0].outcome
        decision, outcome = known
        refusal = Refusal(kind_of(decision, outcome), decision, outcome)
        again = judged_again(decision, self._key(), self.cwd)
        data = as_data(refusal, again)
        plan = None
        if plans and again.gateway is not None and again.verdict is not None:
            plan = planned(again.gateway, again.verdict)
        return CallTold(
            head_of(refusal.kind),
            decision,
            outcome=outcome,
            data=data,
            advice=tuple(data["text"].items()),
            problem=again.problem,
            verdict=again.verdict,
            plan=plan,
        )

    def always(self, decision: Mapping[str, Any]) -> str:
        """The rule that the answer "always" would save for a recorded call."""
        return judged_again(decision, self._key(), self.cwd).always

    def _key(self) -> bytes | None:
        with Moment(self.record) as moment:
            return moment.key

    def doctor(self) -> list[Looked]:
        """What `gateway doctor` finds."""
        from gateway.frontends.cli.doctor import everything

        return [_looked(each) for each in everything(self.cwd)]

    def tried(self, text: str, *, confined: bool, policy: str) -> Tried:
        """A call judged on paper."""
        from gateway.tools.text import parse_call_text

        with tempfile.TemporaryDirectory(prefix="gateway-console-") as folder:
            if policy.strip():
                with open(os.path.join(folder, _AS_FILE), "w", encoding="utf-8", errors="surrogateescape") as file:
                    file.write(policy)
            try:
                options = Options(self.cwd, policies=folder if policy.strip() else "")
                judge = Judge(options, confined=confined, contains=cannot_contain)
                verdict = judge.check(parse_call_text(judge.registry, _as_call(text, judge)))
                found = explain(verdict, enforced=enforced(judge), change=change(judge, verdict))
            except (CallError, ConfigError) as error:
                return Tried(problem=on_one_line(error).replace(os.path.join(folder, _AS_FILE), EDITED))
        return Tried(verdict, found)

    def linted(self, policy: str) -> list[Linted]:
        """What the linter and the rules' own examples say of a policy's text."""
        return list(Policies(self.cwd).linted(policy))

    @property
    def working(self) -> Sequence[str]:
        """What starts a process that works for a page."""
        return [sys.executable, "-I", _WORK]

    def editable(self) -> Editable:
        """The person's own policy file."""
        return Policies(self.cwd).editable()

    def proposed(self, kind: str, text: str) -> Proposed:
        """A change of a policy, looked over."""
        return Policies(self.cwd).proposed(kind, text)

    def save(self, proposed: Proposed) -> str:
        """Makes a change."""
        return Policies(self.cwd).save(proposed)

    @property
    def root(self) -> str:
        """The project that is shown."""
        return project_root(os.path.realpath(self.cwd))

    def proposals(self) -> Sequence[Kept]:
        """What refused calls proposed."""
        return Proposals(places().state, self.root).list()

    def accept(self, name: str, bound: str) -> str:
        """Saves the rule of a proposal that was shown."""
        rule, _path = accepted(self.root, name, bound, user())
        return f"Saved as {rule}: `gateway grants revoke {rule}` takes it back."

    def reject(self, name: str) -> str:
        """Takes a proposal away for good."""
        rejected(self.root, name)
        return "It is gone, and not proposed again."

    def coverage(self) -> Report:
        """What `gateway policy test` finds."""
        from gateway.config.descriptions import find_descriptions
        from gateway.config.layers import find_files
        from gateway.judge.policy_tables import run_tests

        options = Options(self.cwd, root=project_root(os.path.realpath(self.cwd)))
        where = places()
        registry = load_tools(where, tool_files(where, options))
        stack = find_files(where, options.root)
        return run_tests(stack, [], registry, where, options.root, find_descriptions(where, options.root))


def _as_call(text: str, judge: Judge) -> str:
    """What was typed, as a call: a shell text stands for one of Bash."""
    from gateway.judge.policy_tests import as_call

    return as_call(text.strip(), judge.registry)


def _looked(each: Finding) -> Looked:
    return Looked(each.name, each.state, text=each.text, remedy=each.remedy, details=tuple(map(str, each.details)))
