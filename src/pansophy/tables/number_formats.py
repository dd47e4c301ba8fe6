"""Formats of numbers and dates written as text: detection, storage and parsing.

A *form* is an example. That of a number is one and a half, or 1234 and a half, as the
column would write it: "1.5", "1,5", "1,234.5", "1.234,5", "1 234,5", "1'234.5", with
a sign of currency or percent or a unit if every value has the same: "$1,234.5",
"1,5 €", "1.5%" (read as 1.5), "1.5 kg". That of a date is "ISO", a strptime format
such as "%d/%m/%Y", or "epoch" ("epoch ms") for seconds (thousandths) since 1970.

The rules. A form is taken only if every value of the column has it, or all but a few
words that then count as missing. "1,234" is a thousand if every comma of the column
is followed by three digits, else a decimal comma. Of "03/04/2024" the day is what
exceeds 12 somewhere; where nothing does, the order in which the dates of the column
rise; failing that, the month comes first before "/" and the day before "." and "-",
and the reason says that it was a guess. Digits that begin with 0 are codes. Letters
right behind the digits ("12a") are a unit only where many values differ.
"""

import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

LOOK = 500  # values tried before all are parsed
LONG = 40  # numbers have fewer characters
SIGNS = "$€£¥₹"
UNIT = r"[^\W\d_eE][^\W\d_]{0,8}(?:/[^\W\d_]{1,6})?[²³]?|[°º][CFK]?"
CODED = 20  # so few different values with letters behind digits are codes
STYLES = [  # thousands, decimal: the first that fits all values
    ("", "."), (",", "."), ("", ","), (".", ","), (" ", "."), (" ", ","), ("'", "."),
]  # fmt: skip
EXAMPLE = re.compile(
    r"(?P<pre>\D*)1(?:(?P<thousands>\D)234)?(?P<decimal>[.,])5(?P<post>\D*)"
)
ISO = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?", re.ASCII)
AFFIXED = re.compile(
    rf"\s*[-+]?\s*(?P<pre>[{SIGNS}]?)\s*[-+]?[\d.,' \u00a0\u202f]*\d[\d.,]*"
    rf"(?:[eE][-+]?\d+)?(?P<post>\s*(?:[%{SIGNS}]|{UNIT})?)\s*"
)
EPOCHS = {"epoch": 1.0, "epoch ms": 1e3}  # parts of a second


class DetectedFormat(NamedTuple):
    """A detected form, the reason, and the words that count as missing."""

    form: str
    why: str
    missing: tuple[str, ...] = ()


def is_blank(text) -> bool:
    return not text.strip()


def is_date_form(form) -> bool:
    return form == "ISO" or form in EPOCHS or "%d" in form or "%Y" in form


def format_reader(form):
    """The function that parses texts of a form."""
    if form == "clock":
        return read_clock
    return read_dates if is_date_form(form) else read_numbers


def parse_value(text, form) -> float | None:
    """Fast parser of one text; None where `format_reader` must be used."""
    if form == "clock":
        return None
    if not is_date_form(form):
        pattern, pre, thousands, decimal, post = _format_regex(form)
        bare = text.strip()
        for sign in (pre, post):
            bare = (
                re.sub(rf"\s*{re.escape(sign)}\s*", "", bare, count=1) if sign else bare
            )
        if not pattern.match(bare):
            return None
        if thousands == " ":
            bare = re.sub(r"[ \u00a0\u202f]", "", bare)
        elif thousands:
            bare = bare.replace(thousands, "")
        return float(bare.replace(decimal, "."))
    try:
        if form in EPOCHS:
            return float(text) / EPOCHS[form]
        if form != "ISO":
            result = datetime.strptime(text, form)
        elif ISO.fullmatch(text):
            result = datetime.fromisoformat(text)
        else:
            return None
    except ValueError:
        return None
    return (result - datetime(1970, 1, 1)) / timedelta(seconds=1)


