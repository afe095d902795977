"""What kinds of agents there are: Markdown files with YAML front matter, or YAML files, by layer.

    ---
    name: reviewer
    description: Reads a change and says what is wrong with it.
    tools: [Read, Grep, Glob, Bash]        # of those that its parent has; all if left out
    without: [WebFetch]
    mode: read_only                        # only ever stricter than its parent's
    model: claude-haiku-5-5
    max_turns: 40
    deny: ["Bash(git push *)"]             # holds for this agent alone
    floor: ["Edit(//etc/**)"]              # holds for it and every agent below it
    ---
    You read changes …

They lie in the folder `agents` of a layer, and where other agents keep theirs (`~/.claude/agents`, `.claude/agents`).
None gives more than its parent has. A project's cannot replace one of an upper layer: what it says of such a name
narrows that one, and its prompt does not count.
"""

from __future__ import annotations

import json
import os

from gateway.config.layers import STRICTER, LayerFolder, file_of, layer_folders
from gateway.core.errors import ConfigError, Problem
from gateway.core.ownership import check_file, check_folder
from gateway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateway.core.places import Places
    from gateway.spec.node import Complaints, Node

FOLDER = "agents"
ENDINGS = (".md", ".yaml")
KINDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kinds")
KEYS = ("name", "description", "tools", "without", "mode", "model", "max_turns", "deny", "floor", "prompt")
# What files of other agents also say in their heads; it means nothing here.
IGNORED = ("color", "hooks", "skills", "memory", "effort", "background", "isolation", "mcpServers")
# What other agents call the same.
ALSO = {"disallowedTools": "without", "permissionMode": "mode", "maxTurns": "max_turns"}
THEIR_MODES = {"acceptEdits": "accept_edits", "dontAsk": "dont_ask", "bypassPermissions": "bypass"}
THEIR_MODELS = ("inherit", "sonnet", "opus", "haiku")  # names of theirs, which say nothing to another provider
NARROWS = "project"
_MOST_TURNS = 10_000


class AgentType(Value):
    """One kind. `tools`: those it may call, None for all that its parent has; `without`: those it may not. `deny`:
    short forms of rules that hold for it alone, `floor`: for all below it too."""

    name: str
    description: str
    prompt: str
    tools: frozenset[str] | None = None
    without: frozenset[str] = frozenset()
    mode: str = ""
    model: str = ""
    max_turns: int = 0
    deny: tuple[str, ...] = ()
    floor: tuple[str, ...] = ()
    file: str = ""

    @property
    def bounds_tools(self) -> bool:
        """Whether there is any tool that it may not call."""
        return self.tools is not None or bool(self.without)

    @property
    def allows_servers(self) -> bool:
        """Whether there may be a tool of an MCP server that it may call."""
        return self.tools is None or any(tool.startswith("mcp__") for tool in self.tools)

    def allows(self, tool: str) -> bool:
        """Whether it may call a tool of this name at all."""
        return tool not in self.without and (self.tools is None or tool in self.tools)

    def narrowed(self, other: AgentType) -> AgentType:
        """This one, with every bound that the other one sets besides."""
        mode = other.mode if other.mode and stricter(self.mode or "default", other.mode) == other.mode else self.mode
        turns = [each for each in (self.max_turns, other.max_turns) if each]
        tools = [each for each in (self.tools, other.tools) if each is not None]
        return self.replace(
            tools=frozenset.intersection(*tools) if tools else None,
            without=self.without | other.without,
            mode=mode,
            max_turns=min(turns) if turns else 0,
            deny=self.deny + other.deny,
            floor=self.floor + other.floor,
        )


def stricter(one: str, other: str) -> str:
    """The mode of a child whose parent has `one` and whose type says `other`: never a laxer one."""
    return other if other and other in STRICTER[one] else one


def rules_of(lines: Iterable[str]) -> tuple[str, ...]:
    """The text of a policy file that denies these, () for none."""
    rules = [{"deny": each} for each in lines]
    return (json.dumps({"version": 1, "rules": rules}),) if rules else ()


def agent_types(
    places: Places, root: str, *, policies: str = "", binding: bool = False
) -> tuple[Mapping[str, AgentType], tuple[Problem, ...]]:
    """Every type by its name, and what is wrong in any file: of a name that a broken file has there is no type.
    `policies`: a folder that stands for the layers, whose `agents` are the user's. Raises ConfigError for a folder that
    cannot be listed, or that the wrong people can write."""
    found: dict[str, AgentType] = {}
    problems: list[Problem] = []
    for folder in _folders(places, root, policies, binding):
        for path in _files(folder):
            try:
                each = read_type(file_of(folder, path).content, path)
            except ConfigError as error:
                problems += error.problems
                found.pop(os.path.splitext(os.path.basename(path))[0], None)
                continue
            upper = found.get(each.name)
            found[each.name] = upper.narrowed(each) if upper is not None and folder.layer == NARROWS else each
    return found, tuple(problems)


