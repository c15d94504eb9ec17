"""Which texts are secrets: known key formats, and values that stand where a password stands. Pure.

No rule measures entropy: pages are full of hashes and session ids. Prose ("the staging password is ...") is found
by nobody. A secret is named by its fingerprint: 12 hex of PBKDF2 over bank, rule and value. It is the same on
every machine, so that what a person settled holds in CI too, and it is slow to guess from; that is also why no
plain hash of a secret is shown.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

VERSION = 1
"""Raised with every change of a rule: pages are then looked at again."""
KEEP = "keep"
ALLOW = "allow"
_ROUNDS = 20_000
_FORMAT_OF_FINGERPRINT = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Rule:
    """``pattern`` matches the secret, or what stands around its group ``v``. ``hints``: one of them occurs in any match."""

    id: str
    pattern: str
    hints: tuple[str, ...]
    source: str
    """Where the format is described."""


_EDGE = r"(?<![A-Za-z0-9])"
_END = r"(?![A-Za-z0-9])"
FORMATS = (
    Rule(
        "private-key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[\s\S]{0,20000}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?:[A-Za-z0-9+/=:,\s-]|\\[nr]){0,20000})",
        ("PRIVATE KEY",),
        "RFC 7468; OpenPGP RFC 9580 6.2",
    ),
    Rule(
        "aws-access-key",
        rf"{_EDGE}(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{{16}}{_END}",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
        "AWS IAM: unique identifiers",
    ),
    Rule(
        "github-token",
        rf"{_EDGE}gh[pousr]_[A-Za-z0-9]{{36,255}}",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        "GitHub: token formats",
    ),
    Rule(
        "github-fine-grained-token",
        rf"{_EDGE}github_pat_[A-Za-z0-9]{{22}}_[A-Za-z0-9]{{59}}",
        ("github_pat_",),
        "GitHub: token formats",
    ),
    Rule(
        "gitlab-token",
        rf"{_EDGE}gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat)-[A-Za-z0-9_.=-]{{20,300}}",
        ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "glsoat-"),
        "GitLab: token prefixes",
    ),
    Rule(
        "slack-token",
        rf"{_EDGE}(?:xox[abeoprs]-(?:\d-)?[A-Za-z0-9-]{{10,250}}|xapp-\d-[A-Z0-9]+-\d+-[a-z0-9]+)",
        ("xox", "xapp-"),
        "Slack: token types",
    ),
    Rule(
        "slack-webhook",
        r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,100}",
        ("hooks.slack.com",),
        "Slack: incoming webhooks",
    ),
    Rule(
        "stripe-key",
        rf"{_EDGE}(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{{10,250}}",
        ("sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"),
        "Stripe: API keys",
    ),
    Rule("stripe-webhook", rf"{_EDGE}whsec_[A-Za-z0-9+/=]{{24,100}}", ("whsec_",), "Stripe: webhook signatures"),
    Rule("google-api-key", rf"{_EDGE}AIza[A-Za-z0-9_-]{{35}}(?![A-Za-z0-9_-])", ("AIza",), "gitleaks gcp-api-key"),
    Rule(
        "google-oauth-secret",
        rf"{_EDGE}(?:GOCSPX-[A-Za-z0-9_-]{{28}}|ya29\.[A-Za-z0-9_-]{{30,500}})",
        ("GOCSPX-", "ya29."),
        "Google OAuth 2.0",
    ),
    Rule(
        "anthropic-key",
        rf"{_EDGE}sk-ant-[a-z0-9]{{3,12}}-[A-Za-z0-9_-]{{24,300}}",
        ("sk-ant-",),
        "gitleaks anthropic-api-key",
    ),
    Rule(
        "openai-key",
        rf"{_EDGE}sk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{{20,300}}|or-v1-[0-9a-f]{{64}}|(?=[A-Za-z]{{0,47}}\d)[A-Za-z0-9]{{32,64}}{_END})",
        ("sk-",),
        "gitleaks openai-api-key; OpenRouter",
    ),
    Rule("npm-token", rf"{_EDGE}npm_[A-Za-z0-9]{{36}}{_END}", ("npm_",), "npm: access tokens"),
    Rule("pypi-token", rf"{_EDGE}pypi-AgE[A-Za-z0-9_-]{{50,1000}}", ("pypi-AgE",), "PyPI: API tokens"),
    Rule(
        "json-web-token",
        rf"{_EDGE}eyJ[A-Za-z0-9_-]{{8,}}\.eyJ[A-Za-z0-9_-]{{8,}}\.[A-Za-z0-9_-]{{10,}}",
        ("eyJ",),
        "RFC 7519",
    ),
    Rule("hindsight-key", rf"{_EDGE}hsk_[A-Za-z0-9_-]{{16,200}}", ("hsk_",), "Hindsight Cloud: API keys"),
    Rule(
        "sendgrid-key", rf"{_EDGE}SG\.[A-Za-z0-9_-]{{16,32}}\.[A-Za-z0-9_-]{{32,64}}", ("SG.",), "SendGrid: API keys"
    ),
    Rule("twilio-key", rf"{_EDGE}SK[0-9a-f]{{32}}{_END}", ("SK",), "Twilio: API keys"),
    Rule("hugging-face-token", rf"{_EDGE}hf_[A-Za-z]{{34}}{_END}", ("hf_",), "gitleaks huggingface-access-token"),
    Rule(
        "azure-storage-key",
        r"(?:AccountKey|SharedAccessKey)=(?P<v>[A-Za-z0-9+/]{40,86}={0,2})",
        ("AccountKey=", "SharedAccessKey="),
        "Azure Storage: connection strings",
    ),
    Rule(
        "azure-client-secret",
        r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{30,33}[A-Za-z0-9_~-](?![A-Za-z0-9_~-])",
        ("Q~",),
        "gitleaks azure-ad-client-secret",
    ),
    Rule("azure-sas", r"[?&;]sig=(?P<v>[A-Za-z0-9%]{43,80}%3[dD])", ("sig=",), "Azure: shared access signatures"),
    Rule("digitalocean-token", rf"{_EDGE}do[opr]_v1_[0-9a-f]{{64}}", ("_v1_",), "DigitalOcean: token formats"),
    Rule(
        "telegram-bot-token",
        rf"{_EDGE}\d{{8,10}}:AA[A-Za-z0-9_-]{{33}}(?![A-Za-z0-9_-])",
        (":AA",),
        "Telegram: bot API",
    ),
)  # fmt: skip
"""Secrets by their form alone."""

_NAMES = (
    "password", "passwd", "passphrase", "pwd", "secret", "token", "api_key", "api-key", "apikey", "access_key",
    "access-key", "accesskey", "private_key", "private-key", "credential",
)  # fmt: skip
_NAME = "|".join(re.escape(name) for name in sorted(_NAMES, key=len, reverse=True))
PLACES = (
    Rule(
        "url-password",
        r"(?i:[a-z][a-z0-9+.-]{1,24})://(?P<user>[^\s/:@\"'<>`]{0,100}):(?P<v>[^\s/@\"'<>`]{3,200})@(?=[A-Za-z0-9\[])",
        ("://",),
        "RFC 3986 3.2.1",
    ),
    Rule(
        "assigned-secret",
        rf"(?i:(?P<name>{_NAME})[a-z0-9_-]{{0,20}})\\?[\"'`]?\s{{0,5}}(?::=|=>|=|:)\s{{0,5}}"
        rf"\\?(?P<q>[\"'`])(?P<v>[^\"'`\s\\]{{6,200}})\\?(?P=q)",
        _NAMES,
        "assignments with quotes, as in code and configuration",
    ),
)
"""Secrets by where they stand."""
_NAMED = re.compile(rf"(?i)(?:{_NAME})[a-z0-9_-]{{0,20}}\Z")
_PLACEHOLDER = re.compile(
    r"(?i)\A[<\[{(%$].*|.*(?:\.\.\.|…|\*\*\*|xxxx|example|changeme|change[-_]me|placeholder|redacted|withheld|"
    r"your[-_]|process\.env|os\.environ|getenv|\$\{|\{\{).*\Z"
)
_WORDS = frozenset(
    "password passwd pass pwd pw secret token credentials string optional required true false null none bearer hidden "
    "default undefined postgres".split()
)


def _compiled(rules: Iterable[Rule]) -> re.Pattern[str]:
    parts = []
    for number, rule in enumerate(rules):
        inner = re.sub(r"\(\?P(<|=)(\w+)", rf"(?P\g<1>\g<2>{number}", rule.pattern)
        parts.append(f"(?P<r{number}>{inner})")
    return re.compile("|".join(parts))


_FORMATS, _PLACES = _compiled(FORMATS), _compiled(PLACES)
_FORMAT_HINTS = tuple(dict.fromkeys(hint for rule in FORMATS for hint in rule.hints))
RULES = (*FORMATS, *PLACES)


@dataclass(frozen=True, slots=True)
class Secret:
    """One value that must not be shown. Its ``repr`` does not hold it."""

    rule: str
    value: str = field(repr=False)


def find(text: str) -> Iterator[Secret]:
    """Every secret in a text, each value once, known formats first."""
    seen: set[str] = set()
    if _hinted(text):
        for match in _FORMATS.finditer(text):
            number = next(n for n in range(len(FORMATS)) if match[f"r{n}"] is not None)
            rule = FORMATS[number]
            value = match[f"v{number}"] if "(?P<v>" in rule.pattern else match[0].rstrip()
            if value not in seen and not _sample(value):
                seen.add(value)
                yield Secret(rule.id, value)
    if _has_place(text):
        for match in _PLACES.finditer(text):
            number = 0 if match["r0"] is not None else 1
            value = match[f"v{number}"]
            if number == 0 and value.casefold() == (match["user0"] or "").casefold():
                continue
            name = match["name1"] or ""
            if value in seen or any(known in value for known in seen) or not plausible(value, name):
                continue
            seen.add(value)
            yield Secret(PLACES[number].id, value)


def suspicious(text: str) -> bool:
    """Whether ``find`` has to look closer: a few searches for words."""
    return _hinted(text) or _has_place(text)


def _hinted(text: str) -> bool:
    for hint in _FORMAT_HINTS:  # noqa: SIM110 - half the time of any(): it runs for every document
        if hint in text:
            return True
    return False


def _has_place(text: str) -> bool:
    if "://" in text and "@" in text:
        return True
    if '"' not in text and "'" not in text and "`" not in text:
        return False
    lower = text.lower()
    return any(name in lower for name in _NAMES)


def plausible(value: str, name: str = "password") -> bool:
    """Whether a value in a secret's place is one, and no stand-in for it. Only passwords may be plain words."""
    if _sample(value) or value.casefold() in _WORDS or _PLACEHOLDER.match(value):
        return False
    word = name.lower().startswith(("pass", "pwd")) or not name
    return word or (any(c.isdigit() for c in value) and any(c.isalpha() for c in value))


def names_a_secret(key: str) -> bool:
    """Whether a metadata key says that its value is one."""
    return _NAMED.search(key) is not None


def _sample(value: str) -> bool:
    """``xxxxxxxx`` and AWS's own ``AKIAIOSFODNN7EXAMPLE``."""
    return len(set(value[-12:])) < 4 or value.endswith("EXAMPLE")


@lru_cache(maxsize=4096)
def fingerprint(bank: str, secret: Secret) -> str:
    """12 hex; ``bank`` is its identity, so that one secret in two banks has two names."""
    salt = f"memory-console\0{bank}\0{secret.rule}".encode("utf-8", "surrogatepass")
    value = secret.value.encode("utf-8", "surrogatepass")
    return hashlib.pbkdf2_hmac("sha256", value, salt, _ROUNDS, 6).hex()


def is_fingerprint(text: str) -> bool:
    return _FORMAT_OF_FINGERPRINT.fullmatch(text) is not None
