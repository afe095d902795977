"""Hosts at which a predicted contact is held to reading by the proxy, and not by the prediction alone. Pure.

The cluster of a kubeconfig, wherever a command only reads from it: the login is sent by the proxy, too, so that the
command never sees it.

Of AWS those whose requests all name their operation by `X-Amz-Target` or `Action`: which of these read, is known to
`gateway.sandbox.egress.aws_requests`. At others a query in the URL is a part of what is signed.
"""

from __future__ import annotations

import re

from gateway.model.plan import CLUSTER, HELM, Logins
from gateway.policy.hosts import host_and_port
from gateway.policy.installs import Registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Mapping
    from typing import Any

    from gateway.model.analysis import Analysis
    from gateway.model.effect import Connect, Item
    from gateway.model.facts import ClientFact, Facts

_AWS = re.compile(r"(?:global\.)?(?P<service>[a-z0-9.-]+?)(?:\.[a-z]{2}-[a-z]+-[0-9]{1,2})?\.amazonaws\.com")


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SERVICES = _names("""
    acm acm-pca agreement-marketplace airflow-serverless aoss api.ecr api.ecr-public api.pricing api.sagemaker
    api.tunneling.iot application-autoscaling apprunner athena autoscaling autoscaling-plans b2bi bcm-dashboards
    bcm-data-exports bcm-pricing-calculator bcm-recommended-actions bedrock-data-automation-runtime billing
    budgets cassandra cassandra-streams ce cloud9 cloudcontrolapi cloudformation cloudhsm cloudhsmv2 cloudsearch
    cloudtrail codebuild codecommit codeconnections codedeploy codepipeline codestar-connections
    cognito-identity cognito-idp comprehend config controlplane.payment-cryptography cost-optimization-hub cur
    datapipeline datasync dax devicefarm directconnect discovery dms ds dynamodb ec2 ec2-instance-connect ecs
    elasticache elasticbeanstalk elasticloadbalancing elasticmapreduce events evs firehose fms forecast
    forecastquery frauddetector freetier fsx globalaccelerator glue health healthlake iam identitystore
    importexport ingest.timestream inspector invoicing iotfleetwise iotthingsgraph kendra kinesis
    kinesisanalytics kms license-manager lightsail logs lookoutequipment machinelearning
    marketplacecommerceanalytics mediastore memory-db metering.marketplace mgh migrationhub-config
    mturk-requester network-firewall odb organizations partnercentral-account partnercentral-benefits
    partnercentral-channel partnercentral-selling pcs personalize pi proton query.timestream rds redshift
    redshift-data redshift-serverless rekognition route53-recovery-cluster route53domains route53resolver
    secretsmanager servicecatalog servicediscovery servicequotas shield sms-voice sns sqs ssm ssm-contacts sso
    states storagegateway streams.dynamodb sts support swf tagging textract timestream-influxdb transcribe
    transfer translate verifiedpermissions voiceid waf waf-regional wafv2 workmail workspaces
""")
"""From the models of botocore 1.43.62: services that no protocol is told of but `json`, `query` and `ec2`."""


def changing(items: Iterable[Item]) -> frozenset[int]:
    """The parts that change something elsewhere, or show a secret that policy or a person lets them show."""
    return frozenset(item.part for item in items if item.effect.kind == "system")


def held_to_reading(effect: Connect, part: int, but: Container[int]) -> Registry | None:
    """How a host is read from, None where it must be reached in full. `but`: what `changing` gave."""
    if effect.known_by != "provider" or effect.direction != "fetch" or effect.port != 443 or part in but:
        return None
    found = _AWS.fullmatch(effect.host)
    return Registry(effect.host, (), ("aws",)) if found is not None and found["service"] in _SERVICES else None


CLIENTS = (CLUSTER, f"{CLUSTER} {HELM}")
"""The facts on clients of clusters, by their names."""
_WEB, _TLS = 80, 443


def clusters_read(analysis: Analysis, facts: Facts) -> dict[int, Registry]:
    """The parts of a command that only read from a cluster of the kubeconfig, each with how it is read from."""
    found: dict[int, Registry] = {}
    for item in analysis.items:
        effect: Any = item.effect
        if effect.kind != "connect" or effect.known_by != "person" or effect.direction != "fetch":
            continue
        for name in CLIENTS:
            if effect.port != _WEB and effect.port in ports_of(facts.clients.get(name), effect.host):
                found[item.part] = Registry(effect.host, (), tuple(name.split()))
    for item in analysis.items:
        if item.part in found and not _reads(item.effect, found[item.part]):
            del found[item.part]
    files, held = files_of(facts.clients), {each.host for each in found.values()}
    for item in analysis.items:
        effect = item.effect
        needs = getattr(effect, "host", "") in held or (effect.kind == "credential" and effect.path in files)
        if needs and item.part not in found:
            return {}  # a command beside it has the kubeconfig itself
    return found


def logins_at(names: Collection[str], clients: Mapping[str, ClientFact]) -> Logins:
    """What is sent to the clusters of the kubeconfig at some hosts: logins that its contexts have for them, of which no
    file can be changed by calls."""
    pairs: dict[tuple[str, str], None] = {}
    for fact in [clients[name] for name in CLIENTS if name in clients and not clients[name].why]:
        here = {name for name, host, _port in _clusters(fact) if host in names}
        users = {row[1]: row[2] for row in fact.rows if row[0] == "user"} | {"": ""}
        for row in fact.rows:
            if row[0] == "context" and row[2] in here and not users.get(row[3], "missing"):
                pairs[row[2], row[3]] = None
    return Logins(files_of(clients), tuple(pairs))


def files_of(clients: Mapping[str, ClientFact]) -> tuple[str, ...]:
    """The kubeconfigs that facts speak of."""
    facts = [clients[name] for name in CLIENTS if name in clients and not clients[name].why]
    return tuple(dict.fromkeys(file for fact in facts for file in fact.files))


def _reads(effect: Any, held: Registry) -> bool:
    """Whether an effect is none that the part needs the cluster in full for, or the login itself."""
    if effect.kind == "connect":
        return bool(effect.direction == "fetch" and effect.host == held.host)
    return effect.kind not in ("system", "code", "opaque")


def ports_of(fact: ClientFact | None, host: str) -> frozenset[int]:
    """The ports at which a kubeconfig has clusters at a host that must prove to be these."""
    if fact is None or fact.why:
        return frozenset()
    return frozenset(port for _name, known, port in _clusters(fact) if known == host.lower())


def _clusters(fact: ClientFact) -> Iterator[tuple[str, str, int]]:
    """The clusters that must prove to be these, by name, each with host and port."""
    unverified = {row[1] for row in fact.rows if row[0] == "unverified"}
    for row in fact.rows:
        if row[0] == "cluster" and row[1] not in unverified and not row[3]:
            try:
                name, port = host_and_port(row[2].partition("://")[2])
            except ValueError:
                continue  # no cluster that anybody could reach
            yield row[1], name.lower(), port or _TLS
