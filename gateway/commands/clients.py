"""Where programs connect that take it from their person's settings: what the descriptions say of them, settled with
what these hold. Pure. What nobody can tell stays unknown, and asks.
"""

from __future__ import annotations

import re

from gateway.commands.parts import add_code
from gateway.commands.places import host_of
from gateway.model.effect import HOLE, Connect, Credential, Item

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.model.analysis import Pending
    from gateway.model.command import Part
    from gateway.model.context import Context
    from gateway.model.facts import ClientFact, Facts

CLUSTER = "kubernetes"
"""The host that descriptions have for the cluster of a kubeconfig."""
CHOSEN = {
    CLUSTER: ("--context", "--cluster", "--user"),
    f"{CLUSTER} helm": ("--kube-context",),
    "aws": ("--profile", "--region"),
    "gcloud": ("--impersonate-service-account", "--access-token-file"),
}
"""The options of each client that choose among what the settings have. What stands behind a blank is another program
with the same settings."""


def client(items: list[Item], parts: tuple[Part, ...], question: Pending, facts: Facts, context: Context) -> None:
    """The hosts of a client, and the login that it reads, in the place of what its description says; of git, whether a
    name means the program that is described."""
    if question.target == "git":
        from gateway.commands.git_programs import program  # lazy: few calls start programs through git

        program(items, parts, question, facts, context)
        return
    name = question.target.partition(" ")[0]
    fact = facts.clients.get(question.target)
    words = question.extra.split("\n")
    connects = [at for at, item in enumerate(items) if _is_of(item, question.part)]
    if (connects or name in _SHOWING) and fact is not None:
        _SETTLERS[name](_Look(items, parts, question, fact, words, connects=connects, context=context))
    for at in connects:
        effect = items[at].effect
        if isinstance(effect, Connect) and effect.host == CLUSTER:
            items[at] = items[at].replace(effect=effect.replace(host=HOLE))


def _is_of(item: Item, part: int) -> bool:
    effect = item.effect
    return item.part == part and isinstance(effect, Connect) and effect.direction != "listen"


class _Look:
    """One question with all that answers it."""

    def __init__(
        self, items: list[Item], parts: tuple[Part, ...], question: Pending, fact: ClientFact, words: list[str],
        connects: list[int], context: Context,
    ) -> None:  # fmt: skip
        self.items, self.parts, self.question, self.fact = items, parts, question, fact
        self.words, self.connects, self.context = words, connects, context
        self.part = parts[question.part]

    def code(self, why: str) -> None:
        add_code(self.items, self.parts, self.question, why)

    def add(self, effect: Connect | Credential) -> None:
        question = self.question
        self.items.append(Item(effect, question.start, question.end, question.part))

    def rows(self, kind: str) -> dict[str, tuple[str, ...]]:
        """The settings of a kind by their names, each without both."""
        return {row[1]: row[2:] for row in self.fact.rows if row[0] == kind}


def _kubernetes(look: _Look) -> None:
    if look.fact.why or HOLE in look.words:
        return
    named, cluster, user = (*look.words, "", "")[:3]
    current = next((row[1] for row in look.fact.rows if row[0] == "current"), "")
    context = look.rows("context").get(named or current)
    if context is None:
        return
    reached_by = cluster or context[0]
    reached = look.rows("cluster").get(reached_by)
    login = look.rows("user").get(user or context[1], ("",) if not (user or context[1]) else None)
    if reached is None or login is None:
        return
    (url, why, *files), (doubt, *more) = reached, login
    if why or doubt:
        look.code(why or doubt)
        return
    # Whoever answers in the place of a cluster that need not prove to be one gets the login, as does whoever has a
    # cluster that no context names with this one.
    meant = (reached_by, user or context[1]) in look.rows("context").values()
    known_by = "person" if meant and reached_by not in look.rows("unverified") else ""
    _scheme, host, port = host_of(url)
    for at in look.connects:
        effect = look.items[at].effect
        if isinstance(effect, Connect) and effect.host == CLUSTER and HOLE not in host:
            reach = effect.replace(host=host, port=port, known_by=known_by)
            look.items[at] = look.items[at].replace(effect=reach)
    usual = f"{look.context.home}/.kube/config"
    found = (*look.fact.files, *files, *more)
    for at, item in enumerate(look.items):
        effect = item.effect
        if item.part == look.question.part and isinstance(effect, Credential) and effect.path == usual:
            look.items[at] = item.replace(effect=effect.replace(path=found[0]))
            for path in dict.fromkeys(found[1:]):
                look.add(effect.replace(path=path))
            break


