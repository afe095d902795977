"""Ways in which commands carry login material: none of it is recorded, whatever the text is taken for."""

# ruff: noqa: E501  one form a line

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.audit import entries
from gateway.audit.redact import Redactor
from gateway.audit.secrets import may_hold, redact
from gateway.model.call import RawCall

# `S` stands for the secret. By the words alone, as in a log.
FORMS = r"""
docker login -u me -p S registry.example.org
docker login -u me -pS
podman login --password=S -u me quay.io
helm registry login -u me -p S ghcr.io
skopeo copy --src-creds me:S docker://a docker://b
buildah push --creds me:S x
az login -u me -p S
az keyvault secret set --vault-name v -n x --value S
oc login -u me -p S https://api.example.org
ldapsearch -x -D cn=admin -w S -b dc=x
ldapadd -w S -f x.ldif
ldappasswd -s S uid=x
zip -P S x.zip a
zip -r -P S x.zip dir
unzip -P S x.zip
7z a -pS x.7z a
7z x -p'S' x.7z
rar a -hpS x.rar a
unrar x -pS x.rar
curl --oauth2-bearer S https://example.org
curl -u me:S https://example.org
curl -ume:S https://example.org
curl --user 'me:S' https://example.org
curl --proxy-user me:S https://example.org
curl -E cert.pem:S https://example.org
curl --pass S --cert c.pem https://example.org
curl -H 'Authorization: Bearer S' https://example.org
curl -H "X-Api-Key: S" https://example.org
curl -d password=S https://example.org
curl 'https://example.org/?access_token=S'
curl https://me:S@example.org/
wget --password=S --user=me https://example.org
wget --http-password S https://example.org
mongosh -u me -p S mongodb://h/db
mongosh 'mongodb://me:S@h/db'
mongodump --password=S
mongorestore -p S
mysql -u root -pS db
mysql -u root --password=S
mysqldump -pS db
mysql -uroot -p'S' -e 'select 1'
ssh-keygen -t ed25519 -N S -f k
ssh-keygen -p -P S -N '' -f k
smbclient //h/s -U me%S
rpcclient -U 'me%S' h
openssl enc -aes-256-cbc -k S -in a
openssl enc -d -aes-256-cbc -pass pass:S -in a
openssl rsa -passin pass:S -in k
openssl pkcs12 -passout pass:S -export
openssl passwd -6 S
echo S | docker login --username me --password-stdin
printf %s S | docker login --password-stdin
printf '%s' 'S' | gh auth login --with-token
docker login --password-stdin <<< S
echo "me:S" | chpasswd
echo S | sudo -kS ls
echo S | wrangler secret put KEY
echo S | kinit me
aws configure set aws_secret_access_key S
aws configure set aws_session_token S --profile x
aws secretsmanager create-secret --name x --secret-string S
aws ssm put-parameter --name x --type SecureString --value S
AWS_SECRET_ACCESS_KEY=S aws s3 ls
npm config set //registry.npmjs.org/:_authToken S
npm config set //registry.npmjs.org/:_authToken=S
npm config set _password S
yarn config set npmAuthToken S
pip config set global.password S
gh secret set X -b S
gh secret set X --body S
gh secret set X --body=S
glab variable set X S
kubectl create secret generic x --from-literal=k=S
kubectl create secret generic x --from-literal k=S
kubectl create secret docker-registry x --docker-password=S
kubectl --token=S get pods
kubectl config set-credentials me --token=S
sshpass -p S ssh h
sshpass -pS ssh h
SSHPASS=S sshpass -e ssh h
htpasswd -b .htpasswd me S
htpasswd -cb .htpasswd me S
htpasswd -nb me S
psql postgres://me:S@h/db
psql 'host=h user=me password=S'
PGPASSWORD=S psql -h h
redis-cli -a S ping
redis-cli --pass S ping
redis-cli -u redis://:S@h
vault login S
vault kv put secret/x k=S
fly secrets set K=S
supabase secrets set K=S
doppler secrets set K=S
heroku config:set API_KEY=S
vercel -t S deploy
netlify deploy --auth S
security add-generic-password -a me -s x -w S
usermod -p S me
gpg --batch --passphrase S -d a
sqlcmd -S h -U sa -P S
cqlsh -u me -p S h
rabbitmqctl add_user me S
mosquitto_pub -u me -P S -t x
mosquitto_passwd -b f me S
nmcli dev wifi connect x password S
xfreerdp /u:me /p:S /v:h
sqlplus me/S@db
lftp -u me,S ftp.example.org
rclone obscure S
ngrok config add-authtoken S
cargo login S
snyk auth S
twine upload -u me -p S dist/*
poetry publish -u me -p S
poetry config pypi-token.pypi S
poetry config http-basic.x me S
composer config http-basic.repo.example.org me S
composer config github-oauth.github.com S
nuget setapikey S
dotnet nuget push x.nupkg -k S
keytool -list -keystore k -storepass S
jarsigner -storepass S x.jar me
pulumi config set --secret dbpass S
terraform apply -var db_password=S
helm install x . --set auth.password=S
ansible-playbook x.yml -e ansible_password=S
git -c http.extraHeader='Authorization: Basic S' fetch
git clone https://me:S@github.com/a/b
http -a me:S https://example.org
snmpwalk -v3 -A S h
export GITHUB_TOKEN=S
TOKEN="S" ./run
mvn -Dpassword=S deploy
ipmitool -H h -U me -P S power status
ansible-vault encrypt_string 'S' --name x
az devops login <<< S
vercel env add K production <<< S
p4 login <<< S
cvs -d :pserver:me:S@h:/r login
curl -b 'session=S' https://example.org
curl -b 'lang=en; sid=S' https://example.org
curl --cookie sid=S https://example.org
ab -A me:S https://example.org/
ab -C session=S https://example.org/
psql -c "ALTER USER me PASSWORD 'S'"
mysql -e "CREATE USER me IDENTIFIED BY 'S'"
mysql -e "set password for me = 'S'"
mysqladmin -u root password S
redis-cli AUTH S
redis-cli CONFIG SET requirepass S
duckdb -c "CREATE SECRET (TYPE s3, KEY_ID 'x', SECRET 'S')"
neo4j-admin dbms set-initial-password S
printf 'me:%s' S | chpasswd
echo -e "S\nS" | passwd me
yes S | passwd me
openssl passwd -1 -salt x S
openssl dgst -hmac S a
age -p <<< S
qpdf --encrypt S S 256 -- a b
pdftk a.pdf input_pw S output b.pdf
pdftotext -upw S a.pdf
mutool clean -p S a.pdf
unar -p S x.rar
rclone config create x webdav url u user me pass S
mc alias set x https://example.org AK S
ncftp -u me -p S h
vncviewer -passwd <(vncpasswd -f <<< S) h
nmcli con modify x wifi-sec.psk S
networksetup -setairportnetwork en0 x S
echo S | openconnect --passwd-on-stdin h
kadmin -p me -w S -q x
kadmin.local -q "addprinc -pw S me"
samba-tool user create me S
dsconf -w S h backend list
snmpget -v 2c -c S h x
racadm -r h -u me -p S get
sendemail -xu me -xp S
uv publish -u me -p S
cargo login --registry r S
dotnet nuget add source u -u me -p S
conan user -p S -r x me
sonar-scanner -Dsonar.login=S
codecov -t S
op signin --raw <<< S
bw login me@x.org S
bw unlock S
lpass login me <<< S
schtasks /create /ru me /rp S
runas /user:me cmd <<< S
tailscale up --authkey=S
twilio login -u AC1 -p S
openai api -k S completions
llm keys set openai --value S
wandb login S
kaggle config set -n key -v S
dvc remote modify x password S
airflow users create -p S -u me
drush user:password me "S"
vault operator unseal S
composer config --global --auth github-oauth.github.com S
New-LocalUser -Password (ConvertTo-SecureString "S" -AsPlainText)
virsh secret-set-value x --base64 S
""".strip().splitlines()
SECRET = "hunter2Xq9vvb"  # of no known form, and short enough to look like a word

