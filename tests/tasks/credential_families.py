"""Texts with credentials of many families, and texts that only look like it. No secret stands here: all are drawn.

`@{A40}` is drawn when a test runs: A letters and digits, L lower case, U upper case and digits, H hexadecimal, D digits,
B base64, C base32; `@{UUID}`, `@{P}` a password that a person would choose, `@{W}` one of words, `@{K}` the body of a key, `@{J}` a
JSON web token. `@{E:...}` is the base64 of what follows. What has to go stands between U+27E6 and U+27E7.
"""

from __future__ import annotations

import base64
import re
import string
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

_ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "L": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "H": "0123456789abcdef",
    "D": string.digits,
    "B": string.ascii_letters + string.digits + "+/",
    "C": string.ascii_uppercase + "234567",
}
_CHOSEN = [
    ("hunter", "2x"),
    ("Tr0ub", "4dor&3"),
    ("summer", "2024"),
    ("Winter", "2023!"),
    ("qwerty", "123!"),
    ("P@ss", "w0rd1"),
    ("S3cr", "3t!pw"),
    ("dragon", "77"),
    ("ch4nge", "Th1s"),
    ("Acme", "#4711"),
]
_WORDS = ["correct", "horse", "battery", "staple", "river", "copper", "violin", "meadow", "lantern", "pepper"]
_HOLE = re.compile(r"@\{(E:[^{}]*(?:@\{\w+\}[^{}]*)*|[A-Z]+\d*)\}")
_SECRET = re.compile("\u27e6(.*?)\u27e7", re.DOTALL)


def filled(template: str, rng: random.Random) -> str:
    """The template with a value in each hole."""
    return _HOLE.sub(lambda hole: _value(hole[1], rng), template)


def _value(hole: str, rng: random.Random) -> str:
    if hole.startswith("E:"):
        return base64.b64encode(filled(hole[2:], rng).encode()).decode()
    if hole == "UUID":
        digits = "".join(rng.choices(_ALPHABETS["H"], k=32))
        return "-".join((digits[:8], digits[8:12], "4" + digits[13:16], "a" + digits[17:20], digits[20:]))
    if hole == "P":
        return "".join(rng.choice(_CHOSEN))
    if hole == "W":
        return "-".join(rng.sample(_WORDS, 3)) + str(rng.randint(2, 99))
    if hole == "K":
        return "\n".join("".join(rng.choices(_ALPHABETS["B"], k=64)) for _ in range(4))
    if hole == "J":
        head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
        return (
            f"{head}.{'eyJ'}{''.join(rng.choices(_ALPHABETS['A'], k=60))}.{''.join(rng.choices(_ALPHABETS['A'], k=43))}"
        )
    return "".join(rng.choices(_ALPHABETS[hole[0]], k=int(hole[1:])))


def parts(text: str) -> tuple[str, list[str], str]:
    """The text without its marks, the secrets in it, and a pattern that its redaction matches."""
    pattern, done = "", 0
    for found in _SECRET.finditer(text):
        pattern += re.escape(text[done : found.start()]) + r"\[REDACTED: [\w.\-]+\]"
        done = found.end()
    return _SECRET.sub(r"\1", text), [found[1] for found in _SECRET.finditer(text)], pattern + re.escape(text[done:])


_BEGIN = "-----BEGIN"
_END = "-----END"
_TRIPLE = '"' * 3

