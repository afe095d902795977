"""Why a request of the Messages API has failed, and what asking again can do: every exception as a ModelError."""

from __future__ import annotations

import re
import ssl
import time
from email.utils import mktime_tz, parsedate_tz

from gateway.llm.model import BUSY, LASTING, PASSING, TOO_LONG, ModelError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

KEY = "set ANTHROPIC_API_KEY, or let a script answer (`--script FILE`)"
# By the type of an error, as the API names it in a response and in the middle of a stream alike.
_BY_TYPE = {
    "overloaded_error": BUSY,
    "rate_limit_error": PASSING,
    "api_error": PASSING,
    "timeout_error": PASSING,
    "request_too_large": TOO_LONG,
    "invalid_request_error": LASTING,
    "authentication_error": LASTING,
    "billing_error": LASTING,
    "permission_error": LASTING,
    "not_found_error": LASTING,
}
_REMEDIES = {
    401: "set ANTHROPIC_API_KEY to a key that is valid",
    404: "name a model that your account has (`--model`)",
}
_OVERLOADED = 529
_SERVERS = 500
_TOO_LONG = re.compile(r"prompt is too long|exceed context limit|context window")
_WINDOW = re.compile(r"> (\d{4,})")
_MOST_TOKENS = re.compile(r"max_tokens: \d+ > (\d+)")
_LONGEST = 2_000


def failure(error: Exception) -> ModelError:
    """What an exception of the SDK, of the connection below it or of a reply that makes no sense means."""
    if isinstance(error, ModelError):
        return error
    status: int | None = getattr(error, "status_code", None)
    if status is not None:
        return _refused(error, status)
    if "authentication method" in str(error):  # how the SDK says that it found no key
        return ModelError("there is no key for the Messages API", KEY)
    causes = list(_causes(error))
    if any(isinstance(each, ssl.SSLCertVerificationError) for each in causes):
        return ModelError("the certificate of the Messages API's server cannot be verified")
    if any(type(each).__name__ in ("UnsupportedProtocol", "LocalProtocolError", "InvalidURL") for each in causes):
        remedy = "look at ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY"  # the text may hold the key
        return ModelError("the request to the Messages API cannot be made", remedy)
    said = " ".join(dict.fromkeys(str(each) for each in causes[:2] if str(each))) or type(error).__name__
    return ModelError(f"the model gave no answer: {said[:_LONGEST]}", kind=PASSING)


def most_tokens(error: Exception) -> int:
    """Tokens that a reply of the model may have, where too many were asked for; 0 for another error."""
    found = _MOST_TOKENS.search(_said(error))
    return int(found[1]) if found else 0


def _refused(error: Exception, status: int) -> ModelError:
    said = _said(error)
    kind = _BY_TYPE.get(_type(error)) or (PASSING if status == 200 else _of_status(status))
    wait, window = None, 0
    if status == 413 or (kind == LASTING and status in (200, 400) and _TOO_LONG.search(said)):
        kind = TOO_LONG
        found = _WINDOW.search(said)
        window = int(found[1]) if found else 0
    else:
        headers = error.response.headers  # type: ignore[attr-defined]
        wait = retry_after(headers)
        if status != 200:  # a stream's headers were sent before its error
            kind = {"true": kind if kind == BUSY else PASSING, "false": LASTING}.get(
                headers.get("x-should-retry", ""), kind
            )
    head = "the model gave no answer" if status == 200 else f"the model gave no answer ({status})"
    return ModelError(f"{head}: {said[:_LONGEST]}", _REMEDIES.get(status, ""), kind=kind, wait=wait, window=window)


def _of_status(status: int) -> str:
    if status == _OVERLOADED:
        return BUSY
    return PASSING if status in (408, 409, 429) or status >= _SERVERS else LASTING


def _type(error: Exception) -> str:
    return str(_told(error).get("type", ""))


def _said(error: Exception) -> str:
    return str(_told(error).get("message", "")) or getattr(error, "message", "") or str(error) or type(error).__name__


def _told(error: Exception) -> dict[str, Any]:
    """What the API says of an error, {} where it was somebody before it who answered."""
    body: Any = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    return inner if isinstance(inner, dict) else {}


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a response asks to be left alone for, never fewer than 0; None where it says nothing that can be
    read. RFC 9110 10.2.3, and the API's own field in milliseconds."""
    for name, unit in (("retry-after-ms", 1_000), ("retry-after", 1)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if seconds >= 0:  # no number is not
            return seconds
    date = parsedate_tz(headers.get("retry-after", ""))
    return max(0.0, mktime_tz(date) - time.time()) if date is not None else None


def _causes(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    for _depth in range(8):
        if found is None:
            return
        yield found
        found = found.__cause__ or found.__context__