_REGION = re.compile(r"(?:af|ap|ca|eu|il|me|mx|sa|us)-[a-z]{3,20}-[0-9]{1,2}")
_OF_AWS = ".amazonaws.com"
_AWS_HOSTS = {
    "account": "account.us-east-1.amazonaws.com",
    "billingconductor": "billingconductor.us-east-1.amazonaws.com",
    "budgets": "budgets.amazonaws.com",
    "ce": "ce.us-east-1.amazonaws.com",
    "chime": "chime.us-east-1.amazonaws.com",
    "cloudfront": "cloudfront.amazonaws.com",
    "codecatalyst": "codecatalyst.global.api.aws",
    "datazone": "datazone.{}.api.aws",
    "eks-auth": "eks-auth.{}.api.aws",
    "gameliftstreams": "gameliftstreams.{}.api.aws",
    "health": "global.health.amazonaws.com",
    "iam": "iam.amazonaws.com",
    "importexport": "importexport.amazonaws.com",
    "internetmonitor": "internetmonitor.{}.api.aws",
    "kendra-ranking": "kendra-ranking.{}.api.aws",
    "networkmanager": "networkmanager.us-west-2.amazonaws.com",
    "notifications": "notifications.{}.api.aws",
    "notifications-contacts": "notifications-contacts.us-east-1.api.aws",
    "organizations": "organizations.us-east-1.amazonaws.com",
    "qbusiness": "qbusiness.{}.api.aws",
    "route53": "route53.amazonaws.com",
    "savingsplans": "savingsplans.amazonaws.com",
    "shield": "shield.us-east-1.amazonaws.com",
    "tax": "tax.us-east-1.amazonaws.com",
    "waf": "waf.amazonaws.com",
}
"""Services of which the host is not `SERVICE.REGION.amazonaws.com`, from the models of botocore 1.43.11: `{}` stands
for the region. Of the regions of China and of governments nothing is known."""
_WITHOUT_REGION = {"s3": "s3.amazonaws.com", "sdb": "sdb.amazonaws.com"}
"""What they are called in us-east-1 as well, by the version of the client."""
_NAMES_ACCOUNT = re.compile(r"arn:|https?:|(?<![0-9])[0-9]{12}(?![0-9])", re.IGNORECASE).search
_BUCKET = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")


def _aws(look: _Look) -> None:
    profile, region = look.words
    said = {row[0]: row[1] for row in look.fact.rows if row[0] in ("chosen", "region")}
    profile = profile or said.get("chosen", "") or "default"
    own, why = look.rows("profile").get(profile, ("", "" if profile == "default" else "its profile is not there"))
    why = look.fact.why or why
    if why or HOLE in look.words:
        look.code(why or "its profile or region is not known before the run")
        return
    region = region or said.get("region", "") or own
    if region and not _REGION.fullmatch(region):
        look.code("its region is none that is known")
        return
    # What may be another account's may be read there by whoever owns it.
    foreign = any(map(_NAMES_ACCOUNT, look.part.argv))
    for at in look.connects:
        effect = look.items[at].effect
        if not isinstance(effect, Connect) or not effect.host.endswith(_OF_AWS):
            continue
        service = effect.host.removesuffix(_OF_AWS)
        found = _AWS_HOSTS.get(service, f"{service}.{{}}{_OF_AWS}")
        reach = effect.replace(host=found.format(region), known_by="" if foreign else "provider")
        if "{}" in found and not region:
            reach = effect.replace(host=HOLE)
        elif service == "s3" and not _lists_buckets(look.part):
            # Whoever owns a bucket can read what is asked of it: its host is named by the call.
            reach = effect.replace(host=_bucket(look.part, region))
        elif service in _WITHOUT_REGION and region == "us-east-1":
            look.add(reach.replace(host=_WITHOUT_REGION[service]))
        look.items[at] = look.items[at].replace(effect=reach)


def _lists_buckets(part: Part) -> bool:
    return part.subcommands == ("s3api", "list-buckets") or (part.subcommands == ("s3", "ls") and not part.operands)


