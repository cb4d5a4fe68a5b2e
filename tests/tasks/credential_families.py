"""Texts with credentials of many families, and texts that only look like it. No secret stands here: all are drawn.

`@{A40}` is drawn when a test runs: A letters and digits, L lower case, U upper case and digits, H hexadecimal, D digits,
B base64; `@{UUID}`, `@{P}` a password that a person would choose, `@{W}` one of words, `@{K}` the body of a key, `@{J}` a
JSON web token. `@{E:...}` is the base64 of what follows. What has to go stands between U+27E6 and U+27E7.
"""

from __future__ import annotations

import base64
import random
import re
import string

_ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "L": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "H": "0123456789abcdef",
    "D": string.digits,
    "B": string.ascii_letters + string.digits + "+/",
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
        return f"{head}.{'eyJ'}{''.join(rng.choices(_ALPHABETS['A'], k=60))}.{''.join(rng.choices(_ALPHABETS['A'], k=43))}"
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

#: One text a block; blocks are parted by a line of `%%`.
SECRET = rf"""
DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=⟦@{{B86}}==⟧;EndpointSuffix=core.windows.net
%%
GET https://shop.blob.core.windows.net/c/f?sv=2022-11-02&ss=b&srt=o&sp=r&se=2030-01-01T00:00:00Z&sig=⟦@{{A43}}%3D⟧
%%
Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=⟦@{{B43}}=⟧
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
  access_key = "⟦AKIA@{{U16}}⟧"
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
Authorization: AWS4-HMAC-SHA256 Credential=⟦AKIA@{{U16}}⟧/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=⟦@{{H64}}⟧
%%
[default]
aws_access_key_id = ⟦AKIA@{{U16}}⟧
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
SECRET_KEY = 'django-insecure-⟦@{{L50}}⟧'
%%
APP_KEY=base64:⟦@{{B43}}=⟧
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
curl --user "bob:⟦@{{P}}⟧" https://x.example
%%
curl -sS -X POST -u bob:⟦@{{A20}}⟧ https://x.example/a
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
log in as bob / ⟦@{{P}}⟧ (password)
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
token=3D⟦@{{A32}}⟧
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
"""
