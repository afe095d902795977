"""Compares descriptions with what programs on this machine say of themselves: run by `scripts/checked`.

Of every program named, or of all that are installed (which takes minutes), the help and the manual page are read.
Printed is, for the program and each of its subcommands that has a help of its own:

- `form`: options that are described as taking a value, or as taking none, where the program says otherwise. These shift
  operands: mend them first;
- `unheard`: described options that the program does not name. Other versions may; what none knows is to be removed;
- `unknown`: options of the program that are not described. They are code, which is safe.

Pages are written for people: of what is printed under `form`, some is read wrongly. With `--write` the files without
any get a new `checked:` if the program tells the form of most of their options, and of one at least; with `--looked-at`
and names those that a person has looked at too. Programs run with `--version` and `--help` alone, in an empty folder
that is their home, and never as root.

With `--below DIR` it is packages that are compared with, not what is installed: each unpacked into a folder of DIR that
has the name of its file (`apt-get download sed`, `dpkg -x sed_4.9-1_amd64.deb DIR/sed_4.9-1_amd64`), or that another
installer was given as its prefix (`npm install -g --prefix DIR/prettier_3.6.2_npm prettier`). Then the version is that
of the package, and `checked` names the package, too, if it is not called as the program. What bash has built in is
compared with bash's `help`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gateway.config.compiling import shipped_sources
from gateway.spec.commandformat import format_description
from gateway.spec.commands import compile_description
from gateway.spec.helptext import read_help

if TYPE_CHECKING:
    from gateway.spec.commandparts import Source

VERSION = re.compile(r"(?<![A-Za-z0-9.])[vr]?(\d+(?:\.\d+)+[\w.+~:-]*)")
WHOLE_VERSION = re.compile(r"^\S+ (\d{2,3})\b")
FORMS = {"flags": "none", "optionals": "glued", "values": "value"}
SECONDS = 10
SUITES = ("GNU coreutils", "GNU Binutils", "util-linux", "procps-ng")
# Whose pages leave out what stands in the page that is called as the package.
COMMON = ("netpbm",)
MOST = 0.6
NOBODY = 65534
PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]*_[^_]*\d[^_]*_[a-z0-9]+$")
SYNOPSIS = re.compile(r"^\W*(?:usage|synopsis)\b", re.IGNORECASE | re.MULTILINE)
# A manual page's goes to the next heading, over empty lines.
OF_PAGE = re.compile(r"^SYNOPSIS\n(?:[ \t].*\n|\n)+", re.MULTILINE)
BRACKETED = re.compile(r"\[\s*(--?\w[\w-]*)((?:=|\s+|(?=[<A-Z]))[<{]?[A-Za-z][^\s\[\]|]*(?:\.\.\.)?)?\s*[\]|]")
BINARIES = ("usr/bin", "usr/sbin", "usr/games", "bin", "sbin")
LOADED = {
    "PATH": BINARIES,
    "LD_LIBRARY_PATH": ("usr/lib/*-linux-gnu", "lib/*-linux-gnu"),
    "PYTHONPATH": ("usr/lib/python3/dist-packages", "lib/python3*/site-packages"),
    "PERL5LIB": ("usr/share/perl5", "usr/lib/*-linux-gnu/perl5/*"),
}
# Others may take a word for what they work on.
SAYS_VERSION = ("go", "kubectl", "helm", "openssl", "terraform", "gcloud", "hugo")


class Said(NamedTuple):
    """What a program says: each option with its form, `?` where it does not tell."""

    forms: dict[str, str]
    # Whether there is enough of it to compare with.
    is_help: bool


def as_nobody() -> dict[str, Any]:
    """What makes a process start without root's rights."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


