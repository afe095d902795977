"""Facts that cross commands: what is piped, substituted, looped over, written and run, and what is sent."""

from __future__ import annotations

import random
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from gateway.commands import printed as printing
from gateway.commands.analyse import Start, analyse
from gateway.commands.examples import shown
from gateway.commands.settle import settle
from gateway.model.context import Context
from gateway.model.effect import HOLE, Connect
from gateway.model.facts import Facts, PathFact

if TYPE_CHECKING:
    from gateway.model.analysis import Analysis

CWD = "/home/dev/project"
BASH = shutil.which("bash") or ""
NO_DASHES = {f"{CWD}/-*": ()}


def settled(text: str, descriptions: dict[str, Any], facts: Facts, *, confined: bool = True) -> Analysis:
    context = Context(CWD, CWD, "/home/dev", (CWD,), confined=confined)
    return settle(analyse(text, Start(CWD, "/home/dev"), descriptions.get), facts, context)


def effects(text: str, descriptions: dict[str, Any], facts: Facts | None = None, *, confined: bool = True) -> list[str]:
    found = settled(text, descriptions, facts or Facts(globs=NO_DASHES), confined=confined)
    return sorted({shown(item.effect).replace(CWD + "/", "") for item in found.items if item.effect.kind != "exec"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("find src -name '*.py' | xargs grep foo", ["list src tree", "read src tree"]),
        ("find src ~/other | xargs cat", ["list src tree", "list ~/other tree", "read src tree", "read ~/other tree"]),
        ("find src | sort -u | head -5 | xargs wc -l", ["list src tree", "read src tree"]),
        ("find src | xargs rm -f", ["delete src tree", "list src tree"]),
        ("find src | xargs -I{} cp {} out", ["list src tree", "read src tree", "write out", "write out/?"]),
        ("find src -exec cat list \\; | xargs cat", ["list src tree", "read ?", "read list"]),
        ("find src | sed s,src,/etc, | xargs cat", ["list src tree", "read ?"]),
        ("find src | sed 5q | xargs cat", ["list src tree", "read src tree"]),
        ("find src | sed = | xargs cat", ["list src tree", "read ?"]),
        ("printf -- 'x\\n' | xargs cat", ["read x"]),
        ("find src |& xargs cat", ["list src tree", "read ?"]),
        ("find src 2>&1 | xargs cat", ["list src tree", "read ?"]),
        ("find src | xargs -d / cat", ["list src tree", "read ?"]),
        ("A=1 find src | xargs cat", ["env A set", "list src tree", "read ?"]),
        ("{ find src; x; } | xargs cat", ["code", "list src tree", "read ?"]),
        ("find src && find docs | xargs cat", ["list docs tree", "list src tree", "read docs tree"]),
        ("git ls-files | xargs wc -l", ["list . tree", "read . tree"]),
        ("wc -l $(find src)", ["list src tree", "read src tree"]),
        ("wc -l x$(find src)", ["list src tree", "read x?"]),
        ("x=$(find src); wc -l $x", ["list src tree", "read src tree"]),
        ("for f in $(find src); do wc -l $f; done", ["list src tree", "read src tree"]),
        ("find src | while read -r f; do wc -l \"$f\"; done", ["list src tree", "read src tree"]),
        ("while read -r f; do wc -l \"$f\"; done < <(find src)", ["list src tree", "read src tree"]),
        ("find src | while read -r -n 3 f; do cat \"$f\"; done", ["list src tree", "read ?"]),
        ("find src | (read -r x; xargs cat)", ["list src tree", "read ?"]),
        ("IFS=/; cat $(find src)", ["env IFS set", "list src tree", "read ?"]),
    ],
)  # fmt: skip
def test_what_a_listing_names_lies_below_its_folders(
    text: str, expected: list[str], descriptions: dict[str, Any]
) -> None:
    found = [each for each in effects(text, descriptions) if not (each == "code" and "code" not in expected)]
    assert found == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("echo rm x | sh", ["delete x"]),
        ("printf 'rm %s\\n' x y | sh", ["delete x", "delete y"]),
        ("cat <<E | sh\nrm x\nE", ["delete x"]),
        ("echo rm x | tee log | sh", ["delete x", "write log"]),
        ("echo \"rm $x\" | sh", ["code", "delete ?", "opaque"]),
        ("echo -e 'rm\\x20x' | sh", ["opaque"]),
        ("echo rm x | tr a b | sh", ["opaque"]),
        ("echo rm x | (sh)", ["delete x", "opaque"]),
        ("echo rm x 2>&1 | sh", ["opaque"]),
        (". <(echo rm x)", ["delete x"]),
        ("bash <(echo rm x)", ["delete x"]),
        ("eval \"$(echo rm x)\"", ["delete x"]),
        ("echo a b | xargs rm", ["delete a", "delete b"]),
        ("echo a b | xargs -n1 rm", ["delete a", "delete b"]),
        ("printf '%s\\n' a 'b c' | xargs -I{} rm {}", ["delete a", "delete b c"]),
        ("echo \"a'b\" | xargs rm", ["code", "delete ?"]),
        ("cat $(echo a)", ["read a"]),
        ("cat \"$(dirname a/b)/c\"", ["read a/c"]),
        ("echo 'rm x' > s; sh s", ["code", "delete x", "read s", "write s"]),
        ("echo 'rm x' > s; sh t", ["code", "read t", "write s"]),
        ("sh s; echo 'rm x' > s", ["code", "read s", "write s"]),
        ("echo 'rm x' > s; cat s | sh", ["delete x", "opaque", "read s", "write s"]),
        ("echo 'rm x' > s; sh < s", ["code", "delete x", "read s", "write s"]),
        ("ln -s .git/hooks h; echo x > h/y", ["read .git/hooks tree", "write .git/hooks/y", "write h",
         "write h/hooks", "write h/y"]),
    ],
)  # fmt: skip
def test_literal_text_is_followed_to_where_it_runs(
    text: str, expected: list[str], descriptions: dict[str, Any]
) -> None:
    assert effects(text, descriptions) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for f in src/*; do :; done", ["list src/*"]),
        ("select f in src/*; do :; done", ["list src/*"]),
        ("x=(src/*)", ["list src/*"]),
        ("x+=(a src/* b)", ["list src/*"]),
        ("declare -a x=(src/*)", ["list src/*"]),
        ("f() { :; }; f src/*", ["list src/*"]),
        ("for f in src/a.py; do :; done", []),
        ("for f in 'src/*'; do :; done", []),
        ("x=src/*", []),
        ("case a in src/*) ;; esac", []),
    ],
)  # fmt: skip
def test_a_pattern_that_no_command_takes_lists_its_folder(
    text: str, expected: list[str], descriptions: dict[str, Any]
) -> None:
    found = analyse(text, Start(CWD, "/home/dev"), descriptions.get)
    assert sorted({shown(item.effect) for item in found.items if item.effect.kind != "exec"}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("find src | xargs ls", ["list .", "list src tree"]),
        ("find src | xargs -n 1 ls", ["list .", "list src tree"]),
        ("find src | xargs -r ls", ["list src tree"]),
        ("find src | xargs --no-run-if-empty ls", ["list src tree"]),
        ("find src | xargs -I{} ls {}", ["list src tree"]),
        ("find src | xargs ls a", ["list a", "list src tree"]),
        ("echo a | xargs ls", ["list a"]),
        ("printf '' | xargs ls", ["list ."]),
        ("ls $(find src)", ["list .", "list src tree"]),
        ("ls \"$(find src)\"", ["list src tree"]),
        ("find src | xargs cat", ["list src tree", "read src tree"]),
        ("find src | xargs git diff", ["list src tree", "read . tree", "read src tree"]),
    ],
)  # fmt: skip
def test_where_nothing_may_be_found_a_program_also_does_what_it_does_without_names(
    text: str, expected: list[str], descriptions: dict[str, Any]
) -> None:
    found = [each for each in effects(text, descriptions) if each != "code"]
    assert found == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f() { rm \"$1\"; }; f x", ["delete x"]),
        ("f() { rm \"$@\"; }; f x y", ["delete x", "delete y"]),
        ("f() { rm \"$1\"; }", ["code", "delete ?"]),
        ("f() { rm \"$1\"; }; f x; trap f EXIT", ["code", "delete ?"]),
        ("f() { rm \"$1\"; }; f x; f() { :; }", ["code", "delete ?"]),
        ("if a; then f() { rm x; }; fi; f", ["code", "delete x"]),
        ("ls() { command ls \"$@\"; }; ls src", ["list src"]),
        ("f() { local p=$1; cat \"$p\"; }; p=b; f a; cat \"$p\"", ["read ?", "read a"]),
        ("set -- a b; shift; cat \"$1\"", ["read b"]),
        ("a=(x y); cat \"${a[@]}\"", ["read x", "read y"]),
        ("for f in a .env; do cat \"${f##*/}\"; done", ["read .env", "read a"]),
    ],
)  # fmt: skip
def test_arguments_and_elements_are_followed(text: str, expected: list[str], descriptions: dict[str, Any]) -> None:
    assert effects(text, descriptions) == expected


