"""Programs that connect where their person's settings say: which of these the words choose, and what shows secrets."""

from __future__ import annotations

from gateway.commands.clients import CHOSEN
from gateway.commands.special.containers import kube_output
from gateway.model.effect import HOLE, System

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.commands.findings import Findings
    from gateway.commands.invocation import Invocation


def _asks(findings: Findings, run: Invocation, client: str) -> None:
    """The question that settling answers, with what the words choose; `HOLE` for what is not written."""
    names = CHOSEN[client]
    said = dict.fromkeys(names, "")
    for option, values in run.values:
        name = next((each for each in option["names"] if each in said), "")
        if name:
            plain = bool(values) and values[0].literal and HOLE not in values[0].text and "\n" not in values[0].text
            said[name] = values[0].text if plain else HOLE
    extra = "\n".join(said[name] for name in names)
    findings.ask("client", run.part, client, extra, run.words[0].start, run.words[-1].end)


def _secret(findings: Findings, run: Invocation) -> None:
    findings.add(System("secret", "show"), run.words[0].start, run.words[-1].end, run.part)


# They show objects: what they are told, or what a file names.
_SHOWING = frozenset(("get", "describe", "wait", "apply"))
_SECRETS = frozenset(("secret", "secrets"))
_RAW = frozenset(("/version", "/healthz", "/livez", "/readyz", "/readyz?verbose", "/livez?verbose", "/api", "/apis"))
"""Of all that `--raw` may fetch, what holds no object."""


def _kube(findings: Findings, run: Invocation) -> None:
    """kubectl: the cluster of the kubeconfig; secrets in every way to name them."""
    kube_output(findings, run)
    if not run.subcommands:
        return
    verb = run.subcommands[0]
    _asks(findings, run, "kubernetes")
    if verb not in _SHOWING or (verb == "apply" and run.subcommands[-1] != "view-last-applied"):
        return
    if any(HOLE in word.text or not word.literal for word in run.operands):
        run.doubts.append("which objects are shown is not known before the run")
    shows = bool(run.operands) and _names_secrets(run.operands[0].text)
    shows = shows or any("/" in word.text and _names_secrets(word.text) for word in run.operands[1:])
    if "--raw" in run.options:
        shows = shows or not _RAW.issuperset(_values_of(run, "--raw"))
    named = [(option["names"], values[0].text) for option, values in run.values if values]
    for names, text in named:
        if "-f" in names or "--filename" in names:
            shows = True
            if "://" in text:
                run.doubts.append("what it shows is named by another host")
        elif "-k" in names or "--kustomize" in names:
            run.doubts.append("it builds what its files tell")
    if shows:
        _secret(findings, run)


def _values_of(run: Invocation, name: str) -> list[str]:
    """What stands behind a long option, each time."""
    texts = [word.text for word in run.words]
    apart = [value for option, value in zip(texts, [*texts[1:], ""], strict=True) if option == name]
    return apart + [text[len(name) + 1 :] for text in texts if text.startswith(f"{name}=")]


def _names_secrets(text: str) -> bool:
    """Whether an operand names secrets among its kinds: `secret/x`, `pods,Secrets`, `secrets.v1.`."""
    return HOLE in text or any(
        each.partition("/")[0].partition(".")[0].strip().lower() in _SECRETS for each in text.split(",")
    )


# What of a release holds what it was installed with; of `status` other forms than its own do.
_OF_RELEASE = frozenset(("all", "hooks", "manifest", "values"))


def _helm(findings: Findings, run: Invocation) -> None:
    """helm: the cluster of the kubeconfig; values and rendered secrets."""
    if not run.subcommands:
        return
    _asks(findings, run, "kubernetes helm")
    verb, last = run.subcommands[0], run.subcommands[-1]
    if (verb == "get" and last in _OF_RELEASE) or (verb == "status" and run.has(["-o", "--output"])):
        _secret(findings, run)


def _aws(findings: Findings, run: Invocation) -> None:
    if run.subcommands and run.subcommands[0] not in ("help", "configure"):
        _asks(findings, run, "aws")


def _gcloud(findings: Findings, run: Invocation) -> None:
    if run.subcommands:
        _asks(findings, run, "gcloud")


HOOKS: dict[str, Callable[[Findings, Invocation], None]] = {
    "aws": _aws,
    "gcloud": _gcloud,
    "helm": _helm,
    "kube": _kube,
}
