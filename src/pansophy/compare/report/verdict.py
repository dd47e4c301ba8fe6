"""The verdict of a comparison in sentences, made from its numbers."""

from ..evaluation.ranking import KeepReason, Standing
from ..evaluation.row_level import DUMMY, SIGNIFICANCE_LEVEL
from ..evaluation.wording import join_names, verb_for

KEPT_BECAUSE = {
    KeepReason.TOP_SCORER: "",
    KeepReason.REQUESTED: "kept, as asked for",
    KeepReason.SIMPLER: "kept as the simpler one",
    KeepReason.SIMPLER_EQUAL: "kept as the simpler one that is almost certainly "
    "practically equal",
    KeepReason.LINEAR_BASELINE: "kept, since nothing beats it beyond the interval",
    KeepReason.NO_BETTER_THAN_DUMMY: "kept, though no better than the dummy",
}
NOTHING_BEATS_DUMMY = "Nothing here beats the dummy, which ignores all columns"


def verdict_parts(rows, kept, row_test=None) -> list[str]:
    """Headline, its qualification, what is kept, and the doubt about the dummy.

    Parameters
    ----------
    rows : list of RankedMethod
    kept : KeptMethod
    row_test : RowLevelTest or None

    Returns
    -------
    list of four str
        Clauses without a full stop; all but the first may be empty.
    """
    best = rows[0]
    tied = [r for r in rows if r.standing in (Standing.BEST, Standing.TIED)]
    dummy_is_tied = any(r.method == DUMMY for r in tied)
    if best.method == DUMMY and len(tied) == 1 and len(rows) > 1:
        return [f"{NOTHING_BEATS_DUMMY}: it scores best", "", "", ""]
    if len(rows) == 1:
        name = best.method
        return [f"{name} {verb_for(name)} the only method that finished", "", "", ""]
    headline, qualification = headline_of(rows, tied, row_test)
    show_kept = len(tied) > 1 or kept.method != best.method
    reason = kept_clause(rows, kept) if show_kept else ""
    doubt = dummy_clause([r.method for r in tied], row_test) if dummy_is_tied else ""
    return [headline, qualification, reason, doubt]


def headline_of(rows, tied, row_test) -> tuple[str, str]:
    """Which method is best, and how far that is certain."""
    name = rows[0].method
    scores_best = f"{name} {verb_for(name, 'scores', 'score')} best"
    if len(tied) == 1:
        if all(r.p < SIGNIFICANCE_LEVEL for r in rows[1:]):
            return f"{name} {verb_for(name)} better than every other method", ""
        # a method below the dummy has scores too uneven to be sure about
        return scores_best, "nothing above the dummy ties with it"
    beats_dummy = row_test is not None and row_test.beats_dummy(name)
    others = [r.method for r in tied[1:] if not (beats_dummy and r.method == DUMMY)]
    if not others:
        return scores_best, ""
    tie = f"{verb_for(name)} tied with {join_names(others, 3)}"
    return f"{scores_best} but {tie}: the difference may be chance", ""


def kept_clause(rows, kept) -> str:
    """Which method is kept and why; empty if that goes without saying."""
    because = KEPT_BECAUSE[kept.reason]
    if not because:
        return ""
    row = next(r for r in rows if r.method == kept.method)
    times = rows[0].fit_seconds / row.fit_seconds if row.fit_seconds > 0 else 0
    faster = f" ({times:.0f} times faster to fit)" if times >= 2 else ""
    return f"{kept.method} {verb_for(kept.method)} {because}{faster}"


def dummy_clause(tied, row_test) -> str:
    """Whether anything tied with the dummy beats it, and which test says so."""
    if row_test is None:
        return f"{NOTHING_BEATS_DUMMY}, beyond doubt"
    sure = [name for name in tied if row_test.beats_dummy(name)]
    if not sure:
        lowest = min(row_test.p, key=row_test.p.__getitem__)
        return (
            f"{NOTHING_BEATS_DUMMY}, beyond doubt: not over folds, nor row by row "
            f"{describe_row_test(row_test, lowest)}"
        )
    who = sure[0]
    it = verb_for(who, "it", "them") if who == tied[0] else who
    return (
        f"{row_test.folds} folds are too few to tell {it} from the dummy, which "
        f"ignores all columns, but row by row {verb_for(who, 'it beats', 'they beat')} "
        f"it {describe_row_test(row_test, who)}"
    )


def describe_row_test(row_test, name) -> str:
    """The row-level test of a method, in brackets."""
    p = row_test.p[name]
    value = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
    many = (
        f" after allowing for {row_test.ranked} methods" if row_test.ranked > 1 else ""
    )
    return f"(paired bootstrap of {row_test.rows:,} held-out rows, {value}{many})"


def verdict_sentence(rows, kept, row_test=None) -> str:
    """The verdict as one text."""
    *clauses, doubt = verdict_parts(rows, kept, row_test)
    text = "; ".join(clause for clause in clauses if clause) + "."
    return f"{text} {doubt}." if doubt else text


def verdict_paragraphs(rows, kept, row_test=None) -> list[str]:
    """A short headline, and the rest of the verdict as a sentence of its own."""
    headline, *clauses, doubt = verdict_parts(rows, kept, row_test)
    rest = "; ".join(clause for clause in clauses if clause)
    rest = " ".join(f"{text}." for text in (rest, doubt) if text)
    return [f"{headline}."] + ([rest[:1].upper() + rest[1:]] if rest else [])
