"""`gateway mcp`: the gateway's tools for MCP clients, other servers behind the policy, and what is pinned of those."""

from __future__ import annotations

import difflib
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.core.errors import ConfigError, Problem
from gateway.frontends import mcp_command
from gateway.frontends.cli.group import Group
from gateway.frontends.jsontext import pretty
from gateway.frontends.mcp_command import WORD, Asked
from gateway.frontends.output import write
from gateway.frontends.parameter_files import FOLDER, POLICY_FOLDER, READS
from gateway.policy.wording import visible
from gateway.render.style import style_for, wrapped

if TYPE_CHECKING:
    from gateway.mcp.pins import Pin, Pins
    from gateway.render.style import Style

app = typer.Typer(
    name="mcp",
    help="Serve MCP clients, and put MCP servers behind policy.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)
pins_app = typer.Typer(
    name="pins",
    help="Show what MCP servers said of their tools when they were first seen, and accept what has changed since.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)
app.add_typer(pins_app, name="pins", cls=Group)

_Http = Annotated[
    str | None, typer.Option("--http", metavar="HOST:PORT", help="Serve HTTP there, not standard input and output.")
]
_TokenFile = Annotated[
    str | None,
    typer.Option("--token-file", metavar="FILE", help="Tokens that clients may show, one a line, or NAME TOKEN."),
    READS,
]
_Remote = Annotated[bool, typer.Option("--remote", help="Let --http name an address that other machines reach.")]
_HostNames = Annotated[
    list[str] | None, typer.Option("--host-name", metavar="NAME", help="A name that clients may call this host by.")
]
_NoElicitation = Annotated[
    bool, typer.Option("--no-elicitation", help="Ask nobody through the client: what policy asks about is refused.")
]
_Policies = Annotated[
    str | None,
    typer.Option("--policies", metavar="DIR", help="Use the layers in DIR besides enterprise's only."),
    POLICY_FOLDER,
]
_Cwd = Annotated[str | None, typer.Option("--cwd", metavar="DIR", help="The folder that calls are made from."), FOLDER]
_Mode = Annotated[str | None, typer.Option("--mode", metavar="MODE", help="The mode that sessions begin in.")]
_Trust = Annotated[
    list[str] | None,
    typer.Option("--trust-project", metavar="DIGEST", help="Accept the project's policy of this digest."),
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


@app.command()
def serve(
    http: _Http = None,
    token_file: _TokenFile = None,
    remote: _Remote = False,
    host_name: _HostNames = None,
    no_elicitation: _NoElicitation = False,
    policies: _Policies = None,
    cwd: _Cwd = None,
    mode: _Mode = None,
    trust_project: _Trust = None,
) -> int:
    """Serve the gateway's tools to an MCP client, on standard input and output or over HTTP.

    Each call is judged, confined and recorded; what policy asks about is asked through the client, where it has
    elicitation, and refused where not. Over HTTP clients show a token: one of --token-file, that of the variable
    GATEWAY_MCP_TOKEN, or a new one, which is printed on standard error.
    """
    return mcp_command.serve(
        Asked(
            http=http, token_file=token_file, remote=remote, host_name=tuple(host_name or ()),
            no_elicitation=no_elicitation, policies=policies, cwd=cwd, mode=mode,
            trust_project=tuple(trust_project or ()),
        )
    )  # fmt: skip


@app.command()
def proxy(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Servers of the setting `servers`; or -- CMD ... for one."),
    ] = None,
    url: Annotated[str | None, typer.Option("--url", metavar="URL", help="A server at this address.")] = None,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="What policy calls it.")] = None,
    what: Annotated[
        str | None, typer.Option("--is", metavar="NAME", help="Which described server it is, such as filesystem.")
    ] = None,
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="VAR", help="A variable that the server gets from here.")
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", metavar="NAME: VALUE", help="A header for --url; {env:VAR} is a variable's value."),
    ] = None,
    seconds: Annotated[int, typer.Option("--seconds", metavar="S", help="How long it may take to answer.")] = 60,
    namespaced: Annotated[
        bool, typer.Option("--namespaced", help="Show tools as SERVER__TOOL, as always with several servers.")
    ] = False,
    word: Annotated[list[str] | None, typer.Option(WORD, metavar="WORD", hidden=True)] = None,
    http: _Http = None,
    token_file: _TokenFile = None,
    remote: _Remote = False,
    host_name: _HostNames = None,
    no_elicitation: _NoElicitation = False,
    policies: _Policies = None,
    cwd: _Cwd = None,
    mode: _Mode = None,
    trust_project: _Trust = None,
) -> int:
    """Put MCP servers behind the policy: `gateway mcp proxy NAME`, `-- CMD ARG ...` or `--url URL`.

    Policy knows their tools as mcp__NAME__TOOL. What it denies is not listed; what servers say of their tools is
    pinned, and a tool that has changed is hidden until `gateway mcp pins accept`.
    """
    return mcp_command.proxy(
        Asked(
            names=tuple(names or ()), words=tuple(word or ()), url=url, name=name, what=what, env=tuple(env or ()),
            header=tuple(header or ()), seconds=str(seconds), namespaced=namespaced, http=http, token_file=token_file,
            remote=remote, host_name=tuple(host_name or ()), no_elicitation=no_elicitation, policies=policies, cwd=cwd,
            mode=mode, trust_project=tuple(trust_project or ()),
        )
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------- pins


def _pins() -> Pins:
    from gateway.core.places import places
    from gateway.mcp.pins import Pins

    return Pins(places().state)


@pins_app.command("list")
def list_pins(
    server: Annotated[str | None, typer.Argument(metavar="NAME", help="One server only.")] = None,
    json: _Json = False,
) -> int:
    """List the tools that are pinned, and what waits to be accepted, with what has changed."""
    from gateway.mcp.pins import digest_of_waiting

    pins = _pins()
    found = pins.all(server or "")
    digests = {}
    for name in dict.fromkeys(pin.server for pin in found):
        if waits := tuple(pin for pin in found if pin.server == name and pin.now):
            digests[name] = digest_of_waiting(waits)
    if json:
        kept = [pin.as_dict() for pin in found]
        write(pretty({"file": pins.path, "pins": kept, "waiting": digests}) + "\n")
    elif not found:
        write("no MCP server's tools are pinned\n")
    else:
        style = style_for(sys.stdout)
        write("\n".join(_pin_text(pin, style) for pin in found) + f"\n{visible(pins.path)}\n")
        for name, digest in digests.items():
            write(f"what waits of {visible(name)} has the digest {digest}\n")
    return 0


def _pin_text(pin: Pin, style: Style) -> str:
    state = style.paint(
        {"": "accepted", "new": "waits: new", "changed": "waits: changed"}.get(pin.state, "waits: another server"),
        "ask" if pin.state else "allow",
    )
    lines = [f"{style.paint(visible(f'{pin.server} {pin.tool}'), 'strong')}  {state}  {visible(pin.seen)}"]
    if pin.state:
        lines += [f"  {visible(part)}" for part in wrapped(visible(pin.identity), style.width - 2)]
        before, after = pin.was.splitlines(), pin.now.splitlines()
        changes = list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]
        lines += [f"  {visible(line)}" for line in changes]
    return "\n".join(lines)


