"""Requests to AWS at a host that may only be read from: one operation that reads, as it was signed, or none."""

from __future__ import annotations

import re

import pytest

from gateway.sandbox.egress import aws_requests, reading
from gateway.sandbox.egress.http import request_of

HOST = b"Host: x.eu-west-1.amazonaws.com\r\n"
FORM = b"Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\n"
JSON = b"Content-Type: application/x-amz-json-1.0\r\n"
SIGNED = (
    b"X-Amz-Date: 20261126T090000Z\r\n"
    b"Authorization: AWS4-HMAC-SHA256 Credential=AKIAX/20261126/eu-west-1/ec2/aws4_request, "
    b"SignedHeaders=content-type;host;x-amz-date, Signature=" + b"0" * 64 + b"\r\n"
    b"amz-sdk-invocation-id: 6e3ea3a8-3a4b-4cf2-9d0a-1f6a4f3c2b1d\r\namz-sdk-request: attempt=1\r\n"
)


def sent(body: bytes, fields: bytes = FORM, line: bytes = b"POST /", also: tuple[str, ...] = ("aws",)) -> bytes | str:
    """What is sent of a body, or why nothing is."""
    came = request_of(b"%s HTTP/1.1\r\n%s%sContent-Length: %d\r\n\r\n" % (line, HOST, fields, len(body)))
    try:
        return reading.with_body(reading.reading(came, (), also), came, body)[1]
    except reading.NotReadingError as error:
        return str(error)


READS = [
    (FORM, b"Action=DescribeInstances&Version=2016-11-15&Filter.1.Name=a%20b&Filter.1.Value.1=c"),
    (FORM, b"Action=GetCallerIdentity&Version=2011-06-15"),
    (FORM.replace(b"; charset=utf-8", b""), b"Version=2010-05-08&Action=ListUsers"),
    (JSON + b"X-Amz-Target: DynamoDB_20120810.Scan\r\n", b'{"TableName": "x"}'),
    (JSON + b"X-Amz-Target: Logs_20140328.FilterLogEvents\r\n", b'{"logGroupName": "x"}'),
    (JSON + b"X-Amz-Target: secretsmanager.ListSecrets\r\n", b"{}"),
]


@pytest.mark.parametrize(("fields", "body"), READS)
def test_an_operation_that_reads_is_sent_as_it_came(fields: bytes, body: bytes) -> None:
    assert sent(body, fields) == body
    assert isinstance(sent(body, fields, also=()), str)  # only where policy says so


D = b"Action=DescribeInstances&Version=2016-11-15"
SCAN = b"X-Amz-Target: DynamoDB_20120810.Scan\r\n"


