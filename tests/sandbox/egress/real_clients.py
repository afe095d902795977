"""The clients that read from hosts which may only be read from, and what stands there for each: one row a client."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import subprocess
import tarfile
import zipfile
from typing import TYPE_CHECKING

from gateway.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Made = Callable[[Path], dict[str, bytes]]

URL = "https://good.example"
BUNDLE, STORE = "bundle", "store"
"""What a client may trust by beside variables: the system's file of certificates, and the JVMs' store of them."""
_PAGE = {"/page": b"the page\n"}


def _packed(files: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(text.encode()), 0o644
            archive.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(made.getvalue(), mtime=0)


def _zipped(files: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return made.getvalue()


def _page(_folder: Path) -> dict[str, bytes]:
    return _PAGE


def _python(_folder: Path) -> dict[str, bytes]:
    wheel, info = "stone-1.0-py3-none-any.whl", "stone-1.0.dist-info"
    files = {
        "stone.py": "said = 'stone 1.0'\n", f"{info}/METADATA": "Metadata-Version: 2.1\nName: stone\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }  # fmt: skip
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    built = _zipped(files)
    digest = hashlib.sha256(built).hexdigest()
    page = f'<!DOCTYPE html><html><body><a href="/files/{wheel}#sha256={digest}">{wheel}</a></body></html>'
    return {"/simple/stone/": page.encode(), f"/files/{wheel}": built}


def _node(_folder: Path) -> dict[str, bytes]:
    manifest = {"name": "stone", "version": "1.0.0", "main": "i.js"}
    packed = _packed({"package/package.json": json.dumps(manifest), "package/i.js": "module.exports = 'stone'\n"})
    sums = {
        "shasum": hashlib.sha1(packed, usedforsecurity=False).hexdigest(),
        "integrity": "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode(),
    }
    dist = {"tarball": f"{URL}/npm/stone/-/stone-1.0.0.tgz", **sums}
    versions = {"1.0.0": {**manifest, "dist": dist}}
    named = {"name": "stone", "dist-tags": {"latest": "1.0.0"}, "versions": versions}
    times = {"time": {"1.0.0": "2020-01-01T00:00:00.000Z", "modified": "2020-01-01T00:00:00.000Z"}}
    return {"/npm/stone": json.dumps(named | times).encode(), "/npm/stone/-/stone-1.0.0.tgz": packed}


def _cargo(_folder: Path) -> dict[str, bytes]:
    manifest = '[package]\nname = "stone"\nversion = "1.0.0"\nedition = "2018"\n'
    packed = _packed({"stone-1.0.0/Cargo.toml": manifest, "stone-1.0.0/src/lib.rs": "pub fn said() {}\n"})
    line = {"name": "stone", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False}
    line["cksum"] = hashlib.sha256(packed).hexdigest()
    return {
        "/crates/config.json": json.dumps({"dl": f"{URL}/dl"}).encode(),
        "/crates/st/on/stone": json.dumps(line).encode() + b"\n", "/dl/stone/1.0.0/download": packed,
    }  # fmt: skip


def _go(_folder: Path) -> dict[str, bytes]:
    at, top = "/go/example.com/stone/@v", "example.com/stone@v1.0.0"
    return {
        f"{at}/list": b"v1.0.0\n", f"{at}/v1.0.0.info": b'{"Version":"v1.0.0","Time":"2020-01-01T00:00:00Z"}',
        f"{at}/v1.0.0.mod": b"module example.com/stone\n",
        f"{at}/v1.0.0.zip": _zipped({f"{top}/go.mod": "module example.com/stone\n", f"{top}/a.go": "package stone\n"}),
    }  # fmt: skip


def _gems(folder: Path) -> dict[str, bytes]:
    (folder / "gems").mkdir()
    (folder / "stone.rb").write_text("Stone = 1\n")
    (folder / "stone.gemspec").write_text(
        "Gem::Specification.new { |s| s.name = 'stone'; s.version = '1.0'; s.summary = 'x'; s.authors = ['x'];"
        " s.files = ['stone.rb']; s.require_paths = ['.'] }\n"
    )
    for words in (["build", "-q", "stone.gemspec", "-o", "gems/stone-1.0.gem"], ["generate_index", "-q", "-d", "."]):
        subprocess.run(["gem", *words], cwd=folder, check=True, capture_output=True)
    return _tree(folder, "/gems")


def _tree(folder: Path, at: str) -> dict[str, bytes]:
    return {f"{at}/{each.relative_to(folder)}": each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def _repository(folder: Path) -> dict[str, bytes]:
    def git(*words: str) -> None:
        settings = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main")
        subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True)

    git("init", "source")
    (folder / "source/a").write_text("from there\n")
    git("-C", "source", "add", "a")
    git("-C", "source", "commit", "-m", "x")
    git("clone", "--bare", "source", "repo.git")
    git("-C", "repo.git", "update-server-info")
    return _tree(folder / "repo.git", "/repo.git")


def _composer(_folder: Path) -> dict[str, bytes]:
    dist = {"type": "zip", "url": f"{URL}/stone.zip"}
    packages = {"a/stone": {"1.0.0": {"name": "a/stone", "version": "1.0.0", "dist": dist}}}
    named = {"name": "a/stone", "version": "1.0.0"}
    archive = _zipped({"stone/composer.json": json.dumps(named), "stone/a.php": "<?php\n"})
    return {"/composer/packages.json": json.dumps({"packages": packages}).encode(), "/stone.zip": archive}


def _maven(_folder: Path) -> dict[str, bytes]:
    pom = (
        b"<project><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>stone</artifactId>"
        b"<version>1</version><packaging>pom</packaging></project>"
    )
    digest = hashlib.sha1(pom, usedforsecurity=False).hexdigest().encode()
    return {"/m2/x/stone/1/stone-1.pom": pom, "/m2/x/stone/1/stone-1.pom.sha1": digest}


def _debian(_folder: Path) -> dict[str, bytes]:
    packages, at = (
        b"Package: stone\nVersion: 1\nArchitecture: amd64\nFilename: p/stone.deb\nSize: 1\n",
        "main/binary-amd64",
    )
    digest = hashlib.sha256(packages).hexdigest()
    release = "Date: Thu, 01 Jan 2026 00:00:00 UTC\nSuite: s\nArchitectures: amd64\nComponents: main\nSHA256:\n"
    release += f" {digest} {len(packages)} {at}/Packages\n"
    return {"/deb/dists/s/Release": release.encode(), f"/deb/dists/s/{at}/Packages": packages}


def _images(_folder: Path) -> dict[str, bytes]:
    settings = b'{"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}}'
    digest, kind = f"sha256:{hashlib.sha256(settings).hexdigest()}", "application/vnd.docker"
    named = {"mediaType": f"{kind}.container.image.v1+json", "size": len(settings), "digest": digest}
    image = {"schemaVersion": 2, "mediaType": f"{kind}.distribution.manifest.v2+json", "config": named, "layers": []}
    manifest = json.dumps(image).encode()
    return {"/v2/": b"{}", "/v2/stone/manifests/1": manifest, f"/v2/stone/blobs/{digest}": settings}


def _answers(**answers: object) -> Made:
    found = {path: json.dumps(answer).encode() for path, answer in answers.items()}
    return lambda _folder: found


_STS = (
    b'<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>'
    b"<Arn>arn:aws:iam::1:user/x</Arn><UserId>U</UserId><Account>1</Account></GetCallerIdentityResult>"
    b"<ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></GetCallerIdentityResponse>"
)
_REPOSITORY = {"full_name": "a/b", "id": 1}
_ZONES = {
    "kind": "compute#zoneList",
    "items": [{"name": "z1", "status": "UP", "region": "r1", "selfLink": f"{URL}/compute/v1/projects/p/zones/z1"}],
}
_MODULE = {"a.tf": 'output "x" {\n  value = "1"\n}\n'}
_POM = (
    "<project><modelVersion>4.0.0</modelVersion><parent><groupId>x</groupId><artifactId>stone</artifactId>"
    "<version>1</version><relativePath/></parent><artifactId>y</artifactId><packaging>pom</packaging></project>"
)
_MIRROR = (
    f"<settings><mirrors><mirror><id>m</id><mirrorOf>*</mirrorOf><url>{URL}/m2</url></mirror></mirrors></settings>"
)
_BUILD = (
    f'repositories {{ maven {{ url "{URL}/m2" }} }}\nconfigurations {{ c }}\ndependencies {{ c "x:stone:1@pom" }}\n'
    "task named { doLast { configurations.c.files.each { println it.name } } }"
)
_JAVA = (
    "import java.net.*; public class Main { public static void main(String[] w) throws Exception { System.out.print("
    f'new String(new URL("{URL}/page").openConnection(Proxy.NO_PROXY).getInputStream().readAllBytes())); }} }}'
)


class Client(Value):
    """`script`: what is run in an empty folder, by /bin/sh; `trusts`: what is enough, each alone, for it to believe the
    proxy's certificate; `has`: what succeeds where it is installed; `made`: what is served, by path."""

    name: str
    script: str
    trusts: tuple[str, ...]
    has: str
    made: Made = _page
    also: tuple[str, ...] = ()


