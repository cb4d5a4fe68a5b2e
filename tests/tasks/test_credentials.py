from __future__ import annotations

import base64
import json
import random
import re
import string
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks import resources
from tasks.credentials import Redaction, contains_credential, redact, redact_all, warm
from tests.tasks.credential_families import HARMLESS as LOOKALIKES
from tests.tasks.credential_families import SECRET, filled, parts

SHARED = Path(__file__).resolve().parents[3] / "shared"
SAMPLE = SHARED / "data" / "secrets" / "cases.jsonl"
LETTERS = string.ascii_letters
ALNUM = LETTERS + string.digits
MIXED = random.Random(3)


def drawn(alphabet: str, length: int, rng: random.Random = MIXED) -> str:
    """A fake secret, made at run time so that none stands in this file."""
    return "".join(rng.choices(alphabet, k=length))


@pytest.fixture(scope="module", autouse=True)
def _vendor_rules(tmp_path_factory: pytest.TempPathFactory) -> None:
    warm(tmp_path_factory.mktemp("vendor-rules"))


TOKEN = drawn(ALNUM, 24)
HEX = drawn("0123456789abcdef", 40)
CHOSEN = "hunter" + "2x"
KEY_BLOCK = "\n".join(drawn(ALNUM, 64) for _ in range(4))
BEGIN, END = (f"-----{edge} RSA PRIVATE KEY-----" for edge in ("BEGIN", "END"))
HIDDEN = base64.b64encode(f"DB_PASSWORD={CHOSEN}\nA=1".encode()).decode()

