"""One push of one commit to one branch, never by force; and what a refusal means.

A push either lands, loses a race (the caller plans again from the new tip), or is refused for good with one
line. What a server prints about a secret is cut down to rule and path: some hooks print the value itself.
"""

from __future__ import annotations

import re

from mirror.errors import Protected, PushRefused, SecretsFound
from mirror.git import Repository
from mirror.gitlines import printable_line

_RACED = (
    "fetch first",
    "non-fast-forward",
    "stale info",
    "cannot lock ref",
    "failed to update ref",
    "reference already exists",
    "incorrect old value",
)
_PROTECTED = re.compile(
    r"GH006|GH013|protected branch|repository rule violations|not allowed to push", re.IGNORECASE
)
_SECRET = re.compile(
    r"push protection|cannot contain secrets|secrets? (?:was |were |been )?(?:detected|found|leaked)|leaked secret|gitleaks",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^[—–=-]{2,}\s+(?P<rule>[^—–=]{1,80}?)\s+[—–=-]{2,}$")
_PATH = re.compile(r"^(?:- )?(?:path|file|location):\s*(?P<path>[^\s:][^\s]*?(?::\d+)?)\s*$", re.IGNORECASE)
_SHOWN = 5


def push(repo: Repository, remote: str, commit: str, ref: str) -> bool:
    """Push ``commit`` to ``ref`` (a full name). False: somebody else moved it first.

    Raises SecretsFound, Protected or PushRefused; nothing has landed then.
    """
    code, out, err = repo.push(remote, commit, ref)
    if code == 0:
        return True
    name = ref.removeprefix("refs/heads/")
    where = f"{name} on {remote}"
    reason = next((line for line in out.splitlines() if line.startswith("!")), "")
    said = [line.removeprefix("remote:").strip() for line in err.splitlines()]
    everything = f"{reason}\n{err}"
    if _SECRET.search(everything):
        raise SecretsFound(
            f"the push was refused because it holds a secret: {_places(said)}",
            where=where,
            hint="the branch was not moved; change that secret first, then take the document back or erase it",
        )
    if any(word in reason for word in _RACED):
        return False
    if _PROTECTED.search(everything):
        raise Protected(
            f"the branch is protected{_rules(said)}",
            where=where,
            hint="push to the mirror's own branch (--branch) and merge it by a pull request, or let this account pass the rule",
        )
    words = [line.removeprefix("remote:") for line in err.splitlines()]
    hint = printable_line("\n".join(words).encode("utf-8", "replace"))
    if match := re.search(r"\(([^()]*)\)\s*$", reason):
        hint = f"{match[1]}; {hint}" if hint and match[1] not in hint else match[1]
    if "403" in err or "denied" in err.lower():
        hint += "; this account may not push here (a workflow needs `permissions: contents: write`)"
    raise PushRefused("the push was refused", where=where, hint=hint or f"git push ended with {code}")


def _places(lines: list[str]) -> str:
    """``rule in path:line`` of each finding; nothing else of what the server said."""
    found: list[str] = []
    rule = "a secret"
    for line in lines:
        if match := _HEADING.match(line):
            rule = match["rule"]
        elif match := _PATH.match(line):
            found.append(f"{rule} in {match['path']}")
    if not found:
        return "the server did not say where" if rule == "a secret" else rule
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return _clean("; ".join(found[:_SHOWN]) + more)


def _rules(lines: list[str]) -> str:
    rules = [line[2:].strip(" .") for line in lines if line.startswith("- ") and len(line) < 200]
    if not rules:
        rules = [
            line.partition(":")[2].strip(" .")
            for line in lines
            if line.startswith("error:") and "GH006" not in line and "GH013" not in line and len(line) < 200
        ]
    rules = [rule for rule in rules if rule and "failed to push" not in rule and "hook declined" not in rule]
    return f": {_clean('; '.join(rules[:_SHOWN]))}" if rules else ""


def _clean(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)


__all__ = ["push"]
