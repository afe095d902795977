"""What servers say, as a client may have it: no character that hides, no claim that lowers its guard, no secret, and
not more than fits. Pure."""

from __future__ import annotations

import json

from gateway.audit.secrets import redact_forms
from gateway.core.secret_masking import hidden_in
from gateway.core.value import Value
from gateway.policy.wording import visible_character

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

CHARACTERS = 100_000
# Of pictures, sounds and other data that stands there in base64.
MOST_DATA = 8 << 20
MOST_DEPTH = 64
# What the protocol says of a tool that says nothing: the worst.
WORST = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
# Of all that a tool says of itself.
MOST_DEFINITION = 200_000
_PLAIN = frozenset("\n\t")
# What a terminal obeys, and what hides text or turns it round; blanks and joiners of other scripts are text.
_OBEYED = {
    code: visible_character(chr(code))
    for codes in ((0, 32), (0x7F, 0xA0), (0x202A, 0x202F), (0x2066, 0x206A), (0xE0000, 0xE0080))
    for code in range(*codes)
    if chr(code) not in "\n\t\r"
}
_CARRIAGE = visible_character("\r")


class Rules(Value):
    """What is done to results. `characters`: how much text one may have; `secrets`: what the server was given and must
    not say back; `forms`: whether what has the form of a secret is taken out."""

    characters: int = CHARACTERS
    secrets: tuple[str, ...] = ()
    forms: bool = True


def shown(text: str) -> str:
    """The text with every character that cannot be seen for what it is as an escape; ends of lines stay."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(each if each in _PLAIN else visible_character(each) for each in text)


def without_controls(text: str) -> str:
    """A result's text without what a terminal obeys, and what hides text: as escapes, all else as it is."""
    if text.isprintable():
        return text
    text = text.translate(_OBEYED)
    if "\r" not in text:
        return text
    return "\r\n".join(piece.replace("\r", _CARRIAGE) for piece in text.split("\r\n"))


def size_of(definition: Any) -> int:
    """Of a definition as JSON. Raises ValueError where it is nested too deeply."""
    try:
        return len(json.dumps(definition, ensure_ascii=False))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def shown_in(data: Any, depth: int = 0) -> Any:
    """The same of all text in data as JSON has it, names of fields included. Raises ValueError where it is too deep."""
    if depth > MOST_DEPTH:
        raise ValueError("it is nested too deeply")
    if isinstance(data, str):
        return shown(data)
    if isinstance(data, dict):
        return {shown(name): shown_in(each, depth + 1) for name, each in data.items()}
    if isinstance(data, list):
        return [shown_in(each, depth + 1) for each in data]
    return data


def stricter(ours: Mapping[str, Any] | None, theirs: Any) -> dict[str, bool]:
    """The annotations that a client gets: what we know of the tool, or the worst, and never better than its server says
    itself."""
    found = dict(WORST if ours is None else {**WORST, **ours})
    if isinstance(theirs, dict):
        found |= {name: worst for name, worst in WORST.items() if theirs.get(name) is worst}
    return found


def tool_for_client(definition: Mapping[str, Any], name: str, annotations: Mapping[str, bool]) -> dict[str, Any]:
    """A server's tool as a client is shown it. Raises ValueError where its definition is none."""
    schema = definition.get("inputSchema")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise ValueError("its input is not described as an object")
    size = size_of(definition)
    if size > MOST_DEFINITION:
        raise ValueError(
            f"its definition has {size:,} characters, and {MOST_DEFINITION:,} are the most that is handed on"
        )
    found: dict[str, Any] = {"name": name}
    for key in ("title", "description"):
        if isinstance(definition.get(key), str):
            found[key] = shown(definition[key])
    found["inputSchema"] = shown_in(schema)
    output = definition.get("outputSchema")
    if isinstance(output, dict):
        found["outputSchema"] = shown_in(output)
    found["annotations"] = dict(annotations)
    return found


