"""StructuredOutput: the final answer of a session that is to be data, held to the session's own schema."""

from __future__ import annotations

from gateway.calls.output import Failure, Output, Text
from gateway.core.errors import GatewayError
from gateway.tools.frozen import thaw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from jsonschema.exceptions import SchemaError

    from gateway.calls.work import Work
    from gateway.model.call import Call

MOST_SHOWN = 50


def structured(call: Call, work: Work) -> Output:
    """Takes the answer if it fits; else says everything that is wrong with it."""
    schema = work.session.answer_schema
    if schema is None:
        raise Failure("This session wants no structured output.", "Give your answer as text.")
    given = thaw(call.input)
    problems = complaints(schema, given)
    if problems:
        shown = problems[:MOST_SHOWN]
        more = len(problems) - len(shown)
        lines = [f"- {each}" for each in shown] + ([f"- and {more} more"] if more else [])
        said = ["The output does not fit the schema:", *lines, "Correct all of it and call again."]
        raise Failure("\n".join(said))
    work.session.answer = given
    return Output((Text("The output is taken."),), given)


def checked_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema that answers can be held to, which must be one of an object. Raises GatewayError."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    found = dict(schema)
    try:
        Draft202012Validator.check_schema(found)
    except SchemaError as error:
        raise GatewayError(f"the schema of the output must be a JSON Schema (wrong at {_place(error)})") from error
    if found.get("type") != "object":
        raise GatewayError("the schema of the output must be of the type object")
    return found


def _place(error: SchemaError) -> str:
    """Which rule of JSON Schema does not hold, and how deep. The names on the way there are those of a file that may be
    no schema at all."""
    return f"level {len(error.absolute_path)}, against `{error.validator}`"


def complaints(schema: Mapping[str, Any], given: Any) -> list[str]:
    """Everything that is wrong, each with its place, in the order of the places."""
    from jsonschema import Draft202012Validator
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    validator = Draft202012Validator(schema, registry=Registry())  # nothing is fetched
    try:
        found = sorted(
            validator.iter_errors(given), key=lambda error: ([str(part) for part in error.path], error.message)
        )
    except Unresolvable as error:
        raise Failure(f"The schema of this session cannot be used: {error}.") from error
    return [f"{error.json_path}: {error.message}" for error in found]