class Packages:
    """Packages unpacked side by side, each in a folder that has the name of its file: `programs` by their names, each
    with its package. Of two with the same name it is that of the package that is called so, or the first."""

    def __init__(self, below: Path) -> None:
        self.roots = sorted(each for each in below.iterdir() if PACKAGE.match(each.name) and each.is_dir())
        self.programs: dict[str, Path] = {}
        for root in self.roots:
            for folder in BINARIES:
                for program in sorted((root / folder).glob("*")):
                    if program.name not in self.programs or root.name.startswith(f"{program.name}_"):
                        self.programs[program.name] = root

    def version_of(self, program: str) -> str:
        """What stands in `checked` of a program that is there: its name, behind the package's if that has another one,
        and the version of what was packaged."""
        name, version, _ = self.programs[program].name.split("_")
        upstream = re.sub(r"^\d+(%3a|:)|^.*really\.?|[+~]?(dfsg|ds\d|repack).*|-[^-]*$", "", version)
        return f"{program} {upstream}" if name == program else f"{name} {program} {upstream}"

    @staticmethod
    def together(versions: list[str]) -> list[str]:
        """What stands in `checked` of several programs: of those that one package brings, the package alone."""
        packages = [f"{words[0]} {words[-1]}" for words in (each.split() for each in versions)]
        return list(
            dict.fromkeys(
                package if packages.count(package) > 1 else version
                for package, version in zip(packages, versions, strict=True)
            )
        )

    def environment(self, program: str) -> dict[str, str]:
        """The variables with which a program finds what its package has for it; none for what is in no package."""
        root = self.programs.get(program)
        found = LOADED if root is not None else {}
        return {
            name: ":".join(str(each) for folder in folders for each in sorted((root or Path()).glob(folder)))
            for name, folders in found.items()
        }


class Place(NamedTuple):
    """Where programs run: an empty folder. `packages`: what is compared with instead of what is installed."""

    folder: str
    packages: Packages | None = None

    def has(self, program: str) -> bool:
        return program in self.packages.programs if self.packages is not None else shutil.which(program) is not None

    def pages(self, program: str) -> list[str]:
        """The manual pages on a program: its own, and the one on what all programs of its package take."""
        root = self.packages.programs.get(program) if self.packages is not None else None
        package = root.name.partition("_")[0] if root is not None else ""
        return [program, *([package] if package in COMMON else [])]

    def manual(self, program: str, name: str) -> str:
        """A manual page that came with a program."""
        if self.packages is None:
            return self.run("man", name)
        pages = self.packages.programs[program] / "usr/share/man"
        return self.run(shutil.which("man") or "man", "-M", str(pages), name)

    def run(self, *words: str) -> str:
        """All that a program prints, "" if it does not end in time."""
        paths = self.packages.environment(words[0]) if self.packages is not None else {}
        own = paths.pop("PATH", "")
        env = {
            **paths, "PATH": f"{own}:{os.environ['PATH']}" if own else os.environ["PATH"],
            "HOME": self.folder, "PAGER": "cat", "MANPAGER": "cat", "MANWIDTH": "200",
            "MAN_KEEP_FORMATTING": "1", "LC_ALL": "C.UTF-8", "TERM": "dumb", "GROFF_NO_SGR": "1", "COLUMNS": "200",
        }  # fmt: skip
        try:
            done = subprocess.run(
                words, cwd=self.folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=SECONDS, start_new_session=True, check=False, **as_nobody(),
            )  # fmt: skip
        except (subprocess.TimeoutExpired, OSError):
            return ""
        return done.stdout.decode("utf-8", "replace")


def plain(text: str) -> str:
    """A page as text; what it underlines, as pages do with values, is written large, but for options. Where an option
    fills its column but for one place, a sentence begins behind it, not a value."""
    text = re.sub(r"^( *(?:\S\x08\S)+) (?=[A-Z][a-z]* )", r"\1  ", text, flags=re.MULTILINE)
    text = re.sub(r"_\x08-(?:_\x08.)+", lambda found: found[0].replace("_\x08", ""), text)
    text = re.sub(r"_\x08(.)", lambda found: found[1].upper(), text)
    text = re.sub(r".\x08(.)", r"\1", text)
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def synopsis(text: str, dialect: str = "gnu") -> dict[str, str]:
    """The options that a synopsis has in brackets, each with its form (`[-lq] [-o FILE]`)."""
    forms: dict[str, str] = {}
    text = OF_PAGE.sub(lambda section: re.sub(r"\n\s*\n", "\n", section[0]) + "\n", text)
    for paragraph in re.split(r"\n\s*\n", text):
        start = SYNOPSIS.search(paragraph)
        for name, value in BRACKETED.findall(paragraph[start.end() :]) if start is not None else ():
            form = "value" if value else "none"
            several = dialect != "dash" and re.fullmatch("-[A-Za-z0-9]{2,}", name) and not value
            for each in [f"-{letter}" for letter in name[1:]] if several else [name]:
                forms[each] = form if forms.get(each, form) == form else "?"
    return forms


