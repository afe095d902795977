"""Hosts at which a predicted contact is held to reading by the proxy, and not by the prediction alone. Pure.

Of AWS those whose requests all name their operation by `X-Amz-Target` or `Action`: which of these read, is known to
`gateway.sandbox.egress.aws_requests`. At others a query in the URL is a part of what is signed.
"""

from __future__ import annotations

import re

from gateway.policy.installs import Registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from gateway.model.effect import Connect, Item

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