@lru_cache(maxsize=256)
def _format_regex(form):
    pre, thousands, decimal, post = number_format_parts(form) or ("", "", ".", "")
    written = _number_regex(thousands, decimal).replace(
        r"\x{a0}\x{202f}", "\u00a0\u202f"
    )
    result = re.compile(written.replace("^", "", 1).replace("$", "") + r"\Z", re.ASCII)
    return result, pre.strip(), thousands, decimal, post.strip()


# -- numbers ---------------------------------------------------------------------------


def _number_form(pre, thousands, decimal, post) -> str:
    middle = f"1{thousands}234{decimal}5" if thousands else f"1{decimal}5"
    return f"{pre}{middle}{post}"


def number_format_parts(form) -> tuple[str, str, str, str] | None:
    """Prefix, thousands mark, decimal mark and suffix of a form; None if invalid."""
    match = EXAMPLE.fullmatch(form or "1.5")
    if match is None:
        return None
    return match["pre"], match["thousands"] or "", match["decimal"], match["post"]


def _number_regex(thousands, decimal) -> str:
    """Regular expression (RE2) of numbers with these marks."""
    d = re.escape(decimal)
    digits = r"\d+"
    if thousands:
        t = r"[ \x{a0}\x{202f}]" if thousands == " " else re.escape(thousands)
        digits = rf"(?:\d{{1,3}}(?:{t}\d{{3}})+|\d+)"
    return rf"^[-+]?(?:{digits}(?:{d}\d*)?|{d}\d+)(?:[eE][-+]?\d+)?$"


def _strip_currency(texts, pre, post):
    """Texts without surrounding blanks, prefix and suffix."""
    texts = pc.utf8_trim_whitespace(texts)
    for sign in {pre.strip(), post.strip()} - {""}:
        texts = pc.replace_substring_regex(
            texts, rf"\s*{re.escape(sign)}\s*", "", max_replacements=1
        )
    return texts


def read_numbers(texts, form):
    """Parses numbers of a form as floats; null where a text does not match."""
    pre, thousands, decimal, post = number_format_parts(form) or ("", "", ".", "")
    if not thousands and decimal == "." and not pre and not post:
        try:
            return texts.cast(pa.float64())
        except pa.ArrowException:
            pass
        lower = pc.utf8_lower(texts)
        flags = pc.is_in(lower, value_set=pa.array(["true", "false", None]))
        if pc.all(flags).as_py():
            return pc.equal(lower, "true").cast(pa.float64())
    texts = _strip_currency(texts, pre, post)
    fits = pc.match_substring_regex(texts, _number_regex(thousands, decimal))
    texts = pc.if_else(fits, texts, None)
    if thousands:
        mark = r"[ \x{a0}\x{202f}]" if thousands == " " else re.escape(thousands)
        texts = pc.replace_substring_regex(texts, mark, "")
    if decimal == ",":
        texts = pc.replace_substring(texts, ",", ".")
    texts = pc.replace_substring_regex(texts, r"^\+", "")
    return texts.cast(pa.float64())


def find_number(texts) -> DetectedFormat | None:
    """Detects the form of numbers written as text (no nulls); None if there is none."""
    head = texts[:LOOK].to_pylist()
    matches = [AFFIXED.fullmatch(v) if len(v) < LONG else None for v in head]
    held = [m for m in matches if m]
    if len(held) < 0.9 * len(head) or not held:
        return None
    affixes = {(m["pre"], m["post"].strip()) for m in held}
    if len(affixes) > 1:
        return None
    pre, post = next(iter(affixes))
    space = " " if post and any(m["post"][:1].isspace() for m in held) else ""
    if post[:1].isalpha() and not space and len(texts) <= CODED:
        return None
    cleaned = _strip_currency(texts, pre, post)
    for thousands, decimal in STYLES:
        fits = pc.match_substring_regex(cleaned, _number_regex(thousands, decimal))
        share = pc.mean(fits).as_py()
        if share < 0.95:
            continue
        words = tuple(sorted(pc.unique(texts.filter(pc.invert(fits))).to_pylist()))
        words = tuple(w for w in words if not is_blank(w))
        if len(words) > 3 or any(re.search(r"\d", w) for w in words):
            continue
        form = _number_form(pre, thousands, decimal, space + post)
        reason = "numbers" if form == "1.5" else f"numbers written like {form}"
        if words:
            listed = ", ".join(map(repr, words))
            reason += f"; {listed} counted as missing"
        if form == "1.5" and _codes_not_numbers(cleaned, fits):
            return None
        return DetectedFormat(form, reason, words)
    return None


