"""Where on the command lines of programs login material stands that has neither a known form nor a telling name.

For texts that nobody has analysed: logs, messages, commands within commands. What descriptions of programs mark as
`secret` is taken out besides (`gateway.audit.entries`).

One line a program, or several with the same options: the words that it begins with, and its places. `-p` is an
option with its value behind it, glued or not; `--body` a long one; `-p_` one whose value is never glued, `-p+` one whose value
always is. `%-U` and `:-u` mean what stands behind the first such sign in the value, `N` the Nth operand, `=` what stands
behind the first `=` of each operand. Pure.
"""

# ruff: noqa: E501  one form a line

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PLACES = """
docker|podman|nerdctl|oras|regctl|crane|buildah|skopeo login    -p
docker|podman|nerdctl|buildah|skopeo                            :--creds :--src-creds :--dest-creds
helm registry login                                             -p
helm repo add                                                   --password
az|oc|cf|ibmcloud|kubelogin login                               -p
az keyvault secret set                                          --value
ldapsearch|ldapmodify|ldapadd|ldapdelete|ldapwhoami|ldapcompare|ldapmodrdn|ldapexop   -w
ldappasswd                                                      -w -s -a
zip|unzip|zipcloak|zipnote                                      -P
7z|7za|7zr|7zz                                                  -p+
rar|unrar                                                       -p+ -hp+
curl                                                            =-b =--cookie --oauth2-bearer --pass --proxy-pass --tlsauthtype :-E :--cert
mongo|mongosh|mongodump|mongorestore|mongoexport|mongoimport|mongostat   -p
mysql|mariadb|mysqldump|mysqladmin|mysqlimport|mysqlshow|mysqlcheck|mariadb-dump|mariadb-admin|mycli   -p+
ssh-keygen                                                      -N -P
smbclient|rpcclient|smbget|smbcacls|smbtree|wbinfo              %-U %--user
openssl enc|aes-256-cbc|aes-128-cbc|rc4|des3                    -k_ -K_
openssl passwd                                                  1
sshpass                                                         -p
htpasswd -b|-bc|-cb|-bB|-Bb|-cbB|-bcB|-Bbc|-bm|-bs              3
htpasswd -nb|-bn|-nbB|-bnB|-nBb|-bnBC                           2
redis-cli|keydb-cli|valkey-cli                                  -a_
kubectl create secret                                           =--from-literal
gh secret set                                                   -b --body
glab variable set|update|create                                 -v --value 2
fly|flyctl|supabase|doppler|infisical secrets set|import        =
vault kv put|patch                                              =
vault write                                                     =
vault login|unwrap                                              1
aws secretsmanager create-secret|put-secret-value|update-secret --secret-string
aws ssm put-parameter                                           --value
security add-generic-password|add-internet-password             -w
security unlock-keychain|set-keychain-password|import           -p -P
usermod|useradd                                                 -p
mkpasswd                                                        1
net user                                                        2
gpg|gpg2                                                        --passphrase
sqlcmd|bcp|tsql|osql|ipmitool|mosquitto_pub|mosquitto_sub       -P
cqlsh|cypher-shell|rabbitmqadmin|twine|rdesktop|evil-winrm|nxc|netexec|crackmapexec|hydra   -p
poetry publish                                                  -p
rabbitmqctl add_user|change_password|authenticate_user          2
mosquitto_passwd                                                3
wpa_passphrase                                                  2
nmcli                                                           password_
xfreerdp|xfreerdp3|wlfreerdp|mstsc                              /p:+
sqlplus|expdp|impdp|sqlldr                                      /1
lftp                                                            ,-u
rclone obscure|reveal                                           1
ngrok authtoken                                                 1
ngrok config add-authtoken                                      1
cargo login                                                     1
snyk auth                                                       1
doctl auth init                                                 -t
vercel|now                                                      -t
hcloud|linode-cli|netlify|wrangler                              --auth --token
poetry config http-basic.*                                      2
poetry config pypi-token.*                                      1
composer config http-basic.*                                    2
composer config github-oauth.*|gitlab-token.*|bearer.*          1
nuget setapikey                                                 1
nuget|dotnet push|nuget                                         -k --api-key
keytool|jarsigner                                               -storepass_ -keypass_ -srcstorepass_ -deststorepass_ -new_
signtool sign                                                   /p_
pulumi config set                                               2
http|https|xh|xhs                                               :-a :--auth
snmpwalk|snmpget|snmpset|snmpbulkwalk                           -A -X
radtest                                                         2
jenkins-cli|java                                                :-auth_
ansible-vault encrypt_string                                    1
mysqladmin                                                      password_
redis-cli|keydb-cli|valkey-cli                                  AUTH_ auth_ requirepass_ masterauth_
neo4j-admin                                                     set-initial-password_
openssl passwd                                                  2
openssl dgst|mac                                                -hmac_
qpdf --encrypt                                                  1 2
pdftk                                                           input_pw_ owner_pw_ user_pw_
pdftotext|pdftoppm|pdfinfo|pdfimages|pdftohtml|pdftops|pdftocairo   -upw_ -opw_
mutool                                                          -p_
unar|lsar                                                       -p -password
rclone config create|update|password                            pass_ password_ bearer_token_ secret_access_key_
mc alias set                                                    4
ncftp|ncftpget|ncftpput|ncftpls                                 -p
net use                                                         3
nmcli                                                           wifi-sec.psk_ 802-11-wireless-security.psk_ 802-1x.password_
networksetup -setairportnetwork                                 3
kadmin|kadmin.local                                             -w -pw_
kadmin.local|kadmin                                             -pw_
samba-tool user create|add                                      2
dsconf|dsidm|dsctl                                              -w
snmpwalk|snmpget|snmpset|snmpbulkwalk|snmptable                 -c
racadm|psexec|PsExec.exe|twilio|snowsql                         -p
sendemail|sendEmail                                             -xp_
uv publish                                                      -p
conan user                                                      -p
conan remote login                                              -p
cargo login                                                     2
dotnet nuget add|update source                                  -p
codecov|codecovcli                                              -t
openai                                                          -k_
llm keys set                                                    --value
wandb login                                                     1
kaggle config set                                               -v
dvc remote modify                                               3
airflow users create                                            -p
drush user:password|user-password|upwd                          2
vault operator unseal|rekey|generate-root                       1
virsh secret-set-value                                          2 --base64
bw login                                                        2
bw unlock                                                       1
schtasks                                                        /rp_
ConvertTo-SecureString                                          1
sonar-scanner|mvn|gradle|dotnet-sonarscanner                    -Dsonar.login=+
ab                                                              :-A :-P =-C
impacket-smbclient|psexec.py|secretsdump.py|wmiexec.py|mssqlclient.py   :1
"""
# Programs that are told a password by what is piped into them.
BY_PIPE = (
    r"--password-stdin|--with-token|--token-stdin|--passphrase-fd[ =]?0|--stdin|-pass(?:in|out)?\s{1,3}+stdin|chpasswd|"
    r"secret\s{1,3}+(?:put|set|create)|secrets\s{1,3}+(?:versions|create)|smbpasswd|kinit|cryptsetup|"
    r"sudo\s{1,3}+-[A-RT-Za-z]{0,3}S|faillock|pass\s{1,3}+insert|secret-tool\s{1,3}+store|ecryptfs-|"
    r"htpasswd\s{1,3}+-[A-Za-hj-z]{0,3}i|(?<![\w./-])passwd(?![\w./-])|vncpasswd|--passwd-on-stdin|"
    r"(?<![\w-])(?:bw unlock|lpass login|op signin|p4 login|az devops login|vercel env add|age -p|runas)(?!\w)"
)
# What stands in the text of each of those, in small letters, where no other trace does.
PIPE_TRACES = (
    "stdin", "kinit", "cryptsetup", "sudo ", "pass", "secret", "ecryptfs", "faillock", "token", "bw unlock", "p4 login",
    "op signin", "devops login", "env add", "age -p", "runas",
)  # fmt: skip
_BETWEEN = r"(?:\s{1,3}+-[^\s]++){0,3}\s{1,3}+"
_SKIPPED = r"(?:\s{1,3}+-[^\s]*+){0,3}"
_START = r"(?<![\w.+-])"