# What no reading of words alone tells, with the reason.
NOT_FOUND = {
    "myprog hunter2Xq9vvb": "a positional argument of a program that nobody described",
    "x=hunter2Xq9vvb; login $x": "a name that says nothing, and a program that nobody described",
    "git remote add origin https://hunter2Xq9vvb@github.com/a/b": "a user's name looks the same; longer ones are found",
    "gcloud auth activate-service-account --key-file <(echo hunter2Xq9vvb)": "what another program writes into a file",
    "bundle config gems.contribsys.com hunter2Xq9vvb": "settings of any name, most of which are none",
    "qemu-system-x86_64 --object secret,id=s,data=hunter2Xq9vvb": "a part of a list with its own grammar",
    "expect -c 'send hunter2Xq9vvb'": "typed into another program",
}
# Words in the same places that are none.
KEPT = (
    "docker run -p 8080:80 nginx", "mkdir -p a/b", "ssh -p 2222 h", "ps -u me", "mysql -u root db", "curl -u me https://x",
    "psql -p 5432 db", "zip -r x.zip dir", "7z x a.7z", "git config user.name me", "npm config set registry https://x",
    "aws configure set region eu-west-1", "kubectl create secret generic x --from-file=a", "tar -p -xf a", "echo hello | cat",
    "echo hello | docker build -", "net use", "cargo login", "vault kv get secret/x", "openssl enc -aes-256-cbc -in a -out b",
    "docker login -u me -p $PASS", "echo $TOKEN | docker login --password-stdin", "zip -P \"$PW\" x.zip a", "sort -k 2 f",
    "ssh-keygen -t ed25519 -f k", "http https://example.org", "git checkout -b x", "redis-cli GET auth", "passwd me", "netstat -p tcp", "mc alias list",
    "git switch -c x", "cat /etc/passwd", "rclone copy a b", "the message -b and the env", "wandb sync d", "bw list items", "htpasswd -c f me", "security find-generic-password -s x",
)  # fmt: skip


