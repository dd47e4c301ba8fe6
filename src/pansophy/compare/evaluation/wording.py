"""Small pieces of wording that results and the report share."""

import numpy as np

from .bayesian_tests import ALMOST_CERTAIN, PROBABLE

PLURAL = ("vectors", "neighbours", "trees")  # last words of methods named in the plural


def format_percent(p) -> str:
    """A probability as whole per cent, without claiming 0 or 100 %."""
    if p < 0.005:
        return "under 1 %"
    return "over 99 %" if p > 0.995 else f"{100 * p:.0f} %"


def join_names(names, max_names=5) -> str:
    """`a`, `a and b`, `a, b and c`; a long list is cut short."""
    if len(names) > max_names:
        names = [*names[:max_names], f"{len(names) - max_names} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def verb_for(name, one="is", many="are") -> str:
    """The verb that goes with a method: nearest neighbours are, a forest is.

    Examples
    --------
    >>> from pansophy.compare.evaluation.wording import verb_for
    >>> verb_for("nearest neighbours"), verb_for("naive Bayes", "scores", "score")
    ('are', 'scores')
    """
    return many if name.split()[-1:] and name.split()[-1] in PLURAL else one


def describe_probabilities(
    p, a, b, rope, metric, relative=False, *, whether="Whether"
) -> str:
    """One sentence about method a against method b.

    Parameters
    ----------
    p : ComparisonProbabilities
        Of a against b.
    a, b : str
        Names of the methods.
    rope : float
        Half-width of the region of practical equivalence; a ratio if `relative`.
    metric : str
    whether : str
        The first word of a sentence that leaves the question open.

    Examples
    --------
    >>> from pansophy.compare import ComparisonProbabilities, describe_probabilities
    >>> p = ComparisonProbabilities(0.02, 0.97, 0.01)
    >>> describe_probabilities(p, "forest", "ridge", 0.01, "accuracy")
    'forest and ridge are almost certainly practically equal (97 %): within 0.01 of
    accuracy.'
    """
    relations = ("better than", "practically equal to", "worse than")
    k = int(np.argmax(p))
    size = f"{100 * rope:.2g} %" if relative else f"{rope:.2g}"
    if p[k] < PROBABLE:
        return (
            f"{whether} {a} {verb_for(a)} better than {b} is open: better "
            f"{format_percent(p.better)}, practically equal (within {size} of "
            f"{metric}) {format_percent(p.equivalent)}, worse "
            f"{format_percent(p.worse)}."
        )
    surely = "almost certainly" if p[k] >= ALMOST_CERTAIN else "probably"
    sure = format_percent(p[k])
    if k == 1:
        return (
            f"{a} and {b} are {surely} practically equal ({sure}): within {size} of "
            f"{metric}."
        )
    return (
        f"{a} {verb_for(a)} {surely} {relations[k]} {b} ({sure}), by more than {size} "
        f"of {metric}."
    )
