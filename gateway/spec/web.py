"""The settings of the web tools: `web:`, which hosts stand apart from the public ones, and `search:`, who is asked."""

from __future__ import annotations

from gateway.policy import hosts
from gateway.spec import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.spec.yamltext import Complaints, Node

WEB = {
    "private": "hosts that WebFetch may reach at addresses that are not public: `host` or `host:port`",
    "plain": "hosts that WebFetch asks over http, without encryption: `host` or `host:port`",
}
SEARCH = {
    "provider": "who searches: brave, tavily or searxng",
    "url": "where the provider is; searxng has no usual place",
    "key": "the key that the provider is sent: `{env: NAME}`, the variable that holds it",
}
# Where each is asked unless `url` says another place; "" for one that has none.
PROVIDERS = {
    "brave": "https://api.search.brave.com/res/v1/web/search",
    "tavily": "https://api.tavily.com/search",
    "searxng": "",
}
_WITH_KEY = ("brave", "tavily")
_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")


def read_web(node: Node, complaints: Complaints) -> dict[str, Any]:
    """The hosts, checked, as they are written."""
    found: dict[str, Any] = {}
    for name, value in read.known_keys(node, "`web`", WEB, complaints).items():
        found[name] = read.texts(value, f"`{name}`", complaints, empty=True)
        for text in found[name]:
            _check_host(value, text, name, complaints)
    return found


def _check_host(node: Node, text: str, what: str, complaints: Complaints) -> None:
    try:
        host, _port = hosts.host_and_port(text)
        hosts.build([(host, 0)])
    except ValueError as error:
        complaints.at(node, f"`{what}` must hold hosts: {error}")
        return
    if what == "private" and "*" in host:
        complaints.at(node, f"`private` must name each host by itself (got `{text}`)", "write the hosts without `*`")


def read_search(node: Node, complaints: Complaints) -> dict[str, Any]:
    """The provider, its address in one spelling, and the name of the variable that holds the key ("" for none)."""
    given = read.known_keys(node, "`search`", SEARCH, complaints)
    found: dict[str, Any] = {"provider": "", "url": "", "key": ""}
    if "provider" not in given:
        complaints.at(node, "`search` must name a `provider`", f"one of {', '.join(PROVIDERS)}")
        return found
    provider = found["provider"] = read.choice(given["provider"], "`provider`", tuple(PROVIDERS), complaints)
    if "url" in given:
        found["url"] = _url(given["url"], complaints)
    elif not PROVIDERS.get(provider, "-"):
        complaints.at(node, f"`search` must say the `url` of `{provider}`")
    else:
        found["url"] = PROVIDERS.get(provider, "")
    if "key" in given:
        found["key"] = _key(given["key"], complaints)
        if found["url"].startswith("http:") and not _is_here(found["url"]):
            complaints.at(given["key"], "a key must not be sent without encryption", "give an https `url`")
    elif provider in _WITH_KEY:
        complaints.at(node, f"`search` must say the `key` of `{provider}`", "`key: {env: NAME}`")
    return found


def _url(node: Node, complaints: Complaints) -> str:
    from gateway.tools.paths import UnclearError
    from gateway.tools.urls import parse

    text = read.text(node, "`url`", complaints)
    try:
        found = parse(text).text
    except UnclearError as error:
        complaints.at(node, f"`url` {error.must} (got {node.shown})", error.remedy)
        return ""
    if "?" in found or "#" in found:
        complaints.at(node, f"`url` must end with its path (got {node.shown})")
    return found


def _key(node: Node, complaints: Complaints) -> str:
    """The variable's name. A key itself must not stand in a policy, which is shown and shared."""
    if node.kind != "mapping":
        complaints.at(node, "`key` must be `{env: NAME}`, never the key itself")
        return ""
    given = read.known_keys(node, "`key`", ("env",), complaints)
    if "env" not in given:
        complaints.at(node, "`key` must be `{env: NAME}`")
        return ""
    name = read.text(given["env"], "`env`", complaints)
    if name and (name[0].isdigit() or not _NAME.issuperset(name)):
        complaints.at(given["env"], "`env` must be the name of a variable")
        return ""
    return name


def _is_here(url: str) -> bool:
    """Whether an address is one of this machine's own."""
    from gateway.tools.urls import parse

    return bool(hosts.lookup_possible(hosts.build([("loopback", 0)]), parse(url).host)[0])
