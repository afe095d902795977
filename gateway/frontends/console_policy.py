"""Changes of a policy that the console makes: looked over by what looks over policies, and saved by what saves the
answer "always", or as a whole file in the place of the one that was shown."""

from __future__ import annotations

import os
import time

from gateway.approval.saved_rules import SavedRules, document_of, entry_of, rule_id
from gateway.approval.terminal import user
from gateway.config.layers import PolicyFile, read_file
from gateway.config.load import Options, project_root, tool_files, tool_names
from gateway.config.near_misses import DROP_INS, POLICY
from gateway.config.shipped import load_tools
from gateway.core.cache import digest, replace_whole
from gateway.core.errors import ConfigError, Problem
from gateway.core.places import packaged, places
from gateway.frontends.console.sources import Editable, Linted, Proposed

EDITED = "this text"
RULE, USER = "rule", "user"
_EMPTY = "version: 1\nextends: [daily]\nrules: []\n"
_KEPT = "policies"  # in the console's folder: what files said before they were changed here


class Policies:
    """The policies of one person and one project."""

    def __init__(self, cwd: str) -> None:
        self._where = places()
        self._root = project_root(os.path.realpath(cwd))
        self._registry = load_tools(self._where, tool_files(self._where, Options(cwd)))

    def editable(self) -> Editable:
        """The person's own file. Raises ConfigError where it cannot be read."""
        path = os.path.join(self._where.config, POLICY)
        if not os.path.lexists(path):
            return Editable(path, _EMPTY, "")
        content = read_file(path)
        try:
            return Editable(path, content.decode("utf-8"), digest([content.decode("utf-8")]))
        except UnicodeDecodeError as error:
            raise ConfigError(Problem("must be UTF-8", file=path, remedy="repair it by hand")) from error

    def proposed(self, kind: str, text: str) -> Proposed:
        """A change, looked over. Raises ConfigError."""
        if kind == USER:
            known = self.editable()
            noted = self.linted(text)
            return Proposed(
                kind,
                text,
                root=self._root,
                path=known.path,
                before=known.digest,
                layer="user",
                name=POLICY,
                content=text,
                noted=noted,
            )
        rule = text.strip()
        if kind != RULE or not rule or "\n" in rule or not rule.isprintable():
            remedy = 'such as `allow: {command: "make test"}`'
            raise ConfigError(Problem("a rule must stand on one line that can be read", remedy=remedy))
        saved = self._saved()
        before = _said(saved.path)
        entry = self._entry(rule)
        content = saved.text_with(rule_id(rule), entry)
        return Proposed(
            kind, rule, root=self._root, path=saved.path, before=digest([before]) if before else "", layer="local",
            name=f"{DROP_INS}/{os.path.basename(saved.path)}", content=content, noted=self.linted(document_of(entry)),
        )  # fmt: skip

    def save(self, proposed: Proposed) -> str:
        """Makes a change. Raises ConfigError."""
        if proposed.is_broken:
            raise ConfigError(Problem("what is broken is not saved"))
        if proposed.kind == RULE:
            saved = self._saved()
            before = _said(saved.path)
            if (digest([before]) if before else "") != proposed.before:
                raise _changed(saved.path)
            saved.save(rule_id(proposed.text), self._entry(proposed.text))
            return f"Saved as {rule_id(proposed.text)}: `gateway grants revoke {rule_id(proposed.text)}` takes it back."
        known = self.editable()
        if known.digest != proposed.before:
            raise _changed(known.path)
        try:
            kept = self._keep(known)
            os.makedirs(os.path.dirname(known.path), exist_ok=True)
            replace_whole(known.path, proposed.text.encode("utf-8"))
        except OSError as error:
            raise ConfigError(Problem(f"cannot be written: {error.strerror}", file=known.path)) from error
        return f"Saved in {known.path}." + (f" What it said before lies in {kept}." if kept else "")

    def linted(self, policy: str) -> tuple[Linted, ...]:
        """What the linter and the rules' own examples say of a policy's text."""
        from gateway.judge.linting import linted

        if not policy.strip():
            return ()
        builtin, root = packaged("policies/builtin.yaml"), self._root
        files = [
            PolicyFile("builtin", builtin, content=read_file(builtin), base=root, root="/"),
            PolicyFile("user", EDITED, content=policy.encode("utf-8", "surrogateescape"), base=root, root=root),
        ]
        try:
            findings = linted(files, self._registry, self._where, root, of=EDITED.__eq__).findings
        except ConfigError as error:
            return tuple(
                Linted("error", each.line or 0, text=each.message, remedy=each.remedy or "") for each in error.problems
            )
        return tuple(
            Linted(each.severity, each.line, text=each.message, remedy=each.remedy)
            for each in findings
            if each.file == EDITED
        )

    def _saved(self) -> SavedRules:
        return SavedRules(self._where, self._root, tool_names(self._registry))

    def _entry(self, rule: str) -> str:
        return entry_of(rule, shown="a rule that was saved on the console's page", by=user(), now=time.time())

    def _keep(self, known: Editable) -> str:
        """Keeps what a file says in the console's folder; where, "" for nothing."""
        if not known.digest:
            return ""
        folder = os.path.join(self._where.state, "console", _KEPT)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, time.strftime("%Y-%m-%dT%H-%M-%SZ.yaml", time.gmtime()))
        replace_whole(path, known.text.encode("utf-8"))
        return path


def _said(path: str) -> str:
    return read_file(path).decode("utf-8", "replace") if os.path.lexists(path) else ""


def _changed(path: str) -> ConfigError:
    remedy = "look at the change again: it was made for another text"
    return ConfigError(Problem("the file says something else by now: nothing was saved", file=path, remedy=remedy))