def _client(
    name: str, trusts: str, script: str, made: Made = _page, has: str = "", also: tuple[str, ...] = ()
) -> Client:
    return Client(name, script, tuple(trusts.split()), has or f"command -v {name}", made, also)


def _python_module(name: str, trusts: str, code: str) -> Client:
    script = f"python3 -c '{code}' {URL}/page > page"
    return Client(name, script, tuple(trusts.split()), f"python3 -c 'import {name}'")


_GET = f'fetch("{URL}/page").then(r => r.text()).then(t => process.stdout.write(t))'
CLIENTS = (
    _client("curl", "bundle SSL_CERT_FILE CURL_CA_BUNDLE", f"curl -fsSO {URL}/page"),
    _client("wget", "bundle", f"wget -q {URL}/page"),
    _client("git", "bundle GIT_SSL_CAINFO", f"git clone -q {URL}/repo.git x && git -C x log --format=%s", _repository),
    _python_module("urllib", "bundle SSL_CERT_FILE",
                   "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read())"),
    _python_module("requests", "REQUESTS_CA_BUNDLE CURL_CA_BUNDLE",
                   "import sys, requests as r; print(r.get(sys.argv[1]).text)"),
    _python_module("httpx", "SSL_CERT_FILE", "import sys, httpx as r; print(r.get(sys.argv[1]).text)"),
    _python_module("aiohttp", "bundle SSL_CERT_FILE",
                   "import sys, asyncio as a, aiohttp as h\nasync def f():\n async with h.ClientSession() as s:\n  "
                   "async with s.get(sys.argv[1]) as r: print(await r.text())\na.run(f())"),
    _client("pip", "PIP_CERT REQUESTS_CA_BUNDLE",
            f"python3 -m pip install -q --retries 0 --no-compile --target lib -i {URL}/simple/ stone", _python,
            has="python3 -m pip --version"),
    _client("uv", "SSL_CERT_FILE",
            f"UV_HTTP_RETRIES=0 uv pip install -q --target lib --default-index {URL}/simple/ stone", _python),
    _client("node", "NODE_EXTRA_CA_CERTS", f"node -e '{_GET}' > page"),
    _client("npm", "NPM_CONFIG_CAFILE",
            f"npm i --fetch-retries 0 --silent --no-audit --no-fund --registry {URL}/npm/ stone", _node),
    _client("yarn 1", "NPM_CONFIG_CAFILE",
            f"echo '{{\"license\": \"MIT\"}}' > package.json; yarn add --silent --registry {URL}/npm/ stone",
            _node, has="yarn --version | grep '^1[.]'"),
    _client("yarn 4", "NODE_EXTRA_CA_CERTS YARN_HTTPS_CA_FILE_PATH",
            f"echo '{{}}' > package.json; printf 'npmRegistryServer: {URL}/npm\\nnodeLinker: node-modules\\n"
            "enableTelemetry: false\\nhttpRetry: 0\\nenableGlobalCache: true\\n' > .yarnrc.yml; touch yarn.lock; "
            "yarn add stone >&2",
            _node, has="yarn --version | grep '^4[.]'"),
    _client("pnpm", "bundle NODE_EXTRA_CA_CERTS SSL_CERT_FILE",
            f"NPM_CONFIG_FETCH_RETRIES=0 pnpm add --silent --registry {URL}/npm/ --store-dir /tmp/store stone", _node),
    _client("bun", "NODE_EXTRA_CA_CERTS SSL_CERT_FILE",
            f"echo '{{}}' > package.json; printf '[install]\\nregistry = \"{URL}/npm/\"\\n' > bunfig.toml; "
            "bun add stone >&2", _node),
    _client("deno", "DENO_CERT", f"deno eval 'import process from \"node:process\"; {_GET}' > page"),
    _client("cargo", "bundle SSL_CERT_FILE CARGO_HTTP_CAINFO",
            "mkdir .cargo src; touch src/lib.rs; printf '[source.crates-io]\\nreplace-with = \"s\"\\n[source.s]\\n"
            f"registry = \"sparse+{URL}/crates/\"\\n' > .cargo/config.toml; printf '[package]\\nname = \"w\"\\n"
            "version = \"1.0.0\"\\nedition = \"2018\"\\n[dependencies]\\nstone = \"1\"\\n' > Cargo.toml; "
            "CARGO_NET_RETRY=0 cargo fetch -q", _cargo),
    _client("go", "bundle SSL_CERT_FILE",
            f"export GOPROXY={URL}/go GONOSUMDB='*' GOMODCACHE=$PWD/cache; "
            "go mod download example.com/stone@v1.0.0 && rm -rf cache/cache/lock cache/cache/download/*/*/@v/*.lock",
            _go),
    _client("gem", "bundle SSL_CERT_FILE",
            f"gem install -q --no-document -i lib --clear-sources -s {URL}/gems/ stone && rm -rf lib/extensions",
            _gems),
    _client("ruby", "bundle SSL_CERT_FILE", f"ruby -ropen-uri -e 'print URI.open(\"{URL}/page\").read' > page"),
    _client("php", "bundle SSL_CERT_FILE", f"php -r 'echo file_get_contents(\"{URL}/page\");' > page; grep . page"),
    _client("composer", "bundle SSL_CERT_FILE",
            "printf '%s' '" + json.dumps({
                "repositories": [{"type": "composer", "url": f"{URL}/composer"}, {"packagist.org": False}],
                "require": {"a/stone": "1.0.0"},
            }) + "' > composer.json; COMPOSER_ALLOW_SUPERUSER=1 composer install -n -q --no-autoloader", _composer),
    _client("java", "store", f"echo '{_JAVA}' > /tmp/Main.java; java -XX:TieredStopAtLevel=1 /tmp/Main.java > page"),
    _client("mvn", "store", f"echo '{_POM}' > pom.xml; echo '{_MIRROR}' > /tmp/s.xml; "
            "mvn -q -B -Dmaven.repo.local=/tmp/m2 -s /tmp/s.xml validate >&2", _maven),
    _client("gradle", "store",
            f"echo '{_BUILD}' > build.gradle; gradle -q --no-daemon -g /tmp/gradle named && rm -rf .gradle",
            _maven),
    _client("apt", "bundle",
            f"mkdir -p s/lists/partial c/archives/partial; echo 'deb [trusted=yes arch=amd64] {URL}/deb s main' > l; "
            "apt-get -qq -o Dir::State=$PWD/s -o Dir::Cache=$PWD/c -o Dir::Etc::SourceList=$PWD/l "
            "-o Dir::Etc::SourceParts=/dev/null -o APT::Sandbox::User= -o Dir::State::Status=/dev/null "
            "-o Acquire::Languages=none -o Acquire::Retries=0 update && rm -r c && "
            "ls s/lists | grep -q _Packages", _debian, has="command -v apt-get"),
    _client("gh", "bundle SSL_CERT_FILE", "GH_HOST=good.example GH_ENTERPRISE_TOKEN=x gh api repos/a/b > page",
            _answers(**{"/api/v3/repos/a/b": _REPOSITORY})),
    _client("kubectl", "bundle SSL_CERT_FILE", f"kubectl --server {URL} --token x get --raw /version > page",
            _answers(**{"/version": {"major": "1"}})),
    # It verifies no registry whose address is of the loopback, and here the address of every name is.
    _client("docker", "", "docker manifest inspect good.example/stone:1", _images),
    _client("aws", "AWS_CA_BUNDLE REQUESTS_CA_BUNDLE",
            "AWS_MAX_ATTEMPTS=1 AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE AWS_SECRET_ACCESS_KEY=x "
            f"AWS_DEFAULT_REGION=eu-west-1 aws --endpoint-url {URL} sts get-caller-identity",
            lambda _folder: {"/": _STS}, also=("aws",)),
    _client("gcloud", "REQUESTS_CA_BUNDLE CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
            f"echo x > /tmp/token; export CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE={URL}/compute/v1/ "
            "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE=/tmp/token CLOUDSDK_CONFIG=/tmp/gcloud CLOUDSDK_CORE_DISABLE_PROMPTS=1; "
            "gcloud -q compute zones list --project p --format 'value(name)'",
            _answers(**{"/compute/v1/projects/p/zones": _ZONES})),
    _client("terraform", "bundle SSL_CERT_FILE",
            f"export TF_CLI_CONFIG_FILE=/dev/null CHECKPOINT_DISABLE=1; "
            f"printf 'module \"x\" {{\\n  source = \"{URL}/stone.zip\"\\n}}\\n' > main.tf; terraform get",
            lambda _folder: {"/stone.zip": _zipped(_MODULE)}),
)  # fmt: skip
