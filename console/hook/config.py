"""A hook's settings. Later wins: code defaults < the plugin's settings.json < ``~/.hindsight/<harness>.json`` <
environment < options of the command.

Null in a file leaves the lower layer; the merge is key by key. What has the wrong type is left out and listed in
:attr:`Config.problems`, which ``debug`` prints and ``console harness check`` shows.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

CLOUD = "https://api.hindsight.vectorize.io"
DEFAULTS: dict[str, Any] = {
    "hindsightApiUrl": CLOUD,
    "hindsightApiToken": None,
    "requestTimeoutSeconds": None,
    "bankId": None,
    "bankIdPrefix": "",
    "dynamicBankId": False,
    "dynamicBankGranularity": ["agent", "project"],
    "directoryBankMap": {},
    "resolveWorktrees": True,
    "agentName": "omo",
    "bankMission": "",
    "retainMission": None,
    "autoRecall": True,
    "autoRetain": True,
    "recallBudget": "mid",
    "recallMaxTokens": 1024,
    "recallTypes": ["world", "experience", "observation"],
    "recallContextTurns": 1,
    "recallMaxQueryChars": 800,
    "recallRoles": ["user", "assistant"],
    "recallPromptPreamble": (
        "Relevant memories from past conversations (prioritize recent when conflicting). Only use memories that "
        "are directly useful to continue this conversation; ignore the rest:"
    ),
    "recallAdditionalBanks": [],
    "retainMode": "full-session",
    "retainEveryNTurns": 10,
    "retainOverlapTurns": 2,
    "retainRoles": ["user", "assistant"],
    "retainToolCalls": False,
    "retainTags": [],
    "retainMetadata": {},
    "retainContext": "omo",
    "debug": False,
}
_SHIPPED: dict[str, Any] = {
    "version": "0.1.0",
    "bankId": "omo",
    "bankMission": (
        "You are an OMO (oh-my-openagent) orchestrator. Focus on technical discussions, decisions, architectural "
        "context, and coding patterns relevant to the user's projects."
    ),
    "retainMission": (
        "Extract technical decisions, architectural choices, user preferences, project context, debugging insights, "
        "and tool/library relationships. Ignore routine greetings and transient operational details."
    ),
    "retainTags": ["{session_id}"],
}
# (name the harness, its default bank, its settings as if shipped)
_HARNESSES: dict[str, dict[str, Any]] = {
    "omo": _SHIPPED,
    "claude-code": {"agentName": "claude-code", "bankId": "claude_code", "retainContext": "claude-code"},
    "codex": {"agentName": "codex", "bankId": "codex", "retainContext": "codex"},
}
HARNESSES = tuple(_HARNESSES)
_ENVIRONMENT = {
    "HINDSIGHT_API_URL": ("hindsightApiUrl", str),
    "HINDSIGHT_API_TOKEN": ("hindsightApiToken", str),
    "HINDSIGHT_REQUEST_TIMEOUT_SECONDS": ("requestTimeoutSeconds", int),
    "HINDSIGHT_BANK_ID": ("bankId", str),
    "HINDSIGHT_DYNAMIC_BANK_ID": ("dynamicBankId", bool),
    "HINDSIGHT_AGENT_NAME": ("agentName", str),
    "HINDSIGHT_BANK_MISSION": ("bankMission", str),
    "HINDSIGHT_AUTO_RECALL": ("autoRecall", bool),
    "HINDSIGHT_AUTO_RETAIN": ("autoRetain", bool),
    "HINDSIGHT_RECALL_BUDGET": ("recallBudget", str),
    "HINDSIGHT_RECALL_MAX_TOKENS": ("recallMaxTokens", int),
    "HINDSIGHT_RECALL_CONTEXT_TURNS": ("recallContextTurns", int),
    "HINDSIGHT_RECALL_MAX_QUERY_CHARS": ("recallMaxQueryChars", int),
    "HINDSIGHT_RETAIN_MODE": ("retainMode", str),
    "HINDSIGHT_DEBUG": ("debug", bool),
}
_MAYBE_NULL = {"hindsightApiToken": str, "bankId": str, "retainMission": str, "requestTimeoutSeconds": int}
# A wrong type here is the user's list written as something else: the original takes the default without a word.
_TEXT_LISTS = ("recallTypes", "recallRoles", "recallAdditionalBanks", "retainRoles")


class Config(dict[str, "Any"]):
    """The settings by their names. ``problems``: one line for each value that was left out."""

    def __init__(self, harness: str = "omo") -> None:
        super().__init__(DEFAULTS)
        self.harness = harness
        self.problems: list[str] = []
        self.files: list[str] = []
        """The files that were read."""


def load(
    harness: str = "omo",
    *,
    environ: Mapping[str, str] | None = None,
    given: Mapping[str, Any] | None = None,
) -> Config:
    """Everything settled. Never raises for what a file or the environment holds."""
    environ = os.environ if environ is None else environ
    config = Config(harness)
    root = environ.get("PLUGIN_ROOT") or ""
    if root:
        _take_file(config, os.path.join(root, "settings.json"))
    else:
        config.update(_HARNESSES[harness])
    _take_file(config, os.path.join(home(environ), ".hindsight", f"{harness}.json"))
    for name, (key, kind) in _ENVIRONMENT.items():
        if name not in environ:
            continue
        raw = environ[name]
        if kind is bool:
            config[key] = raw.lower() in ("true", "1", "yes")
            if raw.lower() not in ("true", "1", "yes", "false", "0", "no"):
                config.problems.append(
                    f"{name}={raw!r} is none of true, 1, yes, false, 0, no: taken as false"
                )
        elif kind is int:
            try:
                config[key] = int(raw)
            except ValueError:
                config.problems.append(f"{name}={raw!r} is no whole number: left out")
        else:
            config[key] = raw
    for key, value in (given or {}).items():
        if value is not None:
            config[key] = value
    _ranges(config)
    return config


def home(environ: Mapping[str, str]) -> str:
    """The user's folder."""
    return environ.get("HOME") or os.path.expanduser("~")