def _codes_not_numbers(texts, fits) -> bool:
    """Whether some digits begin with 0, as in postal codes."""
    return pc.any(pc.match_substring_regex(texts.filter(fits), r"^0\d")).as_py() is True


# -- dates -----------------------------------------------------------------------------

HOURS = [
    (r"", ""),
    (r"[ T]\d{1,2}:\d{2}", "%H:%M"),
    (r"[ T]\d{1,2}:\d{2}:\d{2}", "%H:%M:%S"),
    (r" \d{1,2}:\d{2} ?[AaPp][Mm]", "%I:%M %p"),
    (r" \d{1,2}:\d{2}:\d{2} ?[AaPp][Mm]", "%I:%M:%S %p"),
]
DAYS = [  # a pattern of the day, and what it may mean; {s} is its separator
    (r"\d{4}(?P<s>[-/.])\d{1,2}(?P=s)\d{1,2}", ["%Y{s}%m{s}%d"]),
    (r"\d{1,2}(?P<s>[-/.])\d{1,2}(?P=s)\d{4}", ["%d{s}%m{s}%Y", "%m{s}%d{s}%Y"]),
    (r"\d{1,2}(?P<s>[-/.])\d{1,2}(?P=s)\d{2}", ["%d{s}%m{s}%y", "%m{s}%d{s}%y"]),
    (r"\d{1,2}(?P<s>[ -])[^\W\d]{3,9}(?P=s)\d{4}", ["%d{s}%b{s}%Y"]),
    (r"(?P<s>)[^\W\d]{3,9} \d{1,2}, \d{4}", ["%b %d, %Y"]),
]


@lru_cache(maxsize=64)
def _day_pattern(form) -> str:
    """Regular expression (RE2) that captures the day in dates of a format."""
    codes = {"%d": r"(?P<day>\d{1,2})", "%Y": r"\d{4}"}
    codes |= dict.fromkeys(["%b", "%B", "%p"], r"\pL+\.?")
    parts = re.split(r"(%\w)", form)
    results = [
        codes.get(p, r"\d{1,2}" if p[:1] == "%" else re.escape(p)) for p in parts
    ]
    return "^" + "".join(results).replace(r"\ ", r"\s*")


def read_dates(texts, form):
    """Parses dates of a form as seconds since 1970; null where one does not match."""
    if form in EPOCHS:
        return pc.divide(read_numbers(texts, "1.5"), EPOCHS[form])
    if form != "ISO":
        result = pc.strptime(texts, format=form, unit="s", error_is_null=True)
        if "%d" in form:  # 31 February would become 2 March
            day = pc.struct_field(pc.extract_regex(texts, _day_pattern(form)), "day")
            result = pc.if_else(
                pc.equal(day.cast(pa.int64()), pc.day(result)), result, None
            )
        return result.cast(pa.int64())
    texts = texts.cast(pa.string())
    for kind in (pa.timestamp("us"), pa.timestamp("us", tz="UTC")):
        try:
            result = pc.utf8_trim_whitespace(texts).cast(kind)
            return pc.divide(result.cast(pa.int64()).cast(pa.float64()), 1e6)
        except pa.ArrowException:
            continue
    fits = pc.match_substring_regex(texts, r"^\s*\d{4}-\d{2}-\d{2}([ T][\d:.]+)?\s*$")
    if pc.all(fits).as_py() is not False:
        return pa.nulls(len(texts), pa.float64())
    return read_dates(pc.if_else(fits, texts, None), form)


