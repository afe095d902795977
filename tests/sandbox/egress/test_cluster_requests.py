"""What passes to the API of a cluster that may only be read from, and in which form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.model.plan import CLUSTER, HELM
from gateway.sandbox.egress import reading
from gateway.sandbox.egress.cluster_requests import ClusterRequestError, target_of
from gateway.sandbox.egress.http import HttpError, request_of

PODS = b"/api/v1/namespaces/web/pods"


def judged(
    target: bytes, method: bytes = b"GET", fields: bytes = b"", base: str = "", also: tuple[str, ...] = (CLUSTER,)
) -> reading.Reading | str:
    """The request as it may be sent, or why it may not."""
    try:
        whole = method + b" " + target + b" HTTP/1.1\r\nHost: cluster.example\r\n" + fields + b"\r\n"
        return reading.reading(request_of(whole), frozenset(), also, base)
    except (reading.NotReadingError, HttpError) as error:
        return str(error)


@pytest.mark.parametrize(
    "target",
    [
        b"/version", b"/healthz", b"/readyz", b"/api", b"/apis", b"/api/v1", b"/apis/apps", b"/apis/apps/v1",
        b"/apis/rbac.authorization.k8s.io/v1", b"/apis/example.com/v1alpha12", b"/openapi/v2", b"/openapi/v3",
        b"/openapi/v3/api/v1", b"/openapi/v3/apis/apps/v1?hash=0A1B", b"/api/v1/nodes", b"/api/v1/nodes/node-1",
        b"/api/v1/namespaces", b"/api/v1/namespaces/web", b"/api/v1/namespaces/web/status", PODS, PODS + b"/web-1",
        b"/api/v1/namespaces/secrets", b"/api/v1/namespaces/secrets/pods", PODS + b"/secrets", PODS + b"/exec",
        PODS + b"/web-1/status", PODS + b"/web-1/log", b"/apis/apps/v1/namespaces/web/deployments/x/scale",
        b"/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node", b"/apis/user.openshift.io/v1/users/~",
        b"/apis/bitnami.com/v1alpha1/sealedsecrets", b"/api/v1/namespaces/web/configmaps/x",
        b"/apis/metrics.k8s.io/v1beta1/namespaces/web/pods", b"/apis/example.com/v20260101/things/x",
        b"/apis/example.com/stable/namespaces/web/things",
    ],
)  # fmt: skip
def test_what_shows_objects_and_their_kinds_passes_as_it_is(target: bytes) -> None:
    for method in (b"GET", b"HEAD"):
        found = judged(target, method)
        assert isinstance(found, reading.Reading), found
        assert (found.request.path, found.request.method, found.post) == (target, method, None)


@pytest.mark.parametrize(
    ("target", "sent"),
    [
        (PODS + b"?limit=500&labelSelector=app%3Dx", PODS + b"?labelSelector=app%3Dx&limit=500"),
        (PODS + b"?labelSelector=a+in+(b,c)", PODS + b"?labelSelector=a%20in%20%28b%2Cc%29"),
        (PODS + b"?labelSelector=a%3E1", PODS + b"?labelSelector=a%3E1"),
        (PODS + b"?labelSelector=app%3dx", PODS + b"?labelSelector=app%3Dx"),
        (PODS + b"?", PODS),
        (
            PODS + b"?continue=eyJ2IjoibWV0YS5rOHMuaW8_dA&limit=5",
            PODS + b"?continue=eyJ2IjoibWV0YS5rOHMuaW8_dA&limit=5",
        ),
        (
            PODS + b"?watch=true&resourceVersion=12&allowWatchBookmarks=true&timeoutSeconds=300",
            PODS + b"?allowWatchBookmarks=true&resourceVersion=12&timeoutSeconds=300&watch=true",
        ),
        (PODS + b"?fieldSelector=status.phase!%3DRunning", PODS + b"?fieldSelector=status.phase%21%3DRunning"),
        (PODS + b"/x/log?container=c&follow=true&tailLines=5", PODS + b"/x/log?container=c&follow=true&tailLines=5"),
        (PODS + b"/x/log?sinceTime=2026-01-02T03:04:05Z", PODS + b"/x/log?sinceTime=2026-01-02T03%3A04%3A05Z"),
        (b"/readyz?verbose", b"/readyz?verbose="),
        (b"/api?timeout=32s", b"/api?timeout=32s"),
    ],
)
def test_queries_that_read_pass_in_one_spelling_and_order(target: bytes, sent: bytes) -> None:
    found = judged(target)
    assert isinstance(found, reading.Reading), found
    assert found.request.path == sent


REFUSED = {
    "secrets": b"/api/v1/secrets", "of a namespace": b"/api/v1/namespaces/web/secrets",
    "one secret": b"/api/v1/namespaces/web/secrets/x", "of another group": b"/apis/example.com/v1/secrets",
    "watched": b"/api/v1/watch/secrets", "watched in a namespace": b"/api/v1/watch/namespaces/web/secrets",
    "anything watched so": b"/apis/apps/v1/watch/deployments", "tokens": b"/apis/management.cattle.io/v3/tokens",
    "of any version": b"/apis/example.com/secrets/secrets",
    "of its namespace": b"/apis/a.b/v1/namespaces/secrets/secrets",
    "access tokens": b"/apis/oauth.openshift.io/v1/oauthaccesstokens", "in capitals": b"/api/v1/Secrets",
    "releases of helm": b"/api/v1/secrets?labelSelector=owner%3Dhelm",
    "a command": PODS + b"/web-1/exec?command=id", "attached to": PODS + b"/web-1/attach",
    "a port": PODS + b"/web-1/portforward?ports=80", "a proxy": PODS + b"/web-1/proxy",
    "a page behind it": PODS + b"/web-1/proxy/admin", "of a service": b"/api/v1/namespaces/web/services/x:80/proxy/",
    "of a node": b"/api/v1/nodes/node-1/proxy/configz", "of old": b"/api/v1/proxy/nodes/node-1",
    "a token": b"/api/v1/namespaces/web/serviceaccounts/default/token", "evicted": PODS + b"/x/eviction",
    "debugged": PODS + b"/x/ephemeralcontainers",
    "a console": b"/apis/subresources.kubevirt.io/v1/namespaces/w/vms/x/vnc",
    "a log of something else": b"/api/v1/namespaces/web/things/x/log",
    "of a group": b"/apis/a.b/v1/namespaces/w/pods/x/log",
    "logs of the server": b"/logs/kube-apiserver.log", "metrics": b"/metrics", "profiles": b"/debug/pprof/heap",
    "anything else": b"/", "a page": b"/dashboard", "another version": b"/api/v2/pods",
    "too deep": PODS + b"/a/status/b",
    "a path upwards": PODS + b"/../secrets", "a dot": b"/api/v1/./secrets", "an empty part": b"/api//v1/pods",
    "a slash behind it": PODS + b"/", "an encoded dot": PODS + b"/%2e%2e/secrets",
    "an encoded slash": b"/api/v1%2fsecrets",
    "an encoded letter": b"/api/v1/%73ecrets", "a parameter of a path": PODS + b";x=y", "encoded": PODS + b"%3bx",
    "a hash": PODS + b"%23x", "a line": PODS + b"%0a", "a name of a dot": PODS + b"/.x",
    "a long name": PODS + b"/" + b"a" * 254,
    "a long namespace": b"/api/v1/namespaces/" + b"a" * 64 + b"/secrets",
    "a dotted one": b"/api/v1/namespaces/a.b/secrets",
    "tried only": PODS + b"?dryRun=All", "in another's name": PODS + b"?impersonate=root",
    "a certificate that is not looked at": PODS + b"/x/log?insecureSkipTLSVerifyBackend=true",
    "a query of logs": PODS + b"?tailLines=5", "a query of lists": PODS + b"/x/log?labelSelector=a",
    "a word": PODS + b"?x=y", "twice": PODS + b"?limit=1&limit=2",
    "twice, in two spellings": PODS + b"?limit=1&%6cimit=2",
    "no name": PODS + b"?=x", "no value that it has": PODS + b"?limit=lots",
    "a line in a value": PODS + b"?labelSelector=a%0ab",
    "quotes in a value": PODS + b"?labelSelector=%22a%22", "no ASCII": PODS + b"?labelSelector=%C3%A4",
    "a long selector": PODS + b"?labelSelector=" + b"a" * 1025, "a long query": PODS + b"?continue=" + b"a" * 4096,
    "a second question mark": PODS + b"?limit=1?limit=2", "a semicolon": PODS + b"?limit=1;watch=true",
    "a push": b"/x/info/refs?service=git-receive-pack", "a fetch": b"/x/info/refs?service=git-upload-pack",
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_acts_leads_on_or_is_a_secret_does_not_pass(name: str) -> None:
    assert isinstance(judged(REFUSED[name]), str)


GIT = b"content-type: application/x-git-upload-pack-request\r\ncontent-length: 4\r\n"
REVIEW = b"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
PROTOBUF = b"content-type: application/vnd.kubernetes.protobuf\r\ncontent-length: 4\r\n"


@pytest.mark.parametrize(
    ("method", "target", "fields"),
    [
        *[(method, PODS + b"/x", b"") for method in (b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"TRACE")],
        (b"GET", PODS + b"?watch=true", b"content-length: 2\r\n"),
        (b"GET", PODS + b"?watch=true", b"transfer-encoding: chunked\r\n"),
        (b"GET", PODS, b"upgrade: websocket\r\n"),
        (b"GET", PODS, b"connection: upgrade\r\nupgrade: SPDY/3.1\r\n"),
        (b"POST", b"/api/v1/namespaces/w/services/git/proxy/git-upload-pack", GIT),
        (b"POST", b"/graphql", b"content-type: application/json\r\ncontent-length: 4\r\n"),
        (b"POST", REVIEW + b"?dryRun=All", PROTOBUF),
        (b"POST", b"/apis/authorization.k8s.io/v1/subjectaccessreviews", PROTOBUF),
        (b"POST", b"/apis/authentication.k8s.io/v1/tokenreviews", PROTOBUF),
        (b"POST", REVIEW, PROTOBUF.replace(b" 4", b" 5000")),
        (b"POST", REVIEW, PROTOBUF.replace(b"vnd.kubernetes.protobuf", b"yaml")),
        (b"POST", b"/x" + REVIEW, PROTOBUF),
    ],
)
def test_what_is_no_read_does_not_pass(method: bytes, target: bytes, fields: bytes) -> None:
    assert isinstance(judged(target, method, fields), str)


def test_what_somebody_may_do_is_asked_by_post() -> None:
    found = judged(REVIEW, b"POST", PROTOBUF)
    assert isinstance(found, reading.Reading)
    assert found.post is not None
    sent, body = reading.with_body(found, found.request.replace(fields=()), b"k8s\0")
    assert (sent.path, body) == (REVIEW, b"k8s\0")
    assert dict(sent.fields)[b"content-type"] == b"application/vnd.kubernetes.protobuf"


TABLE = (
    b"application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)
SCHEMA = b"application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


def test_of_the_fields_the_forms_of_an_answer_pass_and_no_word_of_the_clients_own() -> None:
    for accept in (TABLE, SCHEMA, b"application/vnd.kubernetes.protobuf,application/json", b"application/json, */*"):
        found = judged(
            PODS, fields=b"Accept: " + accept + b"\r\nKubectl-Command: x\r\nCookie: x\r\nAuthorization: x\r\n"
        )
        assert isinstance(found, reading.Reading), found
        assert found.request.fields == ((b"accept", accept), (b"user-agent", b"gateway"))
    found = judged(PODS, fields=b"Accept: application/json;words of mine\r\n")
    assert isinstance(found, reading.Reading)
    assert found.request.fields == ((b"user-agent", b"gateway"),)


@pytest.mark.parametrize(
    ("target", "passes"),
    [
        (b"/k8s/clusters/c-1/api/v1/pods", True),
        (b"/api/v1/pods", False),
        (b"/k8s/clusters/c-1x/api/v1/pods", False),
        (b"/k8s/clusters/c-2/api/v1/pods", False),
        (b"/k8s/clusters/c-1/v3/tokens", False),
        (b"/k8s/clusters/c-1", False),
    ],
)
def test_an_api_below_a_path_is_read_there_alone(target: bytes, passes: bool) -> None:
    assert isinstance(judged(target, base="/k8s/clusters/c-1"), reading.Reading) is passes
    review = judged(target.replace(b"/api/v1/pods", REVIEW), b"POST", PROTOBUF, base="/k8s/clusters/c-1")
    assert isinstance(review, reading.Reading) is passes


@pytest.mark.parametrize(
    ("target", "passes"),
    [
        (b"/api/v1/namespaces/web/secrets?labelSelector=owner%3Dhelm", True),
        (b"/api/v1/secrets?labelSelector=name%3Dx%2Cowner%3Dhelm&limit=5", True),
        (b"/api/v1/namespaces/web/secrets/sh.helm.release.v1.x.v2", True),
        (b"/api/v1/namespaces/web/secrets", False),
        (b"/api/v1/namespaces/web/secrets/x", False),
        (b"/api/v1/namespaces/web/secrets?labelSelector=owner%21%3Dhelm", False),
        (b"/api/v1/namespaces/web/secrets?labelSelector=x+notin+(a%2Cowner%3Dhelm%2Cb)", False),
        (b"/api/v1/namespaces/web/secrets?fieldSelector=owner%3Dhelm", False),
        (b"/apis/example.com/v1/secrets?labelSelector=owner%3Dhelm", False),
        (b"/api/v1/watch/secrets?labelSelector=owner%3Dhelm", False),
    ],
)
def test_helm_reads_its_releases_and_no_other_secret(target: bytes, passes: bool) -> None:
    assert isinstance(judged(target, also=(CLUSTER, HELM)), reading.Reading) is passes


@given(st.text("abspcretxy/.%2e5f;:~-_?&=", max_size=60))
def test_whatever_passes_passes_again_as_it_was_sent_and_names_no_secrets(text: str) -> None:
    path, _, query = f"/api/v1/{text}".partition("?")
    try:
        sent = target_of(path.encode(), query.encode())
    except ClusterRequestError:
        return
    again, _, rest = sent.partition(b"?")
    assert target_of(again, rest) == sent
    kinds = again.split(b"/")[3:4] if again.count(b"/namespaces/") == 0 else again.split(b"/")[5:6]
    assert kinds != [b"secrets"]
