"""Catalogue of topics: the id of each, and the names in the library that cover it.

`catalogue.csv` beside this file is the single source for `docs/curriculum.md`, for
`pansophy methods`, and for the test that every name in it imports.
`catalogue_terms.csv` has other words for the same topics, `catalogue_guides.toml` says
which rows suit a situation ("counts", "churn").

The search compares phrases. Every topic, its parts between commas, every other term and
every name is a phrase; words are reduced to stems in one spelling and weighted by how
rare they are (w), and a query q is compared with a phrase p by the cosine

    s(q, p) = sum over shared words of w^2 m / (|q| |p|),

where m is 1 for equal stems and less for beginnings and misspellings. A row scores the
best of its phrases, plus a little for every query word that stands anywhere in the row.
"""

import csv
import difflib
import importlib
import math
import re
import tomllib
import unicodedata
from functools import cache
from importlib import resources
from typing import NamedTuple


class CatalogueEntry(NamedTuple):
    """One topic."""

    id: str  # K001...
    topic: str
    family: str
    names: tuple[str, ...]  # dotted public names
    references: tuple[str, ...]  # keys of docs/references.bib


class Guide(NamedTuple):
    """Rows of the catalogue that suit a situation."""

    title: str
    asks: tuple[str, ...]  # what people type
    advice: str
    steps: tuple["GuideStep", ...]
    choice: bool = False  # between methods: only for a question that compares


class GuideStep(NamedTuple):
    """One row of the catalogue for a situation."""

    id: str
    when: str  # to use it
    names: tuple[str, ...]  # of the row, last parts; the first three if none are given


def packages_of_class(name) -> list[str]:
    """The packages in which a public name of the catalogue is found.

    Examples
    --------
    >>> from pansophy.catalogue import packages_of_class
    >>> packages_of_class("LogisticRegression")
    ['pansophy.linear_model']
    """
    names = {n for row in read_catalogue() for n in row.names}
    return sorted(n.removesuffix(f".{name}") for n in names if n.endswith(f".{name}"))


def _package_text(name: str) -> str:
    return resources.files("pansophy").joinpath(name).read_text("utf-8")


def read_catalogue() -> list[CatalogueEntry]:
    """All entries, in order of id.

    Examples
    --------
    >>> from pansophy.catalogue import read_catalogue
    >>> name = "pansophy.cluster.KMeans"
    >>> entry = next(e for e in read_catalogue() if name in e.names)
    >>> entry.family
    'unsupervised'
    """
    return [
        CatalogueEntry(
            row["id"],
            row["topic"],
            row["family"],
            tuple(row["names"].split()),
            tuple(row["references"].split()),
        )
        for row in csv.DictReader(_package_text("catalogue.csv").splitlines())
    ]


def read_terms() -> dict[str, tuple[str, ...]]:
    """Id of a row -> other words for it."""
    rows = csv.DictReader(_package_text("catalogue_terms.csv").splitlines())
    return {
        row["id"]: tuple(t.strip() for t in row["terms"].split(";") if t.strip())
        for row in rows
    }


def read_guides() -> list[Guide]:
    """All guides."""
    return [
        Guide(
            g["title"],
            tuple(g["asks"]),
            g["advice"],
            tuple(
                GuideStep(s["id"], s["when"], tuple(s.get("names", "").split()))
                for s in g["steps"]
            ),
            g.get("choice", False),
        )
        for g in tomllib.loads(_package_text("catalogue_guides.toml"))["guide"]
    ]


# Words that say nothing about the topic, and words that say little.
FUNCTION_TEXT = """
    a about am an and any are as at be been but by can could de did do does for from
    get give had has have how i if in into is it its like me my need of on or our own
    pansophy please scikit should sklearn so some than that the their them then there
    these they this to use
    used using via want was we what when where which while who why will with would
    you your"""
