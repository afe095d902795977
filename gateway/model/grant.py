"""A person's answer to a question, bound to what was shown."""

from __future__ import annotations

from gateway.core.value import Value

ONCE, SESSION, ALWAYS = "once", "session", "always"
SCOPES = (ONCE, SESSION, ALWAYS)


class Grant(Value):
    """Permission, or refusal, for what one question showed and for nothing else.

    `call`, `effects`: digests of the call and of all that it was predicted to do; `revision`: of the policy that asked.
    `rules`: what asked, as id, file and line, sorted. `exact`: a rule asked, so only this very call is meant, and not
    another one with the same effects. `uses`: how often it may still be used, -1 without limit; `until`: seconds since
    the epoch after which it is gone, 0 without limit. `saved`: the rule that "always" saved, "" for none. `content`:
    a digest of the files that it would run. A question and what runs behind its answer have the same; an answer for the
    session is one to what they say later, too.
    """

    call: str
    effects: str
    revision: str
    rules: tuple[tuple[str, str, int], ...]
    exact: bool
    allow: bool
    scope: str
    by: str
    uses: int = -1
    until: float = 0.0
    saved: str = ""
    content: str = ""

    def holds(self, asked: Grant, now: float) -> bool:
        """Whether this still answers a question: the same rules of the same policy ask about the same effects, and,
        where a rule asks, about the very same call."""
        if self.uses == 0 or 0 < self.until <= now:
            return False
        same = (self.effects, self.revision, self.rules) == (asked.effects, asked.revision, asked.rules)
        return same and (self.call == asked.call or not (self.exact or asked.exact))