def cleaned(result: Mapping[str, Any], rules: Rules, key: str = "content") -> dict[str, Any]:
    """A result (of a tool, a prompt, a resource) as a client may have it; what was taken out is told in it."""
    work = _Work(rules)
    found: dict[str, Any] = {}
    is_error = result.get("isError")
    for name, value in result.items():
        if name == key and isinstance(value, list):
            found[key] = [work.block(each) for each in value]
            continue
        data = work.data(value)
        size = len(json.dumps(data, ensure_ascii=False)) if isinstance(data, (str, dict, list)) else 0
        if size > rules.characters:
            what = "its structured content" if name == "structuredContent" else "a part"
            work.told.append(f"{what} of {size:,} characters was left out")
            if name == "structuredContent":
                is_error = True
        elif data is not None or value is None:
            found[work.secretless(name)] = data
    if is_error is True:
        found["isError"] = True
    if work.told and isinstance(found.get(key), list) and key == "content":
        found[key] = [*found[key], {"type": "text", "text": f"(By the gateway: {'; '.join(work.notes())}.)"}]
    return found


class _Work:
    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.left = rules.characters
        self.room = MOST_DATA
        self.taken = 0
        self.told: list[str] = []

    def notes(self) -> list[str]:
        return list(dict.fromkeys(self.told))

    def text(self, text: str) -> str:
        said = self.secretless(text)
        if len(said) <= self.left:
            self.left -= len(said)
            return said
        cut, self.left = len(said) - self.left, 0
        head = said[: len(said) - cut]
        self.told.append("the result was longer than may be handed on")
        return f"{head}\n… ({cut:,} characters left out by the gateway)"

    def secretless(self, text: str) -> str:
        said: str = hidden_in(text, self.rules.secrets) if self.rules.secrets else text
        found: list[str] = []
        if self.rules.forms:
            said, found = redact_forms(said)
        if found or said != text:
            self.told.append("a secret was taken out")
        return without_controls(said)

    def data(self, value: Any, depth: int = 0) -> Any:
        if depth > MOST_DEPTH:
            self.told.append("what was nested too deeply was left out")
            return None
        if isinstance(value, str):
            return self.secretless(value)
        if isinstance(value, dict):
            return {self.secretless(name): self.data(each, depth + 1) for name, each in value.items()}
        if isinstance(value, list):
            return [self.data(each, depth + 1) for each in value]
        return hidden_in(value, self.rules.secrets) if self.rules.secrets else value

    def block(self, block: Any, depth: int = 0) -> Any:
        """One block of content: text, a picture, a sound, a resource, a link; of a prompt a message with one."""
        if not isinstance(block, dict) or depth > MOST_DEPTH:
            return self.data(block, depth)
        found: dict[str, Any] = {}
        for name, value in block.items():
            if name in ("resource", "content") and isinstance(value, dict):
                found[name] = self.block(value, depth + 1)
            elif name in ("resource", "content") and isinstance(value, list):
                found[name] = [self.block(each, depth + 1) for each in value]
            elif name in ("data", "blob") and isinstance(value, str):
                if len(value) > self.room or self._holds_secret(value):
                    self.told.append(f"{len(value) * 3 // 4:,} bytes of data were left out")
                    return {"type": "text", "text": f"({len(value) * 3 // 4:,} bytes left out by the gateway.)"} | (
                        {"uri": block["uri"]} if "uri" in block else {}
                    )
                self.room -= len(value)
                found[name] = value
            elif name == "text" and isinstance(value, str):
                found[name] = self.text(value)
            else:
                found[self.secretless(name)] = self.data(value, depth + 1)
        return found

    def _holds_secret(self, value: str) -> bool:
        if not self.rules.secrets:
            return False
        from base64 import b64decode

        try:
            data = b64decode(value).decode("utf-8", "surrogateescape")
        except ValueError:
            return True
        return any(secret in data for secret in self.rules.secrets)


def finding(text: str) -> bool:
    """Whether a text holds characters that are not what they look like."""
    return shown(text) != text


def hides(definition: Mapping[str, Any], names: Collection[str] = ("title", "description", "inputSchema")) -> bool:
    """Whether what a tool says of itself holds characters that cannot be seen."""
    try:
        return any(shown_in(definition[name]) != definition[name] for name in names if name in definition)
    except ValueError:
        return True