def said(form: str) -> str:
    return form.replace("S", SECRET) if form.count("S") == 1 else _replaced(form)


def _replaced(form: str) -> str:
    """The last `S` that is a word of its own, or a part that is marked off by signs."""
    import re

    places = [found.start() for found in re.finditer(r"(?<![A-Z_a-z])S(?![A-Za-z_])|(?<=-p)S|(?<=-hp)S", form)]
    return form[: places[-1]] + SECRET + form[places[-1] + 1 :]


@pytest.mark.parametrize("form", FORMS)
def test_a_text_with_it_is_written_without_the_secret(form: str) -> None:
    text = said(form)
    assert SECRET in text
    assert (SECRET in redact(text)[0], may_hold(text), may_hold(json.dumps(text))) == (False, True, True)


def recorded(gateway: Any, text: str) -> str:
    verdict = gateway.check(RawCall("Bash", {"command": text}))
    return entries.decision(verdict, key=b"k" * 32, redactor=Redactor(), id="i", at="t", front="test")


def test_nothing_is_left_of_any_in_the_record_of_a_call(ground: Any) -> None:
    gateway = ground.open()
    assert [form for form in FORMS if SECRET in recorded(gateway, said(form))] == []


# How a text may be written otherwise, which only who has read it as the shell does can tell.
OTHERWISE = (
    "zip -rP hunter2Xq9vvb x.zip a",
    "$(echo zip) -P hunter2Xq9vvb x a; zip --password hunter2Xq9vvb x a",
    "timeout 5 zip \\\n -P hunter2Xq9vvb x a",
    "z=zip; $z -P hunter2Xq9vvb x a",
    "bash -c 'zip -P hunter2Xq9vvb x a'",
    "curl -sSu me:hunter2Xq9vvb https://example.org",
    'p=hunter2Xq9vvb; zip -P "$p" x a',
)


@pytest.mark.parametrize("text", OTHERWISE)
def test_what_descriptions_mark_is_taken_out_however_it_is_written(ground: Any, text: str) -> None:
    assert SECRET not in recorded(ground.open(), text)


@pytest.mark.parametrize("text", KEPT)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == (text, [])


@pytest.mark.parametrize("text", NOT_FOUND)
def test_what_words_alone_do_not_tell_is_said_in_the_docs(text: str) -> None:
    assert redact(text) == (text, [])


def test_there_is_a_table_of_more_than_a_hundred_forms() -> None:
    assert len(set(FORMS)) >= 110
