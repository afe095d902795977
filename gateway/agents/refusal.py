"""The one refusal that every client obeys, whatever dialect it speaks: for a caller that cannot be told, and for every
failure of ours.

Claude Code, Codex and Gemini CLI read it from standard output, Copilot CLI and Cursor from the exit status, and
standard error carries the reason where standard output is not read. There is no such form for any other answer. Nothing
is imported here, so that it can be made when nothing else works.
"""

STATUS = 2
LONGEST = 4_000

_ESCAPED = {'"': '\\"', "\\": "\\\\"}


def refusal(reason: str) -> tuple[bytes, bytes, int]:
    """Standard output, standard error and exit status of a refusal. Never raises for any text; an empty reason would
    be consent to some clients, so there always is one."""
    said = reason[:LONGEST] if reason.strip() else "gateway refused this call"
    quoted = quote(said)
    out = (
        '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",'
        f'"permissionDecisionReason":{quoted}}},"decision":"block","reason":{quoted}}}\n'
    )
    return out.encode("ascii"), said.encode("utf-8", "backslashreplace") + b"\n", STATUS


def quote(text: str) -> str:
    """A text as JSON, in ASCII."""
    return '"' + "".join([_quoted(character) for character in text]) + '"'


def _quoted(character: str) -> str:
    code = ord(character)
    if 32 <= code < 127:
        return _ESCAPED.get(character, character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