FORMS = {
    "env": ("DB_PASSWORD={}\nDEBUG=1\n", CHOSEN),
    "env, quoted": ("export API_TOKEN='{}'\n", TOKEN),
    "env, every character up to the blank": ("DB_PASSWORD={} make\n", "ab,c;d&e1"),
    "json": ('{{"password": "{}", "port": 5432}}', CHOSEN),
    "json, a word": ('{{"password": "{}"}}', "let" + "mein"),
    "json inside a json string": ('{{"content": "{{\\"password\\": \\"{}\\"}}"}}', CHOSEN),
    "json twice inside": ('"{{\\\\\\"token\\\\\\": \\\\\\"{}\\\\\\"}}"', TOKEN),
    "text inside a json string": ('{{"text": "API_KEY={}\\nLOG=1"}}', TOKEN),
    "name and value": ('{{"name": "DB_PASSWORD", "value": "{}"}}', CHOSEN),
    "yaml": ("db:\n  password: {}\n  port: 5432\n", CHOSEN),
    "yaml, block": ("password: |\n  {}\n", CHOSEN),
    "yaml, list of name and value": ("- name: API_KEY\n  value: {}\n", TOKEN),
    "toml": ('[auth]\nclient_secret = "{}"\n', TOKEN),
    "ini": ("[auth]\napi_key = {}\n", TOKEN),
    "keyword argument": ('Client(api_key="{}", retries=1)', TOKEN),
    "annotated": ('token: str = "{}"\n', TOKEN),
    "typescript": ("const accessToken: string = '{}';", TOKEN),
    "dict literal": ("{{'password': '{}'}}", CHOSEN),
    "php": ("'password' => '{}',", CHOSEN),
    "go": ('apiKey := "{}"', TOKEN),
    "setter": ('client.setPassword("{}")', CHOSEN),
    "default of a lookup": ('os.getenv("API_TOKEN", "{}")', TOKEN),
    "item": ('os.environ["API_TOKEN"] = "{}"', TOKEN),
    "bytes": ('secret = b"{}"', TOKEN),
    "escaped quote inside": ('password="{}"', 'abc\\"def9'),
    "closing quote lost": ('password: "{}', CHOSEN),
    "flag": ("tool --password {} --verbose", CHOSEN),
    "flag, joined": ("tool --token={} --verbose", TOKEN),
    "dockerfile": ("ENV API_TOKEN {}\nRUN make\n", TOKEN),
    "url query": ("GET https://x.example/cb?access_token={}&page=2", TOKEN),
    "url fragment": ("https://x.example/cb#access_token={}&state=1", TOKEN),
    "url password": ("postgres://app:{}@db:5432/x", CHOSEN),
    "url password without a user": ("redis://:{}@cache:6379", CHOSEN),
    "url password with its own signs": ("postgres://u:{}@host/db", "p@ss/" + "word1"),
    "url user": ("https://{}@git.example/x", TOKEN),
    "url encoded": ("%22password%22%3A%22{}%22", CHOSEN),
    "html entities": ("&quot;password&quot;:&quot;{}&quot;", CHOSEN),
    "xml": ("<password>{}</password>", CHOSEN),
    "xml attributes": ('<add key="ApiToken" value="{}" />', TOKEN),
    "connection string": ("Server=db;User Id=sa;Password={};Encrypt=yes", "Sup" + "3r"),
    "bearer": ("Authorization: Bearer {}\n", TOKEN),
    "basic": ("Authorization: Basic {}\n", base64.b64encode(f"user:{CHOSEN}".encode()).decode()),
    "token scheme": ("Authorization: Token {}\n", HEX),
    "header in json": ('{{"Authorization": "Bearer {}"}}', TOKEN),
    "header": ("X-Vault-Token: {}\n", TOKEN),
    "curl, user": ("curl -u {} https://x.example", f"admin:{CHOSEN}"),
    "curl, header": ("curl -H 'Authorization: Bearer {}' https://x.example", TOKEN),
    "mysql": ("mysql -u root -p{} shop", CHOSEN),
    "netrc": ("machine h.example login bob password {}", CHOSEN),
    "sql": ("ALTER USER bob IDENTIFIED BY '{}';", CHOSEN),
    "npmrc": ("//registry.example/:_authToken={}\n", TOKEN),
    "prose": ("The API key is {} and works.", TOKEN),
    "prose, password": ("the password is {}.", CHOSEN),
    "prose, code span": ("Use the access token `{}` for it.", TOKEN),
    "markdown table": ("| api_key | {} |\n", TOKEN),
    "full-width colon": ("password\uff1a{}\u3002", CHOSEN),
    "curly quotes": ("password: \u201c{}\u201d", CHOSEN),
    "coloured": ("token=\x1b[0m{}\x1b[0m", TOKEN),
    "kubernetes": ("kind: Secret\ndata:\n  tls.crt: {}\n", base64.b64encode(b"hello world").decode()),
    "private key": ("key: |\n{}\nrest", f"{BEGIN}\n{KEY_BLOCK}\n{END}"),
    "private key, escaped": ('{{"key": "{}"}}', f"{BEGIN}\\n{KEY_BLOCK}\\n{END}".replace("\n", "\\n")),
    "private key without an end": ("{}\n", f"{BEGIN}\n{KEY_BLOCK}"),
    "private key without a begin": ("{}\n", f"{KEY_BLOCK}\n{END}"),
    "base64": ("payload {}\n", HIDDEN),
    "base64 twice": ("payload {}\n", base64.b64encode(f"payload {HIDDEN} end".encode()).decode()),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_replaced_wholly_and_its_surroundings_stay(form: str) -> None:
    template, secret = FORMS[form]
    head, tail = (
        template.replace("{{", "{").replace("}}", "}").split("{}") if "{{" in template else template.split("{}")
    )
    redaction = redact(head + secret + tail)
    assert re.fullmatch(re.escape(head) + r"\[REDACTED: [\w.\-]+\]" + re.escape(tail), redaction.text)
    assert sum(redaction.counts.values()) == 1


HARMLESS = """
prompt_tokens: 1234567
max_tokens=4096
token_estimate: 12
commit 7ef8afc8bd915892808c8bb6e7f232222f458f8d
"integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg=="
sha256:4f86465513d453d5128a7b8e5c27163f4c485a4a50423651cc7fa6e39bb0229a
request_id=ce997037-08d2-4627-8aaf-43255f3f0b3c
session: ce997037-08d2-4627-8aaf-43255f3f0b3c
API_KEY=<your-token>
TOKEN=${TOKEN}
TOKEN=$TOKEN
api_key: xxxxxxxxxxxxxxxx
password: changeme
password: "********"
token = process.env.API_TOKEN
key = os.environ["X"]
token = None
"token": null
secret: true
def connect(token: str, password: str = None) -> str:
fn verify(password: &str, salt: &[u8]) -> bool
the password must be 12 characters
The token is required for every request.
password = get_password()
password = password.encode("latin1")
password=request.POST["password"],
.token-keyword-2 { color: #ff00aa; }
import { TokenService2 } from "./auth/token-service2"
secret_file: /run/secrets/db_password_v2
"secret": false
see https://docs.example.com/api/v2/tokens/rotate?page=2
## Token: bearer
token = tokenizer.next()
password_hash = bcrypt.hashpw(password, salt)
Authorization: Bearer <token>
headers = {"Authorization": f"Bearer {self.token}"}
curl -H "Authorization: Bearer $GITHUB_TOKEN" https://api.example.com
curl -u "$USER:$PASS" https://x.example
docker run -u 1000:1000 -p 8080:80 image
postgres://user:password@localhost:5432/db
https://user:${PASSWORD}@host.example/x
git clone git@github.com:org/repo.git
http://localhost:8080/path?email=bob@example.com
use --token to set the token, --password for the password
"key": "user-profile-settings"
cache_key: deps-v3-7ef8afc8bd915892808c8bb6e7f232222f458f8d
<input type="password" name="password" autocomplete="new-password">
'password' => 'required|min:8',
secretName: app-secrets-v2
token: ${{ secrets.GITHUB_TOKEN }}
pass: 118, fail: 3
auth: oauth2-proxy
client_id: my-app
public_key: ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7vbqajDhA
JWT_ALGORITHM=HS256
PWD=/home/agent/x1
password1 and password2 must match
if "-----BEGIN RSA PRIVATE KEY-----" in text:
PublicKeyToken=c8a3ffc3f8f825cc
token=[REDACTED: token]
"tokens": ["the", "quick2", "brown"]
""".strip().split("\n")


@pytest.mark.parametrize("line", HARMLESS)
def test_what_is_no_secret_stays(line: str) -> None:
    assert redact(line) == Redaction(line, {})


def test_harmless_lines_do_not_become_secrets_by_standing_together() -> None:
    text = "\n".join(HARMLESS)
    assert redact(text) == Redaction(text, {})


def blocks(texts: str) -> list[str]:
    return texts.strip("\n").split("\n%%\n")


@pytest.mark.parametrize("seed", range(3))
def test_secrets_of_many_families_go_and_what_stands_around_them_stays(seed: int) -> None:
    rng = random.Random(seed)
    cases = [parts(filled(block, rng)) for block in blocks(SECRET)]
    found = redact_all([text for text, _, _ in cases])
    missed = [
        text
        for (text, secrets, _), result in zip(cases, found, strict=True)
        if any(secret in result.text for secret in secrets)
    ]
    inexact = [
        result.text
        for (_, _, pattern), result in zip(cases, found, strict=True)
        if not re.fullmatch(pattern, result.text)
    ]
    assert len(cases) >= 300
    assert len(missed) <= 0.01 * len(cases), missed
    assert len(inexact) <= 0.02 * len(cases), inexact
    assert [result.text for result in found if redact(result.text).counts] == []


@pytest.mark.parametrize("seed", range(3))
def test_what_only_looks_like_a_secret_of_these_families_stays(seed: int) -> None:
    rng = random.Random(seed)
    texts = [filled(block, rng) for block in blocks(LOOKALIKES)]
    assert len(texts) >= 300
    assert [result.text for result in redact_all(texts) if result.counts] == []


def test_harmless_texts_of_all_families_stay_when_they_are_one_text() -> None:
    text = "\n\n".join(filled(block, random.Random(1)) for block in blocks(LOOKALIKES))
    assert redact(text) == Redaction(text, {})


@pytest.mark.parametrize(
    "template",
    [
        "API_TOKEN={}",
        "export SESSION_SECRET='{}'",
        'client_secret: "{}"',
        "jwt_secret: {}",
        '"clientSecret": "{}",',
        "tool --client-secret {} run",
        "DB_PASSWORD={}",
        'password: "{}"',
    ],
)
@pytest.mark.parametrize("phrase", ["correct-horse-" + "battery9", "summer" + "2024", "Tr0ub" + "4dor"])
def test_a_pass_phrase_of_words_is_a_secret_where_its_name_says_so(template: str, phrase: str) -> None:
    assert re.fullmatch(
        re.escape(template).replace(r"\{\}", r"\[REDACTED: \w+\]"), redact(template.format(phrase)).text
    )


@pytest.mark.parametrize(
    "text",
    [
        "secret: tls-cert-2024",
        "secret: my-app-v2",
        '"token": "deploy-bot-2"',
        '"apiKey": "my-app-key-2"',
        'secret_key = "staging-eu1-web"',
        "API_TOKEN=test-token-1",
        "secret: true",
        "token_type=bearer",
        "token = get_token2()",
        'key = "summer2024"',
        "api_key: Utf8String",
    ],
)
def test_the_name_of_a_secret_is_no_pass_phrase(text: str) -> None:
    assert redact(text) == Redaction(text, {})


HIDDEN_CHARACTERS = [
    "\u200b",  # zero-width space
    "\u200d",  # zero-width joiner
    "\u00ad",  # soft hyphen
    "\u202e",  # right to left from here
    "\u2060",
    "\ufeff",
    "\ufe0f",
    "\U000e0041",  # a letter as a tag
    "\x00",
    "\x07",
    "\x1b[31m",  # red
    "\x1b]0;title\x07",
]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(FORMS)), st.lists(st.sampled_from(HIDDEN_CHARACTERS), min_size=1, max_size=3), st.randoms()
)
def test_a_secret_that_hidden_characters_break_up_goes_with_them(
    form: str, hidden: list[str], rng: random.Random
) -> None:
    template, secret = FORMS[form]
    head, tail = template.replace("{{", "{").replace("}}", "}").split("{}")
    places = sorted(rng.randrange(1, len(secret)) for _ in hidden)
    pieces = [secret[start:end] for start, end in pairwise([0, *places, len(secret)])]
    broken = pieces[0] + "".join(character + piece for character, piece in zip(hidden, pieces[1:], strict=True))
    text = redact(head + broken + tail).text
    assert re.fullmatch(re.escape(head) + r"\[REDACTED: [\w.\-]+\]" + re.escape(tail), text)


