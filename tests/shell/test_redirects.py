"""Redirects: every form, wherever it stands."""

from __future__ import annotations

import pytest


def shown(script):
    return [(r.kind, r.word.text.replace("\0", "?"), r.part) for r in script.redirects]


@pytest.mark.parametrize(
    ("text", "redirects"),
    [
        ("a > f", [("write", "f", 0)]),
        ("a >f", [("write", "f", 0)]),
        ("a >> f", [("write", "f", 0)]),
        ("a >| f", [("write", "f", 0)]),
        ("a 2> f", [("write", "f", 0)]),
        ("a 3>>f", [("write", "f", 0)]),
        ("a &> f", [("write", "f", 0)]),
        ("a &>> f", [("write", "f", 0)]),
        ("a >& f", [("write", "f", 0)]),
        ("a >&f", [("write", "f", 0)]),
        ("a {fd}>f", [("write", "f", 0)]),
        ("a < f", [("read", "f", 0)]),
        ("a 0<f", [("read", "f", 0)]),
        ("a <> f", [("read", "f", 0), ("write", "f", 0)]),
        ("a 2>&1", [("dup", "1", 0)]),
        ("a >&2", [("dup", "2", 0)]),
        ("a <&3", [("dup", "3", 0)]),
        ("a 2>&-", [("dup", "-", 0)]),
        ("a <<< 'x y'", [("text", "x y", 0)]),
        ("a 3<<<x", [("text", "x", 0)]),
        ("a >f <<< x", [("write", "f", 0), ("text", "x", 0)]),
        ("a > /dev/tcp/h/80", [("net", "/dev/tcp/h/80", 0)]),
        ("exec 3<>/dev/udp/h/53", [("net", "/dev/udp/h/53", 0)]),
        ("a > $x", [("write", "?", 0)]),
        ("a > 'f g'", [("write", "f g", 0)]),
        ("> f", [("write", "f", -1)]),
        ("> f a", [("write", "f", 0)]),
        ("a > f b > g c", [("write", "f", 0), ("write", "g", 0)]),
        ("A=1 > f", [("write", "f", -1)]),
        ("{ a; } > f", [("write", "f", -1)]),
        ("( a ) > f 2>&1", [("write", "f", -1), ("dup", "1", -1)]),
        ("if a; then b; fi > f", [("write", "f", -1)]),
        ("while a; do b; done < f", [("read", "f", -1)]),
        ("for i in a; do b; done >> f", [("write", "f", -1)]),
        ("case a in a) b;; esac > f", [("write", "f", -1)]),
        ("f() { a; } > f", [("write", "f", -1)]),
        ("[[ a ]] > f", [("write", "f", 0)]),
        ("(( 1 )) > f", [("write", "f", -1)]),
        ("a | b > f", [("write", "f", 1)]),
        ("a && b 2> f | c", [("write", "f", 1)]),
        ("a 2>&1 | b > f | c", [("dup", "1", 0), ("write", "f", 1)]),
        ("export A=b > f", [("write", "f", 0)]),
        ("a > $(b)", [("write", "?", 0)]),
        ("a > >(b)", [("write", "/dev/fd/?", 0)]),
        ("! a > f", [("write", "f", 0)]),
    ],
)
def test_every_form_is_found(read, text, redirects):
    script = read(text)
    assert (shown(script), script.unknowns) == (redirects, ())


@pytest.mark.parametrize(
    ("text", "stdin"),
    [
        ("cat", [("", "")]),
        ("cat < f", [("file", "")]),
        ("cat 3< f", [("", "")]),
        ("a | cat", [("", ""), ("pipe", "")]),
        ("a |& cat", [("", ""), ("pipe", "")]),
        ("a | cat < f", [("", ""), ("file", "")]),
        ("cat <<< x", [("text", "x\n")]),
        ("cat <<< ~/x", [("text", "/home/dev/x\n")]),
        ("cat <<E\nhello $HOME $x\nE", [("text", "hello /home/dev ?\n")]),
        ("cat <<'E'\n$(no) `no` $HOME\nE", [("text", "$(no) `no` $HOME\n")]),
        ("cat <<\\E\n\\$x\nE", [("text", "\\$x\n")]),
        ('cat <<"E"\nE x\n E\nE', [("text", "E x\n E\n")]),
        ("cat <<-E\n\t\ta\n\tE", [("text", "a\n")]),
        ("cat <<E\n\\$x \\` \\\\ \\a \"q\" 'r'\nE", [("text", "$x ` \\ \\a \"q\" 'r'\n")]),
        ("cat <<E\na\\\nb\nE", [("text", "ab\n")]),
        ("cat <<''\na\n\n", [("text", "a\n")]),
        ("cat <<A <<B\n1\nA\n2\nB", [("text", "2\n")]),
        ("{ cat; bash; } < f", [("file", ""), ("file", "")]),
        ("{ cat; } <<< x", [("text", "x\n")]),
        ("a | { bash; }", [("", ""), ("pipe", "")]),
        ("a > >(bash)", [("", ""), ("pipe", "")]),
        ("exec < f; bash", [("file", ""), ("file", "")]),
    ],
)
def test_standard_input_is_told(read, text, stdin):
    script = read(text)
    assert [(c.stdin, c.stdin_text.replace("\0", "?")) for c in script.commands] == stdin
    assert script.unknowns == ()


def test_a_redirect_knows_the_folders_it_is_relative_to(read):
    assert [(r.word.text, r.cwds) for r in read("cd x && a > f; b > g").redirects] == [
        ("f", ("/p/x",)),
        ("g", ("/p/x", "/p")),
    ]