def _take_file(config: Config, path: str) -> None:
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read().decode("utf-8-sig"))
    except FileNotFoundError:
        return
    except (OSError, ValueError, RecursionError) as error:
        config.problems.append(f"{path} was left out: {error}")
        return
    if not isinstance(found, dict):
        config.problems.append(f"{path} was left out: not a JSON object")
        return
    config.files.append(path)
    for key, value in found.items():
        if value is None:
            continue
        wrong = _wrong(key, value)
        if wrong:
            config.problems.append(f"{path}: {key} {wrong}: left out")
        else:
            config[key] = value


def _wrong(key: str, value: Any) -> str | None:
    """What is wrong with a value of this name; None for a good one and for names unknown here."""
    if key not in DEFAULTS:
        return None
    if key == "dynamicBankGranularity":
        return None  # not a list: falls back where it is used
    if key in _TEXT_LISTS:
        good = isinstance(value, list) and all(isinstance(item, str) for item in value)
        return None if good else "is no list of texts"
    kind = _MAYBE_NULL.get(key) or type(DEFAULTS[key])
    if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
        return None
    return f"is no {({str: 'text', int: 'whole number', bool: 'true or false', list: 'list', dict: 'object'})[kind]}"


def _ranges(config: Config) -> None:
    seconds = config["requestTimeoutSeconds"]
    if seconds is not None and seconds <= 0:
        config.problems.append(f"requestTimeoutSeconds {seconds} would fail every call: left out")
        config["requestTimeoutSeconds"] = None
    if config["retainToolCalls"]:
        config.problems.append("retainToolCalls has no effect: tool calls are never kept")
    if config["retainMode"] not in ("full-session", "chunked"):
        config.problems.append(f"retainMode {config['retainMode']!r} is unknown: taken as full-session")
