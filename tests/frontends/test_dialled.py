"""What a person is shown of a connection that nobody predicted."""

from __future__ import annotations

from gateway.approval.base import Dialled
from gateway.frontends.dialled import dialled_text
from gateway.judge.runtime_effects import judged_besides
from gateway.model.call import RawCall
from gateway.model.effect import Connect
from gateway.render.style import Style


def test_it_says_where_to_who_and_all_that_may_leave(guard) -> None:
    gateway = guard(None)
    verdict = judged_besides(
        gateway, gateway.check(RawCall("Bash", {"command": "make\u202e x"})), Connect("xn--pple-43d.com", 443, "send")
    )
    question = Dialled(
        verdict,
        "xn--pple-43d.com",
        443,
        "/usr/bin/node (\x1b[2Jnpm)",
        ("/home/dev/project",),
        ("/home/dev/project/key",),
    )
    assert dialled_text(question, Style(100)).splitlines() == [
        "",
        "A command that runs wants to connect to a host that nobody predicted, and waits.",
        "  to        xn--pple-43d.com:443",
        "            `xn--pple-43d` may be taken for another name: it is the encoded form of `\u0430pple`",
        "  from      /usr/bin/node (\\x1b[2Jnpm)",
        "  call      Bash(make\\u202e x)",
        "  may send  anything that this call could read:",
        "            /home/dev/project",
        "            among that, files that look like secrets:",
        "            /home/dev/project/key",
        "  asks      `Bash(make\\u202e x)` needs a person's approval: it sends to `xn--pple-43d.com:443`, and",
        "            no rule covers that.",
    ]