@pytest.mark.parametrize("hidden", HIDDEN_CHARACTERS)
def test_a_name_that_hidden_characters_break_up_is_the_same_name(hidden: str) -> None:
    assert redact(f"pass{hidden}word={CHOSEN}").text == f"pass{hidden}word=[REDACTED: password]"
    assert redact(f"{hidden}API_TOKEN{hidden}={hidden}{TOKEN}{hidden}").text == (
        f"{hidden}API_TOKEN{hidden}={hidden}[REDACTED: secret]{hidden}"
    )


@pytest.mark.parametrize("hidden", HIDDEN_CHARACTERS)
def test_hidden_characters_that_part_two_words_do_not_hide_the_second(hidden: str) -> None:
    token = "gh" + "p_" + drawn(ALNUM, 36, random.Random(4))
    assert token not in redact(f"seen{hidden}{token}{hidden}again").text
    assert CHOSEN not in redact(f"port=1{hidden}pwd={CHOSEN}").text


def test_entries_of_an_environment_are_parted_by_nul() -> None:
    text = f"PATH=/bin\x00DB_PASSWORD={CHOSEN}\x00HOME=/root\x00"
    assert redact(text).text == "PATH=/bin\x00DB_PASSWORD=[REDACTED: password]\x00HOME=/root\x00"


