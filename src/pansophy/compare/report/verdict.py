"""The verdict of a comparison in sentences, made from its numbers."""

from ..evaluation.paired_tests import DUMMY, SIGNIFICANCE_LEVEL
from ..evaluation.ranking import KeepReason, Standing
from ..evaluation.wording import join_names, verb_for

KEPT_BECAUSE = {
    KeepReason.TOP_SCORER: "",
    KeepReason.REQUESTED: "kept, as asked for",
    KeepReason.SIMPLER_EQUAL: "kept as the simpler one that is almost certainly "
    "practically equal",
    KeepReason.UNDECIDED_BEST: "kept as the better one",
    KeepReason.DUMMY_BEST: "",
    KeepReason.DUMMY_EQUAL: "kept, since nothing is practically better",
}
NOTHING_BEATS_DUMMY = "Nothing here beats the dummy, which ignores all columns"


def verdict_parts(rows, kept) -> list[str]:
    """Headline, its qualification, what is kept, and the doubt about the dummy.

    Parameters
    ----------
    rows : list of RankedMethod
    kept : KeptMethod

    Returns
    -------
    list of four str
        Clauses without a full stop; all but the first may be empty.
    """
    best = rows[0]
    if len(rows) == 1:
        name = best.method
        return [f"{name} {verb_for(name)} the only method that finished", "", "", ""]
    if best.method == DUMMY:
        return [f"{NOTHING_BEATS_DUMMY}: it scores best", "", "", ""]
    equal = [r.method for r in rows[1:] if r.standing is Standing.TIED]
    open_ = [r.method for r in rows[1:] if r.standing is Standing.UNDECIDED]
    headline, qualification = headline_of(rows, equal, open_)
    reason = (
        kept_clause(rows, kept) if equal or open_ or kept.method != best.method else ""
    )
    doubt = ""
    if DUMMY in open_ or DUMMY in equal:
        doubt = f"{NOTHING_BEATS_DUMMY}, beyond doubt"
    return [headline, qualification, reason, doubt]


def headline_of(rows, equal, undecided) -> tuple[str, str]:
    """Headline: the best method, and how certain that is."""
    name = rows[0].method
    scores_best = f"{name} {verb_for(name, 'scores', 'score')} best"
    if not equal and not undecided:
        if all(r.p < SIGNIFICANCE_LEVEL for r in rows[1:]):
            return f"{name} {verb_for(name)} better than every other method", ""
        # a method below the dummy has scores too uneven to be sure about
        return scores_best, "nothing above the dummy is as good"
    clauses = []
    if equal:
        clauses.append(f"practically equal: {join_names(equal, 3)}")
    if undecided:
        clauses.append(
            f"not enough rows to tell {verb_for(name, 'it', 'them')} from "
            f"{join_names(undecided, 3)}"
        )
    return "; ".join([scores_best, *clauses]), ""


def kept_clause(rows, kept) -> str:
    """Clause on the method kept and why; empty if that goes without saying."""
    explanation = KEPT_BECAUSE[kept.reason]
    if not explanation:
        return ""
    row = next(r for r in rows if r.method == kept.method)
    times = rows[0].fit_seconds / row.fit_seconds if row.fit_seconds > 0 else 0
    faster = f" ({times:.0f} times faster to fit)" if times >= 2 else ""
    return f"{kept.method} {verb_for(kept.method)} {explanation}{faster}"


def verdict_sentence(rows, kept) -> str:
    """The verdict as one text."""
    *clauses, doubt = verdict_parts(rows, kept)
    text = "; ".join(clause for clause in clauses if clause) + "."
    return f"{text} {doubt}." if doubt else text
