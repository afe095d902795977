"""perl's one-line programs: the part that filters and prints is understood, everything else is not."""

from __future__ import annotations

import pytest

from gateway.commands.special.perl.code import PerlError, scan


@pytest.mark.parametrize(
    "program",
    [
        "print if /x/",
        "s/a/b/g",
        "print $F[1]",
        'print "$F[0]\\t$F[2]\\n"',
        '$n++ if /foo/i; END { print "$n\\n" }',
        '$s += $F[2]; END { print $s / $., "\\n" }',
        'print join(",", map { $_ * 2 } 1..5), "\\n"',
        'my %h; $h{$_}++ for @F; print "$_ $h{$_}\\n" for sort keys %h',
        '$h{$_}++; END { print "$_: $h{$_}\\n" for sort { $h{$b} <=> $h{$a} } keys %h }',
        'print "$1\\n" while /(\\w+)=(\\d+)/g',
        "print unless /^\\s*(#|$)/",
        "s{/usr}{/opt}g; tr/a-z/A-Z/",
        'print scalar reverse("abc"), "\\n"',
        'printf "%.2f\\n", 10/3',
        'print length($_), "\\n"',
        "next unless /a/; last if $. > 5; print",
        'chomp; print "$_,"',
        'print $_ x 3, "\\n"',
        "print sort @F",
        'print "ok" if $_ =~ m{^/a/b}',
        "$_ = uc; print",
        "print 2**10",
        'print "yes\\n" if "abc" =~ /b/ && 1 < 2',
        'print join " ", grep { !($_ % 2) } 1..10',
        "$sum += $_ for 1..10; print $sum",
        "print qw{x;y}",
        "print $n-length($_)",
        "print (4)-length($_)",
    ],
)
def test_a_program_that_filters_and_prints_is_understood(program: str) -> None:
    assert scan(program) == []


@pytest.mark.parametrize(
    "program",
    [
        'system("x")',
        "`x`",
        'exec "x"',
        'open(F,">x")',
        "print <x>",
        "s/a/system(1)/e",
        "s/a/b/ee",
        '"@{[system 1]}"',
        'print "${\\ system(1)}"',
        'print "$h{system(1)}"',
        'print "$a[system(1)]"',
        'print "$h{a}{system(1)}"',
        'print "$a[0][system(1)]"',
        "/(?{system 1})/",
        "/(??{x})/",
        "qx/x/",
        'do "x"',
        'eval "1"',
        "require x",
        "use POSIX",
        "unlink $_",
        "&foo",
        "*x = 1",
        '$SIG{ALRM}="x"',
        '@ARGV = ("x|")',
        'push @ARGV, "rm x|"',
        "local @ARGV = 1",
        "$x->foo",
        "$x->()",
        "$$x = 1",
        "@$x",
        "%$x",
        '-e "x"',
        'print -x "f"',
        'print "\\n@{[system 1]}"',
        'rename "a","b"',
        "kill 9, 1",
        "<<X",
        "print $x / 2; `x` #/",
        "y/a/b/e",
        'mkdir "x"',
        'print FH "x"',
        '$^I = ".bak"',
        '@{"main::ENV"}',
        "main->x",
        '"a" =~ $x; "x"->y',
        'print "$$x"',
        "$0 =~ s/x/`x`/e",
        "s'a'`x`'e",
        "if (1) {} /x; `y` #/",
        "sub f {} f()",
        "__END__",
        "readline(STDIN)",
        "syswrite STDOUT, 1",
        'glob("*")',
        "print `id`",
        "print STDOUT `id`",
        *(f"print ${name}" for name in ("INC", "ARGVOUT", "SIG", "STDIN", "DATA", "ISA", "EXPORT")),
        "print @ARGV",
    ],
)
def test_a_program_that_may_do_more_is_not_understood(program: str) -> None:
    with pytest.raises(PerlError):
        scan(program)


@pytest.mark.parametrize(
    ("program", "shown"), [("print $ENV{HOME}", ["HOME"]), ("print %ENV", ["*"]), ('print "$ENV{X}"', ["X"])]
)
def test_the_environment_that_a_program_shows_is_told(program: str, shown: list[str]) -> None:
    assert scan(program) == shown
