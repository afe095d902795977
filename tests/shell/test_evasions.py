"""Attempts to hide a command: each is found, or the text is unknown and its tokens hold it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.shell.reading import read as read_text

SILENT_LOSSES = [  # forms in which the grammar alone shows no error and no command
    "echo `a` `rm x`",
    "echo `date +%a` `rm x`",
    'echo "${x:-`rm x`}"',
    "echo ${x:-`rm x`}",
    'echo "${x/b/`rm x`}"',
    "echo ${x#$(rm x)}",
    'echo "${x#$(rm x)}"',
    "echo ${x^^$(rm x)}",
    "cat <<E\n`rm x`\nE",
    "cat <<-E\n\t$(rm x)\n\tE",
    "echo `echo \\`rm x\\``",
    "r\\\nm x",
    'echo "$\\\n(rm x)"',
    "! { rm x; }",
    "! if true; then rm x; fi",
    "! while rm x; do true; done",
    "! ! rm x",
    "time rm x",
    "time -p rm x",
    "time { rm x; }",
    "cat <<E |\n$((1+2))\nE\nrm x",
    "a > f b >> c; rm x",
    "a \\ #; rm x",
    "a \\# b; rm x",
    "[[ a ]] && rm x",
    "export A=1 |& b -n\nrm x",
]
SEQUENCES = [
    '[[ "a\\"b" && $(rm x) ]]', '[[ "a\\" $(rm x)" ]]', '[[ a == "\\"" ]] && rm x', '[[ "\\"" ]]; rm x',
    "true && rm x", "false || rm x", "true & rm x", "true |& rm x", "true | rm x", "true # it's\nrm x # it's",
    "(rm x)", "{ rm x; }", "if rm x; then :; fi", "if :; then rm x; fi", "for i in $(rm x); do :; done",
    "case a in $(rm x)) ;; esac", "case a in b) rm x;; esac", "select i in a; do rm x; done",
    "until rm x; do :; done", "echo `true # x`\nrm x", "true # \\\nrm x", "true;" * 60 + "rm x",
    ":\n\n\n  rm x", "f() { rm x; }", "function f { rm x; }", "f() if :; then rm x; fi",
]  # fmt: skip
NAMES = [
    "r''m x", 'r""m x', "'rm' x", "\\rm x", "r\\m x", "$'\\x72m' x", "$'\\162m' x", "$'rm' x", '$"rm" x', "r$'m' x",
    ">f rm x", "A=1 rm x", "A=1 >f rm x", "{fd}>f rm x", "2>&1 rm x", "a=r;b=m;$a$b x", "a=rm; $a x", "{rm,x}",
    "{,rm} x", "a='rm x'; $a", "E=; $E rm x", "E=; r${E}m x", "\\\nrm x", "r\\\nm x", "$'r''m' x",
]  # fmt: skip
PLACES = [
    "echo $(rm x)", 'echo "$(rm x)"', "echo `rm x`", 'echo "`rm x`"', "A=$(rm x)", "export A=$(rm x)",
    "declare -A a=([$(rm x)]=1)", "a=($(rm x))", "a=(1 $(rm x) 2)", "a[$(rm x)]=1", "echo ${a[$(rm x)]}",
    "echo ${x:-$(rm x)}", 'echo "${x:=$(rm x)}"', "echo ${x/a/$(rm x)}", "echo ${x:$(rm x)}", "echo $(( $(rm x) ))",
    "echo $[ $(rm x) ]", "(( $(rm x) ))", "for ((i=$(rm x);;)); do :; done", "cat <(rm x)", "tee >(rm x)",
    "> $(rm x)", "cat <<< $(rm x)", "cat <<E\n$(rm x)\nE", "cat <<E\n${x:-$(rm x)}\nE", "cat <<E; rm x\nE",
    "cat <<E && rm x\nE", "cat <<E | b\nE\nrm x", "cat <<'<<E'\n<<E\nrm x", "echo '<<E'\nrm x", "echo $((1<<2))\nrm x",
    "cat <<E\nE x\nE\nrm x", "[[ -n $(rm x) ]]", "[[ a =~ $(rm x) ]]", "[ -n $(rm x) ]", "echo \"${x:-\"$(rm x)\"}\"",
    "echo ${x:-'a' $(rm x)}", "A=(b) rm x", "case $(rm x) in esac", "local A=$(rm x)", "echo $(echo $(echo $(rm x)))",
    "echo \"a`echo \"$(rm x)\"`\"", "cat <<A <<B\nA\n$(rm x)\nB", "echo ${#a[$(rm x)]}", "echo \"${x@Q}$(rm x)\"",
    "echo $(\n# it's\nrm x\n)", "echo $(case a in a) rm x;; esac)", "x=\"$(rm x)\" y", "echo '$(no)' $(rm x)",
    "echo \\'$(rm x)\\'", "echo \"'$(rm x)'\"", "echo \\`$(rm x)\\`", "echo $'\\'' $(rm x) $'\\''",
]  # fmt: skip


@pytest.mark.parametrize("text", [*SILENT_LOSSES, *SEQUENCES, *NAMES, *PLACES])
def test_the_hidden_command_is_found(read, text):
    assert "rm" in [command.words[0].text for command in read(text).commands]


UNDECIDABLE = [
    "$x rm", "${x:-rm} y", "$(echo rm) y", "`echo rm` y", "$BASH -c 'rm x'", "set -- rm $y; $@ x",
    "read c <<< rm; $c x", "${!a} rm", "$_ rm", "coproc rm x", "coproc X { rm x; }", "x='a[$(rm x)]'; echo $((x))",
    "x='a[$(rm x)]'; echo $((${x#z}))", "x='a[$(rm x)]'; echo $((${x:-1} + 1))",
    "x='a[$(rm x)]'; let x", "declare -i x='a[$(rm x)]'", "[[ -v 'a[$(rm x)]' ]]", "test -v 'a[$(rm x)]'",
    "[ $y 'a[$(rm x)]' ]", "test $y 'a[$(rm x)]'",
    "[ -v 'a[$(rm x)]' ]", "printf -v 'a[$(rm x)]' y", "read 'a[$(rm x)]'", "unset 'a[$(rm x)]'",
    "x='a[$(rm x)]'; [[ $x -eq 1 ]]", "x='a[$(rm x)]'; echo ${s:x}", "x='a[$(rm x)]'; echo ${a[x]}",
    "x='$(rm x)'; echo \"${x@P}\"", "x='$(rm x)'; echo ${x@P}", "${ rm x; }", "${| rm x; }", "echo ${ rm x; }",
    "r\u200bm x", "rm\r x", "r\x01m x", "rm\u00a0x", "rm x\x00y", "echo \u202e; rm x", "echo 'a rm x", 'echo "a rm x',
    "echo $(rm x", "echo `rm x", "cat <<E\n$(rm x)\n", "{ rm x", "if :; then rm x", "fi; rm x", "rm x)", "echo rm x\\",
    "echo $((rm x); (ls))", "((a); rm x)", "declare -n r=PATH; r=rm", "shopt -s extglob; echo !(rm)", "set -k; rm A=1",
    "exec {rm[x]}>f", "a=(1); declare a=$rm", "declare DIRSTACK=$rm",
    "set -o -k; rm A=1", "set -o keyword; rm A=1", "set -oe $x; rm A=1", "set -$x; rm A=1", "set $x; rm A=1",
    "[[\"a\" == rm ]]; [[ b", "a=(rm", "for i do rm $i; done", "then rm x", "elif rm", "!(rm x", "time -p if rm x",
    "export $x=rm", "x=1; declare -i x=rm", "alias $x=rm", "f(rm) { a; }",
    "echo \"${x:-'$(rm x)'}\"", "rm() { $x; }; ${rm", "[ $rm -eq 1 ]",
]  # fmt: skip


@pytest.mark.parametrize("text", UNDECIDABLE)
def test_what_can_not_be_decided_is_unknown_and_its_tokens_are_given(read, text):
    script = read(text)
    assert script.unknowns
    assert any("rm" in token for token in script.tokens)


@pytest.mark.parametrize("text", ["/bin/r? x", "/bin/[r]m x", "$'\\u00e9' x", "~nobody/x y", "{1..9999} x"])
def test_a_name_that_only_the_run_will_tell_is_unknown(read, text):
    script = read(text)
    assert [each.why for each in script.unknowns] == ["the program's name is not known before the run"]


@pytest.mark.parametrize(
    "text",
    [
        "i=0; while ((i < 3)); do ((i++)); echo $((i * 2)); done",
        "for ((i = 0; i < 3; i += 1)); do echo ${a[i]} ${s:i:1}; done",
        "n=$#; echo $((n + ${#x})) $((RANDOM % 5))",
        "for i in {1..3}; do [[ $i -eq 2 ]] && echo $((i + 1)); done",
        "for i in 1 2; do echo $((i)); done",
        "x=5; x=$((x - 1)); [[ x -gt $x ]]; let x=x+1",
        'a=(x y); echo "${a[0]}" "${a[@]}" ${#a[@]} "${!a[@]}"',
        "declare -A m=([k]=v); echo ${m[k]}",
        "[[ -v x && -n ${x+y} ]]; printf -v y '%s' z; unset y a[0]",
        '[ -n "$x" ] && [ "$x" = "$y" ] && [ $# -gt 0 ] && test -f "$x"',
        "set -euo pipefail; shopt -s failglob inherit_errexit",
        'echo "${x%%:*}" ${x##*/} ${x//a/b} "${x,,}" ${x:0:3} ${x: -1} ${x@Q}',
    ],
)
def test_ordinary_arithmetic_tests_and_expansions_are_understood(read, text):
    assert read(text).unknowns == ()


WRAPPINGS = [
    "{}", "( {} )", "{{ {}; }}", "! {}", "a && {}", "a || {}", "a; {}", "a | {}", "{} &", "echo $( {} )",
    'echo "$( {} )"',
    "x=$( {} )", "if {}; then a; fi", "if a; then {}; else b; fi", "while {}; do a; done", "for i in a; do {}; done",
    "case a in a) {};; esac", "f() {{ {}; }}", "cat <({})", "time {}", "{} > f", "a <<E\n$( {} )\nE", "(( 1 )); {}",
    "[[ a ]] && {}", "# a\n{}", "{}\n", "A=1; {}", "echo ${{x:-$( {} )}}", "until {}; do a; done", "export A=$( {} )",
]  # fmt: skip


@given(st.lists(st.sampled_from(WRAPPINGS), max_size=6))
def test_a_command_is_found_under_any_stack_of_constructs(wrappings):
    text = "rm x"
    for wrapping in wrappings:
        if ("\n" in text and wrapping in ("{} &", "{} > f", "{}\n")) or ("# a" in text and wrapping != "{}\n"):
            continue
        if "<<E" in text or ("&" in text[-2:] and ";" in wrapping):
            continue
        if wrapping == "a | {}" and text.startswith(("!", "time")):  # no keywords behind a bar
            continue
        text = wrapping.format(text)
    script = read_text(text, cwds=("/p",), home="/h", variables={})
    assert "rm" in [command.words[0].text for command in script.commands]