def _folders(places: Places, root: str, policies: str, binding: bool) -> list[LayerFolder]:
    """Lowest authority last, so that what an upper layer says of a name is known when a project speaks of it."""
    layers = {each.layer: each for each in layer_folders(places, root)}
    shipped = LayerFolder("builtin", KINDS, root, root)
    enterprise = layers["enterprise"]
    own = [enterprise.replace(path=os.path.join(enterprise.path, FOLDER))]
    if policies:
        user = LayerFolder("user", os.path.join(policies, FOLDER), root, root)
        return [shipped, user, *(own if binding else ())]
    user = layers["user"]
    claude = [os.path.join(each, ".claude", FOLDER) for each in (places.home, root)]
    return [
        shipped,
        user.replace(path=claude[0]),
        user.replace(path=os.path.join(user.path, FOLDER)),
        *own,
        *(
            LayerFolder(NARROWS, path, root, root)
            for path in (claude[1], os.path.join(root, ".gateway", FOLDER))
            if os.path.realpath(root) != os.path.realpath(places.home)
        ),
    ]


def _files(folder: LayerFolder) -> list[str]:
    try:
        names = sorted(os.listdir(folder.path))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise ConfigError(Problem(f"cannot be listed: {error.strerror}", file=folder.path)) from error
    paths = [os.path.join(folder.path, name) for name in names if name.endswith(ENDINGS)]
    if folder.layer == "enterprise":
        check_folder(folder.path)
        for path in paths:
            check_file(path)
    return paths


def read_type(content: bytes, file: str) -> AgentType:
    """One type. Raises ConfigError with every mistake in the file."""
    from gateway.spec import read
    from gateway.spec.frontmatter import parted
    from gateway.spec.node import Complaints
    from gateway.spec.yamltext import load

    if file.endswith(".md"):
        front, prompt = parted(content, file)
        if front is None:
            remedy = "begin it with `---`, `name: …`, `description: …`, `---`"
            raise ConfigError(Problem("a type of agent must have front matter", file=file, line=1, remedy=remedy))
    else:
        front, prompt = content.decode("utf-8", "surrogateescape"), ""
    head = load(front, file)
    complaints = Complaints(file)
    given = read.ours(head, "type of agent", (*KEYS, *IGNORED, *ALSO), complaints, needs="name")
    keys = {ALSO.get(name, name): node for name, node in given.items()}
    if "prompt" in keys and prompt:
        complaints.at_key(keys["prompt"], "`prompt` must not stand beside a text below the head")
    if "description" not in keys:
        complaints.at(head, "type of agent must have the key `description`")
    texts = {
        name: read.text(keys[name], f"`{name}`", complaints)
        for name in ("name", "description", "mode", "model", "prompt")
        if name in keys
    }
    mode = THEIR_MODES.get(texts.get("mode", ""), texts.get("mode", ""))
    if mode and mode not in STRICTER:
        complaints.at(keys["mode"], f"`mode` must be one of {', '.join(STRICTER)} (got {keys['mode'].shown})")
    names = {key: _names(keys[key], key, complaints) for key in ("tools", "without") if key in keys}
    deny, floor = (
        tuple(read.texts(keys[key], f"`{key}`", complaints)) if key in keys else () for key in ("deny", "floor")
    )
    turns = read.integer(keys["max_turns"], "`max_turns`", complaints, 1, _MOST_TURNS) if "max_turns" in keys else 0
    complaints.raise_any()
    model = texts.get("model", "")
    tools = names.get("tools")
    return AgentType(
        texts["name"],
        texts["description"],
        prompt=texts.get("prompt", prompt).strip(),
        tools=None if tools is None or "*" in tools else tools,
        without=names.get("without", frozenset()),
        mode=mode,
        model="" if model in THEIR_MODELS else model,
        max_turns=turns,
        deny=deny,
        floor=floor,
        file=file,
    )


def _names(node: Node, what: str, complaints: Complaints) -> frozenset[str]:
    """Names of tools, as a list or in one text between commas. What stands in brackets behind one does not count: the
    rules say which calls may run."""
    from gateway.spec import read

    given = node.value.split(",") if node.value.__class__ is str else read.texts(node, f"`{what}`", complaints)
    return frozenset(each.partition("(")[0].strip() for each in given if each.strip())
