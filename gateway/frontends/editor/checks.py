"""Which texts are policy, and what is wrong with them: what keeps them from loading, else what lint finds."""

from __future__ import annotations

import os
import re

from gateway.config.descriptions import find_descriptions
from gateway.config.layers import PRESETS, TESTS_ENDING, LayerFolder, PolicyFile, find_files, layer_folders
from gateway.config.load import Options, project_root, tool_files, tool_names
from gateway.config.near_misses import DROP_INS, POLICY
from gateway.config.shipped import load_descriptions, load_tools
from gateway.core.errors import ConfigError
from gateway.core.places import places
from gateway.core.value import Value
from gateway.frontends.editor.vocabulary import Names
from gateway.judge.linting import linted
from gateway.judge.policy_tests import is_packaged, stack_for
from gateway.model.decision import LAYERS
from gateway.spec.policy import parse_policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.core.errors import Problem

ERROR, WARNING, INFO = "error", "warning", "info"
_HEADER = re.compile(r"\A(?:#.*\n)*# yaml-language-server: \$schema=\S*\bpolicy\.json\s*$", re.MULTILINE)
_OWN = ".gateway"
_LARGEST = 1_000_000  # characters of a text that lint is asked about while it is typed


class Remark(Value):
    """One thing to say of a text. Lines and columns count from 1, columns in code points; 0 for none. `rule`: what
    found it."""

    severity: str
    line: int
    column: int
    message: str
    rule: str = ""


class Document(Value):
    """A policy that is open in an editor. `folder`: its layer's, None for a file that stands in none; `root`: the
    project."""

    path: str
    root: str
    folder: LayerFolder | None

    @property
    def name(self) -> str:
        """Its name below its layer's folder."""
        return os.path.relpath(self.path, self.folder.path) if self.folder is not None else os.path.basename(self.path)


def document_at(path: str, text: str, cwd: str) -> Document | None:
    """The policy that a file is, None where it is none: policy lies where a layer has it, or names its schema in the
    first line. `cwd`: the folder whose project counts for files outside of a project's own layer."""
    path = _real(path)
    if path.endswith(TESTS_ENDING):
        return None
    near = os.path.dirname(path)
    own, _, inside = f"{path}/".rpartition(f"/{_OWN}/")
    for root in dict.fromkeys((*([own] if inside else ()), project_root(_present(near)), project_root(cwd))):
        folder = _folder_of(path, root)
        if folder is not None:
            return Document(path, root, folder)
    return Document(path, project_root(cwd), None) if _HEADER.search(text[:2_000]) else None


def problems(document: Document, text: str) -> list[Remark]:
    """What keeps a text from being read as policy, at once and by itself."""
    here = places()
    try:
        tools = tool_names(load_tools(here, tool_files(here, _options(document))))
        parse_policy(_encoded(text), document.path, tools)
    except ConfigError as error:
        return _told(document, error)
    return []


def findings(document: Document, texts: Mapping[str, str]) -> list[Remark]:
    """What lint finds of a text that can be read, together with all that holds where it lies. `texts`: what files say
    that are open, by their real paths, this one among them."""
    if len(texts[document.path]) > _LARGEST:
        return [Remark(INFO, 1, 0, f"is not linted while it is typed: it has more than {_LARGEST:,} characters")]
    here = places()
    try:
        registry = load_tools(here, tool_files(here, _options(document)))
        stack = _stack(document, texts)
        described = find_descriptions(here, document.root)
        found = linted(stack, registry, here, document.root, described, of=lambda file: _real(file) == document.path)
    except ConfigError as error:
        return _told(document, error)
    return [
        Remark(each.severity, each.line, 0, message=_message(each.message, each.shown, each.remedy), rule=each.id)
        for each in found.findings
        if _real(each.file) == document.path
    ]


def names(document: Document) -> Names:
    """The names that rules of a document may use. Broken files of others bring none."""
    here = places()
    try:
        registry = load_tools(here, tool_files(here, _options(document)))
    except ConfigError:
        registry = load_tools(here)
    shells = tuple(name for name in registry if any(each["do"] == "shell" for each in registry[name].entry["effects"]))
    return Names(tuple(registry), shells, tuple(sorted(load_descriptions(here).names())), PRESETS)


def _options(document: Document) -> Options:
    return Options(document.root, root=document.root)


def _stack(document: Document, texts: Mapping[str, str]) -> list[PolicyFile]:
    """The files that hold there, with what editors say that they say."""
    here = places()
    if document.folder is None:
        alone = stack_for([], document.root)
        content = _encoded(texts[document.path])
        return [*alone, PolicyFile("user", document.path, content=content, base=document.root, root=document.root)]
    found = {_real(each.path): each for each in find_files(here, document.root)}
    for path, text in texts.items():
        folder = _folder_of(path, document.root)
        if folder is not None:
            found[path] = PolicyFile(folder.layer, path, content=_encoded(text), base=folder.base, root=folder.root)
    mine = [each for each in found.values() if each.layer == "user" and not is_packaged(each.path)]
    stack = [each for each in found.values() if not (mine and each.layer == "user" and is_packaged(each.path))]
    return sorted(stack, key=lambda each: LAYERS.index(each.layer))


def _folder_of(path: str, root: str) -> LayerFolder | None:
    """The folder of the layer that a file is one of, None where it is none's."""
    for folder in layer_folders(places(), root):
        inside = os.path.relpath(path, os.path.realpath(folder.path))
        if inside == POLICY or (os.path.dirname(inside) == DROP_INS and inside.endswith(".yaml")):
            return None if inside.endswith(TESTS_ENDING) else folder
    return None


def _told(document: Document, error: ConfigError) -> list[Remark]:
    """The problems of this text; those of other files in its first line, because calls are refused for them, too."""
    return [_remark(document, each) for each in error.problems]


def _remark(document: Document, problem: Problem) -> Remark:
    what = f"{problem.path}: {problem.message}" if problem.path else problem.message
    if problem.file and _real(problem.file) != document.path:
        place = f"{problem.file}:{problem.line}" if problem.line else problem.file
        return Remark(
            WARNING, 1, 0, message=f"not linted, because another file is broken: {place}: {what}", rule="other-file"
        )
    return Remark(ERROR, problem.line, problem.column, message=_message(what, "", problem.remedy), rule="broken")


def _message(what: str, shown: str, remedy: str) -> str:
    return "\n".join([what, *([f"Shown by: {shown}"] if shown else []), *([f"Help: {remedy}"] if remedy else [])])


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _real(path: str) -> str:
    """Its folder without links: what it is itself may be a link, which layers look into on their own."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _present(folder: str) -> str:
    """The nearest folder above that is there."""
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return folder
