"""What `import gateway` offers."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gateway


@pytest.mark.parametrize("name", gateway.__all__)
def test_every_public_name_can_be_had_and_says_what_it_is(name: str) -> None:
    assert getattr(gateway, name).__doc__


def test_a_name_that_is_not_there_is_an_ordinary_error() -> None:
    with pytest.raises(AttributeError, match="no attribute `Gatewy`"):
        gateway.Gatewy  # noqa: B018


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys, gateway; print(*[m for m in sys.modules if m.startswith('gateway.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