def said(*texts: str, dialect: str = "gnu") -> Said:
    """What several texts say together; where they disagree, nothing. A synopsis counts for what stands nowhere else."""
    forms: dict[str, str] = {}
    for text in texts:
        found = read_help(plain(text))
        for group in ("flags", "optionals", "values", "unclear"):
            for names in getattr(found, group):
                for name in names.split("|"):
                    for each in {name.replace("[no-]", ""), name.replace("[no-]", "no-")}:
                        form = FORMS.get(group, "?")
                        known = forms.get(each, form)
                        forms[each] = form if known in (form, "?") else known if form == "?" else "?"
    whole = "\n\n".join(plain(text) for text in texts)
    for name, form in synopsis(whole, dialect).items():
        if forms.get(name, "?") == "?":
            forms[name] = form
    named = re.findall(r"(?<![\w-])--?[A-Za-z0-9][\w-]*", whole)
    return Said({**dict.fromkeys(named, "?"), **forms}, len(forms) > 1)


def spelled(name: str, spec: Any) -> str:
    """An option as it is compared: where one dash or two are the same, with one."""
    return f"-{name.lstrip('-')}" if spec["dialect"] == "dash" and name.startswith("--") else name


def described(spec: Any) -> dict[str, str]:
    """The options of a compiled description or subcommand, each with its form."""
    table = spec["table"]
    found = {}
    for name, index in spec["options"].items():
        option = table[index]
        form = "glued" if option.get("optional") else "value" if option.get("arity") or option.get("until") else "none"
        found[spelled(name, spec)] = form
    return found


def heard(spec: Any, told: Said) -> dict[str, str]:
    """What a program says of its options, each as it is compared; where two spellings disagree, nothing."""
    forms: dict[str, str] = {}
    for name, form in told.forms.items():
        known = forms.setdefault(spelled(name, spec), form)
        forms[spelled(name, spec)] = known if form in ("?", known) else form if known == "?" else "?"
    return forms


class Compared(NamedTuple):
    """One program compared: the lines to print, its version, whether all forms are the same, the options described,
    each behind its subcommand, and those of them of which the program tells the form."""

    lines: list[str]
    version: str
    right: bool
    options: set[str]
    clear: set[str]


def compared(label: str, spec: Any, told: Said) -> tuple[list[str], bool]:
    """The lines to print, and whether all forms are the same."""
    own, forms = described(spec), heard(spec, told)
    wrong = [
        f"{name} is {form}, described as {own[name]}"
        for name, form in forms.items()
        if name in own and form not in ("?", own[name])
    ]
    unheard = [name for name in own if name not in forms]
    known = {*own, *(spelled(name, spec) for name in spec.get("alone", ()))}
    unknown = [name for name, form in forms.items() if form != "?" and name not in known and not spec.get("harmless")]
    lines = [
        f"  {label}: {kind}: {', '.join(found)}"
        for kind, found in (("form", wrong), ("unheard", unheard), ("unknown", unknown))
        if found
    ]
    return lines, not wrong


def version_of(program: str, place: Place) -> str:
    """What stands in `checked`, "" if the program does not tell."""
    if place.packages is not None:
        return place.packages.version_of(program)
    for word in ("--version", "-V", *(["version"] if program in SAYS_VERSION else [])):
        for line in place.run(program, word).splitlines()[:3]:
            match = VERSION.search(line) or WHOLE_VERSION.search(line)
            if match is not None and not re.search("usage|copyright", line, re.IGNORECASE):
                named = re.search(r"\(([A-Za-z][\w -]*?)\)? [vr]?\d", line)
                bundle = re.search(r" from ([a-z][\w-]*) [vr]?\d", line)
                suite = bundle[1] if bundle is not None else named[1] if named is not None else ""
                owner = suite if suite in SUITES else ""
                name = f"{owner} {program}".strip() if owner else f"GNU {program}" if "(GNU" in line else program
                return f"{name} {match[1].rstrip('.,;:)')}"
    return ""