@pytest.mark.parametrize(
    ("fields", "body"),
    [
        # What changes, and what hands out secrets.
        (FORM, b"Action=TerminateInstances&Version=2016-11-15&InstanceId.1=i"),
        (FORM, b"Action=GetSessionToken&Version=2011-06-15"), (FORM, b"Action=AssumeRole&Version=2011-06-15"),
        (FORM, b"Action=GetPasswordData&Version=2016-11-15&InstanceId=i"),
        (FORM, b"Action=DescribeInstanceAttribute&Version=2016-11-15&Attribute=userData"),
        (FORM, b"Action=GetConsoleOutput&Version=2016-11-15"),
        (JSON + b"X-Amz-Target: secretsmanager.GetSecretValue\r\n", b'{"SecretId": "x"}'),
        (JSON + b"X-Amz-Target: secretsmanager.BatchGetSecretValue\r\n", b"{}"),
        (JSON + b"X-Amz-Target: AmazonSSM.GetParameter\r\n", b'{"Name": "x", "WithDecryption": true}'),
        (JSON + b"X-Amz-Target: TrentService.Decrypt\r\n", b"{}"),
        (JSON + b"X-Amz-Target: DynamoDB_20120810.PutItem\r\n", b"{}"),
        (JSON + b"X-Amz-Target: DynamoDB_20120810.ExecuteStatement\r\n", b"{}"),
        (JSON + b"X-Amz-Target: AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken\r\n", b"{}"),
        (JSON + b"X-Amz-Target: AmazonSQS.ReceiveMessage\r\n", b"{}"),
        # An operation of another service, of another version, of none.
        (JSON + b"X-Amz-Target: AmazonSSM.Scan\r\n", b"{}"), (FORM, b"Action=DescribeInstances&Version=2011-06-15"),
        (FORM, b"Action=DescribeInstances"), (FORM, b"Version=2016-11-15"), (FORM, b"Action=&Version=2016-11-15"),
        (FORM, b"Action=DescribeInstances%00&Version=2016-11-15"),
        # Said twice, or in two ways.
        (FORM, D + b"&Action=TerminateInstances"), (FORM, b"Action=TerminateInstances&" + D), (FORM, D + b"&action=x"),
        (FORM, D + b"&%41ction=TerminateInstances"), (FORM, D + b"&Version=2011-06-15"), (FORM, D + b"&a=1&a=2"),
        (FORM + SCAN, D), (JSON + SCAN + b"X-Amz-Target: DynamoDB_20120810.PutItem\r\n", b"{}"),
        (JSON + b"X-Amz-Target: DynamoDB_20120810.PutItem, DynamoDB_20120810.Scan\r\n", b"{}"),
        (JSON + b"X-Amz-Target: DynamoDB_20120810.Scan.PutItem\r\n", b"{}"), (JSON, b"{}"),
        (JSON + SCAN, b'{"TableName": "a", "TableName": "b"}'), (JSON + SCAN, b"[]"), (JSON + SCAN, D),
        (JSON + SCAN, b""),
        (FORM + JSON, D), (JSON + FORM + SCAN, b"{}"),
        # What is no form as these clients write it.
        (FORM, D + b"&"), (FORM, D + b";Action=TerminateInstances"), (FORM, D + b"&x"), (FORM, D + b"&x=a b"),
        (FORM, D + b"\r\nAction=TerminateInstances"), (FORM, D + b"&x=%zz"), (FORM, D + b"&" * 2_000),
        (FORM, b"&".join([D, *(b"a%d=b" % at for at in range(2_000))])), (FORM, D + b"&x=" + b"a" * (64 << 10)),
        # Other kinds of bodies.
        (b"Content-Type: application/cbor\r\n", b"\xa0"), (b"Content-Type: application/json\r\n" + SCAN, b"{}"),
        (b"Content-Type: multipart/form-data; boundary=x\r\n", D), (b"", D),
        (FORM + b"Content-Encoding: gzip\r\n", D),
    ],
)  # fmt: skip
def test_nothing_else_passes(fields: bytes, body: bytes) -> None:
    assert isinstance(sent(body, fields), str)


@pytest.mark.parametrize(
    "line",
    [
        b"POST /?Action=TerminateInstances&Version=2016-11-15", b"POST /?", b"POST //", b"POST /x", b"PUT /",
        b"DELETE /", b"PATCH /", b"GET /",
    ],
)  # fmt: skip
def test_only_a_post_to_the_root_has_an_operation(line: bytes) -> None:
    assert isinstance(sent(D, line=line), str)


def test_what_the_signature_speaks_of_passes_and_nothing_in_words_of_ones_own() -> None:
    own = b"X-Own: secret\r\nUser-Agent: secret\r\nCookie: secret\r\nX-Amz-Meta-A: secret\r\n"
    came = request_of(b"POST / HTTP/1.1\r\n%s%s%s%sContent-Length: %d\r\n\r\n" % (HOST, FORM, SIGNED, own, len(D)))
    request, _body = reading.with_body(reading.reading(came, (), ("aws",)), came, D)
    assert [name for name, _value in request.fields] == [
        b"amz-sdk-invocation-id", b"amz-sdk-request", b"authorization", b"content-type", b"x-amz-date", b"user-agent",
        b"content-length",
    ]  # fmt: skip
    assert b"secret" not in b"".join(value for _name, value in request.fields)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (b"authorization", b"Bearer secret"), (b"authorization", b"AWS4-HMAC-SHA256 Credential=secret"),
        (b"x-amz-date", b"secret"), (b"x-amz-security-token", b"secret in words"),
        (b"amz-sdk-request", b"attempt=secret"), (b"x-amzn-query-mode", b"secret"),
        (b"amz-sdk-invocation-id", b"secret"), (b"x-amz-content-sha256", b"secret"),
    ],
)  # fmt: skip
def test_a_field_of_another_form_is_left_out(name: bytes, value: bytes) -> None:
    assert not aws_requests.FIELDS[name].fullmatch(value)


def test_the_list_is_names_alone() -> None:
    assert len(listed := aws_requests.listed()) > 150
    assert all(re.fullmatch(r"[A-Za-z0-9]+", each) for operations in listed.values() for each in operations)
    secret = re.compile(r"SecretValue|SessionToken|AuthorizationToken|PasswordData|Decrypt|GetParameter|Credentials$")
    assert [each for operations in listed.values() for each in operations if secret.search(each)] == [
        "ListServiceSpecificCredentials"
    ]
