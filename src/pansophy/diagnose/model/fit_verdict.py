"""Underfitting or overfitting, judged from training and held-out scores.

With a score s, greater is better, let c be the score of guessing, b the best possible,
and u(s) = (s - c) / (b - c) the relative score. A single model is

    underfit   if u(train) is low and u(train) - u(test) small                    (1)
    overfit    if u(train) - u(test) is large, and not by chance                  (2)

where "low" is below the best held-out score known, if one is given, and below a fixed
share otherwise. Among several models no threshold is needed: a overfits if some b

    has train(b) < train(a) and test(b) > test(a);                               (3)

the model of the best held-out score is balanced, one that is worse than it on
training rows as well is underfit. (3) cannot hold both ways round.

The norm of the weights is reported as well: a very large one is typical of a fit that
follows the noise.

Refs      [Mitchell1997] (3)
"""

from typing import NamedTuple

import numpy as np

from ..data.column_access import n_rows, scorer_of

CAUSES = {
    "underfit": (
        "the model is too weak or too strongly regularised",
        "the fit stopped early or failed",
        "the columns do not tell more: noise looks the same",
    ),
    "overfit": (
        "too few rows for so free a model",
        "too little regularisation",
        "settings chosen on the training rows",
        "held-out rows that differ from the training rows",
    ),
    "balanced": (),
}


class FitVerdict(NamedTuple):
    """Verdict on the fit of one model; prints as a sentence or two."""

    verdict: str  # "underfit", "balanced" or "overfit"
    train: float
    test: float
    gap: float  # train - test
    weight_norm: float | None
    causes: tuple[str, ...]

    def __str__(self):
        words = (
            f"{self.verdict}: {self.train:.4g} on training rows, {self.test:.4g} on "
            f"held-out rows, a gap of {self.gap:.3g}."
        )
        if self.weight_norm is not None:
            words += f" Length of the weights: {self.weight_norm:.4g}."
        if self.causes:
            words += f" Likely: {'; '.join(self.causes)}."
        return words


class FitVerdicts(NamedTuple):
    """Verdicts on the fits of several models, compared with each other."""

    names: tuple[str, ...]
    verdicts: tuple[FitVerdict, ...]
    best: int  # place of the best held-out score
    pairs: tuple[tuple[int, int], ...]  # (a, b): a overfits, as b shows

    def __str__(self):
        lines = [f"{n}: {v}" for n, v in zip(self.names, self.verdicts, strict=True)]
        return "\n".join([*lines, f"Best on held-out rows: {self.names[self.best]}."])


def fit_verdict(
    train,
    test,
    *,
    chance=0.0,
    perfect=1.0,
    reference=None,
    low=0.8,
    gap=0.04,
    error=0.0,
    weight_norm=None,
) -> FitVerdict:
    """Judge one model by its training and held-out scores, eqs. (1) and (2).

    Parameters
    ----------
    train, test : float
        Scores, more is better.
    chance, perfect : float
        The scores of guessing and of knowing.
    reference : float, optional
        The best held-out score known for these data: a training score below it is
        low. Without it, one below the share `low` of the way is.
    low, gap : float
        Shares of the way from chance to perfect.
    error : float
        Standard error of the gap; a gap within two of it is no overfitting.
    weight_norm : float, optional

    Examples
    --------
    >>> from pansophy.diagnose import fit_verdict
    >>> pairs = [(0.792, 0.792), (0.976, 0.950), (0.996, 0.947)]
    >>> [fit_verdict(*pair).verdict for pair in pairs]
    ['underfit', 'balanced', 'overfit']
    """
    span = perfect - chance
    if not span > 0:
        raise ValueError(f"perfect must exceed chance, got {perfect} and {chance}.")
    train, test = float(train), float(test)
    if not np.isfinite([train, test]).all():
        raise ValueError(f"scores must be finite, got {train} and {test}.")
    wide = train - test > max(gap * span, 2 * error)
    floor = chance + low * span if reference is None else reference
    verdict = "overfit" if wide else "underfit" if train < floor else "balanced"
    return FitVerdict(verdict, train, test, train - test, weight_norm, CAUSES[verdict])


def shows_overfitting(a, b) -> bool:
    """Eq. (3): does b show that a overfits? Both are pairs (train, test) of scores."""
    return bool(b[0] < a[0] and b[1] > a[1])


def compare_fits(train, test, names=None) -> FitVerdicts:
    """Judge several models by each other, without any threshold: eq. (3).

    Examples
    --------
    >>> from pansophy.diagnose import compare_fits
    >>> fits = compare_fits([79.2, 97.6, 99.6], [79.2, 95.0, 94.7])
    >>> [v.verdict for v in fits.verdicts], fits.pairs
    (['underfit', 'balanced', 'overfit'], ((2, 1),))
    """
    scores = [(float(a), float(b)) for a, b in zip(train, test, strict=True)]
    if not scores or not np.isfinite(scores).all():
        raise ValueError("scores of at least one model are needed, all finite.")
    m = len(scores)
    names = [str(i) for i in range(m)] if names is None else [str(n) for n in names]
    best = max(range(m), key=lambda i: (scores[i][1], -scores[i][0]))
    pairs = tuple(
        (i, j)
        for i in range(m)
        for j in range(m)
        if shows_overfitting(scores[i], scores[j])
    )
    overfitted = {i for i, _ in pairs}
    results = []
    for i, (a, b) in enumerate(scores):
        is_as_good = i == best or scores[best][1] == b
        verdict = (
            "balanced" if is_as_good else "overfit" if i in overfitted else "underfit"
        )
        results.append(FitVerdict(verdict, a, b, a - b, None, CAUSES[verdict]))
    return FitVerdicts(tuple(names), tuple(results), best, pairs)


def judge_fit(model, X, y, X_test, y_test, *, scoring=None, **options) -> FitVerdict:
    """Score a fitted model on training and held-out rows and judge it.

    Parameters
    ----------
    model : fitted estimator
    X, y : training rows
    X_test, y_test : held-out rows
    scoring : as in scikit-learn, optional
    **how : of `fit_verdict`

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose import judge_fit
    >>> from pansophy.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X[:100], y[:100])
    >>> judge_fit(tree, X[:100], y[:100], X[100:], y[100:]).verdict
    'overfit'
    """
    scorer = scorer_of(model, scoring)
    train, test = scorer(model, X, y), scorer(model, X_test, y_test)
    if scoring in (None, "accuracy") and 0 <= test <= 1:
        options.setdefault("error", np.sqrt(test * (1 - test) / n_rows(X_test)))
    options.setdefault("weight_norm", weight_norm(model))
    return fit_verdict(train, test, **options)


def weight_norm(model) -> float | None:
    """Length of all weights of a linear model or a net; None where there are none.

    Examples
    --------
    >>> from pansophy.diagnose import weight_norm
    >>> from pansophy.linear_model import LinearRegression
    >>> round(weight_norm(LinearRegression().fit([[0.0], [1.0]], [0.0, 3.0])), 6)
    3.0
    """
    if hasattr(model, "steps"):
        model = model.steps[-1][1]
    weights = getattr(model, "coefs_", None)
    if weights is None:
        weights = getattr(model, "coef_", None)
        weights = None if weights is None else [weights]
    if weights is None:
        return None
    squares = (np.sum(np.square(as_dense(w))) for w in weights)
    return float(np.sqrt(sum(squares)))


def as_dense(w):
    return w.toarray() if hasattr(w, "toarray") else np.asarray(w, float)