FUNCTION_WORDS = frozenset(FUNCTION_TEXT.split())
FILLER_TEXT = """
    algorithm all approach basic best better between concept data definition example
    explain find formula fundamental general good idea introduction kind learn list
    method model motivation notes one overview problem procedure property recap rest
    review rule setup simple standard summary technique theory tool try type understand
    versus vs work"""
FILLER_WORDS = frozenset(FILLER_TEXT.split())
QUESTION_WORDS = frozenset(("best", "how", "should", "suited", "what", "when", "which"))
CHOICE_WORDS = QUESTION_WORDS | {"or", "vs", "versus", "between", "better", "against"}

# British, American: endings and words of one spelling.
SPELLINGS = (
    (re.compile(r"is(e|es|ed|er|ers|ing|ation|ations)$"), r"iz\1"),
    (re.compile(r"ys(e|ed|ing)$"), r"yz\1"),
    (re.compile(r"our(s|ed|ing|hood|ly|able)?$"), r"or\1"),
    (re.compile(r"(met|cent|lit|fib)re(s|d)?$"), r"\1er\2"),
    (re.compile(r"ogue(s)?$"), r"og\1"),
    (re.compile(r"programme(s)?$"), r"program\1"),
    (re.compile(r"([aeiou])ll(ed|ing|er|ers)$"), r"\1l\2"),
)
SUFFIXES = (  # longest first; what is left must have the length beside it
    ("ification", 4), ("ization", 3), ("ifier", 4), ("ifying", 4), ("ified", 4),
    ("ation", 4), ("ator", 4), ("ically", 4), ("izing", 3), ("izer", 3), ("ized", 3),
    ("ize", 3), ("ating", 4), ("ated", 4), ("ate", 4), ("ative", 4), ("ity", 4),
    ("ical", 4), ("ment", 4), ("sion", 4), ("sor", 4), ("ion", 4), ("ive", 4),
    ("ing", 4), ("ied", 3), ("ify", 4), ("or", 5), ("er", 6), ("ed", 4), ("ly", 4),
    ("al", 5), ("ic", 4), ("e", 5), ("y", 4),
)  # fmt: skip


@cache
def stem_of(word: str) -> str:
    """A word without its ending, in one spelling.

    Examples
    --------
    >>> from pansophy.catalogue import stem_of
    >>> stem_of("regularisation") == stem_of("regularized") == stem_of("regularizer")
    True
    """
    for pattern, replacement in SPELLINGS:
        word = pattern.sub(replacement, word)
    if len(word) > 3 and word.endswith("s") and word[-2] not in "sui":
        word = word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else word[:-1]
    if len(word) < 4:
        return word
    for suffix, min_length in SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= min_length:
            word = word[: -len(suffix)]
            break
    return word[:-1] if len(word) > 4 and word[-1] == word[-2] else word