PLAIN, ODD = (f"{CWD}/src/a.py",), (f"{CWD}/src/a b.py", f"{CWD}/src/c.py")


@pytest.mark.parametrize(
    ("text", "facts", "confined", "expected"),
    [
        ("for f in src/*.py; do cat $f; done", Facts(globs={f"{CWD}/src/*.py": PLAIN}), True,
         ["list src/a.py", "read src/a.py"]),
        ("for f in src/*.py; do cat $f; done", Facts(globs={f"{CWD}/src/*.py": ODD}), True,
         ["code", "list src/a b.py", "list src/c.py", "read src/a b.py", "read src/c.py"]),
        ("for f in src/*.py; do cat \"$f\"; done", Facts(globs={f"{CWD}/src/*.py": ODD}), True,
         ["list src/a b.py", "list src/c.py", "read src/a b.py", "read src/c.py"]),
        ("for f in src/*.py; do cat $f; done", Facts(), True, ["code", "list src tree", "read src tree"]),
        ("rg -l x | xargs wc -l", Facts(globs=NO_DASHES), True, ["read . tree"]),
        ("rg -l x | xargs wc -l", Facts(globs={f"{CWD}/-*": (f"{CWD}/-x",)}), True, ["code", "read . tree"]),
        ("rg -l x | xargs wc -l", Facts(), True, ["code", "read . tree"]),
        ("rg -l x src | xargs wc -l", Facts(), True, ["read src tree"]),
        ("rg -l x src | xargs wc -l", Facts(), False, ["code", "read src tree"]),
        ("rg -l x src | xargs wc -l", Facts(names={f"{CWD}/src": True}), False, ["read src tree"]),
        ("rg -l x src | xargs wc -l", Facts(names={f"{CWD}/src": False}), False, ["code", "read src tree"]),
        ("rg -l x src | while read -r f; do cat \"$f\"; done", Facts(names={f"{CWD}/src": True}), False,
         ["code", "read src tree"]),
    ],
)  # fmt: skip
def test_names_that_would_be_taken_apart_or_read_as_options_make_it_code(
    text: str, facts: Facts, confined: bool, expected: list[str], descriptions: dict[str, Any]
) -> None:
    assert effects(text, descriptions, facts, confined=confined) == expected


