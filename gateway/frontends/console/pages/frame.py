"""What stands around every page, and the page that holds nothing: what a browser gets before it has shown its token."""

from __future__ import annotations

from gateway.core.value import Value
from gateway.frontends.console.nodes import h, html

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.frontends.console.nodes import Node
    from gateway.frontends.console.pages.parts import Page

# The pages, by address, in the order of the menu.
MENU = (
    ("/pending", "Pending"),
    ("/live", "Live"),
    ("/changes", "Changes"),
    ("/interruptions", "Interruptions"),
    ("/proposals", "Proposals"),
    ("/policy", "Policy"),
    ("/coverage", "Coverage"),
    ("/agents", "Agents"),
)


class Assets(Value):
    """The addresses of the files that every page needs."""

    script: str
    style: str
    icon: str


def document(assets: Assets, page: Page | None, current: str) -> str:
    """A whole page as HTML; without a page the frame alone, whose script fetches the rest."""
    title = f"{page.title} · gateway" if page is not None else "gateway"
    main = page.main if page is not None else (_waiting(),)
    body = [
        h("a", {"class": "skip", "href": "#main"}, "Skip to the page"),
        h(
            "header",
            {"class": "top"},
            h("a", {"class": "brand", "href": "/pending"}, "gateway"),
            menu(current),
            h("p", {"class": "state", "id": "state", "role": "status"}, ""),
        ),
        h("main", {"id": "main", "tabindex": "-1"}, main),
    ]
    return _whole(assets, title, body)


def afar_document(assets: Assets, worker: str) -> str:
    """The page for people elsewhere, which holds nothing: its script shows what whoever is signed in may see.
    `worker`: the address of the script that says that something waits."""
    body = [
        h(
            "header",
            {"class": "top"},
            h("span", {"class": "brand"}, "gateway"),
            h("p", {"class": "state", "id": "state", "role": "status"}, ""),
        ),
        h("main", {"id": "main", "tabindex": "-1", "class": "afar"}, _waiting()),
    ]
    return _whole(assets, "gateway", body, f' data-worker="{worker}"')


def _whole(assets: Assets, title: str, body: Sequence[Node], attributes: str = "") -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{html(title)}</title>"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<link rel="icon" href="{assets.icon}" type="image/svg+xml"><link rel="stylesheet" href="{assets.style}">'
        f'<script type="module" src="{assets.script}"></script></head>\n<body{attributes}>'
        f"{''.join(map(html, body))}</body></html>\n"
    )


def menu(current: str) -> Node:
    """The way to every page. The one that is shown is said to be."""
    return h(
        "nav",
        {"class": "menu", "aria-label": "pages"},
        h(
            "ul",
            [
                h(
                    "li",
                    h(
                        "a",
                        {"href": to, "aria-current": "page" if to == current else None},
                        name,
                        h("span", {"class": "count", "id": "waiting"}, "") if to == "/pending" else None,
                    ),
                )
                for to, name in MENU
            ],
        ),
    )


def _waiting() -> Node:
    return h("div", {"class": "empty", "id": "opening"}, h("h1", "gateway"), h("p", "Opening …"))