def _bucket(part: Part, region: str) -> str:
    """The host of the one bucket that the words name, `HOLE` where that is not plain."""
    named = {word[len("s3://") :].partition("/")[0] for word in part.operands if word.startswith("s3://")}
    if part.subcommands[:1] != ("s3",) or len(named) != 1 or not _BUCKET.fullmatch(name := named.pop()):
        return HOLE
    return f"{name}.s3.{region}{_OF_AWS}"


_OF_GOOGLE = ".googleapis.com"
_LOGIN_OF_GOOGLE = Connect("oauth2.googleapis.com", 443, "fetch", known_by="provider")


# What a word names that somebody owns: a resource by its full name, a login of a project, a registry of one.
_OWNED = re.compile(
    r"(?:(?<![a-z])projects/|\.pkg\.dev/|gcr\.io/)([^/?#]*)|@([^@/]*)\.iam\.gserviceaccount|"
    r"(?:organizations|folders|billingaccounts|customers)/()|gserviceaccount()|:/()/",
    re.IGNORECASE,
).finditer
# Groups of commands whose operand is what somebody owns; none but a project may be known as the person's.
_OWNERS = frozenset(("access-context-manager", "asset", "billing", "org-policies", "organizations", "projects",
                     "resource-manager", "scc"))  # fmt: skip


_OWNERS_OPTIONS = frozenset(("--project", "--billing-project", "--organization", "--folder", "--billing-account"))


def _names_another(look: _Look) -> bool:
    """Whether a command names what may not be the person's: no project of the configurations."""
    part, own = look.part, {row[1] for row in look.fact.rows if row[0] == "project"}
    named = {next(filter(None, found.groups()), "") for word in part.argv for found in _OWNED(word)}
    for word, behind in zip(part.argv, (*part.argv[1:], ""), strict=True):
        option, joined, value = word.partition("=")
        if option in _OWNERS_OPTIONS:
            named.add(value if joined else behind)
    if not _OWNERS.isdisjoint(part.subcommands[:1]):
        named.update(part.operands)
    return not named <= own


def _gcloud(look: _Look) -> None:
    if look.fact.why:
        look.code(look.fact.why)
        return
    if not look.connects:
        return
    if any(look.words) or _names_another(look):
        return  # another login, which is fetched elsewhere, or lies in a file; or another's, who reads what is asked
    regions = _regions(look)
    for at in look.connects:
        effect = look.items[at].effect
        # Whoever owns a bucket can read what is asked of it.
        if isinstance(effect, Connect) and effect.host.endswith(_OF_GOOGLE) and effect.host != f"storage{_OF_GOOGLE}":
            look.items[at] = look.items[at].replace(effect=effect.replace(known_by="provider"))
            if effect.host.removesuffix(_OF_GOOGLE) in _BY_REGION:
                for region in regions:
                    look.add(effect.replace(host=f"{region}-{effect.host}", known_by="provider"))
    look.add(_LOGIN_OF_GOOGLE)


# Services that are asked where a region is, beside the host that knows all regions.
_BY_REGION = frozenset(("aiplatform", "cloudresourcemanager", "ml", "pubsublite", "run"))
_REGION_OF_GOOGLE = re.compile(r"[a-z]{2,20}-[a-z]{4,20}[0-9]{1,2}(?:-[a-z])?")
_IN_REGION = re.compile(r"(?:^|/)(?:locations|regions)/([^/]*)").findall


def _regions(look: _Look) -> tuple[str, ...]:
    """Where a command asks: as its words say, else as the configurations do."""
    argv = look.part.argv
    named = [region for word in argv for region in _IN_REGION(word)]
    for word, behind in zip(argv, (*argv[1:], ""), strict=True):
        option, joined, value = word.partition("=")
        if option in ("--region", "--location"):
            named.append(value if joined else behind)
    named = named or [row[1] for row in look.fact.rows if row[0] == "region"]
    return tuple(dict.fromkeys([each for each in named if _REGION_OF_GOOGLE.fullmatch(each)]))


_SHOWING = ("gcloud",)
"""Of which what the settings hold counts also where they are only shown: a key that is not known may be a secret's."""
_SETTLERS: dict[str, Callable[[_Look], None]] = {CLUSTER: _kubernetes, "aws": _aws, "gcloud": _gcloud}
