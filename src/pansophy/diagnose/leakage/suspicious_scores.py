"""Scores of held-out rows that are too good to be taken on trust.

Most tables leave something unexplained. A score next to perfection is more often the
work of a column that holds the answer than of a good method, so that it is reported
with what it was, as evidence and not as a verdict: some tables are that easy.

Along time a series that moves slowly is explained almost wholly by its last value;
there the best method has to leave a tenth of the error of the best baseline that knows
nothing but the past of the target.
"""

from ..findings import make_finding

TOO_GOOD_R2 = 0.995
NEARLY_EXACT_R2 = 0.9995
TOO_GOOD_ACCURACY = 0.998
FEWEST = 100  # rows below which perfection may be chance
BASELINES = ("last value", "drift", "seasonal", "moving average")
SERIES_SHARE = 0.1  # of the error of the best of these baselines


def too_good_score(scores, *, method, task, rows, errors=None) -> list:
    """A finding about a score that is too good, or none.

    Parameters
    ----------
    scores : dict of str to float
        Of the best method on held-out rows: "r2", "balanced accuracy".
    method : str
    task : str
    rows : int
    errors : dict of str to float or None
        Along time: rmse by method, in which the baselines are looked up.

    Examples
    --------
    >>> from pansophy.diagnose.leakage.suspicious_scores import too_good_score
    >>> found = too_good_score({"r2": 0.9996}, method="ridge", task="regression",
    ...                        rows=200)
    >>> found[0].kind, found[0].severity
    ('too good', 'warning')
    """
    name = "balanced accuracy" if task == "classification" else "r2"
    score = scores.get(name)
    if score is None or rows < FEWEST or method == "dummy" or method in BASELINES:
        return []
    limit = TOO_GOOD_ACCURACY if task == "classification" else TOO_GOOD_R2
    if not score >= limit:
        return []
    if errors is not None:
        known = [errors[b] for b in BASELINES if b in errors]
        if known and errors.get(method, 0.0) > SERIES_SHARE * min(known):
            return []
    severity = "warning" if score >= NEARLY_EXACT_R2 else "note"
    text = (
        f"{method} reaches a {name} of {score:.4f} on held-out rows. Few tables allow "
        "that: look for columns that were made from the target or are filled in after "
        "it is known, and for copies of rows."
    )
    return [make_finding("too good", severity, text, score=score, method=method)]