def words_of(text: str) -> list[str]:
    """Lower-case words; capitals inside words, hyphens and dots separate.

    The s of a plural such as "SVMs" does not.

    Examples
    --------
    >>> from pansophy.catalogue import words_of
    >>> words_of("KMeans, Q-learning and Newton's method")
    ['k', 'means', 'q', 'learning', 'and', 'newton', 'method']
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    plain = re.sub(
        r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s\b)[a-z])", " ", plain
    )
    plain = re.sub(r"(?<=[a-z])'s\b", "", plain.lower())
    return re.findall(r"[a-z]+|[0-9]+", plain)


FILLER_STEMS = frozenset(stem_of(w) for w in FILLER_WORDS)


class Phrase(NamedTuple):
    """A topic, another term or a name, as stems; what counts for it."""

    row: int
    stems: tuple[str, ...]
    kind: float  # of 1: topics before terms before names


TOPIC, PART, TERM, NAME = 1.0, 0.98, 0.97, 0.9
ROW_SHARE = 0.25  # of the score: words anywhere in the row
SHOWN_SHARE = 0.45  # of the best score: what is worth showing
LEAST_SCORE = 0.3
LONG_WORD, CLOSE = 6, 0.88  # letters, and likeness, of words that are corrected
MAX_WORDS = 40  # of a query that are looked at
ASKED_GUIDE, NAMED_GUIDE = 0.5, 0.8  # least scores of a guide: asked for, or named


def stems_of(text: str) -> list[str]:
    """Stems of a text, without function words unless there are no others."""
    words = words_of(text)
    return [stem_of(w) for w in words if w not in FUNCTION_WORDS] or [
        stem_of(w) for w in words
    ]


def _phrases_of_row(row: int, entry: CatalogueEntry, terms) -> list[Phrase]:
    """Every phrase by which a row is found."""
    texts = [(entry.topic, TOPIC), *((p, PART) for p in split_topic(entry.topic))]
    for term in terms:
        texts += [(term, TERM), *((p, TERM - 0.01) for p in split_topic(term))]
    for i, name in enumerate(entry.names):
        last = [p for p in name.split(".")[1:] if not p.startswith("_")]
        texts.append((last[-1], NAME - 0.005 * min(i, 20)))
        if len(last) > 1 and last[-2][:1].isupper():  # a method of a class
            texts.append((f"{last[-2]} {last[-1]}", NAME - 0.1))
    result = {}
    for text, kind in texts:
        stems = tuple(dict.fromkeys(stems_of(text)))
        if stems and result.get(stems, 0) < kind:
            result[stems] = kind
    return [Phrase(row, stems, kind) for stems, kind in result.items()]


def split_topic(text: str) -> list[str]:
    """Parts between commas, colons and "and", and in brackets, if there are several.

    Examples
    --------
    >>> from pansophy.catalogue import split_topic
    >>> split_topic("Sparse (L1-penalised) support vector machine")
    ['Sparse support vector machine', 'L1-penalised']
    """
    # what stands in brackets qualifies the words around it, which belong together
    aside = re.findall(r"\(([^()]*)\)", text)
    outside = re.sub(r"\([^()]*\)", " ", text)
    parts = []
    for piece in (outside, *aside):
        parts += re.split(r"[,:;/()]|\band\b|\bor\b", piece)
    parts = [" ".join(p.split()) for p in parts if p.strip()]
    return parts if len(parts) > 1 else []


class CatalogueIndex:
    """Phrases of rows, ready to be searched."""

    def __init__(self, phrase_lists, unknown=0.5):
        self.unknown = unknown  # share that a word counts which no phrase has
        single = {s for phrases in phrase_lists for p in phrases for s in p.stems}
        self.pairs = {}  # joined stems of neighbours -> both
        for phrases in phrase_lists:
            for p in phrases:
                for a, b in zip(p.stems, p.stems[1:], strict=False):
                    self.pairs.setdefault(stem_of(a + b), (a, b))
        self.joined = {pair: j for j, pair in self.pairs.items() if j in single}
        self.phrases = [
            p._replace(stems=self.join_neighbours(p.stems))
            for phrases in phrase_lists
            for p in phrases
        ]
        rows_with = {}
        for p in self.phrases:
            for s in p.stems:
                rows_with.setdefault(s, set()).add(p.row)
        self.rows_with = rows_with
        n = len(phrase_lists)
        self.weights = {
            s: math.log(1 + n / len(rows)) * (0.4 if s in FILLER_STEMS else 1.0)
            for s, rows in rows_with.items()
        }
        self.rare = math.log(1 + n)

    def join_neighbours(self, stems) -> tuple[str, ...]:
        """`t sne` as `tsne`, where that is a word elsewhere."""
        joined_stems = list(stems)
        i = 0
        while i < len(joined_stems) - 1:
            joined = self.joined.get((joined_stems[i], joined_stems[i + 1]))
            if joined is None:
                i += 1
            else:
                joined_stems[i : i + 2] = [joined]
        return tuple(joined_stems)

    def knows(self, word) -> bool:
        """Whether a word of a query is known as it is written."""
        stem = stem_of(word)
        return stem in self.weights or stem in self.pairs

    def query_stems(self, text) -> tuple[str, ...]:
        """Stems of a query; one that is unknown may be two, joined or misspelt."""
        stems = []
        query_words = self.join_neighbours(stems_of(text))
        for s in [*dict.fromkeys(query_words)][:MAX_WORDS]:
            if s not in self.weights and s not in self.pairs and len(s) > 3:
                known = (*self.weights, *self.pairs)
                s = next(iter(difflib.get_close_matches(s, known, 1, 0.84)), s)
            stems += [s] if s in self.weights else self.pairs.get(s, (s,))
        return tuple(dict.fromkeys(self.join_neighbours(stems)))

    def alike(self, stem) -> dict[str, float]:
        """Known stems that may be meant by one, with how much they count."""
        result = {stem: 1.0} if stem in self.weights else {}
        for known_stem in self.weights:
            begins = known_stem.startswith(stem) or stem.startswith(known_stem)
            if known_stem != stem and begins and min(len(stem), len(known_stem)) >= 5:
                result[known_stem] = 0.75
        if not result and len(stem) > 4:
            near = difflib.get_close_matches(stem, self.weights, 3, 0.84)
            result = dict.fromkeys(near, 0.7)
        return result

    def query_weight(self, stem, matches) -> float:
        """Weight of a word of the query."""
        known = [self.weights[matched] for matched in matches]
        return self.weights.get(stem) or min(known, default=self.unknown * self.rare)

    def scores(self, text) -> dict[int, float]:
        """Row -> score, for rows that share a word with the text."""
        stems = self.query_stems(text)
        matches = {s: self.alike(s) for s in stems}
        weights = {s: self.query_weight(s, m) for s, m in matches.items()}
        length = math.sqrt(sum(w * w for w in weights.values()))
        if not length:
            return {}
        near: dict[str, list[tuple[str, float]]] = {}
        for s, m in matches.items():
            for known_stem, share in m.items():
                near.setdefault(known_stem, []).append((s, share))
        best: dict[int, float] = {}
        covered: dict[int, dict[str, float]] = {}
        for p in self.phrases:
            shared: dict[str, float] = {}
            dot = 0.0
            for known_stem in p.stems:
                for s, share in near.get(known_stem, ()):
                    shared[s] = max(shared.get(s, 0.0), share)
                    dot += (
                        weights[s] * min(self.weights[known_stem], weights[s]) * share
                    )
            if not shared:
                continue
            size = math.sqrt(sum(self.weights[s] ** 2 for s in p.stems))
            score = p.kind * dot / (length * size)
            best[p.row] = max(best.get(p.row, 0.0), score)
            row = covered.setdefault(p.row, {})
            for s, share in shared.items():
                row[s] = max(row.get(s, 0.0), share)
        return {
            row: (1 - ROW_SHARE) * score
            + ROW_SHARE
            * sum(weights[s] ** 2 * share for s, share in covered[row].items())
            / length**2
            for row, score in best.items()
        }


@cache
def _catalogue_index() -> CatalogueIndex:
    """The index of all rows."""
    entries = read_catalogue()
    terms = read_terms()
    return CatalogueIndex(
        [_phrases_of_row(i, e, terms.get(e.id, ())) for i, e in enumerate(entries)]
    )


@cache
def _guide_index() -> CatalogueIndex:
    """The index of all guides, by what people ask."""
    return CatalogueIndex(
        [
            [Phrase(i, tuple(dict.fromkeys(stems_of(a))), TOPIC) for a in g.asks]
            for i, g in enumerate(read_guides())
        ],
        unknown=1.0,
    )


@cache
def _known_words() -> tuple[str, ...]:
    """The longer words of all topics, terms and guides, as they are written."""
    texts = [e.topic for e in read_catalogue()]
    texts += [term for terms in read_terms().values() for term in terms]
    texts += [ask for guide in read_guides() for ask in guide.asks]
    words = {w for text in texts for w in words_of(text) if len(w) >= LONG_WORD}
    return tuple(sorted(words))


def corrected_query(query) -> str:
    """A query with its misspelt words corrected; the query itself if there are none.

    Examples
    --------
    >>> from pansophy.catalogue import corrected_query
    >>> corrected_query("logistic regresion")
    'logistic regression'
    >>> corrected_query("k-means")
    'k-means'
    """
    result = query
    for word in words_of(query):
        known = word in FUNCTION_WORDS or any(
            index.knows(word) for index in (_catalogue_index(), _guide_index())
        )
        if known or len(word) < LONG_WORD:
            continue
        close = difflib.get_close_matches(word, _known_words(), 1, CLOSE)
        if close:
            whole_word = rf"(?<!\w){re.escape(word)}(?!\w)"
            result = re.sub(whole_word, close[0], result, flags=re.IGNORECASE)
    return result


def search_catalogue(query, entries=None) -> list[CatalogueEntry]:
    """Entries that a query means, best first; British or American, with slips or not.

    Parameters
    ----------
    query : str
        A name, a topic, or a question.
    entries : list of CatalogueEntry or None
        Where to look: everywhere by default.

    Examples
    --------
    >>> from pansophy.catalogue import search_catalogue
    >>> search_catalogue("K-Means")[0].id == search_catalogue("kmean")[0].id
    True
    >>> search_catalogue("Viterbi Algorithm")[0].topic
    'Likeliest paths, one and several'
    """
    catalogue = read_catalogue()
    by_id = [e for e in catalogue if e.id == query.strip().upper()]
    if by_id:
        return by_id
    wanted = None if entries is None else {e.id for e in entries}
    query = corrected_query(query)
    scores = {
        row: score
        for row, score in _catalogue_index().scores(query).items()
        if wanted is None or catalogue[row].id in wanted
    }
    min_score = max(LEAST_SCORE, SHOWN_SHARE * max(scores.values(), default=0.0))
    ranked = sorted(scores, key=lambda row: (-scores[row], row))
    return [catalogue[row] for row in ranked if scores[row] >= min_score]


def find_guide(query) -> Guide | None:
    """The guide for a situation or a question such as "which model for counts".

    Examples
    --------
    >>> from pansophy.catalogue import find_guide
    >>> find_guide("which model for counts?").title
    'Counts: a target of 0, 1, 2, ...'
    >>> find_guide("Viterbi") is None
    True
    """
    query = corrected_query(query)
    query_words = set(words_of(query))
    guides = read_guides()
    compares = "?" in query or bool(set(query.lower().split()) & CHOICE_WORDS)
    scores = {
        row: score
        for row, score in _guide_index().scores(query).items()
        if compares or not guides[row].choice
    }
    best = max(scores, key=lambda row: (scores[row], -row), default=None)
    is_question = bool(query_words & QUESTION_WORDS) or "?" in query
    min_score = ASKED_GUIDE if is_question else NAMED_GUIDE
    if best is None or scores[best] < min_score:
        return None
    return guides[best]


def resolve_name(name: str):
    """The object behind a dotted name, importing as far down as needed.

    Examples
    --------
    >>> from pansophy.catalogue import resolve_name
    >>> resolve_name("pansophy.core.drivers.iterate.iterate").__name__
    'iterate'
    """
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        module = ".".join(parts[:cut])
        try:
            result = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not module.startswith(error.name):
                raise  # an optional dependency is missing, not our module
            continue
        for part in parts[cut:]:
            result = getattr(result, part)
        return result
    raise ModuleNotFoundError(f"no module in {name!r}")


def catalogue_page() -> str:
    """The catalogue as the page `docs/curriculum.md`."""
    lines = [
        "# Curriculum",
        "",
        "What the library covers, by topic. Made from `src/pansophy/catalogue.csv` by "
        "`make docs`; do not edit.",
        "",
        "| id | family | topic | names |",
        "|---|---|---|---|",
    ]
    for e in read_catalogue():
        names = ", ".join(f"`{n.removeprefix('pansophy.')}`" for n in e.names)
        lines.append(f"| {e.id} | {e.family} | {e.topic} | {names} |")
    return "\n".join(lines) + "\n"
