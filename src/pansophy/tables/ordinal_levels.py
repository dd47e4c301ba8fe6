"""Levels with a natural order: low < medium < high, "18-25" < "26-35"."""

import re

SCALES = [
    "none < very low < low < medium low < medium < moderate < medium high < high < "
    "very high < extreme",
    "low < mid < high",
    "low < average < high",
    "low < normal < high",
    "tiny < extra small < small < medium < large < extra large < huge",
    "xxs < xs < s < m < l < xl < xxl < xxxl",
    "short < medium < tall",
    "short < medium < long",
    "slow < medium < fast",
    "very bad < bad < poor < fair < average < ok < good < very good < great < "
    "excellent",
    "very poor < poor < fair < typical < good < very good < premium < excellent < "
    "ideal",
    "never < rarely < seldom < sometimes < often < usually < always",
    "never < monthly < weekly < daily",
    "strongly disagree < disagree < neutral < agree < strongly agree",
    "very dissatisfied < dissatisfied < neutral < satisfied < very satisfied",
    "very unlikely < unlikely < neutral < likely < very likely",
    "none < mild < moderate < severe < critical",
    "minor < major < critical",
    "beginner < intermediate < advanced < expert",
    "junior < mid < senior < lead",
    "primary < secondary < tertiary",
    "first < second < third < fourth < fifth",
    "bronze < silver < gold < platinum < diamond",
    "cold < cool < mild < warm < hot",
    "freezing < cold < cool < warm < hot",
    "light < medium < heavy",
    "thin < medium < thick",
    "young < middle < old",
]
ORDERS = [[w.strip() for w in scale.split("<")] for scale in SCALES]
GRADES = [g + s for g in "FEDCBA" for s in ("-", "", "+")]
GRADE_NAME = re.compile(r"grade|rating|mark|class(ification)?$|credit", re.IGNORECASE)
RANGE = re.compile(
    r"\s*(?:(?P<less><=?|under|below|up to)\s*)?[$€£]?(?P<low>\d+(?:[.,]\d+)?)\s*[km%]?"
    r"(?:\s*(?:-|–|to)\s*[$€£]?\d+(?:[.,]\d+)?\s*[km%]?)?\s*"
    r"(?P<more>\+|and (?:over|more|above)|or more)?\s*(?:years?|yrs?)?\s*",
    re.IGNORECASE,
)
MORE = re.compile(
    r"\s*(?:>=?|over|above|more than)\s*(\d+(?:[.,]\d+)?)\s*[km%]?\s*", re.IGNORECASE
)


def order_of(levels, name="") -> list[str] | None:
    """The levels in their natural order; None if there is none."""
    normalized = {re.sub(r"[\s_-]+", " ", v).strip().lower(): v for v in levels}
    if len(normalized) < len(levels) or len(levels) < 2:
        return None
    for order in ORDERS:
        if normalized.keys() <= set(order):
            return [normalized[w] for w in order if w in normalized]
    grades = {v.strip().upper(): v for v in levels}
    if GRADE_NAME.search(name) and grades.keys() <= set(GRADES) and len(grades) > 2:
        return [grades[g] for g in GRADES if g in grades]
    return _sort_range_levels(levels)


def _sort_range_levels(levels) -> list[str] | None:
    """Levels such as "18-25", "26-35", "36+" sorted by lower end; None if not such."""
    if len(levels) < 3 or max(map(len, levels)) > 40:
        return None
    starts = []
    for level in levels:
        open_end = MORE.fullmatch(level)
        match = RANGE.fullmatch(level)
        if open_end:
            starts.append((float(open_end[1].replace(",", ".")), 1))
        elif match and not level.strip().isdigit():
            low = float(match["low"].replace(",", "."))
            starts.append((low, -1 if match["less"] else 1 if match["more"] else 0))
        else:
            return None
    if len(set(starts)) < len(levels):
        return None
    return [level for _, level in sorted(zip(starts, levels))]
