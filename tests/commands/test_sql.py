"""SQL text: which statements only read."""

from __future__ import annotations

import pytest

from gateway.commands.special.sql.statements import Dialect, SqlError, only_reads, statements

SQLITE, POSTGRES, MYSQL = Dialect(brackets=True), Dialect(dollar=True), Dialect(backslash=True, hash_comment=True)


@pytest.mark.parametrize(
    "text",
    [
        "select 1",
        "SELECT a, count(*) FROM t WHERE b = 'drop table x' GROUP BY a",
        "with a as (select 1) select * from a",
        "explain select 1",
        "show tables",
        "values (1, 2)",
        "select replace(a, 'x', 'y') from t",
        "select a::text from t",
        'select "update" from t',
        "-- delete\nselect 1",
        "/* delete */ select 1",
        "select date_trunc('day', now())",
    ],
)
def test_a_statement_that_only_reads(text: str) -> None:
    assert [only_reads(statement) for statement in statements(text, POSTGRES)] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "insert into t values (1)",
        "with a as (delete from t returning *) select * from a",
        "explain analyze delete from t",
        "select * into x from t",
        "select pg_read_file('x')",
        "select pg_terminate_backend(1)",
        "select setval('s', 1)",
        "select lo_export(1, 'x')",
        "drop table t",
        "do $$ begin end $$",
        "call f()",
        "set role x",
        "copy t to 'x'",
        "select f(1)",
        'select "f"(1)',
        "vacuum",
        "select :name",
        "merge into t using u on a = b when matched then delete",
        "select 1 for update",
        "lock table t",
        "prepare p as select 1",
        "frobnicate",
    ],
)
def test_a_statement_that_may_change_something(text: str) -> None:
    assert [only_reads(statement) for statement in statements(text, POSTGRES)] == [False]


@pytest.mark.parametrize(
    ("text", "dialect", "count"),
    [
        ("select ';'; select 2", SQLITE, 2),
        ("select '\\'; select 2", SQLITE, 2),
        ("select '\\'; select 2'", MYSQL, 1),
        ("select $$;$$; select 2", POSTGRES, 2),
        ("select $a$;$$;$a$; select 2", POSTGRES, 2),
        ("select [;]; select 2", SQLITE, 2),
        ("select 1 # ;\n; select 2", MYSQL, 2),
        ("select 1 -- ;\n; select 2", SQLITE, 2),
        ("select $$;$$; select 2", MYSQL, 3),
        ("select $$;$$; select 2", SQLITE, 3),
        ("select [;]; select 2", POSTGRES, 3),
        ("select 1 # ; select 2\n; select 3", POSTGRES, 3),
        ("select '\\'; select 2", POSTGRES, 2),
    ],
)
def test_statements_end_where_the_database_ends_them(text: str, dialect: Dialect, count: int) -> None:
    assert len(statements(text, dialect)) == count


@pytest.mark.parametrize(
    "text", ["select '", 'select "', "/* x", "/*! drop table t */", "/* /* */ */", "select E'\\''"]
)
def test_a_text_that_is_read_in_two_ways_is_refused(text: str) -> None:
    with pytest.raises(SqlError):
        statements(text, POSTGRES)