def rows() -> Iterator[tuple[str, str]]:
    """For each line, and each kind of place in it: an expression for what the command begins with, and one for what
    stands directly before the value, whose first group is not empty."""
    for line in PLACES.strip().splitlines():
        words, places = line.rsplit("   ", 1) if "   " in line else line.rsplit(" ", 1)
        first, *rest = words.split()
        command = _START + f"(?:{_either(first)})" + "".join(f"{_BETWEEN}(?:{_either(word)})" for word in rest)
        command += "(?= )"
        for place in places.split():
            yield command, place_of(place)


def names() -> list[bytes]:
    """What of programs' names stands in every text in which a row finds something."""
    return "|".join([line.partition(" ")[0] for line in PLACES.strip().splitlines()]).encode().split(b"|")


def place_of(place: str) -> str:
    """The expression for what stands directly before the value."""
    sign, glue = "", r"(?:\s{1,3}|=|)"
    if place[0] in "%:,/=" and place[1:2] in ("-", "1"):
        sign, place = place[0], place[1:]
    if place == "=":
        return r"(\s)([A-Za-z_][\w./-]{0,100}+=)"
    if place.isdecimal():
        head = rf"^({_SKIPPED}\s{{1,3}}+)(?:[^\s]++{_SKIPPED}\s{{1,3}}+){{{int(place) - 1}}}"
        return head + (rf"[^\s{sign}]++{sign}" if sign else "")
    if place[-1] in "_+":
        glue = r"\s{1,3}" if place[-1] == "_" else ""
        place = place[:-1]
    elif place.startswith("--") or len(place) > 2:
        glue = r"(?:\s{1,3}|=)"
    return rf"(\s)({_escaped(place)}{glue}" + (rf"[\"']?[^\s{sign}\"']{{1,200}}+{sign})" if sign else ")")


def _either(words: str) -> str:
    return "|".join(map(_escaped, words.split("|")))


def _escaped(word: str) -> str:
    return "".join(f"\\{each}" if each in ".+()[]{}^$?\\" else r"[^\s]*+" if each == "*" else each for each in word)
