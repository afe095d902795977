"""Which changes are tried for each form of code, whole; and that each is told from no change at all."""

from __future__ import annotations

import pytest

from mutants.changes import Mutant, is_sound, mutants

CHANGES: dict[str, tuple[str, list[str]]] = {
    "a comparison is the contrary": ("x == y", ["x != y"]),
    "a bound moves by one, and turns": ("x < y", ["x <= y", "x >= y"]),
    "each comparison of a chain": ("2 < x >= y", ["2 <= x >= y", "2 >= x >= y", "2 < x > y", "2 < x < y"]),
    "membership": ("x not in y", ["x in y"]),
    "identity": ("x is None", ["x is not None"]),
    "each operator between conditions": ("x and y and z", ["x or y and z", "x and y or z"]),
    "with brackets on both sides": ("(x) or (y and z)", ["(x) and (y and z)", "(x) or (y or z)"]),
    "a negation": ("not x", ["x"]),
    "truth": ("x = True", ["x = False"]),
    "the numbers of bounds, and no others": ("x[0:1] + 2", ["x[1:1] + 2", "x[0:0] + 2"]),
    "a name of a list": ('x = ["a", "b", "c"]', ['x = ["b", "c"]', 'x = ["a", "c"]', 'x = ["a", "b"]']),
    "a name of two stays in a tuple": ('x in ("a", "b")', ['x not in ("a", "b")', 'x in ("b",)', 'x in ("a",)']),
    "the only name of a list stays": ('x = ["a"]', []),
    "a call for its effect": ("x(y)", ["pass"]),
    "a guard is negated, and dropped": ("if x: raise y", ["if not (x): raise y", "if False: raise y"]),
    "a condition of a choice": ("x if y else z", ["x if not (y) else z"]),
    "a condition of a comprehension": ("[x for x in y if z]", ["[x for x in y if not (z)]", "[x for x in y if True]"]),
    "loops": ("while x: continue", ["while x: break"]),
    "an answer": ("def f(): return x", ["def f(): return None"]),
    "an empty answer where none may be given": (
        "def f() -> str | None: return ''",
        ["def f() -> str | None: return None"],
    ),
    "an empty answer where types tell of none": ("def f() -> dict[str, Any]: return {}", []),
    "an empty answer of a function within": (
        "def f() -> str:\n  def g() -> None | str: return ''\n  return ()",
        ["def f() -> str:\n  def g() -> None | str: return None\n  return ()"],
    ),
    "nothing of annotations, messages, imports and what is for types": (
        "def f(x: Literal[1] = y) -> Literal[0]: f'{0}'\nif TYPE_CHECKING: x = 0\nfrom a import b\n'0'",
        [],
    ),
}


@pytest.mark.parametrize(("source", "changed"), CHANGES.values(), ids=CHANGES)
def test_each_form_is_changed_in_these_ways(source: str, changed: list[str]) -> None:
    data = source.encode()
    found = [mutant.applied(data).decode().strip() for mutant in mutants("a.py", data) if is_sound(mutant, data)]
    assert sorted(found) == sorted(changed)


def test_a_mutant_names_its_line_and_its_function_and_leaves_the_rest_as_it_is() -> None:
    source = "# ä\nclass A:\n  def f(self):  # or\n    return (\n      'ö' and  # and\n      x\n    )\n"
    found = mutants("a.py", source.encode())
    assert [each for each in found if each.after.endswith("None")] == [
        Mutant("a.py", 5, "A.f", "'ö' and # and x", "None", 54, 77, b"None")
    ]
    assert [each.applied(source.encode()).decode() for each in found if "or" in each.after] == [
        source.replace("'ö' and", "'ö' or")
    ]


@pytest.mark.parametrize("new", [b"x ==", b"x"])
def test_what_is_no_python_or_the_same_is_no_mutant(new: bytes) -> None:
    assert not is_sound(Mutant("a.py", 1, "", "x", new.decode(), 0, 1, new), b"x")
