"""Times that a text names, resolved against the moment it was said: pure, English and Chinese.

A span is [start, end) in microseconds since 1970 UTC. A month or weekday without a year or week is the latest one
that is not in the future; what cannot be resolved is left out rather than guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DAY = timedelta(days=1)

_MONTHS = "january february march april may june july august september october november december".split()
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_NUMBERS = {
    name: n
    for n, name in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
}
_NUMBERS |= {"a": 1, "an": 1, "couple of": 2, "a couple of": 2, "few": 3, "a few": 3}
_ZH = {name: n for n, name in enumerate("零 一 二 三 四 五 六 七 八 九 十 十一 十二".split())} | {
    "两": 2,
    "几": 3,
}
_MONTH = r"(?P<month>Jan(?:uary|\.)?|Feb(?:ruary|\.)?|Mar(?:ch|\.)?|Apr(?:il|\.)?|May|June?|July?|Aug(?:ust|\.)?|Sept?(?:ember|\.)?|Oct(?:ober|\.)?|Nov(?:ember|\.)?|Dec(?:ember|\.)?)"
_ZHN = "[0-9]{1,3}|十[一二]?|[一二三四五六七八九两几]"
_HINT = re.compile(
    r"\d{4}|day|night|morning|week|month|year|ago|[A-Z][a-z]{2}|january|february|april|june|july|august|september|october|november|december"
    r"|[天周年月前]|星期"
)
"""Without one of these no pattern matches: most facts are told apart cheaply."""
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("iso", re.compile(r"\b(?P<year>[12]\d{3})-(?P<m>\d\d)(?:-(?P<day>\d\d))?\b")),
    ("zh_date", re.compile(rf"(?:(?P<year>[12]\d{{3}})年)?(?P<m>{_ZHN})月(?:(?P<day>[0-9]{{1,2}})[日号])?")),
    ("zh_year", re.compile(r"(?P<year>[12]\d{3})年")),
    ("month_day", re.compile(rf"\b{_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<year>[12]\d{{3}}))?\b")),
    ("day_month", re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+(?P<year>[12]\d{{3}}))?\b")),
    ("month", re.compile(rf"\b(?:(?P<which>last|next|this)\s+)?{_MONTH}(?:\s+(?:of\s+)?(?P<year>[12]\d{{3}}))?(?!\w)")),
    ("month", re.compile(rf"\b(?:in|during|since|last|of)\s+(?P<month>{'|'.join(_MONTHS)})\b(?:\s+(?P<year>[12]\d{{3}}))?")),
    ("day", re.compile(r"\b(?P<word>the day before yesterday|day before yesterday|the day after tomorrow|yesterday|last night|today|tonight|this morning|this evening|this afternoon|tomorrow)\b", re.I)),
    ("zh_day", re.compile(r"(?P<word>大前天|前天|昨天|昨晚|今天|今早|今晚|明天|后天)")),
    ("ago", re.compile(r"\b(?P<n>\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|an?|(?:a )?few|(?:a )?couple of)\s+(?P<unit>day|week|month|year)s?\s+ago\b", re.I)),
    ("zh_ago", re.compile(rf"(?P<n>{_ZHN})个?(?P<unit>天|周|星期|月|年)(?:之前|以前|前)")),
    ("unit", re.compile(r"\b(?P<which>last|past|this|next)\s+(?P<unit>week|weekend|month|year)\b", re.I)),
    ("zh_unit", re.compile(r"(?P<which>上|这|本|下)个?(?P<unit>周末|周|星期|月)(?![一二三四五六日天])|(?P<year>去年|今年|明年|前年)")),
    ("weekday", re.compile(rf"\b(?:(?P<which>last|this|next|on|past)\s+)?(?P<day>{'|'.join(_WEEKDAYS)})\b", re.I)),
    ("zh_weekday", re.compile(r"(?P<which>上|这|本|下)?个?(?:周|星期|礼拜)(?P<day>[一二三四五六日天])")),
    ("year", re.compile(r"\b(?:in|since|during|of|year)\s+(?P<year>(?:19|20)\d\d)\b", re.I)),
)  # fmt: skip
_CALENDAR = frozenset({"zh_date", "month_day", "day_month", "month"})
_RELATIVE = frozenset({"day", "zh_day", "ago", "zh_ago", "unit", "zh_unit"})
_DAYS = {
    "the day before yesterday": -2, "day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0, "tonight": 0, "this morning": 0,
    "this evening": 0, "this afternoon": 0, "tomorrow": 1, "the day after tomorrow": 2,
    "大前天": -3, "前天": -2, "昨天": -1, "昨晚": -1, "今天": 0, "今早": 0, "今晚": 0, "明天": 1, "后天": 2,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Span:
    start: int
    end: int
    said: tuple[int, int]
    """Where in the text."""
    relative: bool
    """The words mean another time at another moment ("yesterday")."""
    any_year: bool = False
    """A day or month of which the text does not say the year."""


def named(text: str, anchor: int | None) -> list[Span]:
    """In reading order, not overlapping. ``anchor``: when it was said; without it only whole dates resolve."""
    if _HINT.search(text) is None:
        return []
    now = None if anchor is None else _EPOCH + anchor * _MICROSECOND
    found: list[Span] = []
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            if any(match.start() < span.said[1] and span.said[0] < match.end() for span in found):
                continue
            try:
                bounds = _bounds(kind, match.groupdict(), now)
                if bounds is None:
                    continue
                start, end = ((bound - _EPOCH) // _MICROSECOND for bound in bounds)
            except (ValueError, OverflowError):
                continue  # the 31st of February, the year 9999 and a day
            told = match.groupdict()
            any_year = kind in _CALENDAR and told.get("year") is None and told.get("which") is None
            found.append(Span(start, end, match.span(), kind in _RELATIVE, any_year))
    return sorted(found, key=lambda span: span.said)


def mentions_time(text: str) -> bool:
    """Whether it names a time at all, resolvable or not."""
    return _HINT.search(text) is not None and any(pattern.search(text) for _, pattern in _PATTERNS)


def years_of(span: Span) -> list[tuple[int, int]]:
    """(start, end) of it; where no year was said, of the two years before as well: "in December", asked on the first
    of December, may mean any of them."""
    if not span.any_year:
        return [(span.start, span.end)]
    first, last = (_EPOCH + bound * _MICROSECOND for bound in (span.start, span.end))
    spans = []
    for back in range(3):
        try:
            bounds = [moment.replace(year=moment.year - back) for moment in (first, last)]
        except ValueError:
            continue  # 29 February
        spans.append(((bounds[0] - _EPOCH) // _MICROSECOND, (bounds[1] - _EPOCH) // _MICROSECOND))
    return spans


def without_relative(text: str, spans: list[Span]) -> str:
    """The text with blanks for them: "last week" asks for a time, not for the word "week"."""
    for span in spans:
        if span.relative:
            start, end = span.said
            text = text[:start] + " " * (end - start) + text[end:]
    return text


def _bounds(kind: str, told: dict[str, str | None], now: datetime | None) -> tuple[datetime, datetime] | None:
    if kind in _CALENDAR or kind in ("iso", "zh_year", "year"):
        return _calendar(told, now)
    if now is None:
        return None
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    which = (told.get("which") or "").lower()
    if kind in ("day", "zh_day"):
        start = today + _DAYS[(told["word"] or "").lower()] * _DAY
        return start, start + _DAY
    if kind in ("ago", "zh_ago"):
        return _ago(_number(told["n"] or "1"), told["unit"] or "", today)
    if kind in ("unit", "zh_unit"):
        year = {"去年": -1, "今年": 0, "明年": 1, "前年": -2}.get(told.get("year") or "")
        if year is not None:
            return _year(now.year + year)
        step = {"last": -1, "past": -1, "上": -1, "next": 1, "下": 1}.get(which, 0)
        return _unit(told["unit"] or "", step, today)
    if kind == "zh_weekday":
        day = "一二三四五六日".index((told["day"] or "").replace("天", "日"))
        monday = today - today.weekday() * _DAY
        step = {"上": -7, "下": 7}.get(which, 0)
        start = monday + (day + step) * _DAY
    else:
        day = _WEEKDAYS.index((told["day"] or "").lower())
        start = today - ((today.weekday() - day) % 7) * _DAY
        if which == "next":
            start += 7 * _DAY
        elif which in ("last", "past") and start == today:
            start -= 7 * _DAY
    return start, start + _DAY


def _calendar(told: dict[str, str | None], now: datetime | None) -> tuple[datetime, datetime] | None:
    month = _month(told)
    year = told.get("year")
    if year is None and (now is None or month is None):
        return None
    day = told.get("day")
    if year is not None:
        chosen = int(year)
        if month is None:
            return _year(chosen)
    else:
        assert now is not None and month is not None
        later = (month, int(day or 1)) > (now.month, now.day)
        which = told.get("which")
        chosen = now.year - (1 if later and which != "next" else 0)
        chosen += 1 if which == "next" and not later else 0
    if day is not None:
        start = datetime(chosen, month, int(day), tzinfo=UTC)
        return start, start + _DAY
    return datetime(chosen, month, 1, tzinfo=UTC), _month_after(chosen, month)


def _month(told: dict[str, str | None]) -> int | None:
    if name := told.get("month"):
        short = name.lower()[:3]
        return next(number for number, month in enumerate(_MONTHS, 1) if month.startswith(short))
    return _number(told["m"]) if told.get("m") else None


def _number(text: str | None) -> int:
    word = (text or "").lower()
    return int(word) if word.isdigit() else _ZH.get(word) or _NUMBERS.get(word, 0)


def _ago(n: int, unit: str, today: datetime) -> tuple[datetime, datetime]:
    if unit.lower() == "day" or unit == "天":
        start = today - n * _DAY
        return start, start + _DAY
    if unit.lower() == "week" or unit in ("周", "星期"):
        start = today - 7 * n * _DAY
        return start - 3 * _DAY, start + 4 * _DAY
    months = n * (12 if unit.lower() == "year" or unit == "年" else 1)
    if months >= 12 and months % 12 == 0:
        return _year(today.year - months // 12)
    index = today.year * 12 + today.month - 1 - months
    return datetime(index // 12, index % 12 + 1, 1, tzinfo=UTC), _month_after(index // 12, index % 12 + 1)


def _unit(unit: str, step: int, today: datetime) -> tuple[datetime, datetime]:
    unit = unit.lower()
    if unit in ("week", "周", "星期"):
        start = today - today.weekday() * _DAY + 7 * step * _DAY
        return start, start + 7 * _DAY
    if unit in ("weekend", "周末"):
        start = today - today.weekday() * _DAY + (5 + 7 * step) * _DAY
        return start, start + 2 * _DAY
    if unit == "year":
        return _year(today.year + step)
    index = today.year * 12 + today.month - 1 + step
    return datetime(index // 12, index % 12 + 1, 1, tzinfo=UTC), _month_after(index // 12, index % 12 + 1)


def _year(year: int) -> tuple[datetime, datetime]:
    return datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)


def _month_after(year: int, month: int) -> datetime:
    return datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)


def apart(text: str, spans: list[Span]) -> str:
    """Relative times left out, the others with blanks around them: no pair of characters reaches into one."""
    for span in reversed(spans):
        start, end = span.said
        text = f"{text[:start]} {'' if span.relative else text[start:end]} {text[end:]}"
    return text


def first(text: str, anchor: int | None) -> tuple[int, int] | None:
    """The first time that a fact names, as (start, last microsecond)."""
    spans = named(text, anchor)
    return (spans[0].start, spans[0].end - 1) if spans else None