def test_a_marker_with_other_text_in_it_hides_nothing() -> None:
    assert TOKEN not in redact(f"[REDACTED: api_key={TOKEN}]").text


def test_counts_are_by_rule_sorted_and_hold_no_secret() -> None:
    redaction = redact(f"token={TOKEN}\nDB_PASSWORD={CHOSEN}\nPW_PASSWORD={CHOSEN}9\n")
    assert redaction.counts == {"password": 2, "secret": 1}
    assert list(redaction.counts) == sorted(redaction.counts)


def test_a_secret_that_is_repeated_without_its_name_is_replaced_there_too() -> None:
    assert TOKEN not in redact(f"api_key={TOKEN}\nserver said: {TOKEN} is expired\n").text


def test_overlapping_finds_become_one_marker() -> None:
    jwt = ".".join(
        base64.urlsafe_b64encode(part).decode().rstrip("=")
        for part in (b'{"alg":"HS256"}', b'{"sub":"1"}', TOKEN.encode())
    )
    assert redact(f"Authorization: Bearer {jwt}\n").text.count("[REDACTED: ") == 1


def test_a_batch_gives_what_its_texts_give_alone() -> None:
    texts = [
        f"token={TOKEN}",
        "clean",
        f"token={TOKEN}",
        *HARMLESS,
        *(form.replace("{}", secret) for form, secret in FORMS.values()),
    ]
    assert redact_all(texts) == [redact(text) for text in texts]
    assert redact_all([]) == []