def compare(source: Source, place: Place) -> tuple[list[str], list[str], bool]:
    """The lines on one description, the versions that it was compared with, none if too little is told, and whether all
    forms are the same. Of programs that are used alike each is compared that is there."""
    path = Path(source.path)
    description: Any = compile_description(source.content, path.name, parts=source.parts)
    is_builtin = bool(description.get("builtin")) and place.packages is None
    there = [name for name in description["names"] if is_builtin or place.has(name)]
    found = [
        compare_program(program, description, place, is_builtin=is_builtin)
        for program in (there if description.get("several") else there[:1])
    ]
    options = set().union(*(each.options for each in found))
    clear = set().union(*(each.clear for each in found))
    versions = list(dict.fromkeys(each.version for each in found))
    if place.packages is not None:
        versions = place.packages.together(versions)
    is_compared = all(versions) and len(clear) >= max(1, MOST * len(options))
    lines = [f"{path.name}: {line}" if line[0] != " " else line for each in found for line in each.lines]
    return lines, versions if is_compared else [], all(each.right for each in found)


def compare_program(program: str, description: Any, place: Place, *, is_builtin: bool) -> Compared:
    """One program compared with its description."""
    pages = [place.run("bash", "-c", 'help "$0"', program)] if is_builtin else []
    pages = pages or [place.run(program, "--help"), *(place.manual(program, page) for page in place.pages(program))]
    told = said(*pages, dialect=description["dialect"])
    lines, right = compared(program, description, told)
    counted = {"": (description, told)} if told.is_help else {}
    for name, index in description.get("subcommands", {}).items():
        child = description["nested"][index]
        if "*" in name or not (child["options"] or child.get("subcommands")):
            continue
        help_text = place.run(program, name, "-h" if program == "git" else "--help")
        child_told = said(help_text, place.manual(program, f"{program}-{name}"), dialect=child["dialect"])
        if not child_told.is_help:
            continue
        both = Said({**told.forms, **child_told.forms}, True)
        counted[name] = child, both
        child_lines, child_right = compared(f"{program} {name}", child, both)
        lines += [line for line in child_lines if ": unknown:" not in line]
        right = right and child_right
    options = {f"{label} {name}" for label, (spec, _) in counted.items() for name in described(spec)}
    clear = {
        f"{label} {name}"
        for label, (spec, each) in counted.items()
        for name, form in heard(spec, each).items()
        if form != "?" and name in described(spec)
    }
    version = version_of("bash", place).replace("bash", f"bash {program}") if is_builtin else version_of(program, place)
    return Compared([f"{program}: {version or 'no version'}", *lines], version, right, options, clear)


def main(arguments: list[str]) -> int:
    packages = None
    if "--below" in arguments:
        at = arguments.index("--below")
        below = Path(*arguments[at + 1 : at + 2])
        arguments = arguments[:at] + arguments[at + 2 :]
        if not below.is_dir() or not (packages := Packages(below.resolve())).roots:
            sys.exit(f"no packages below {below}: unpack each into a folder named as sed_4.9-1_amd64")
    if unlike := [each for each in arguments if each.startswith("-") and each not in ("--write", "--looked-at")]:
        print(__doc__)  # noqa: T201
        print("checked [--write|--looked-at] [--below DIR] [NAME ...]")  # noqa: T201
        if unlike in (["-h"], ["--help"]):
            return 0
        sys.exit(f"no such option: {' '.join(unlike)}")
    writes, looked_at = "--write" in arguments, "--looked-at" in arguments
    names = [each for each in arguments if not each.startswith("--")]
    if looked_at and not names:
        sys.exit("name the descriptions that you have looked at")
    found = [each for each in shipped_sources() if not names or not set(names).isdisjoint(names_of(each))]
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        place = Place(folder, packages)
        for source in found:
            lines, versions, right = compare(source, place)
            checked = versions if right or looked_at else []
            if lines:
                print("\n".join(lines), flush=True)  # noqa: T201
            if (writes or looked_at) and checked:
                note(source, checked)
    return 0


def names_of(source: Source) -> list[str]:
    """The names of what is described, and that of a file of one description."""
    description = compile_description(source.content, source.path, parts=source.parts)
    return [*description["names"], Path(source.path).stem]


def note(source: Source, versions: list[str]) -> None:
    """Writes what a description was compared with into its place in the file."""
    path = Path(source.path)
    whole = path.read_text("utf-8")
    checked = versions[0] if len(versions) == 1 else f"[{', '.join(versions)}]"
    old = source.content.decode("utf-8").strip("\n")
    text = re.sub(r"^checked:.*\n(?: .*\n)*", "", old, flags=re.MULTILINE)
    text = re.sub(
        r"^((?:names|programs):(?: .*|(?:\n +.*)+)\n)", rf"\1checked: {checked}\n", text, count=1, flags=re.MULTILINE
    )
    path.write_text(format_description(whole.replace(old, text, 1), path.name), "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
