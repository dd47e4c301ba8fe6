"""Robustness curve: how accuracy falls as attacks may change rows more.

For budgets e_1 < e_2 < ... the robust accuracy at e_j is the share of rows that the
model judges rightly as they are and under the attacks with e_1, ..., e_j. A row that a
small change breaks counts as broken for every larger budget, whose ball holds that
change too, so that the curve never rises. The score is the mean height of the curve
from budget 0 to the largest, by trapezoids: 1 for a model that no attack fools.

Refs      [Madry2018]
"""

from typing import Literal, NamedTuple

import numpy as np
import torch

from ...core.arrays.weighted import check_sample_weight
from ...core.random import make_rng
from .adversarial_attacks import Norm, fgsm, pgd


class RobustnessCurve(NamedTuple):
    """Accuracy under attacks of growing budgets."""

    budgets: np.ndarray  # ascending, the first is 0: no attack
    accuracy: np.ndarray  # of each budget
    smallest_budget: np.ndarray  # (n,) that fools each row; inf: none did
    score: float  # mean height of the curve

    def __str__(self):
        pairs = ", ".join(
            f"{b:g}: {a:.3f}" for b, a in zip(self.budgets, self.accuracy)
        )
        return f"robustness {self.score:.3f} (accuracy by budget {pairs})"


def robustness(
    model, X, y, budgets, *, attack: Literal["pgd", "fgsm"] = "pgd",
    norm: Norm = "inf", bounds=None, sample_weight=None, random_state=0, **options,
) -> RobustnessCurve:  # fmt: skip
    """Accuracy of a classifier under attacks of several budgets.

    Parameters
    ----------
    model : fitted classifier or detector: net of ours, linear model, or torch module
    X, y : rows and their labels
    budgets : sequence of float
        In the units of X; 0 is added.
    attack : {"pgd", "fgsm"}, default="pgd"
    norm, bounds
        As for `fgsm`.
    sample_weight : array of shape (n,), optional
    random_state : seed
    **options
        Further options of the attack, such as `n_steps` of `pgd`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import robustness
    >>> from pansophy.linear_model import LogisticRegression
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> y = np.array([0, 0, 1, 1])
    >>> model = LogisticRegression().fit(X, y)
    >>> print(robustness(model, X, y, [0.5, 1.5, 2.5], attack="fgsm"))
    robustness 0.600 (accuracy by budget 0: 1.000, 0.5: 1.000, 1.5: 0.500, 2.5: 0.000)
    """
    if attack not in ("pgd", "fgsm"):
        raise ValueError(f'attack must be "pgd" or "fgsm", got {attack!r}.')
    budgets = np.unique(np.r_[0.0, np.asarray(budgets, float).ravel()])
    if not (np.isfinite(budgets).all() and budgets[0] == 0 and len(budgets) > 1):
        raise ValueError("budgets must be numbers above 0.")
    y = np.asarray(y)
    w = check_sample_weight(sample_weight, len(y))
    rng = make_rng(random_state)
    right = _predicted_labels(model, X) == y
    smallest = np.where(right, np.inf, 0.0)
    accuracy = [float(np.average(right, weights=w))]
    for budget in budgets[1:]:
        left = np.flatnonzero(right)
        if len(left):
            rows = np.asarray(X)[left]
            if attack == "pgd":
                options["random_state"] = rng
            attacked = (pgd if attack == "pgd" else fgsm)(
                model, rows, y[left], budget, norm=norm, bounds=bounds, **options
            )
            fooled = left[_predicted_labels(model, attacked) != y[left]]
            right[fooled] = False
            smallest[fooled] = budget
        accuracy.append(float(np.average(right, weights=w)))
    accuracy = np.array(accuracy)
    score = float(np.trapezoid(accuracy, budgets) / budgets[-1])
    return RobustnessCurve(budgets, accuracy, smallest, score)


def _predicted_labels(model, X):
    """Labels by `predict`, or by the largest score of a torch module."""
    if not isinstance(model, torch.nn.Module):
        return np.asarray(model.predict(X))
    like = next(model.parameters())
    was_training = model.training
    model.eval()
    with torch.no_grad():
        F = model(torch.as_tensor(np.asarray(X)).to(like))
    model.train(was_training)
    return F.argmax(1).cpu().numpy()