def test_results_of_equal_texts_do_not_share_their_counts() -> None:
    first, second = redact_all([f"token={TOKEN}"] * 2)
    first.counts.clear()
    assert second.counts == {"secret": 1}


def test_threads_get_the_same_result() -> None:
    text = f"token={TOKEN}\n"
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(lambda _: redact(text).text, range(16)))) == 1


PIECES = [*HARMLESS, *(form.replace("{}", secret) for form, secret in FORMS.values())]
PIECES += [
    "\n",
    " ",
    '"',
    "'",
    "\\",
    "=",
    ":",
    "password",
    "token",
    "[REDACTED: x]",
    "[REDACTED: ",
    "\x00",
    "\ud800",
    "漢",
    "é",
    ",",
]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=12)), max_size=8).map("".join))
def test_redaction_is_idempotent_and_never_raises(text: str) -> None:
    redaction = redact(text)
    assert redact(redaction.text) == Redaction(redaction.text, {})
    assert contains_credential(text) == bool(redaction.counts)
    if not redaction.counts:
        assert redaction.text == text


@settings(max_examples=50, deadline=None)
@given(st.text(alphabet=st.characters(), max_size=200))
def test_any_text_is_accepted(text: str) -> None:
    assert isinstance(redact(text + "\ud800\x00").text, str)


VENDORS = [
    "adafruit",
    "adobe",
    "airtable",
    "algolia",
    "alibaba",
    "asana",
    "beamer",
    "bitbucket",
    "bittrex",
    "cloudflare",
    "codecov",
    "cohere",
    "contentful",
    "datadog",
    "discord",
    "droneci",
    "etsy",
    "facebook",
    "fastly",
    "finicity",
    "finnhub",
    "flickr",
    "freshbooks",
    "gitter",
    "harness",
    "heroku",
    "hubspot",
    "intercom",
    "jfrog",
    "kraken",
    "kucoin",
    "launchdarkly",
    "lob",
    "looker",
    "mailchimp",
    "mailgun",
    "mapbox",
    "maxmind",
    "netlify",
    "notion",
    "nytimes",
    "okta",
    "plaid",
    "postman",
    "rapidapi",
    "sendbird",
    "sendgrid",
    "sentry",
    "shippo",
    "sidekiq",
    "snyk",
    "square",
    "sumologic",
    "telegram",
    "travisci",
    "twilio",
    "twitch",
    "typeform",
    "yandex",
]
ROLES = (
    "api_key",
    "access_token",
    "client_secret",
    "secret_key",
    "api_token",
    "client_id",
    "license_key",
    "refresh_token",
)
SURROUNDINGS = (
    "APP_ENV=production\n{upper}={value}\nDEBUG=0\n",
    "export {upper}='{value}'\n",
    '{{"ok": true, "data": {{"{camel}": "{value}", "region": "eu-west-1"}}}}',
    '"{{\\"{name}\\": \\"{value}\\"}}"',
    "service:\n  {name}: {value}\n  retries: 2\n",
    "env:\n  {upper}: '{value}'\n",
    "The callback went to https://hooks.example.org/in/8?{camel}={value} and timed out.\n",
    "[03:39:09] DEBUG client: headers sent, {camel}: {value}\n",
    "ClientError: rejected, {name}='{value}'\n",
    "const {camel} = '{value}';\n",
    'private static final String {upper} = "{value}";\n',
    "| deploy | `{upper}={value} make deploy` |\n",
    "| `{name}: {value}` | rotates |\n",
    "> X-{header}: {value}\n> Accept: */*\n",
    "[auth]\n{name} = {value}\n",
    "tool --{flag} {value} --region eu\n",
    "For staging the {words} is {value}, rotate it.\n",
)


