"""Writes ``machine.jsonl`` beside this file: pairs made from seeds by mechanical change. Same seeds, same bytes.

    python tests/review/pairs/generate.py [--check]

A seed states one thing about one entity in two wordings, with a second value, a negated form where it has one, and
another entity that the same could be said of. Everything made of one seed falls into one half, so that no sentence
of the held-out half was seen in the other. ``hand.jsonl`` was written by hand and is not touched.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent


class Seed(NamedTuple):
    kind: str
    """Of what the second value is: number, date, value, rename."""
    lang: str
    one: str
    """With {e} for the entity and {v} for the value."""
    two: str
    """The same in other words."""
    entity: str
    other: str
    value: str
    second: str
    denied: str = ""
    """The opposite of ``said``; '' where it has none."""
    said: str = ""


SEEDS = (
    Seed("number", "en", "{e} listens on port {v}.", "Port {v} is where {e} listens.", "the ledger daemon", "the audit daemon", "7300", "7400", "{e} does not log request bodies.", "{e} logs request bodies."),
    Seed("number", "en", "{e} keeps at most {v} open connections.", "At most {v} connections are kept open by {e}.", "the reporting pool", "the ingest pool", "40", "25"),
    Seed("date", "en", "{e} goes live on {v}.", "On {v} {e} goes live.", "the Oslo region", "the Madrid region", "2027-02-01", "2027-04-15", "{e} is not open to guests.", "{e} is open to guests."),
    Seed("value", "en", "{e} is maintained by {v}.", "{v} maintains {e}.", "the tariff importer", "the label printer", "Ingrid", "Pavel"),
    Seed("value", "en", "{e} is written in {v}.", "{v} is the language of {e}.", "the route planner", "the sync agent", "Go", "Kotlin", "{e} must not run as root.", "{e} must run as root."),
    Seed("rename", "en", "The former name of {e} is {v}.", "{e} was formerly named {v}.", "courier", "beacon", "mailman", "postbox"),
    Seed("number", "en", "{e} retries {v} times before it gives up.", "After {v} retries {e} gives up.", "the webhook sender", "the mirror job", "5", "8", "{e} never retries a 404.", "{e} retries a 404."),
    Seed("value", "en", "{e} stores its files in {v}.", "The files of {e} are stored in {v}.", "the scan service", "the avatar service", "bucket scans-eu", "bucket scans-us"),
    Seed("number", "en", "{e} costs {v} EUR a month.", "The monthly price of {e} is {v} EUR.", "the starter plan", "the team plan", "19", "29", "{e} does not include phone support.", "{e} includes phone support."),
    Seed("date", "en", "{e} was last rotated in {v}.", "The last rotation of {e} was in {v}.", "the signing key", "the backup key", "August 2026", "October 2026"),
    Seed("value", "en", "{e} runs on {v}.", "{v} is what {e} runs on.", "the search cluster", "the staging cluster", "OpenSearch", "Solr", "{e} is not reachable from outside.", "{e} is reachable from outside."),
    Seed("number", "en", "{e} has a limit of {v} MB per upload.", "Uploads to {e} are limited to {v} MB.", "the partner portal", "the intake form", "50", "200"),
    Seed("value", "en", "{e} sends alerts to {v}.", "Alerts of {e} are sent to {v}.", "the canary check", "the disk check", "#ops-night", "#ops-core", "{e} cannot be muted.", "{e} can be muted."),
    Seed("rename", "en", "{e} was renamed to {v}.", "{v} is the new name of {e}.", "table client_notes", "table visit_notes", "customer_notes", "account_notes"),
    Seed("number", "en", "{e} needs {v} reviewers.", "{v} reviewers are needed for {e}.", "a change to the tax rules", "a change to the price list", "three", "two"),
    Seed("date", "en", "{e} meets every {v}.", "Every {v} {e} meets.", "the design circle", "the data circle", "Tuesday", "Wednesday", "{e} is not recorded.", "{e} is recorded."),
    Seed("value", "en", "The owner of {e} is {v}.", "{v} is the owner of {e}.", "the loyalty module", "the voucher module", "Team Heron", "Team Falcon"),
    Seed("number", "en", "{e} expires after {v} hours.", "After {v} hours {e} expires.", "an invite link", "a reset link", "48", "72", "{e} can be used twice.", "{e} can not be used twice."),
    Seed("number", "zh", "{e}监听{v}端口。", "{v}端口由{e}监听。", "账本服务", "审计服务", "7300", "7400", "{e}不记录请求内容。", "{e}记录请求内容。"),
    Seed("number", "zh", "{e}最多保留{v}个连接。", "{e}保留的连接最多{v}个。", "报表连接池", "导入连接池", "40", "25"),
    Seed("date", "zh", "{e}将于{v}上线。", "{v}{e}上线。", "广州机房", "武汉机房", "2027年2月1日", "2027年4月15日", "{e}不对访客开放。", "{e}对访客开放。"),
    Seed("value", "zh", "{e}由{v}维护。", "{v}维护{e}。", "运费导入器", "标签打印服务", "赵敏", "周强"),
    Seed("value", "zh", "{e}是用{v}编写的。", "编写{e}用的是{v}。", "路线规划器", "同步代理", "Go", "Kotlin", "{e}不能以 root 运行。", "{e}能以 root 运行。"),
    Seed("rename", "zh", "{e}改名为{v}。", "{e}的新名字是{v}。", "客户备注表", "拜访备注表", "customer_notes", "account_notes"),
    Seed("number", "zh", "{e}每月收费{v}元。", "{e}的月费是{v}元。", "入门套餐", "团队套餐", "19", "29", "{e}不包含电话支持。", "{e}包含电话支持。"),
    Seed("value", "zh", "{e}的告警发到{v}。", "{v}接收{e}的告警。", "金丝雀检查", "磁盘检查", "夜班群", "核心群"),
    Seed("date", "zh", "{e}每{v}开会。", "每{v}{e}开会。", "设计小组", "数据小组", "周二", "周三", "{e}的会议没有录像。", "{e}的会议有录像。"),
    Seed("number", "zh", "{e}在{v}小时后失效。", "{v}小时后{e}失效。", "邀请链接", "重置链接", "48", "72"),
)  # fmt: skip


def _said(pattern: str, entity: str, value: str = "") -> str:
    text = pattern.format(e=entity, v=value)
    return text[0].upper() + text[1:]


def _framed(text: str, lang: str, n: int) -> tuple[str, str]:
    """A change that leaves the statement as it is: (kind, text)."""
    bare = text.rstrip(".。")
    lower = text[0].lower() + text[1:]
    if lang == "zh":
        return (
            ("punctuation", bare),
            ("frame", f"备注：{text}"),
            ("filler", f"目前{text}"),
            ("space", f" {bare} 。"),
        )[n % 4]
    return (
        ("punctuation", bare),
        ("frame", f"Note: {lower}"),
        ("filler", f"Currently, {lower}"),
        ("case", bare.upper() if "#" not in bare and "_" not in bare else f"FYI: {lower}"),
        (
            "article",
            text.replace("The ", "", 1).replace(" the ", " ") if "the " in text.lower() else f"* {text}",
        ),
    )[n % 5]


def pairs() -> Iterator[dict[str, str]]:
    for n, seed in enumerate(SEEDS):
        half = "dev" if n % 2 == 0 else "heldout"
        one = _said(seed.one, seed.entity, seed.value)
        far = SEEDS[(n + 5) % len(SEEDS)] if seed.lang == SEEDS[(n + 5) % len(SEEDS)].lang else SEEDS[n - 4]

        def row(
            label: str, kind: str, a: str, b: str, n: int = n, lang: str = seed.lang, half: str = half
        ) -> dict[str, str]:
            number = f"{n:02d}-{label[:3]}-{kind}"
            return {
                "id": f"m-{number}",
                "label": label,
                "lang": lang,
                "kind": kind,
                "split": half,
                "a": a,
                "b": b,
            }

        kind, same = _framed(one, seed.lang, n)
        yield row("duplicate", kind, one, same)
        yield row("paraphrase", "words", one, _said(seed.two, seed.entity, seed.value))
        yield row("contradiction", seed.kind, one, _said(seed.one, seed.entity, seed.second))
        if n % 3 == 0:
            yield row("contradiction", f"{seed.kind}-words", one, _said(seed.two, seed.entity, seed.second))
        if seed.denied:
            yield row(
                "contradiction", "negation", _said(seed.said, seed.entity), _said(seed.denied, seed.entity)
            )
            yield row("unrelated", "attribute", one, _said(seed.denied, seed.entity))
        yield row("unrelated", "entity", one, _said(seed.one, seed.other, seed.second))
        yield row("unrelated", "far", one, _said(far.two, far.entity, far.value))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="Write nothing; exit 1 when the file would differ."
    )
    check = parser.parse_args().check
    data = "".join(json.dumps(pair, ensure_ascii=False, sort_keys=True) + "\n" for pair in pairs())
    path = HERE / "machine.jsonl"
    if check:
        return 0 if path.exists() and path.read_text(encoding="utf-8") == data else 1
    path.write_text(data, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
