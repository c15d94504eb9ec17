"""Questions derived from real prose: the docstrings of Python's own library.

A sentence is a document; its question keeps a part of its content words in another order, inflected otherwise, and
asks with question words. The library is on every machine; numbers differ a little between Python versions.
"""

from __future__ import annotations

import ast
import random
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from tests.bench.sets import Question, QuestionSet, Turn

MODULES = (
    "argparse asyncio/events asyncio/streams calendar codecs collections/__init__ concurrent/futures/_base configparser "
    "contextlib csv dataclasses datetime difflib doctest email/message enum fractions functools gettext gzip http/client "
    "http/cookiejar imaplib inspect ipaddress json/__init__ logging/__init__ mailbox multiprocessing/pool optparse os "
    "pathlib pdb pickle platform plistlib pprint random re selectors shelve shutil smtplib socket sqlite3/dbapi2 "
    "statistics string subprocess tarfile tempfile textwrap threading timeit trace traceback turtle typing unittest/case "
    "unittest/mock urllib/parse urllib/request uuid warnings weakref xml/etree/ElementTree zipfile/__init__ _pydatetime"
).split()
_SENTENCE = re.compile(r"[A-Z][^.!?\n]*(?:\n[^.!?\n]+)*[.!?](?=\s|$)")
_PLAIN = frozenset(
    "the a an of to in is are and or for it be by with this that as on if not from which will can has have was were at its "
    "any all each when than then but also only into no may must should".split()
)
_OPENINGS = (
    "What happens with {}?", "How does {} work?", "When is {}?", "Which one does {}?", "Can you tell me about {}?", "Where do I find {}?", "Why does {}?",
)  # fmt: skip


def prose(name: str = "docstrings", seed: int = 5) -> QuestionSet:
    random_ = random.Random(seed)
    sentences = list(dict.fromkeys(_sentences()))
    turns = tuple(
        Turn(f"s{number:05}", text, "2026-01-05T10:00:00+00:00") for number, text in enumerate(sentences)
    )
    questions = []
    for turn in random_.sample(turns, len(turns)):
        content = [w for w in re.findall(r"[A-Za-z]{3,}", turn.text) if w.lower() not in _PLAIN]
        if len(set(content)) < 6:
            continue
        kept = random_.sample(list(dict.fromkeys(content)), max(3, len(set(content)) * 2 // 5))
        asked = " ".join(_inflected(word.lower(), random_) for word in kept[:5])
        questions.append(Question(random_.choice(_OPENINGS).format(asked), frozenset({turn.id}), "reordered"))
        if len(questions) == 300:
            break
    return QuestionSet(name, turns, tuple(questions))


def _sentences() -> Iterator[str]:
    library = Path(sysconfig.get_paths()["stdlib"])
    for module in MODULES:
        file = library / f"{module}.py"
        if not file.exists():
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module | ast.AsyncFunctionDef):
                for match in _SENTENCE.finditer(ast.get_docstring(node) or ""):
                    text = " ".join(match[0].split())
                    if 40 <= len(text) <= 300:
                        yield text


def _inflected(word: str, random_: random.Random) -> str:
    """The same word in another form, or with a slip of the finger."""
    draw = random_.random()
    if draw < 0.1 and len(word) > 5:
        at = random_.randrange(2, len(word) - 1)
        return word[:at] + word[at + 1 :]
    if draw < 0.3 and word.endswith("s"):
        return word[:-1]
    if draw < 0.5 and not word.endswith(("s", "ed", "ing", "ly")):
        return word + ("es" if word.endswith(("ch", "sh", "x")) else "s")
    if draw < 0.6 and word.endswith("ed"):
        return word[:-2] + "ing"
    return word