def held_out(rng: random.Random) -> list[tuple[str, str]]:
    """Texts with a random secret under a vendor's name, and the secret."""
    cases = []
    for vendor in VENDORS:
        for role in ROLES:
            name = f"{vendor}_{role}"
            parts = name.split("_")
            alphabet = rng.choice((ALNUM, string.ascii_lowercase + string.digits, "0123456789abcdef", ALNUM + "_-"))
            value = drawn(alphabet, rng.randint(16, 64), rng)
            text = rng.choice(SURROUNDINGS).format(
                value=value,
                name=name,
                upper=name.upper(),
                camel=parts[0] + "".join(part.title() for part in parts[1:]),
                header="-".join(part.title() for part in parts),
                flag=name.replace("_", "-"),
                words=name.replace("_", " "),
            )
            cases.append((text, value))
    return cases


@pytest.mark.parametrize("seed", range(3))
def test_recall_on_random_values_under_vendor_names(seed: int) -> None:
    cases = held_out(random.Random(seed))
    missed = [
        text
        for (text, value), found in zip(cases, redact_all([text for text, _ in cases]), strict=True)
        if value in found.text
    ]
    assert len(missed) <= 0.01 * len(cases), missed[:5]


def test_false_positives_on_random_harmless_values() -> None:
    rng = random.Random(11)
    words = [
        "cache",
        "worker",
        "parser",
        "ledger",
        "token",
        "budget",
        "secret",
        "rotation",
        "key",
        "session",
        "planner",
        "router",
    ]
    texts = []
    for _ in range(500):
        word, number = rng.choice(words), rng.randint(1, 10**7)
        digest = drawn("0123456789abcdef", 40, rng)
        texts += [
            f"{word}_tokens: {number}\n",
            f"commit {digest}\n",
            f"sha256={digest}{digest[:24]}  {word}.whl\n",
            f'{{"request_id": "{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-a{digest[17:20]}-{digest[20:32]}"}}',
            f"token = {word}.{rng.choice(words)}({rng.choice(words)}_{number})\n",
            f"{word}_key: {rng.choice(words)}-{rng.choice(words)}-v{number % 10}\n",
            f"the {word} is {rng.choice(words)} and the key is {rng.choice(words)}\n",
            f"secret_path: /srv/{word}/{rng.choice(words)}{number % 100}\n",
        ]
    hits = [found.text for found in redact_all(texts) if found.counts]
    assert len(hits) <= 0.005 * len(texts), hits[:5]


@pytest.mark.skipif(not SAMPLE.exists(), reason="the shared sample of credentials is not here")
def test_the_shared_sample() -> None:
    rows = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    found = redact_all([row["text"] for row in rows])
    missed = [
        row["id"] for row, result in zip(rows, found, strict=True) if row["secret"] and row["secret"] in result.text
    ]
    wrong = [row["id"] for row, result in zip(rows, found, strict=True) if not row["secret"] and result.counts]
    assert missed == []
    assert wrong == []


