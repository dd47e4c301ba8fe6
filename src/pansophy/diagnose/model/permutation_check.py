"""Permutation test: the score of a model against its scores on shuffled labels.

Under "the columns tell nothing about y" every order of y is equally likely, so the
cross-validated score s of the true order is one draw among those s_1 ... s_B of
shuffled ones, and

    p = (1 + #{b : s_b >= s}) / (B + 1)                                            (1)

is uniform, whatever the learner. Within groups only, labels are shuffled inside each
group, which keeps what the group alone tells.

Cost      (B + 1) cross-validations
Refs      [Ojala2010]
"""

from typing import NamedTuple

import numpy as np

from ...core.random import make_rng
from ..data.column_access import cross_scores, cv_folds, indexable_rows, scorer_of
from ..findings import Finding, make_finding


class PermutationCheck(NamedTuple):
    """A score, the scores on shuffled labels, and the p value, eq. (1)."""

    score: float
    permuted: np.ndarray
    p_value: float

    @property
    def learned(self) -> bool:
        """Whether p is small, or as small as so few shuffles can make it."""
        return self.p_value <= max(0.05, 1 / (len(self.permuted) + 1))

    def finding(self) -> Finding | None:
        """An alarm where nothing was learned."""
        if self.learned:
            return None
        return make_finding(
            "no signal",
            "alarm",
            str(self),
            score=self.score,
            permuted=self.permuted.mean(),
            p_value=self.p_value,
        )

    def __str__(self):
        verdicts = ("No sign of anything learned", "There is something to learn")
        return (
            f"{verdicts[self.learned]}: the score is {self.score:.4g}, with shuffled "
            f"labels {self.permuted.mean():.4g} (p = {self.p_value:.3g}, "
            f"{len(self.permuted)} shuffles)."
        )


def permutation_check(
    model,
    X,
    y,
    *,
    cv=5,
    groups=None,
    within=None,
    scoring=None,
    permutations=100,
    random_state=0,
) -> PermutationCheck:
    """Compare a cross-validated score with those on shuffled labels.

    Parameters
    ----------
    model : estimator
    X, y : rows and what is to be predicted
    cv : int or splitter of scikit-learn
    groups : array of shape (n,), optional
        Kept together by the folds, of which there are at most as many as groups.
    within : array of shape (n,), optional
        Labels are shuffled only among rows that have the same entry here.
    scoring : as in scikit-learn, optional
    permutations : int
        B
    random_state : seed

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose import permutation_check
    >>> from pansophy.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> check = permutation_check(LinearRegression(), X, X[:, 0], permutations=19)
    >>> check.p_value
    0.05
    """
    X = indexable_rows(X)
    y = np.asarray(y)
    rng = make_rng(random_state)
    scorer = scorer_of(model, scoring)
    seed = int(rng.integers(2**31))

    def score(labels):
        folds = cv_folds(cv, X, labels, model, groups, seed=seed)
        return float(
            cross_scores(model, X, labels, folds, scorer, train=False).test.mean()
        )

    base = score(y)
    shuffles = np.array(
        [score(y[permutation_within(rng, len(y), within)]) for _ in range(permutations)]
    )
    p_value = (1 + int(np.sum(shuffles >= base - 1e-12))) / (permutations + 1)
    return PermutationCheck(base, shuffles, p_value)


def permutation_within(rng, n, within=None):
    """A random permutation, only among rows with equal `within` if that is given."""
    order = rng.permutation(n)
    if within is None:
        return order
    code = np.unique(np.asarray(within), return_inverse=True)[1]
    out = np.empty(n, int)
    out[np.argsort(code, kind="stable")] = order[np.argsort(code[order], kind="stable")]
    return out
