"""The setting `models:`: what short names of models stand for, and what is not known of a model by its name."""

from __future__ import annotations

from gateway.spec import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.spec.yamltext import Complaints, Node

MODEL = {
    "name": "the model that a short name stands for",
    "window": "tokens of a conversation with its reply",
    "reply": "tokens of one reply",
    "price": "US cents for a million tokens: read, said, cached (read from the cache), kept (written to it)",
}
PRICE = ("read", "said", "cached", "kept")
BOUNDS = {"window": (4_000, 100_000_000), "reply": (256, 10_000_000)}
MOST_CENTS = 10_000_000


def read_models(node: Node, complaints: Complaints) -> dict[str, Any]:
    """The models by name, checked, as plain data."""
    found: dict[str, Any] = {}
    for name, each in read.mapping(node, "`models`", complaints).items():
        keys = read.known_keys(each, f"model `{name}`", MODEL, complaints)
        model: dict[str, Any] = {}
        for key, value in keys.items():
            if key == "name":
                model[key] = read.text(value, "`name`", complaints)
            elif key == "price":
                model[key] = _price(value, complaints)
            else:
                model[key] = read.integer(value, f"`{key}`", complaints, *BOUNDS[key])
        if not keys:
            complaints.at(each, f"model `{name}` must say something", "such as `{name: claude-sonnet-5-5}`")
        found[name] = model
    return found


def _price(node: Node, complaints: Complaints) -> dict[str, int]:
    keys = read.known_keys(node, "`price`", PRICE, complaints)
    found = {key: read.integer(value, f"`{key}`", complaints, 0, MOST_CENTS) for key, value in keys.items()}
    if not {"read", "said"} <= keys.keys():
        complaints.at(node, "`price` must say `read` and `said`", "`{read: 300, said: 1500}`, in cents")
    return found


def model_schema() -> dict[str, Any]:
    """The keys of one model, as JSON Schema."""
    cents = {"type": "integer", "minimum": 0, "maximum": MOST_CENTS}
    price = {"type": "object", "properties": dict.fromkeys(PRICE, cents), "required": ["read", "said"]}
    tokens = {name: {"type": "integer", "minimum": least, "maximum": most} for name, (least, most) in BOUNDS.items()}
    return {"name": {"type": "string", "minLength": 1}, **tokens, "price": price | {"additionalProperties": False}}
