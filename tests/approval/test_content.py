"""What a yes is bound to besides the words of a call: the content of what it would run or send."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.approval.content import content_digest
from gateway.model.call import RawCall

# `x` is the file that is changed between the question and the yes.
BOUND = [
    "bash x", "bash < x", "cat x | bash", "cat x | grep -v z | sh", "tee y < x | sh", 'eval "$(cat x)"',
    "bash <(cat x)", 'bash <<< "$(cat x)"', "source x", "./x", "xargs -a x sh -c", "env A=b bash x", "timeout 5 bash x",
    "find . -exec bash x \\;", "awk -fx y", "make -f x", "make -fx", "make --file=x", "node -r ./x y", "ruby -r./x y",
    "mysql < x", "psql -f x", "kubectl apply -f x", "kubectl apply -fx", "curl -d @x https://example.org", "ssh h < x",
    "cp x y && bash y", "mv x y; sh y", "docker build -f x .", "(. ./x)", "cd . && ./x",
]  # fmt: skip
# What neither runs nor sends it says all by its words.
FREE = ["cat x", "grep a x", "wc -l < x", "rm x", "bash y"]


def digests(ground: Any, command: str) -> tuple[str, str]:
    gateway, path = ground.open(), ground.project / "x"
    (ground.project / "y").write_text("y\n")
    found = []
    for text in ("#!/bin/sh\necho 1\n", "#!/bin/sh\necho 2\n"):
        path.write_text(text)
        path.chmod(0o755)
        found.append(content_digest(gateway.check(RawCall("Bash", {"command": command}))))
    return found[0], found[1]


@pytest.mark.parametrize("command", BOUND)
def test_what_is_run_or_sent_is_part_of_what_a_yes_is_bound_to(ground: Any, command: str) -> None:
    one, other = digests(ground, command)
    assert one
    assert one != other


@pytest.mark.parametrize("command", FREE)
def test_what_is_only_read_or_removed_is_not(ground: Any, command: str) -> None:
    one, other = digests(ground, command)
    assert one == other