@pytest.mark.skipif(not SHARED.exists(), reason="the shared documents are not here")
def test_real_documents_have_next_to_no_hits() -> None:
    files = sorted(path for folder in ("swarm", "commands") for path in (SHARED / "data" / folder).rglob("*.*"))
    found = redact_all([path.read_text(encoding="utf-8", errors="surrogateescape") for path in files])
    assert [path.name for path, result in zip(files, found, strict=True) if result.counts] == []


HUGE = {
    "names and signs": "token=" * 1_000,
    "open quotes": 'password="' * 600,
    "blanks": "password" + " " * 6_000,
    "backslashes": "password" + "\\" * 6_000,
    "one run": drawn(ALNUM, 6_000),
    "addresses": "://a:" * 1_200,
    "begins": f"{BEGIN}\n" * 200,
    "commands": "curl " * 1_200,
    "wrapped base64": ("A" * 64 + "\n") * 100,
    "manifests": "kind: Secret\ndata:\n" * 300,
    "tokens": ("ey" + "J" + "a" * 50 + ".") * 110,
    "documents": "---\nkind: Secret\n" * 280,
    "one long value": "password = " + drawn(ALNUM, 6_000),
    "texts in base64": (base64.b64encode(b"hello world, this is text").decode() + " ") * 160,
    "secrets in base64": (base64.b64encode(f"password={CHOSEN}".encode()).decode() + " ") * 200,
    "names": "password_" * 700,
    "names with numbers": "".join(f"token={number} " for number in range(500)),
    "schemes": "bearer=" * 900,
    "flags of a command": "curl " + "a -u " * 1_200,
    "hidden characters": "to\u200bken=\x1b[0m" * 400,
    "colours without an end": "\x1b[" * 3_000,
    "tables": "| password |\n|---|\n" * 300,
    "rows": "name,password\n" + "bob,x\n" * 1_000,
    "inserted rows": "INSERT INTO t (a, password) VALUES (1," * 150,
    "opened blocks": "password {\n" * 500,
    "lists that do not end": 'api_keys: ["a1", ' * 350,
    "lists of lines": "tokens:\n  - a1b2\n" * 300,
    "pieces of literals": 'token = "' + drawn(ALNUM, 20) + '" ' + '+ "abcd" ' * 600,
    "aligned columns": "name  token\n" + "bob  x1\n" * 700,
    "secrets": "".join(f"token={drawn(ALNUM, 24)}\n" for _ in range(200)),
}


@pytest.mark.parametrize("shape", HUGE)
def test_time_grows_with_the_length_alone(shape: str) -> None:
    def seconds(text: str) -> float:
        started = time.perf_counter()
        redact(text)
        return time.perf_counter() - started

    unit = HUGE[shape]
    seconds(unit)
    short, long = min(seconds(unit * 4) for _ in range(2)), seconds(unit * 32)
    # Eight times the text; a quadratic rule would take 64 times as long.
    assert long < 30 * short + 0.5
    assert long < 20 * len(unit) * 32 / 1_000_000 + 1  # seconds a megabyte; it takes 1, or 6 where all of it is secrets


def test_the_bundled_rules_are_those_of_the_wheel_when_there_are_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "tasks"
    monkeypatch.setattr(resources, "_PACKAGE", package)
    assert resources.bundled_rules() == tmp_path / "rules"
    (package / "bundled" / "rules").mkdir(parents=True)
    assert resources.bundled_rules() == package / "bundled" / "rules"


def test_the_rules_file_is_found_from_here() -> None:
    assert (resources.bundled_rules() / "credentials.toml").is_file()


@pytest.mark.parametrize(
    "value", ["hunter2" + "secretX9", "Winter-" + "password9!", "there4" + "You!7", "mytoken" + "123x"]
)
def test_a_password_that_holds_a_placeholder_word_is_one_all_the_same(value):
    for text in (json.dumps({"a": 1, "password": value}), f"password: {value}", f"DB_PASSWORD={value}"):
        assert value not in redact(text).text


@pytest.mark.parametrize(
    "value", ["your-password-here", "changeme", "<password>", "enter-your-secret", "my-secret-token"]
)
def test_a_placeholder_stays(value):
    assert redact(json.dumps({"password": value})).counts == {}