CLOCK = r"^\s*\d\d?:\d\d(:\d\d(\.\d{1,6})?)?\s*$"


def read_clock(texts, form="clock"):
    """Parses times such as 14:30 or 14:30:05 as seconds since midnight."""
    fits = pc.match_substring_regex(texts, CLOCK)
    texts = pc.utf8_trim_whitespace(pc.if_else(fits, texts, None))
    texts = pc.replace_substring_regex(texts, r"^(\d:)", r"0\1")
    return read_dates(pc.binary_join_element_wise("1970-01-01", texts, " "), "ISO")


def find_clock(texts) -> DetectedFormat | None:
    """Detects a column of times of the day (no nulls); None if it is not one."""
    if not re.fullmatch(CLOCK, texts[0].as_py(), re.ASCII):
        return None
    if read_clock(texts).null_count:
        return None
    return DetectedFormat("clock", "times of the day")


def find_date(texts) -> DetectedFormat | None:
    """Detects the form of dates written as text (no nulls); None if there is none."""
    first = texts[0].as_py().strip()
    if not 6 <= len(first) <= 35 or not re.search(r"\d", first):
        return None
    if re.match(r"\d{4}-\d{2}-\d{2}([ T]|$)", first) and all_match_date_format(
        texts, "ISO"
    ):
        return DetectedFormat("ISO", "dates")
    for day, meanings in DAYS:
        for hour, clock in HOURS:
            match = re.fullmatch(day + hour, first)
            if match is None:
                continue
            separator = "T" if "T" in first[match.end("s") :] and clock else " "
            ways = [m.format(s=match["s"]) for m in meanings]
            ways = [w + (separator + clock if clock else "") for w in ways]
            ways = [w for w in ways if all_match_date_format(texts, w)]
            if ways:
                return _common_format(ways, texts, match["s"])
    return None


def epoch_of(low, high) -> str:
    """The epoch form by which low to high are dates of 1990 to 2100, or ""."""
    for form, parts in EPOCHS.items():
        if 631152000 * parts <= low < high < 4102444800 * parts:
            return form
    return ""


def all_match_date_format(texts, form) -> bool:
    """Whether all texts are dates of a form, with plausible years."""
    for part in (texts[:LOOK], texts):
        seconds = read_dates(part, form)
        if seconds.null_count:
            return False
    years = 1970 + np.array([pc.min(seconds).as_py(), pc.max(seconds).as_py()]) / 3.2e7
    return bool(years[0] > 1000 and years[1] < 3000)


def _common_format(ways, texts, separator) -> DetectedFormat:
    """Chooses among the date forms that fit all texts."""
    if len(ways) == 1:
        return DetectedFormat(
            ways[0], f"dates written as {_format_description(ways[0])}"
        )
    rising = []
    for way in ways:
        seconds = np.asarray(read_dates(texts, way).to_numpy())
        rising.append(bool(np.all(np.diff(seconds) >= 0)))
    if len(texts) > 5 and sum(rising) == 1:
        way = ways[rising.index(True)]
        return DetectedFormat(
            way, f"dates written as {_format_description(way)}, as they then rise"
        )
    way = ways[1] if separator == "/" else ways[0]
    return DetectedFormat(
        way,
        "dates; day and month cannot be told apart, read as "
        f"{_format_description(way)} "
        "(change `format` in the schema file if that is wrong)",
    )


def _format_description(form) -> str:
    """A date format in words, such as day/month/year."""
    words = {"%d": "day", "%m": "month", "%b": "month", "%Y": "year", "%y": "year"}
    day = form.split("%H")[0].split("%I")[0].rstrip(" T")
    for code, word in words.items():
        day = day.replace(code, word)
    return day
