"""The mechanism behind every frozen value."""

from __future__ import annotations

import pickle

import pytest

from gateway.core.value import Value


class Point(Value):
    x: int
    y: int = 0
    label: str = ""


class Twin(Value):
    x: int
    y: int = 0
    label: str = ""


class Marked(Value):
    kind = ""


class Spot(Marked):
    kind = "spot"
    x: int


def test_fields_are_given_by_position_by_name_and_by_default() -> None:
    assert [tuple(Point(1)), tuple(Point(1, 2)), tuple(Point(x=1, label="a"))] == [(1, 0, ""), (1, 2, ""), (1, 0, "a")]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Point(), "Point needs x"),
        (lambda: Point(1, 2, "a", 4), "Point takes 3 fields (got 4)"),
        (lambda: Point(1, z=1), "Point has no field `z`, or it was given twice"),
        (lambda: Point(1, x=1), "Point has no field `x`, or it was given twice"),
    ],
)
def test_a_value_that_does_not_fit_its_fields_is_refused(build: object, message: str) -> None:
    with pytest.raises(TypeError, match="Point") as raised:
        build()  # type: ignore[operator]
    assert str(raised.value) == message


def test_a_value_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Point(1).x = 2  # type: ignore[misc]


def test_values_equal_only_values_of_their_class() -> None:
    assert (Point(1) == Point(1), Point(1) == Twin(1), Point(1) != Twin(1), Point(1) == (1, 0, "")) == (
        True, False, True, False,
    )  # fmt: skip


def test_equal_values_hash_alike() -> None:
    assert len({Point(1), Point(1), Point(2)}) == 2


def test_a_value_without_content_is_true() -> None:
    assert bool(Point(0))


def test_replace_changes_some_fields_of_a_copy() -> None:
    before = Point(1, 2)
    assert (before.replace(y=3), before) == (Point(1, 3), Point(1, 2))


def test_a_value_shows_its_fields() -> None:
    assert repr(Point(1, 2, "a")) == "Point(x=1, y=2, label='a')"


def test_a_value_survives_a_copy_by_pickle() -> None:
    assert pickle.loads(pickle.dumps(Point(1, 2))) == Point(1, 2)


def test_a_class_without_fields_can_be_extended_and_its_attributes_overridden() -> None:
    assert (Spot(1).kind, Spot(1).x, isinstance(Spot(1), Marked)) == ("spot", 1, True)


def test_a_value_with_fields_cannot_be_extended_with_more() -> None:
    with pytest.raises(TypeError, match="cannot be extended"):
        type("More", (Point,), {"__annotations__": {"z": "int"}})


def test_fields_with_a_default_come_last() -> None:
    with pytest.raises(TypeError, match="must come last"):
        type("Bad", (Value,), {"__annotations__": {"a": "int", "b": "int"}, "a": 1})