#: One text a block; blocks are parted by a line of `%%`.
SECRET = rf"""
DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=⟦@{{B86}}==⟧;EndpointSuffix=core.windows.net
%%
GET https://shop.blob.core.windows.net/c/f?sv=2022-11-02&ss=b&srt=o&sp=r&se=2030-01-01T00:00:00Z&sig=⟦@{{A43}}%3D⟧
%%
⟦Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=@{{B43}}=⟧
%%
AZURE_DEVOPS_EXT_PAT=⟦@{{L52}}⟧
%%
AccountEndpoint=https://c.documents.azure.com:443/;AccountKey=⟦@{{B86}}==⟧;
%%
HostName=h.azure-devices.net;DeviceId=d1;SharedAccessKey=⟦@{{B43}}=⟧
%%
az login --service-principal -u @{{UUID}} -p ⟦@{{A34}}⟧ --tenant @{{UUID}}
%%
az storage blob list --account-name shop --account-key ⟦@{{B86}}==⟧ --container c
%%
Authorization: SharedAccessSignature sr=hub&sig=⟦@{{A43}}%3D⟧&se=1767225600&skn=policy
%%
https://fn.azurewebsites.net/api/run?code=⟦@{{A54}}==⟧
%%
ocp-apim-subscription-key: ⟦@{{H32}}⟧
%%
{{"type": "service_account", "project_id": "shop", "private_key": "⟦{_BEGIN} PRIVATE KEY-----\n@{{B64}}\n@{{B64}}\n@{{B64}}\n{_END} PRIVATE KEY-----⟧\n", "client_email": "a@shop.iam.gserviceaccount.com"}}
%%
{{"installed": {{"client_id": "12", "client_secret": "⟦GOCSPX-@{{A28}}⟧"}}}}
%%
{{"refresh_token": "⟦1//0@{{A60}}⟧", "type": "authorized_user"}}
%%
gcloud auth print-access-token
⟦ya29.@{{A130}}⟧
%%
maps: https://maps.googleapis.com/maps/api/js?key=⟦AIza@{{A35}}⟧&libraries=places
%%
//registry.npmjs.org/:_authToken=⟦npm_@{{A36}}⟧
always-auth=true
%%
//registry.example.com/:_authToken=⟦@{{UUID}}⟧
%%
_auth=⟦@{{E:deploy:@{{P}}}}⟧
email=a@example.com
%%
//r.example/:username=bob
//r.example/:_password="⟦@{{E:@{{P}}x9}}⟧"
%%
npmRegistries:
  "https://npm.example":
    npmAuthToken: "⟦@{{A40}}⟧"
%%
machine api.example.com
  login bob
  password ⟦@{{P}}⟧
%%
machine h.example login bob password ⟦@{{A20}}⟧
%%
default login anonymous password ⟦@{{P}}⟧
%%
db.example.com:5432:shop:app:⟦@{{P}}⟧
%%
localhost:5432:*:postgres:⟦@{{A18}}⟧
%%
{{"auths": {{"https://index.docker.io/v1/": {{"auth": "⟦@{{E:bob:@{{P}}}}⟧"}}}}}}
%%
{{"auths": {{"ghcr.io": {{"username": "bob", "password": "⟦@{{P}}⟧"}}}}}}
%%
{{"auths": {{"r.example": {{"identitytoken": "⟦@{{J}}⟧"}}}}}}
%%
users:
- name: admin
  user:
    client-key-data: ⟦@{{E:{_BEGIN} RSA PRIVATE KEY----- @{{B64}} @{{B64}} {_END} RSA PRIVATE KEY-----}}⟧
%%
users:
- name: admin
  user:
    token: ⟦@{{A48}}⟧
%%
users:
- user:
    username: admin
    password: ⟦@{{P}}⟧
%%
variable "db_password" {{
  default = "⟦@{{P}}⟧"
}}
%%
resource "aws_db_instance" "x" {{
  username = "admin"
  password = "⟦@{{P}}⟧"
}}
%%
db_password = "⟦@{{W}}⟧"
region      = "eu-west-1"
%%
credentials "app.terraform.io" {{
  token = "⟦@{{A14}}.atlasv1.@{{A67}}⟧"
}}
%%
provider "aws" {{
  access_key = "⟦AKIA@{{C16}}⟧"
  secret_key = "⟦@{{B40}}⟧"
}}
%%
"outputs": {{"db_password": {{"value": "⟦@{{P}}⟧", "type": "string", "sensitive": true}}}}
%%
web1 ansible_host=10.0.0.4 ansible_user=ops ansible_ssh_pass=⟦@{{P}}⟧ ansible_port=22
%%
ansible_become_password: "⟦@{{P}}⟧"
%%
vault_api_token: ⟦@{{A32}}⟧
%%
jdbc:postgresql://db:5432/shop?user=app&password=⟦@{{P}}⟧&ssl=true
%%
jdbc:oracle:thin:app/⟦@{{P}}⟧@//db:1521/ORCL
%%
url=jdbc:sqlserver://h:1433;databaseName=x;user=sa;password=⟦@{{P}}⟧;encrypt=true
%%
jdbc:mysql://app:⟦@{{P}}⟧@db:3306/shop
%%
DRIVER={{PostgreSQL Unicode}};SERVER=h;DATABASE=d;UID=sa;PWD=⟦@{{P}}⟧;
%%
"ConnectionStrings": {{"Default": "Server=tcp:x.example,1433;User ID=app;Password=⟦@{{P}}⟧;Encrypt=True"}}
%%
Data Source=db;Initial Catalog=shop;User ID=sa;Pwd=⟦@{{P}}⟧
%%
amqps://guest2:⟦@{{P}}⟧@mq.example:5671/vhost
%%
mongodb+srv://app:⟦@{{A16}}⟧@c0.abcde.mongodb.net/shop?retryWrites=true
%%
mongodb://root:⟦@{{P}}⟧@m1:27017,m2:27017/?replicaSet=rs0
%%
REDIS_URL=redis://default:⟦@{{A24}}⟧@cache:6379/0
%%
rediss://:⟦@{{P}}⟧@cache.example:6380
%%
SQLALCHEMY_DATABASE_URI = 'mysql+pymysql://root:⟦@{{P}}⟧@localhost/shop'
%%
ftp://anonymous2:⟦@{{P}}⟧@ftp.example.com/pub
%%
EMAIL_URL=smtp://ops%40example.com:⟦@{{P}}⟧@smtp.example.com:587
%%
postgresql://app@db/shop?password=⟦@{{P}}⟧
%%
git clone https://x-access-token:⟦ghs_@{{A36}}⟧@github.com/o/r.git
%%
git remote add origin https://oauth2:⟦glpat-@{{A20}}⟧@gitlab.example/o/r.git
%%
host=db user=app password=⟦@{{P}}⟧ dbname=shop sslmode=require
%%
dsn := "app:⟦@{{P}}⟧@tcp(db:3306)/shop?parseTime=true"
%%
bindpw ⟦@{{P}}⟧
%%
requirepass ⟦@{{P}}⟧
maxmemory 2gb
%%
masterauth ⟦@{{A32}}⟧
%%
Authorization: Basic ⟦@{{E:bob:@{{P}}}}⟧
Accept: */*
%%
Proxy-Authorization: Basic ⟦@{{E:svc:@{{A12}}}}⟧
%%
Authorization: Digest username="bob", realm="x", nonce="n1", uri="/a", response="⟦@{{H32}}⟧"
%%
Authorization: Bearer ⟦@{{J}}⟧
%%
Authorization: Bearer ⟦@{{UUID}}⟧
%%
Authorization: ApiKey ⟦@{{A40}}⟧
%%
Authorization: SSWS ⟦00@{{A40}}⟧
%%
"authorization": "token ⟦@{{H40}}⟧",
%%
Cookie: sessionid=⟦@{{L32}}⟧; theme=dark
%%
Set-Cookie: JSESSIONID=⟦@{{U32}}⟧; Path=/; HttpOnly
%%
Set-Cookie: connect.sid=⟦s%3A@{{A32}}.@{{A43}}⟧; Path=/
%%
cookie: PHPSESSID=⟦@{{L26}}⟧
%%
Cookie: auth_token=⟦@{{H40}}⟧; lang=en
%%
GET /cb?id_token=⟦@{{J}}⟧&state=1
%%
token was ⟦@{{J}}⟧ and it had expired
%%
x-api-key: ⟦@{{A40}}⟧
%%
X-Auth-Token: ⟦@{{UUID}}⟧
%%
api-key: ⟦@{{H32}}⟧
%%
https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20260101T000000Z&X-Amz-Signature=⟦@{{H64}}⟧
%%
Authorization: AWS4-HMAC-SHA256 Credential=⟦AKIA@{{C16}}/20260101/us-east-1/s3/aws4_request⟧, SignedHeaders=host, Signature=⟦@{{H64}}⟧
%%
[default]
aws_access_key_id = ⟦AKIA@{{C16}}⟧
aws_secret_access_key = ⟦@{{B40}}⟧
%%
export AWS_SECRET_ACCESS_KEY=⟦@{{B40}}⟧
export AWS_SESSION_TOKEN=⟦@{{B200}}==⟧
%%
aws configure set aws_secret_access_key ⟦@{{B40}}⟧
%%
⟦{_BEGIN} OPENSSH PRIVATE KEY-----
@{{K}}
{_END} OPENSSH PRIVATE KEY-----⟧
%%
⟦{_BEGIN} EC PRIVATE KEY-----
@{{K}}⟧
%%
note
⟦{_BEGIN} PRIVATE KEY-----
@{{K}}⟧
... (truncated)
%%
⟦{_BEGIN} PGP PRIVATE KEY BLOCK-----
Version: GnuPG v2

@{{K}}
=@{{A4}}
{_END} PGP PRIVATE KEY BLOCK-----⟧
%%
⟦{_BEGIN} ENCRYPTED PRIVATE KEY-----
@{{K}}
{_END} ENCRYPTED PRIVATE KEY-----⟧
%%
⟦{_BEGIN} DSA PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-128-CBC,@{{H32}}

@{{K}}
{_END} DSA PRIVATE KEY-----⟧
%%
key: |
    ⟦{_BEGIN} PRIVATE KEY-----
    @{{B64}}
    @{{B64}}
    {_END} PRIVATE KEY-----⟧
port: 1
%%
key: "⟦{_BEGIN} PRIVATE KEY-----\n@{{B64}}\n@{{B64}}\n@{{B40}}⟧"
%%
"pem": "⟦{_BEGIN} EC PRIVATE KEY-----\\n@{{B64}}\\n@{{B64}}\\n{_END} EC PRIVATE KEY-----⟧\\n"
%%
> ⟦{_BEGIN} RSA PRIVATE KEY-----
> @{{B64}}
> @{{B64}}
> {_END} RSA PRIVATE KEY-----⟧
%%
+⟦{_BEGIN} RSA PRIVATE KEY-----
+@{{B64}}
+@{{B64}}
+@{{B32}}⟧
%%
     1	⟦{_BEGIN} RSA PRIVATE KEY-----
     2	@{{B64}}
     3	@{{B64}}
     4	@{{B64}}⟧
%%
12|⟦{_BEGIN} RSA PRIVATE KEY-----
13|@{{B64}}
14|@{{B64}}
15|{_END} RSA PRIVATE KEY-----⟧
%%
KEY="⟦{_BEGIN} PRIVATE KEY----- @{{B64}} @{{B64}} @{{B20}}== {_END} PRIVATE KEY-----⟧"
%%
⟦{_BEGIN} RSA PRIVATE KEY-----=0A=
@{{A64}}=0A=
@{{A64}}=0A=
@{{A62}}=3D=3D=0A=
{_END} RSA PRIVATE KEY-----⟧
%%
⟦{_BEGIN} RSA PRIVATE KEY-----=0A=
@{{A64}}=0A=
@{{A64}}=0A=
@{{A62}}=3D=3D⟧
%%
const char *key = "⟦{_BEGIN} EC PRIVATE KEY-----\n"
    "@{{B64}}\n"
    "@{{B64}}\n"
    "{_END} EC PRIVATE KEY-----⟧\n";
%%
TLS_KEY=⟦@{{E:{_BEGIN} PRIVATE KEY-----@{{B64}}{_END} PRIVATE KEY-----}}⟧
%%
[Interface]
PrivateKey = ⟦@{{B43}}=⟧
Address = 10.0.0.2/32
%%
PresharedKey = ⟦@{{B43}}=⟧
%%
{{"kty": "RSA", "n": "AQAB", "e": "AQAB", "d": "⟦@{{A86}}⟧"}}
%%
{{"kty":"oct","k":"⟦@{{A43}}⟧"}}
%%
# public key: age1x
⟦AGE-SECRET-KEY-1@{{U58}}⟧
%%
bot: ⟦xoxb-@{{D12}}-@{{D13}}-@{{A24}}⟧
%%
⟦xoxp-@{{D12}}-@{{D12}}-@{{D12}}-@{{H32}}⟧ is the user's
%%
⟦xapp-1-A@{{U10}}-@{{D13}}-@{{H64}}⟧
%%
https://hooks.slack.com/services/⟦T@{{U8}}/B@{{U8}}/@{{A24}}⟧
%%
https://discord.com/api/webhooks/⟦@{{D18}}/@{{A68}}⟧
%%
FLY_ACCESS_TOKEN=FlyV1 ⟦fm2_@{{B90}}⟧
%%
DISCORD_TOKEN=⟦MT@{{A22}}.@{{A6}}.@{{A27}}⟧
%%
https://api.telegram.org/bot⟦@{{D10}}:AA@{{A33}}⟧/sendMessage
%%
stripe.api_key = "⟦sk_live_@{{A24}}⟧"
%%
webhook ⟦whsec_@{{A32}}⟧
%%
client = Client("AC@{{H32}}", "⟦@{{H32}}⟧")  # twilio auth_token
%%
TWILIO_AUTH_TOKEN=⟦@{{H32}}⟧
%%
SENDGRID: ⟦SG.@{{A22}}.@{{A43}}⟧
%%
key ⟦glpat-@{{A20}}⟧ works
%%
⟦github_pat_@{{A22}}_@{{A59}}⟧
%%
login with ⟦ghp_@{{A36}}⟧.
%%
hf = "⟦hf_@{{A34}}⟧"
%%
openai: ⟦sk-proj-@{{A48}}T3BlbkFJ@{{A48}}⟧
%%
OPENAI_API_KEY=⟦sk-@{{A48}}⟧
%%
⟦sk-ant-api03-@{{A93}}AA⟧
%%
doctl auth init -t ⟦dop_v1_@{{H64}}⟧
%%
DATABRICKS_TOKEN=⟦dapi@{{H32}}⟧
%%
HEROKU_API_KEY=⟦@{{UUID}}⟧
%%
ATLASSIAN_API_TOKEN=⟦ATATT3xFfGF0@{{A180}}=@{{H8}}⟧
%%
vault login ⟦hvs.@{{A90}}⟧
%%
SUPABASE_ACCESS_TOKEN=⟦sbp_@{{H40}}⟧
%%
PERPLEXITY_API_KEY=⟦pplx-@{{A48}}⟧
%%
pinecone: ⟦pcsk_@{{A5}}_@{{A63}}⟧
%%
LANGSMITH_API_KEY=⟦lsv2_pt_@{{H32}}_@{{H10}}⟧
%%
docker login -u bob -p ⟦dckr_pat_@{{A27}}⟧
%%
docker login -u bob -p ⟦@{{P}}⟧ registry.example.com
%%
twine upload -u __token__ -p ⟦pypi-AgEIcHlwaS5vcmc@{{A150}}⟧
%%
MAPBOX=⟦sk.eyJ1@{{A60}}.@{{A22}}⟧
%%
FACEBOOK_ACCESS_TOKEN=⟦EAA@{{A170}}⟧
%%
spring.datasource.username=app
spring.datasource.password=⟦@{{P}}⟧
%%
$env:API_TOKEN = "⟦@{{A40}}⟧"
%%
setx API_TOKEN ⟦@{{A40}}⟧
%%
set DB_PASS=⟦@{{P}}⟧
%%
$s = ConvertTo-SecureString "⟦@{{P}}⟧" -AsPlainText -Force
%%
$Password = '⟦@{{P}}⟧'
%%
<property name="hibernate.connection.password">⟦@{{P}}⟧</property>
%%
<server><id>x</id><username>bob</username><password>⟦@{{P}}⟧</password></server>
%%
<add name="Db" connectionString="Server=s;Database=d;User Id=u;Password=⟦@{{P}}⟧;" />
%%
<Password><![CDATA[⟦@{{P}}⟧]]></Password>
%%
<entry key="db.password">⟦@{{P}}⟧</entry>
%%
<param name="password" value="⟦@{{P}}⟧"/>
%%
<key>ApiToken</key>
<string>⟦@{{A40}}⟧</string>
%%
<wsse:Password Type="PasswordText">⟦@{{P}}⟧</wsse:Password>
%%
[client]
user=root
password="⟦@{{P}}⟧"
%%
define( 'DB_PASSWORD', '⟦@{{P}}⟧' );
%%
define('AUTH_KEY', '⟦@{{A32}}+@{{A30}}⟧');
%%
production:
  secret_key_base: ⟦@{{H128}}⟧
%%
SECRET_KEY = '⟦django-insecure-@{{L50}}⟧'
%%
APP_KEY=⟦base64:@{{B43}}=⟧
%%
app.secret_key = b'⟦_@{{A20}}!⟧'
%%
kubectl create secret generic x --from-literal=password=⟦@{{P}}⟧ -n prod
%%
helm upgrade x ./c --set db.password=⟦@{{P}}⟧,db.user=app
%%
docker run -d -e POSTGRES_PASSWORD=⟦@{{P}}⟧ -e POSTGRES_DB=x postgres:16
%%
PGPASSWORD=⟦@{{P}}⟧ psql -h db -U app
%%
mysqldump --user=root --password=⟦@{{P}}⟧ shop
%%
sshpass -p '⟦@{{P}}⟧' ssh ops@host
%%
curl --user "⟦bob:@{{P}}⟧" https://x.example
%%
curl -sS -X POST -u ⟦bob:@{{A20}}⟧ https://x.example/a
%%
curl -d 'grant_type=password&username=u&password=⟦@{{P}}⟧' https://x.example/token
%%
curl -d '{{"user":"u","password":"⟦@{{P}}⟧"}}' https://x.example
%%
curl -H "X-Api-Key: ⟦@{{A32}}⟧" https://x.example
%%
curl -H 'PRIVATE-TOKEN: ⟦@{{A20}}⟧' https://gitlab.example
%%
wget --user=bob --password=⟦@{{P}}⟧ https://x.example/f
%%
http -a bob:⟦@{{P}}⟧ https://x.example
%%
openssl rsa -in k.pem -passin pass:⟦@{{P}}⟧
%%
gpg --batch --passphrase ⟦@{{P}}⟧ -d f.gpg
%%
keytool -list -keystore k.jks -storepass ⟦@{{P}}⟧
%%
redis-cli -h cache -a ⟦@{{P}}⟧ ping
%%
mongosh "mongodb://h/db" --username app --password ⟦@{{P}}⟧
%%
mongodump -u app -p ⟦@{{P}}⟧ --db x
%%
sqlplus app/⟦@{{P}}⟧@db
%%
smbclient //srv/share -U bob%⟦@{{P}}⟧
%%
mount -t cifs //srv/s /mnt -o username=bob,password=⟦@{{P}}⟧,vers=3
%%
ldapsearch -x -D cn=admin,dc=x -w ⟦@{{P}}⟧ -b dc=x
%%
echo "bob:⟦@{{P}}⟧" | chpasswd
%%
htpasswd -b .htpasswd bob ⟦@{{P}}⟧
%%
java -Ddb.password=⟦@{{P}}⟧ -jar app.jar
%%
sonar-scanner -Dsonar.login=⟦@{{H40}}⟧
%%
network={{ ssid="x" psk="⟦@{{P}}⟧" }}
%%
tool --api-token=⟦@{{A32}}⟧ run
%%
tool --client-secret "⟦@{{A32}}⟧" run
%%
tool --password=⟦@{{W}}⟧ run
%%
API_TOKEN=⟦@{{W}}⟧
%%
DB_PASSWORD=⟦@{{P}}⟧
%%
client_secret: "⟦@{{P}}⟧"
%%
JWT_SECRET=⟦@{{W}}⟧
%%
SESSION_SECRET="⟦@{{W}}⟧"
%%
"clientSecret": "⟦@{{W}}⟧",
%%
db = connect(host="db", user="app", password="⟦@{{W}}⟧")
%%
const db = new Pool({{ user: 'app', password: '⟦@{{P}}⟧' }});
%%
const apiToken: string = "⟦@{{A36}}⟧";
%%
var password = "⟦@{{P}}⟧"
%%
const APIKey = "⟦@{{A32}}⟧"
%%
let api_key = String::from("⟦@{{A32}}⟧");
%%
static API_SECRET: &str = "⟦@{{A32}}⟧";
%%
private String password = "⟦@{{P}}⟧";
%%
ds.setPassword("⟦@{{P}}⟧");
%%
DriverManager.getConnection(url, "app", "⟦@{{P}}⟧");
%%
var c = new NetworkCredential("bob", "⟦@{{P}}⟧");
%%
public const string ApiKey = "⟦@{{A32}}⟧";
%%
password: ENV.fetch("DB_PASSWORD", "⟦@{{P}}⟧")
%%
config.api_key = '⟦@{{A32}}⟧'
%%
$dbPassword = "⟦@{{P}}⟧";
%%
new PDO($dsn, $user, password: '⟦@{{P}}⟧');
%%
val password = "⟦@{{P}}⟧"
%%
buildConfigField("String", "API_KEY", "\"⟦@{{A32}}⟧\"")
%%
let clientSecret = "⟦@{{A32}}⟧"
%%
#define API_TOKEN "⟦@{{A32}}⟧"
%%
static const char *password = "⟦@{{P}}⟧";
%%
password: System.get_env("DB_PASS") || "⟦@{{P}}⟧"
%%
my $password = '⟦@{{P}}⟧';
%%
local api_token = "⟦@{{A32}}⟧"
%%
password <- "⟦@{{P}}⟧"
%%
os.environ.setdefault("API_TOKEN", "⟦@{{A32}}⟧")
%%
headers = {{'X-Api-Key': '⟦@{{A32}}⟧'}}
%%
requests.get(url, auth=("bob", "⟦@{{P}}⟧"))
%%
token = os.getenv("API_TOKEN") or "⟦@{{A32}}⟧"
%%
password = password or "⟦@{{P}}⟧"
%%
conn = psycopg2.connect("dbname=x user=app password=⟦@{{P}}⟧")
%%
| user | password |
|---|---|
| bob | ⟦@{{P}}⟧ |
%%
| setting | value |
|---|---|
| `DB_PASSWORD` | `⟦@{{P}}⟧` |
%%
name,password
bob,⟦@{{P}}⟧
%%
- **Password:** ⟦@{{P}}⟧
%%
- Password: `⟦@{{P}}⟧`
%%
The admin password is `⟦@{{P}}⟧`, please change it.
%%
Username: bob
Password: ⟦@{{P}}⟧
%%
credentials: bob:⟦@{{P}}⟧
%%
Passwort: ⟦@{{P}}⟧
%%
Mot de passe : ⟦@{{P}}⟧
%%
Contraseña: ⟦@{{P}}⟧
%%
пароль: ⟦@{{P}}⟧
%%
密码：⟦@{{P}}⟧
%%
CREATE USER app WITH PASSWORD '⟦@{{P}}⟧';
%%
CREATE USER 'app'@'%' IDENTIFIED BY '⟦@{{P}}⟧';
%%
SET PASSWORD FOR 'bob'@'%' = PASSWORD('⟦@{{P}}⟧');
%%
CREATE LOGIN bob WITH PASSWORD = N'⟦@{{P}}⟧';
%%
INSERT INTO users (name, password) VALUES ('bob', '⟦@{{P}}⟧');
%%
environment:
  - POSTGRES_PASSWORD=⟦@{{P}}⟧
  - POSTGRES_USER=app
%%
ENV API_KEY=⟦@{{A32}}⟧ DEBUG=1
%%
ARG NPM_TOKEN=⟦@{{A36}}⟧
%%
password: ! '⟦@{{P}}⟧'
%%
password: >-
  ⟦@{{P}}⟧
user: bob
%%
"env": [{{"name": "API_TOKEN", "value": "⟦@{{A32}}⟧"}}]
%%
apiVersion: v1
kind: Secret
stringData:
  pw: ⟦@{{P}}⟧
%%
"{{\"password\":\"⟦@{{P}}⟧\",\"user\":\"bob\"}}"
%%
password%3D⟦@{{A20}}⟧%26user%3Dbob
%%
token=⟦3D@{{A32}}⟧
%%
DEBUG Login(user='bob', password='⟦@{{P}}⟧')
%%
User{{name=bob, password=⟦@{{P}}⟧, roles=[admin]}}
%%
2026-01-01 ERROR auth failed for bob with password "⟦@{{P}}⟧"
%%
{{"level":"info","msg":"connecting","dsn":"postgres://app:⟦@{{P}}⟧@db/x"}}
%%
PASSWORD[bob]=⟦@{{P}}⟧
%%
secret[api_key]=⟦@{{A32}}⟧
%%
powershell -EncodedCommand ⟦@{{E:$password = '@{{P}}'; Connect-Db -Password $password}}⟧
%%
basic_auth:
  username: bob
  password: ⟦@{{W}}⟧
%%
smtp_auth_password: '⟦@{{P}}⟧'
%%
bearer_token: ⟦@{{A48}}⟧
%%
encryption_key = "⟦@{{B43}}=⟧"
%%
otpauth://totp/x:bob?secret=⟦@{{U32}}⟧&issuer=x
%%
recovery code: ⟦@{{L5}}-@{{L5}}-@{{L5}}⟧
%%
mnemonic: "⟦abandon river copper violin meadow lantern pepper horse battery staple correct river⟧"
%%
services.AddDbContext(o => o.UseNpgsql("Host=db;Port=5432;Username=app;Password=⟦@{{P}}⟧;Database=x"));
%%
spring.rabbitmq.password: ⟦@{{P}}⟧
%%
quarkus.datasource.password=⟦@{{W}}⟧
%%
<bean><property name="password" value="⟦@{{P}}⟧"/></bean>
%%
airflow connections add pg --conn-uri 'postgresql://air:⟦@{{P}}⟧@h:5432/x'
%%
export MYSQL_ROOT_PASSWORD='⟦@{{P}}⟧'
%%
MONGO_INITDB_ROOT_PASSWORD: ⟦@{{P}}⟧
%%
elasticsearch.password: "⟦@{{A20}}⟧"
%%
es = Elasticsearch(hosts, basic_auth=("elastic", "⟦@{{A20}}⟧"))
%%
s3 = boto3.client("s3", aws_access_key_id="⟦AKIA@{{C16}}⟧", aws_secret_access_key="⟦@{{B40}}⟧")
%%
paramiko.connect("h", username="ops", password="⟦@{{P}}⟧")
%%
const client = new Client({{ connectionString: 'postgres://app:⟦@{{P}}⟧@db/x' }})
%%
axios.defaults.headers.common['Authorization'] = 'Bearer ⟦@{{A40}}⟧';
%%
fetch(url, {{ headers: {{ "x-api-key": "⟦@{{A32}}⟧" }} }})
%%
req.Header.Set("Authorization", "Bearer ⟦@{{A40}}⟧")
%%
cfg := Config{{Token: "⟦@{{A40}}⟧", Retries: 3}}
%%
let client = Client::new().basic_auth("bob", Some("⟦@{{P}}⟧"));
%%
.header("X-Auth-Token", "⟦@{{H40}}⟧")
%%
Credentials.basic("bob", "⟦@{{P}}⟧")
%%
config :app, MyApp.Repo, username: "app", password: "⟦@{{P}}⟧", hostname: "db"
%%
ActiveRecord::Base.establish_connection(adapter: 'pg', password: '⟦@{{P}}⟧')
%%
$mysqli = new mysqli("localhost", "root", "⟦@{{P}}⟧", "shop");
%%
define("SECRET_KEY", "⟦@{{A40}}⟧");
%%
Rails.application.config.secret_token = '⟦@{{H64}}⟧'
%%
val apiKey: String = "⟦@{{A32}}⟧"
%%
static let clientSecret = "⟦@{{A32}}⟧"
%%
String PASSWORD = "⟦@{{P}}⟧";
%%
#define WIFI_PASSWORD "⟦@{{P}}⟧"
%%
WiFi.begin("home", "⟦@{{P}}⟧");
%%
mqtt_password: ⟦@{{P}}⟧
%%
snmp_community = "⟦@{{P}}⟧"
%%
RESTIC_PASSWORD=⟦@{{W}}⟧ restic backup
%%
borg init --encryption=repokey  # BORG_PASSPHRASE="⟦@{{W}}⟧"
%%
ansible-playbook site.yml -e "db_password=⟦@{{P}}⟧ env=prod"
%%
terraform apply -var="db_password=⟦@{{P}}⟧"
%%
flask run --secret-key ⟦@{{A32}}⟧
%%
gcloud sql users set-password app --instance=i --password=⟦@{{P}}⟧
%%
heroku config:set STRIPE_SECRET_KEY=⟦sk_live_@{{A24}}⟧ -a app
%%
fly secrets set DATABASE_URL=postgres://u:⟦@{{A20}}⟧@h/db
%%
gh secret set NPM_TOKEN --body ⟦npm_@{{A36}}⟧
%%
vault kv put secret/app password=⟦@{{P}}⟧ user=bob
%%
aws ssm put-parameter --name /app/db_password --value ⟦@{{P}}⟧ --type SecureString
%%
aws secretsmanager create-secret --name x --secret-string '{{"username":"bob","password":"⟦@{{P}}⟧"}}'
%%
rabbitmqctl add_user bob ⟦@{{P}}⟧
%%
createuser: password "⟦@{{P}}⟧" for role app
%%
[remote "origin"]
	url = https://bob:⟦ghp_@{{A36}}⟧@github.com/o/r.git
%%
[pypi]
username = __token__
password = ⟦pypi-AgEIcHlwaS5vcmc@{{A100}}⟧
%%
[connection]
uri = amqp://app:⟦@{{P}}⟧@mq/
%%
<configuration><packageSourceCredentials><x><add key="ClearTextPassword" value="⟦@{{P}}⟧" /></x></packageSourceCredentials></configuration>
%%
<setting name="ApiKey" serializeAs="String"><value>⟦@{{A32}}⟧</value></setting>
%%
  - task: Deploy
    inputs:
      password: '⟦@{{P}}⟧'
%%
"Authentication": {{"Jwt": {{"SigningKey": "⟦@{{B43}}=⟧"}}}}
%%
NEXTAUTH_SECRET="⟦@{{B43}}=⟧"
%%
BASIC_AUTH=⟦bob:@{{P}}⟧
%%
PROXY=http://svc:⟦@{{P}}⟧@proxy.corp:3128
%%
{{"username": "bob", "passwd": "⟦@{{P}}⟧"}}
%%
INFO request body={{"email":"a@b.io","password":"⟦@{{P}}⟧","remember":true}}
%%
DEBUG headers={{'Authorization': 'Bearer ⟦@{{A40}}⟧', 'Accept': '*/*'}}
%%
login failed for user=bob pass=⟦@{{P}}⟧
%%
Your temporary password is ⟦@{{A12}}⟧
%%
* Password = ⟦@{{P}}⟧
%%
| Service | User | Password |
|---------|------|----------|
| db | app | `⟦@{{P}}⟧` |
| mq | svc | ⟦@{{A14}}⟧ |
%%
| Env | API key |
|:--|:--|
| prod | ⟦@{{A32}}⟧ |
%%
id;login;token
1;bob;⟦@{{H40}}⟧
%%
wrangler secret: CLOUDFLARE_API_TOKEN=⟦@{{A40}}⟧
%%
"apiToken" : "⟦@{{A36}}⟧"
%%
set-cookie: session=⟦@{{A64}}⟧; Max-Age=3600
%%
x-amz-security-token: ⟦@{{B200}}⟧
%%
bot_token = "⟦@{{D10}}:AAH@{{A32}}⟧"
%%
sentry_dsn: https://⟦@{{H32}}⟧@o1.ingest.sentry.io/42
%%
ssh-keygen output:
⟦{_BEGIN} OPENSSH PRIVATE KEY-----
@{{K}}
{_END} OPENSSH PRIVATE KEY-----⟧
done
%%
    "privateKey": "⟦{_BEGIN} PRIVATE KEY-----\r\n@{{B64}}\r\n@{{B64}}\r\n{_END} PRIVATE KEY-----⟧\r\n",
%%
tls.key: ⟦@{{E:{_BEGIN} PRIVATE KEY-----@{{B64}}@{{B64}}{_END} PRIVATE KEY-----}}⟧
%%
WireGuard: PrivateKey=⟦@{{B43}}=⟧
%%
hmac_key: ⟦@{{H64}}⟧
%%
salt and pepper: pepper_secret = "⟦@{{A24}}⟧"
%%
app_password: "⟦@{{L4}} @{{L4}} @{{L4}} @{{L4}}⟧"
%%
password := []byte("⟦@{{A14}}7⟧")
%%
ssh_passphrases:
- '⟦@{{P}}⟧'
%%
Das Passwort lautet ⟦@{{P}}⟧.
%%
api_keys: ["⟦@{{A24}}⟧", "⟦@{{A24}}⟧"]
%%
"refreshTokens": [
  "⟦@{{A24}}⟧",
  "⟦@{{A24}}⟧"
]
%%
{{\"tokens\": [\"⟦@{{A24}}⟧\"]}}
%%
passwords:
  - ⟦@{{P}}⟧
  - ⟦@{{P}}⟧
%%
passwords = {{'bob': '⟦@{{P}}⟧', 'eve': '⟦@{{P}}⟧'}}
%%
recovery codes:
  ⟦a1@{{L3}}-@{{L5}}⟧
  ⟦@{{L4}}7-@{{L5}}⟧
%%
backup_codes: ["⟦2@{{D7}}⟧", "⟦3@{{D7}}⟧"]
%%
PIN: ⟦4@{{D5}}⟧
%%
"otp": "⟦7@{{D5}}⟧"
%%
verification_code=⟦9@{{D5}}⟧
%%
"password": ⟦8@{{D5}}⟧
%%
token = (
    "⟦@{{A20}}⟧"
    "⟦@{{A20}}⟧"
)
%%
const secret = "⟦@{{A18}}⟧" +
  "⟦@{{A18}}⟧";
%%
client_secret=\
  ⟦@{{A30}}⟧
%%
private_token = {_TRIPLE}
⟦@{{A40}}⟧
{_TRIPLE}
%%
process.env.SECRET || '⟦@{{A20}}⟧'
%%
@Value("${{app.secret:⟦@{{A20}}⟧}}")
%%
&& : "${{PASSWORD:=⟦@{{A12}}⟧}}"
%%
<AdministratorPassword><Value>⟦@{{P}}⟧</Value></AdministratorPassword>
%%
NAME   TOKEN                      AGE
bob    ⟦@{{A24}}⟧   3d
eve    ⟦@{{A24}}⟧   4d
%%
motdepasse = '⟦@{{P}}⟧'
%%
wachtwoord=⟦@{{P}}⟧
%%
lösenord: ⟦@{{P}}⟧
%%
hasło: ⟦@{{P}}⟧
%%
heslo=⟦@{{P}}⟧
%%
şifre: ⟦@{{A22}}⟧
%%
salasana: ⟦@{{P}}⟧
%%
adgangskode: ⟦@{{P}}⟧
%%
كلمة المرور: ⟦@{{P}}⟧
%%
clave_secreta: '⟦@{{A22}}⟧'
%%
pass-phrase: ⟦@{{A22}}⟧
%%
rootpw ⟦@{{A20}}⟧
%%
access_code=⟦@{{A22}}⟧
%%
AZURE_STORAGE_KEY=⟦@{{B86}}==⟧
%%
STELLAR_SEED="⟦S@{{C55}}⟧"
%%
define('NONCE_SALT', '⟦T:q?|)b-@{{A8}}]la;=9c_@{{A6}}^v,*Mi0a_+*)@{{A6}}VN*3@r@{{A9}}&%=x⟧');
%%
define('AUTH_KEY',   '⟦k,P@{{A3}} 9^%i:@{{A4}}-=#K:+v @{{A5}}~&Lt?=@{{A4}}S]l,q@{{A6}}cc!Q:vY@{{A4}}k!:r,7@{{A4}}B@6.V⟧');
%%
Authorization: GenieKey ⟦@{{UUID}}⟧
%%
Authorization: Splunk ⟦@{{UUID}}⟧
%%
https://api.example.org/data?q=Rome&appid=⟦@{{H32}}⟧
%%
echo ⟦@{{A14}}9x⟧ | docker login --username bot --password-stdin
%%
net use Z: \\srv\share /user:corp\bob ⟦@{{P}}⟧
%%
gh secret set NPM_TOKEN --body "⟦@{{A36}}⟧"
%%
useradd -p '⟦$6$@{{A8}}$@{{A86}}⟧' bob
%%
setenv DB_PASSWD ⟦@{{P}}⟧
%%
deploy:⟦$2y$10$@{{A53}}⟧
%%
root:⟦$6$@{{A16}}$@{{A86}}⟧:19000:0:99999:7:::
%%
enable secret 5 ⟦$1$@{{A4}}$@{{A22}}⟧
snmp-server community ⟦z7@{{L8}}⟧ RO
%%
username admin privilege 15 password 0 ⟦@{{L7}}q4⟧
%%
$ cat config/master.key
⟦@{{H32}}⟧
%%
jwt.sign(payload, '⟦@{{A20}}⟧')
%%
hmac.new(b'⟦@{{A24}}⟧', msg, hashlib.sha256)
%%
Fernet(b'⟦@{{A43}}=⟧')
%%
Log in with user admin and password ⟦@{{P}}⟧
%%
Password for root: ⟦@{{P}}⟧
%%
login: bob / ⟦@{{P}}⟧
%%
creds are bob:⟦@{{P}}⟧
%%
A temporary password is generated for root@localhost: ⟦@{{A8}};7@{{A3}}⟧
%%
note: use ⟦cio@{{A32}}⟧ until Friday
%%
note: use ⟦oy2@{{L43}}⟧ until Friday
%%
note: use ⟦MTA@{{A21}}.@{{A6}}.@{{A38}}⟧ until Friday
%%
note: use ⟦@{{A3}}8Q~@{{A34}}⟧ until Friday
%%
note: use ⟦squ_@{{L40}}⟧ until Friday
%%
https://hooks.zapier.com/hooks/catch/⟦@{{D7}}/a4@{{L5}}⟧/
"""