@pins_app.command()
def accept(
    server: Annotated[str, typer.Argument(metavar="NAME", help="The server.")],
    tools: Annotated[
        list[str] | None, typer.Argument(metavar="TOOL", help="Its tools; all that wait if you name none.")
    ] = None,
    yes: Annotated[
        str | None, typer.Option("--yes", metavar="DIGEST", help="Accept exactly what has this digest, unasked.")
    ] = None,
    json: _Json = False,
) -> int:
    """Accept what a server says of its tools by now: shows what would be accepted, and asks at the terminal.

    Exit status: 0, 1 if it was not accepted, 2 if nothing of it waits, or something else does than was looked at.
    """
    from gateway.frontends.consent import agreed, require_digest
    from gateway.mcp.pins import digest_of_waiting

    pins = _pins()
    waits = pins.waiting(server, tuple(tools or ()))
    missing = sorted(set(tools or ()) - {pin.tool for pin in waits})
    if missing or not waits:
        named = f" (got `{visible(missing[0])}`)" if missing else ""
        raise ConfigError(
            Problem(f"server and tool must be ones that wait{named}", remedy="see `gateway mcp pins list`")
        )
    if yes is not None:
        require_digest(yes, digest_of_waiting(waits), "what waits")
    else:
        if json:
            raise ConfigError(Problem("--json must come with --yes DIGEST", remedy="see `gateway mcp pins list`"))
        style = style_for(sys.stdout)
        write("\n".join(_pin_text(pin, style) for pin in waits) + "\n")
        if not agreed("accept what these tools say of themselves?", "acceptance"):
            write("not accepted\n")
            return 1
    taken = pins.accept(waits)
    if json:
        write(pretty({"file": pins.path, "accepted": taken}) + "\n")
    else:
        write("".join(f"accepted {visible(f'{server} {tool}')}\n" for tool in taken))
    return 0


@pins_app.command()
def forget(
    server: Annotated[str, typer.Argument(metavar="NAME", help="The server.")],
    json: _Json = False,
) -> int:
    """Forget a server: the next time it lists its tools counts as the first."""
    pins = _pins()
    if not pins.forget(server):
        raise ConfigError(
            Problem(
                f"server must be one that is pinned (got `{visible(server)}`)", remedy="see `gateway mcp pins list`"
            )
        )
    write(pretty({"file": pins.path, "forgotten": server}) + "\n" if json else f"forgot {visible(server)}\n")
    return 0
