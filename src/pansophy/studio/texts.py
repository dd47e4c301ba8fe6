"""Every text of the pages, by language: `texts/en.toml`, `texts/de.toml`.

A translation is a file with the keys of `en.toml`; a key that it lacks is English.
Sentences that the engine makes (findings, verdicts, reports) are English in all of
them.
"""

import tomllib
from functools import cache
from importlib import resources

DEFAULT = "en"
THOUSANDS = {"en": ",", "de": "."}
DECIMAL = {"en": ".", "de": ","}


@cache
def languages() -> dict[str, str]:
    """Names of the languages by their codes, English first."""
    folder = resources.files("pansophy.studio").joinpath("texts")
    codes = sorted(p.name.removesuffix(".toml") for p in folder.iterdir())
    codes = [DEFAULT, *(c for c in codes if c != DEFAULT)]
    return {code: texts_of(code)["language"] for code in codes}


@cache
def texts_of(code) -> dict[str, str]:
    """The texts of a language by their keys."""
    file = resources.files("pansophy.studio").joinpath("texts", f"{code}.toml")
    return tomllib.loads(file.read_text("utf-8"))


class Texts:
    """The texts of one language; called with a key and what stands in its places.

    Examples
    --------
    >>> from pansophy.studio.texts import Texts
    >>> Texts("en")("rows_and_columns", rows=1000, columns=12)
    '1,000 rows, 12 columns'
    >>> Texts("de")("rows_and_columns", rows=1000, columns=12)
    '1.000 Zeilen, 12 Spalten'
    """

    def __init__(self, code):
        self.code = code if code in languages() else DEFAULT

    def __call__(self, key, **values) -> str:
        text = texts_of(self.code).get(key) or texts_of(DEFAULT)[key]
        shown = {
            name: self.number(v) if isinstance(v, int | float) else v
            for name, v in values.items()
        }
        return text.format(**shown)

    def number(self, value, digits=4) -> str:
        """A number as it is written in this language."""
        if isinstance(value, int):
            text = f"{value:,}"
        else:
            text = f"{value:,.{digits}g}"
            if "e" in text and 1e-4 <= abs(value) < 1e15:
                text = f"{value:,.0f}"
        return self._localised(text)

    def fixed(self, value, decimals) -> str:
        """A number with so many decimals, as it is written in this language."""
        return self._localised(f"{value:,.{decimals}f}")

    def _localised(self, text) -> str:
        swap = {",": THOUSANDS.get(self.code, ","), ".": DECIMAL.get(self.code, ".")}
        return "".join(swap.get(letter, letter) for letter in text)

    def duration(self, seconds) -> str:
        """A length of time in words: `40 s`, `3 min`, `1.5 h`."""
        if seconds < 60:
            return self("seconds", n=round(seconds))
        if seconds < 3600:
            return self("minutes", n=round(seconds / 60))
        return self("hours", n=round(seconds / 3600, 1))

    def bytes(self, n) -> str:
        """A size in kB, MB or GB."""
        for unit, size in (("GB", 1e9), ("MB", 1e6)):
            if n >= size:
                return f"{self.number(float(n / size), 3)} {unit}"
        return f"{self.number(max(round(n / 1e3), 1))} kB"


def chosen_language(cookie, accepted) -> str:
    """The language of a visitor: as chosen, or the first known one that is accepted.

    Examples
    --------
    >>> from pansophy.studio.texts import chosen_language
    >>> chosen_language(None, "fr, de-AT;q=0.8, en;q=0.5")
    'de'
    """
    if cookie in languages():
        return cookie
    for part in (accepted or "").split(","):
        code = part.split(";")[0].strip().lower().split("-")[0]
        if code in languages():
            return code
    return DEFAULT