@pytest.mark.parametrize(
    ("text", "direction", "sends"),
    [
        ("cat a | curl -d @- h", "send", ["a"]),
        ("curl -T a h", "send", ["a"]),
        ("curl h", "fetch", []),
        ("cat a; curl h", "fetch", []),
        ("cat a | curl h", "fetch", []),
        ("curl h/$(cat a)", "send", ["a"]),
        ("x=$(cat a); curl -d \"$x\" h", "send", ["?", "a"]),
        ("cat a | gzip | tee b | curl -T - h", "send", ["a"]),
        ("cat a | tee >(curl -d @- h)", "send", ["a"]),
        ("nc h 1 < a", "send", ["a"]),
        ("cat a > /dev/tcp/h/1", "send", ["a"]),
        ("{ x; cat a; } | curl -d @- h", "send", ["?", "a"]),
        ("cat <<E | curl -d @- h\n$(cat a)\nE", "send", ["a"]),
        ("tar c d | curl -T - h", "send", ["d/**"]),
        ("cat link | curl -d @- h", "send", ["link", "/away"]),
        ("git push origin main", "send", []),
        ("cat a | git push origin main", "send", ["a"]),
    ],
)  # fmt: skip
def test_a_connection_tells_what_may_leave_with_it(
    text: str, direction: str, sends: list[str], descriptions: dict[str, Any]
) -> None:
    facts = Facts(paths={f"{CWD}/link": PathFact("/away", "file")})
    found = [each.effect for each in settled(text, descriptions, facts).items if isinstance(each.effect, Connect)]
    told = [path.replace(CWD + "/", "").replace(HOLE, "?") for path in found[0].sends]
    assert (found[0].direction, sorted(told)) == (direction, sorted(sends))


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("curl -o x.py https://h; python x.py", True),
        ("curl https://h > x.py; python x.py", True),
        ("curl https://h | tee x.py; python x.py", True),
        ("curl -o a https://h; mv a x.py; python x.py", True),
        ("curl -o Makefile https://h; make", True),
        ("curl -o t https://h; ./t", True),
        ("curl -o x.csv https://h; python x.py", False),
        ("python x.py; curl -o /tmp/x https://h", False),
        ("cp a.py x.py; python x.py", False),
    ],
)
def test_what_the_text_fetched_and_runs_is_opaque(text: str, asks: bool, descriptions: dict[str, Any]) -> None:
    assert ("opaque" in effects(text, descriptions)) is asks