#: One text a block, none with a secret.
HARMLESS = r"""
prompt_tokens: 1234567
%%
{"usage": {"input_tokens": 48213, "output_tokens": 1291, "cache_read_input_tokens": 99182}}
%%
token = get_token()
%%
secret: true
%%
token_type=bearer
%%
grant_type=password&client=web
%%
API_TOKEN=<your-api-token>
%%
API_TOKEN=${API_TOKEN:-}
%%
DB_PASSWORD=${DB_PASSWORD:?set it}
%%
password: ENC[AES256_GCM,data:abc]
%%
commit @{H40}
Author: Bob <bob@example.com>
%%
index @{H7}..@{H7} 100644
%%
sha256:@{H64}
%%
image: registry.example.com/app@sha256:@{H64}
%%
"integrity": "sha512-@{B86}=="
%%
ETag: "@{H32}"
%%
Content-MD5: @{B22}==
%%
traceparent: 00-@{H32}-@{H16}-01
%%
X-Request-Id: @{UUID}
%%
request_id=@{UUID} status=200
%%
session_id: @{UUID}
%%
"session": "@{UUID}", "token_count": 12
%%
key: @{UUID}
%%
cache-key: v1-deps-@{H40}
%%
cache_key = f"user:{user_id}:profile"
%%
primary_key=id foreign_key=user_id
%%
KeyError: 'token'
%%
sorted(items, key=lambda item: item.name)
%%
max(rows, key=len)
%%
for key, value in settings.items():
%%
key = "user-profile-settings"
%%
key: "nav.home.title"
%%
{"key": "Enter", "code": "Enter", "keyCode": 13}
%%
public_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI@{B43} bob@host
%%
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC@{B120} bob@host
%%
github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI@{B43}
%%
SHA256:@{B43} bob@host (ED25519)
%%
-----BEGIN CERTIFICATE-----
@{K}
-----END CERTIFICATE-----
%%
-----BEGIN PUBLIC KEY-----
@{K}
-----END PUBLIC KEY-----
%%
if b"-----BEGIN RSA PRIVATE KEY-----" in data: raise ValueError("a private key")
%%
grep -rn "BEGIN RSA PRIVATE KEY" src/ | wc -l
%%
Look for `-----BEGIN PRIVATE KEY-----` and `-----END PRIVATE KEY-----` in the file.
%%
img = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
%%
<script nonce="@{A22}" src="/app.js"></script>
%%
Content-Type: multipart/form-data; boundary=----WebKitFormBoundary@{A16}
%%
https://www.youtube.com/watch?v=@{A11}
%%
https://docs.google.com/document/d/@{A44}/edit
%%
https://example.com/docs/api-keys#rotate-a-key
%%
https://user@host.example/path
%%
ssh://git@github.com:22/o/r.git
%%
git@gitlab.example.com:group/project.git
%%
http://localhost:3000/login?next=/home
%%
arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbCdEf
%%
postgres://user:password@localhost:5432/db
%%
postgresql://${DB_USER}:${DB_PASS}@db/shop
%%
mongodb://<user>:<password>@host/db
%%
redis://localhost:6379/0
%%
jdbc:postgresql://localhost:5432/shop?user=app&ssl=true
%%
secretKeyRef:
  name: app-secrets
  key: database-url
%%
valueFrom: {secretKeyRef: {name: db, key: password}}
%%
token: ${{ secrets.NPM_TOKEN }}
%%
password: "{{ .Values.db.password }}"
%%
password: {{ lookup('env', 'DB_PASSWORD') }}
%%
password = var.db_password
%%
password = aws_ssm_parameter.db.value
%%
api_key = os.environ["API_KEY"]
%%
apiKey: process.env.OPENAI_API_KEY,
%%
api_key = config.get("api_key")
%%
String token = request.getHeader("Authorization");
%%
$password = $_POST['password'];
%%
let token = localStorage.getItem("token");
%%
password := os.Getenv("DB_PASSWORD")
%%
let secret = env::var("JWT_SECRET").expect("JWT_SECRET must be set");
%%
val token = intent.getStringExtra("token")
%%
password = ENV.fetch("DB_PASSWORD")
%%
var password = Environment.GetEnvironmentVariable("DB_PASSWORD");
%%
def login(username: str, password: str) -> Token:
%%
function login(user: string, password: string): Promise<Token> {
%%
func Login(user, password string) (Token, error) {
%%
fn verify(token: &str, secret: &[u8]) -> Result<Claims, Error> {
%%
public void setPassword(String password) { this.password = password; }
%%
interface Session { token: string; refreshToken?: string; expiresAt: number }
%%
type Token = { kind: "identifier"; value: string };
%%
password VARCHAR(255) NOT NULL,
%%
ALTER TABLE users ADD COLUMN password_hash TEXT;
%%
SELECT id, token FROM sessions WHERE token = $1
%%
password: { type: "string", minLength: 8 }
%%
"password": {"type": "string", "format": "password"}
%%
"password": "Password",
"password_confirm": "Confirm password"
%%
"auth.password": "Mot de passe", "auth.token": "Jeton"
%%
<input type="password" name="password" placeholder="Password">
%%
page.fill('input[name="password"]', user.password)
%%
<label for="password">Password</label>
%%
password_field = page.locator("#password")
%%
'password' => 'required|string|min:8|confirmed',
%%
expect(token).toBeNull()
%%
assert response.json()["token"] == token
%%
self.assertEqual(user.password, hashed)
%%
token refreshed in 35 ms, expires in 3600 s
%%
Error: unexpected token '}' at line 3
%%
SyntaxError: Unexpected token < in JSON at position 0
%%
expected token: ')'
%%
Token(type=NAME, value='parse_item2', line=3)
%%
token: IDENTIFIER
%%
tokens = ["the", "quick", "brown", "fox"]
%%
max_tokens=4096, temperature=0.2
%%
tokenizer: cl100k_base
%%
token_limit = 8192
%%
Tokens: 12,345 in / 678 out ($0.02)
%%
pass: 118, fail: 3, skip: 2
%%
PASS tests/auth/token.test.ts (5.2 s)
%%
PWD=/home/agent/project
OLDPWD=/home/agent
%%
passwd: files systemd
%%
connect(user=user_1, password=password_2)
%%
{"HAS_PSK": has_psk_tls13, "port": 1}
%%
encoding = tiktoken.get_encoding("o200k_base")
%%
token: Base64Token
%%
private_key: PKCS7PrivateKeyTypes,
%%
"CustomerMasterKeySpec": "ECC_NIST_P521"
%%
import {t as X} from "./key-value-CHalWkjN.js"
%%
bob:x:1000:1000:Bob:/home/bob:/bin/bash
%%
The password must have 12 characters, a digit and a symbol.
%%
The token is stored in the keychain and is never logged.
%%
Use a secret manager; never commit the API key.
%%
Passwords are hashed with argon2id before they are stored.
%%
Ask Bob for the password.
%%
the secret is that there is no secret
%%
We rotate the signing key every 90 days.
%%
Key: value pairs are parsed by position.
%%
| token | string | the session token |
| password | string | at least 12 characters |
%%
| `API_TOKEN` | yes | token of the service |
%%
| Key | Action |
|---|---|
| Ctrl+K | search |
%%
- [x] T012 [P] Password reset flow in src/auth/password-reset.ts
%%
### 3.2 Token rotation (FR-012)
%%
depends_on: [auth-token-service, secret-store-v2]
%%
src/auth/token_store.py:42: def rotate_token(self, token_id: str) -> None:
%%
tests/test_secrets.py::test_masks_password[case12] PASSED
%%
import { useAuthToken } from "../hooks/use-auth-token2";
%%
from app.auth.password import hash_password
%%
secret_name = "prod/db/password"
%%
secretName: tls-cert-2024
%%
password_file: /run/secrets/db_password
%%
--password-file /run/secrets/db
%%
docker login --password-stdin registry.example.com
%%
docker run -p 8080:80 -u 1000:1000 nginx:1.25
%%
curl -H "Authorization: Bearer $TOKEN" https://x.example
%%
curl -u "$USER:$PASSWORD" https://x.example
%%
mysql -u root -p shop < dump.sql
%%
ssh -p 2222 ops@host.example
%%
psql -h db -p 5432 -U app -W
%%
az login --use-device-code -t contoso.example
%%
pip install -e . --no-cache-dir -p 3
%%
mkdir -p build/output2 && cp -a dist/app1 build/
%%
Authorization: Bearer <access_token>
%%
Authorization: Basic base64(user:password)
%%
Authorization: Bearer {token}
%%
WWW-Authenticate: Basic realm="Restricted area 51"
%%
auth: oauth2-proxy
%%
auth_method: token
%%
AUTH_PROVIDER=auth0
%%
JWT_ALGORITHM=RS256
%%
SECRET_BACKEND=vault
%%
TOKEN_TTL=3600
%%
PASSWORD_MIN_LENGTH=12
%%
API_KEY_HEADER=X-Api-Key
%%
CREDENTIALS_FILE=/etc/app/credentials.json
%%
pub const TOKEN_LEN: usize = 32;
%%
KEY_LENGTH = 256
%%
const SECRET_NAME = "app/jwt-signing-key";
%%
TOKEN_RE = re.compile(r"[A-Za-z0-9_]{20,}")
%%
PASSWORD_PATTERN = /^(?=.*[A-Z])(?=.*\d).{12,}$/
%%
password=***
%%
token: [REDACTED]
%%
api_key: sk-...
%%
OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxx
%%
AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE
%%
aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
%%
password: changeme
%%
password: your-password-here
%%
SECRET_KEY=replace-with-a-long-random-string
%%
client_secret: YOUR_CLIENT_SECRET
%%
token: "{{token}}"
%%
token = "test-token"
%%
api_key="dummy"
%%
secret = None
%%
password: null
%%
password=
username=bob
%%
Password:
bob@host:~$ ls -la
%%
design token: color.primary.500 = #0a84ff
%%
--color-token-2: #ff00aa;
%%
"$token": "spacing.md"
%%
csrf_token: required
%%
Set-Cookie: theme=dark; Path=/
%%
Cookie: lang=en-GB; consent=accepted
%%
cookie: none
%%
cookies = requests.cookies.RequestsCookieJar()
%%
basic auth is disabled by default since 2.1.0
%%
Basic understanding of Kubernetes2 is required
%%
bearer of bad news: the build failed
%%
2026-03-01T12:00:00Z INFO key rotation done keys=12 took=35ms
%%
keys: [alpha1, beta2, gamma3]
%%
sort_key: 20260301-0012
%%
partition_key = "tenant#42"
%%
idempotency-key: @{UUID}
%%
api_version: 2024-02-15-preview
%%
release_key: app-2.1.0-rc1
%%
license: Apache-2.0
license_key: MIT
%%
password_hash: $2b$12$@{A53}
%%
digest: @{H64}
%%
fingerprint: aa:bb:cc:dd:ee:ff:00:11:22:33:44:55:66:77:88:99
%%
commit 7ef8afc: rotate the token of the CI user
%%
fix(auth): refresh token before it expires (#1234)
%%
feat: add `--token` to `login`
%%
usage: tool [--token TOKEN] [--password PASSWORD] FILE
%%
  --api-key KEY      key of the service [env: API_KEY]
%%
@click.option("--token", envvar="API_TOKEN", help="access token")
%%
parser.add_argument("--password", default=None)
%%
token: Optional[str] = Field(default=None, description="access token")
%%
api_key: SecretStr
%%
credentials: Credentials | None = None
%%
credentials: same-origin
%%
"credentials": "include"
%%
Access-Control-Allow-Credentials: true
%%
permissions:
  id-token: write
  contents: read
%%
persist-credentials: false
%%
auth: {type: oauth2, flow: authorizationCode}
%%
securitySchemes: {ApiKeyAuth: {type: apiKey, in: header, name: X-API-Key}}
%%
secret scanning: enabled
%%
gitleaks detect --no-banner --redact
%%
secrets: inherit
%%
secrets:
  db_password:
    file: ./db_password.txt
%%
vault kv get -field=password secret/app
%%
kubectl get secret app-secrets -o jsonpath='{.data.password}'
%%
kubectl create secret generic app --from-file=key.pem
%%
openssl rand -base64 32
%%
openssl genrsa -out key.pem 4096
%%
htpasswd -c .htpasswd bob
%%
passwd bob
%%
sudo -u postgres psql
%%
login bob
%%
machine learning login page password reset flow
%%
INSERT INTO tokens (id, kind) VALUES (12, 'refresh');
%%
GRANT SELECT ON users TO app;
%%
CREATE USER app WITH PASSWORD :'pw';
%%
user.password = hash(password2)
%%
password2 = forms.CharField(widget=forms.PasswordInput)
%%
const [password, setPassword] = useState("");
%%
onChange={(e) => setPassword(e.target.value)}
%%
token?.split(".")[1] ?? ""
%%
if (token === undefined || token === "") return;
%%
if password != confirm_password:
%%
if (!secret) throw new Error("secret missing");
%%
assert token != ""
%%
raise ValueError("token expired")
%%
throw new UnauthorizedException("Invalid password");
%%
return { token: jwt.sign({ sub: user.id }, secret, { expiresIn: "1h" }) };
%%
token = jwt.encode(payload, key, algorithm="HS256")
%%
hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
%%
password = "".join(random.choices(string.ascii_letters, k=12))
%%
secret = secrets.token_hex(32)
%%
key = Fernet.generate_key()
%%
token_id = uuid.uuid4()
%%
session = requests.Session()
%%
with Session(engine) as session:
%%
session.add(User(name="bob2"))
%%
Traceback: KeyError: 'api_key' in config["services"]["billing"]
%%
psycopg2.OperationalError: password authentication failed for user "app2"
%%
401 Unauthorized: invalid token
%%
remote: Invalid username or password.
%%
Enter passphrase for key '/home/bob/.ssh/id_ed25519':
%%
WARN secret "db-password" not found in namespace "prod-eu1"
%%
a token bucket of 10 req/s, burst 20
%%
non-fungible token ERC-721
%%
TokenKind::Ident => self.parse_ident2(),
%%
match token { Token::Plus => 1, Token::Minus2 => 2 }
%%
lexer.token = Token.NUMBER
%%
case "token2": return parse();
%%
docs/secrets.md, docs/tokens.md and docs/passwords2.md
%%
node_modules/js-tokens/index.js
%%
"js-tokens": "^4.0.0",
%%
"passport-local": "^1.0.0", "keyv": "4.5.4"
%%
keyring==24.3.0
python-jose[cryptography]==3.3.0
%%
secretstorage==3.3.3 --hash=sha256:@{H64}
%%
lock: {name: token-service, version: 1.4.2, resolved: "https://r.example/token-service-1.4.2.tgz"}
%%
gs://bucket/secrets/2024/03/file1.json
%%
0x@{H40} holds 12 tokens
%%
the 2 keys are k1 and k2, in that order
%%
key1=value1 key2=value2
%%
{"keys": ["id", "name2"], "pass": true}
%%
"pass": "yes", "key": "A1"
%%
otp: 6 digits
%%
pin the version: 1.2.3
%%
pw: playwright
%%
sig: @{H7}
%%
sid: 12
%%
DSN: data source name
%%
WEBHOOK_URL=https://example.com/hooks/build
%%
webhook: https://ci.example.com/github/webhook
%%
oauth: https://auth.example.com/oauth2/authorize
%%
client_id: my-web-app
%%
aGVsbG8gd29ybGQgdGhpcyBpcyBwbGFpbiB0ZXh0IGFuZCBub3RoaW5nIG1vcmU=
%%
encoded: @{E:user=bob; page=2; theme=dark; nothing to hide here}
%%
services.AddAuthentication(JwtBearerDefaults.AuthenticationScheme)
%%
Password policy: minLength=12, requireDigit=true
%%
password_reset_url = "/auth/reset/{token}"
%%
TOKEN_EXPIRES_IN=15m
%%
token.expires_at > now()
%%
"tokens_per_second": 42.7
%%
The tokens2 table holds refresh tokens.
%%
secret/app/db: path of the secret
%%
vault read secret/data/app
%%
aws secretsmanager get-secret-value --secret-id prod/db
%%
kubectl -n prod get secret db-credentials-v3
%%
imagePullSecrets:
  - name: regcred2
%%
secrets: [db_password, api_key]
%%
GITHUB_TOKEN: ${{ github.token }}
%%
password: $(DB_PASSWORD)
%%
password: !vault |
%%
api_key: "@Microsoft.KeyVault(SecretUri=https://x.vault.azure.net/secrets/k)"
%%
token: ref+vault://secret/app#token
%%
client_secret: "{{ op://vault/item/secret }}"
%%
apiKey={process.env.NEXT_PUBLIC_KEY}
%%
const apiKey = useConfig().public.apiKey2
%%
const { token, user2 } = await login(email, password);
%%
password: z.string().min(8).max(64),
%%
password = serializers.CharField(write_only=True)
%%
user.password_digest = BCrypt.hashpw(pw, salt)
%%
if bcrypt.checkpw(password.encode(), stored_hash):
%%
digest = hashlib.sha256(token.encode()).hexdigest()
%%
key=f"{prefix}:{user_id}:v2"
%%
redis.set(f"token:{user.id}", value, ex=3600)
%%
cache.get("user:42:profile")
%%
keys = sorted(d.keys())
%%
KEY_PREFIX = "app:v2:"
%%
"key": "value1"
%%
key: ctrl+shift+p
%%
api_key_id: 1234
%%
- [ ] T045 Implement password hashing in src/auth/hash2.py
%%
**Token**: a unit of text, about 4 characters
%%
Tokens | 1,200 | 3,400
%%
| task | tokens | budget |
|---|---|---|
| TASK-001 | 1200 | 4000 |
| TASK-002 | 3900 | 4000 |
%%
| field | key |
|---|---|
| name | user_name2 |
%%
name,key,count
alpha,alpha-key-1,3
%%
id,session,tokens
1,planning,1200
%%
commit: 4f86465513d453d5128a7b8e5c27163f4c485a4a
%%
"sha": "@{H40}", "node_id": "C_kwDOA1b2c3"
%%
checksum=@{H64}
%%
build-id: 20260301.4-@{H7}
%%
artifact://@{H64}
%%
trace_id=@{H32} span_id=@{H16}
%%
"etag": "W/\"@{H32}\""
%%
Signed-off-by: Bob <bob@example.com>
%%
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI@{B43} deploy@ci
%%
-----BEGIN CERTIFICATE REQUEST-----
@{K}
-----END CERTIFICATE REQUEST-----
%%
-----BEGIN PGP SIGNATURE-----

@{K}
-----END PGP SIGNATURE-----
%%
401: {"error": "invalid_token", "error_description": "The access token expired"}
%%
ERROR: password authentication failed for user "app1"
%%
PASSED tests/test_auth.py::test_password_reset[user1-token2]
%%
Enter your password:
%%
passphrase for key "id_rsa":
%%
scheme: bearer
bearerFormat: JWT
%%
The session key is derived per connection.
%%
Use key rotation v2 for all tenants.
%%
Secret Manager (GCP), Key Vault (Azure), KMS (AWS)
%%
function getToken(): string { return this.token; }
%%
@Value("${app.jwt.secret}") private String secret;
%%
[Authorize(AuthenticationSchemes = "Bearer")]
%%
auth: AuthService2,
%%
login: bob2
%%
credentials: 'same-origin'
%%
docker run --rm -p 5432:5432 -e POSTGRES_PASSWORD postgres:16
%%
mysql -h db -P 3306 -u app -p
%%
tar -xzf app-2.1.tgz && mkdir -p out/v2 && docker login
%%
git -c http.extraheader="AUTHORIZATION: basic ***" fetch
%%
| fits | ✅ PASS | FR-007 says so |
%%
pin: 13
%%
"pins": 24
%%
Use GPIO pin 1234.
%%
error_code: 4004
%%
country_code: 49
%%
passwords: ["password", "qwerty", "letmein"]
%%
keys: ["id", "name2", "created_at"]
%%
keys: ['ctrl+shift+p', 'cmd+option+i2']
%%
secrets:
  - db-password-v2
  - api-token-3
%%
api_keys:
  - name: ci-bot-2
    scopes: [read]
%%
sessions:
  - 2026-01-01
  - day-2-keynote
%%
model     tokens   cost
gpt-4o    128000   2.50
%%
NAME                     SECRETS   AGE
builder-dockercfg-x7k2p  1         12d
%%
{
  "tokens": 3,
  "depends": ["DF-L1-003"]
}
%%
$ cat src/token.py
import os
%%
$ cat secrets/README.md
secrets-of-the-v2-release
%%
ERROR: no password for user: bob1234
%%
echo hello123 | tee --append out
%%
echo "$PW" | passwd --stdin bob
%%
${version:1.2.3} ${token:0:8} ${app.secret:}
%%
const t = token || "default";
%%
Authorization: see docs/auth-v2/readme.md
%%
authorization: Policy AmazonS3ReadOnlyAccess
%%
enable password authentication
%%
jwt.verify(token, publicKey, { algorithms: ['RS256'] })
%%
jwt.decode(token, 'your-256-bit-secret')
%%
createHmac('sha256', secret)
%%
key: 'SELECT a.b, c.d FROM t WHERE (a.x = 1) AND (b.y <> 2);'
%%
token = (
    "refresh"
    "able"
)
%%
PublicKey = @{B43}=
%%
password=***REMOVED***
%%
parola: ciao
%%
document.cookie=`ui_version=${t}; Path=${r}; Max-Age=31536000; SameSite=Lax`
%%
new_key = f'{self._prefix}{to_snake(key[len(self._prefix) :])}'
"""
