"""Whether a call only reads, destroys, or may run beside others."""

from __future__ import annotations

import pytest

from gateway.model.effect import Code, Connect, Exec, Item, Opaque, Push, SessionChange, Touch, Use
from gateway.model.facts import NO_FACTS, Facts, PathFact
from gateway.tools.traits import is_concurrency_safe, is_destructive, is_read_only

READS = (Use("Bash"), Exec("cat", ("cat", "a")), Touch("read", "/a"), Touch("list", "/a"), SessionChange("x"))
MISSING = Facts(paths={"/a": PathFact("/a", "missing")})
EXISTING = Facts(paths={"/a": PathFact("/a", "file")})


@pytest.mark.parametrize(
    ("effects", "facts", "read_only", "destructive"),
    [
        (READS, NO_FACTS, True, False),
        ((), NO_FACTS, True, False),
        ((*READS, Touch("write", "/a")), MISSING, False, False),
        ((*READS, Touch("write", "/a")), EXISTING, False, True),
        ((*READS, Touch("write", "/a")), NO_FACTS, False, True),
        ((*READS, Touch("write", "/a", tree=True)), MISSING, False, True),
        ((*READS, Touch("delete", "/a")), MISSING, False, True),
        ((*READS, Connect("a", 443, "fetch")), NO_FACTS, False, False),
        ((*READS, Push("origin", "main", force=False)), NO_FACTS, False, False),
        ((*READS, Push("origin", "main", force=True)), NO_FACTS, False, True),
        ((*READS, Code("make", ("make",), "runs a Makefile")), NO_FACTS, False, True),
        ((*READS, Opaque("unknown")), NO_FACTS, False, True),
    ],
)
def test_a_shell_command_is_judged_by_its_effects(registry, effects, facts, read_only, destructive):
    items = tuple(map(Item, effects))
    bash = registry["Bash"]
    assert is_read_only(bash, items, facts) is read_only
    assert is_concurrency_safe(bash, items, facts) is read_only
    assert is_destructive(bash, items, facts) is destructive


def test_a_write_destroys_if_its_target_may_exist(registry):
    items = (Item(Use("Write")), Item(Touch("write", "/a")))
    write = registry["Write"]
    assert [is_destructive(write, items, facts) for facts in (MISSING, EXISTING, NO_FACTS)] == [False, True, True]
    assert not is_read_only(write, items, MISSING)
    assert not is_concurrency_safe(write, items, MISSING)


def test_a_constant_is_what_the_declaration_says(registry):
    items = (Item(Use("Read")), Item(Touch("read", "/a")))
    assert is_read_only(registry["Read"], items, NO_FACTS)
    assert not is_destructive(registry["Edit"], items, NO_FACTS)
    foreign = registry.tool("mcp__a__b")
    assert not is_read_only(foreign, (), NO_FACTS)
    assert not is_concurrency_safe(foreign, (), NO_FACTS)


@pytest.mark.parametrize("program", ["cd", "pushd", "popd"])
def test_a_command_that_moves_the_session_reads_but_runs_alone(registry, program):
    items = (Item(Use("Bash")), Item(Exec(program, (program, "src"))))
    assert is_read_only(registry["Bash"], items, NO_FACTS)
    assert not is_concurrency_safe(registry["Bash"], items, NO_FACTS)
    assert is_concurrency_safe(registry["Bash"], (*items[:1], Item(Exec("ls", ("ls",)))), NO_FACTS)