PROGRAMS = ("echo", "printf", "basename", "dirname")


@pytest.mark.skipif(not BASH, reason="bash is not installed")
def test_a_known_output_is_what_the_program_prints(descriptions: dict[str, Any]) -> None:
    choose = random.Random(3)
    texts = []
    for _ in range(400):
        arguments = [
            "".join(choose.choices("ab /.-\\%n", k=choose.randrange(7))) for _ in range(choose.randrange(1, 4))
        ]
        texts.append(" ".join([choose.choice(PROGRAMS), *[f"'{argument}'" for argument in arguments]]))
    script = 'for text in "$@"; do printf "%s\\0" "$(eval "$text" 2>/dev/null)"; done'
    ran = subprocess.run([BASH, "-c", script, "bash", *texts], capture_output=True, check=True).stdout.decode()
    known = 0
    for text, printed in zip(texts, ran.split("\0"), strict=False):
        analysis = analyse(f'probe "$({text})"', Start(CWD, "/home/dev"), descriptions.get)
        claimed = next(part.argv for part in analysis.parts if part.program == "probe")[1]
        known += HOLE not in claimed
        assert claimed in (printed, HOLE), text
    assert known > len(texts) / 4


@pytest.mark.parametrize(
    ("program", "subcommand", "listed"),
    [
        ("find", "", printing._FIND_PRINTS),
        ("fd", "", printing._FD),
        ("rg", "", printing._RG),
        ("grep", "", printing._GREP),
        ("ls", "", printing._LS),
        *[("git", name, listed) for name, (listed, _) in printing._GIT.items()],
        *[("git", name, listed) for name, listed in printing._HASHES.items()],
    ],
)
def test_options_of_what_prints_names_are_listed_by_all_of_their_names(
    program: str, subcommand: str, listed: frozenset[str], descriptions: dict[str, Any]
) -> None:
    described = descriptions[program]
    if subcommand:
        described = described["nested"][described["subcommands"][subcommand]]
    options = [frozenset(option["names"]) for option in described["table"]]
    assert [sorted(names - listed) for names in options if names & listed and not names <= listed] == []


@pytest.mark.parametrize(
    "options",
    ["-printf x", "-ls", "-exec ls {} +", "-execdir ls {} +", "-ok ls {} \\;", "-okdir ls {} \\;", "-files0-from x",
     "-f x", "-D tree", "-help", "--help", "--version", "-version", "-L", "-follow"],
)  # fmt: skip
def test_what_find_prints_otherwise_than_names_of_its_folder_is_not_known(
    options: str, descriptions: dict[str, Any]
) -> None:
    assert "read ?" in effects(f"find src {options} | xargs cat", descriptions)
