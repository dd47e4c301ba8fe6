"""Class imbalance: what rare classes do to accuracy, risk and one-vs-rest answers.

Always answering with the largest class has the accuracy of its share, s, and recall 0
on all others (1). So predictions are useful only if their accuracy exceeds s and no
class has recall 0; those that fail this are flagged, and a ranking by accuracy that
puts them above others that do not is called misleading.

The empirical risk R = (1/n) sum_i loss_i splits into parts by class,

    R = sum_k R_k,   R_k = (1/n) sum_{i: y_i = k} loss_i,                        (2)

and a rare class contributes little however badly it is predicted. Where K classes are
fitted one against the rest, class k is a problem of n_k : n - n_k (3).
"""

from dataclasses import dataclass, field

import numpy as np

from ...core.arrays.labels import class_codes
from ..findings import Finding, make_finding

RARE = 0.1  # share below which a class counts as rare
VERY_RARE = 0.01


@dataclass(frozen=True)
class Answer:
    """Accuracy and recalls of one set of predictions on imbalanced classes."""

    name: str
    accuracy: float
    recalls: dict[str, float]
    warnings: tuple[str, ...]

    @property
    def balanced_accuracy(self) -> float:
        return float(np.mean(list(self.recalls.values())))


@dataclass(frozen=True)
class Imbalance:
    """Class shares, baseline (1), odds (3), and the evaluated predictions."""

    counts: dict[str, int]
    majority: str
    baseline: float  # accuracy of always answering with the majority
    ratio: float  # largest class : smallest class
    odds: float  # rows of all others for one of the smallest class, eq. (3)
    risks: dict[str, float] = field(default_factory=dict)  # eq. (2)
    answers: tuple[Answer, ...] = ()  # by accuracy, best first
    misleading: tuple[tuple[str, str], ...] = ()  # (above, below) in that order

    @property
    def findings(self) -> list[Finding]:
        return list(_imbalance_findings(self))

    @property
    def imbalanced(self) -> bool:
        k = len(self.counts)
        share = 1 / (1 + self.odds)
        return k > 1 and (share < RARE / max(1, k / 5) or self.ratio >= 4)

    def __str__(self):
        k = len(self.counts)
        lines = [
            f"{k} classes; {self.majority} has {self.baseline:.1%} of the rows, which "
            f"is the accuracy of always answering so. The rarest class stands 1 : "
            f"{self.odds:.4g} against the rest."
        ]
        lines += [f"{a.name}: {w}" for a in self.answers for w in a.warnings]
        return "\n".join(
            lines + [_misleading_ranking_text(pair) for pair in self.misleading]
        )


def imbalance(y, y_pred=None, *, losses=None) -> Imbalance:
    """Measure class imbalance, and evaluate predictions in the light of it.

    Parameters
    ----------
    y : array of labels of shape (n,)
    y_pred : array of labels, or a dict of such by name, optional
        Predictions to be evaluated.
    losses : array of shape (n,), optional
        Loss of each row, to be split by class, eq. (2).

    Examples
    --------
    >>> from pansophy.diagnose import imbalance
    >>> y = [1] * 10 + [0] * 90
    >>> print(imbalance(y, {"always no": [0] * 100}))
    2 classes; 0 has 90.0% of the rows, which is the accuracy of always answering so.
    The rarest class stands 1 : 9 against the rest.
    always no: accuracy 0.900 is no better than always answering 0 (0.900)
    always no: never finds 1 (recall 0 on 10 rows)
    """
    y = np.asarray(y)
    if y.ndim != 1 or len(y) == 0:
        raise ValueError(f"y must be labels of some rows, got shape {y.shape}.")
    labels, z = class_codes(y)
    counts = np.bincount(z)
    words = [str(v) for v in labels.tolist()]
    top = int(counts.argmax())
    smallest = int(counts.min())
    predictions_by_name = (
        y_pred if isinstance(y_pred, dict) else {"the answers": y_pred}
    )
    answers = [
        _judge_predictions(name, z, labels, words, counts, p)
        for name, p in predictions_by_name.items()
        if p is not None
    ]
    answers.sort(key=lambda a: -a.accuracy)
    misleading = tuple(
        (a.name, b.name)
        for i, a in enumerate(answers)
        for b in answers[i + 1 :]
        if a.warnings
        and not _missed_classes(b)
        and b.balanced_accuracy > a.balanced_accuracy
    )
    return Imbalance(
        dict(zip(words, counts.tolist())),
        words[top],
        float(counts[top] / len(y)),
        float(counts[top] / smallest),
        float((len(y) - smallest) / smallest),
        {} if losses is None else risk_by_class(losses, y),
        tuple(answers),
        misleading,
    )


def risk_by_class(losses, y) -> dict[str, float]:
    """Contribution of each class to the mean loss, eq. (2); they sum to it.

    Examples
    --------
    >>> from pansophy.diagnose import risk_by_class
    >>> risk_by_class([0.0, 0.0, 0.0, 1.0], [0, 0, 0, 1])
    {'0': 0.0, '1': 0.25}
    """
    losses = np.asarray(losses, float)
    y = np.asarray(y)
    if losses.shape != y.shape:
        raise ValueError(f"{len(y)} rows but losses of shape {losses.shape}.")
    labels, z = class_codes(y)
    parts = np.bincount(z, losses) / len(y)
    return dict(zip((str(v) for v in labels.tolist()), parts.tolist()))


def _judge_predictions(name, z, labels, words, counts, p) -> Answer:
    """Accuracy, recalls and warnings of one set of predictions."""
    p = np.asarray(p)
    if p.shape != z.shape:
        raise ValueError(f"{name!r} has shape {p.shape} for {len(z)} rows.")
    hit = labels[z] == p
    recalls = np.bincount(z, hit) / counts
    share = counts.max() / len(z)
    accuracy = float(hit.mean())
    warnings = []
    if accuracy <= share:
        warnings.append(
            f"accuracy {accuracy:.3f} is no better than always answering "
            f"{words[counts.argmax()]} ({share:.3f})"
        )
    for k in np.flatnonzero(recalls == 0):
        warnings.append(f"never finds {words[k]} (recall 0 on {counts[k]} rows)")
    return Answer(name, accuracy, dict(zip(words, recalls.tolist())), tuple(warnings))


def _missed_classes(answer) -> bool:
    return any(r == 0 for r in answer.recalls.values())


def _misleading_ranking_text(pair) -> str:
    higher, lower = pair
    return (
        f"Accuracy ranks {higher} above {lower}, which is misleading: {lower} finds "
        "every class and the classes are unequal."
    )


def _imbalance_findings(imbalance):
    """Findings about imbalanced classes and misleading predictions."""
    if imbalance.imbalanced:
        rare = min(imbalance.counts, key=imbalance.counts.get)
        n = sum(imbalance.counts.values())
        k = imbalance.counts[rare]
        text = (
            f"The classes are unequal: {k} of {n} rows ({k / n:.2%}) are {rare!r}, 1 : "
            f"{imbalance.odds:.4g} against the rest; always answering "
            f"{imbalance.majority!r} is right in {imbalance.baseline:.1%}, so accuracy "
            "says little."
        )
        severity = (
            "warning" if k / n < VERY_RARE or imbalance.baseline >= 0.9 else "note"
        )
        yield make_finding(
            "imbalance",
            severity,
            text,
            share=k / n,
            ratio=imbalance.ratio,
            baseline=imbalance.baseline,
        )
    for a in imbalance.answers:
        for w in a.warnings:
            yield make_finding(
                "imbalance", "warning", f"{a.name}: {w}.", accuracy=a.accuracy
            )
    for pair in imbalance.misleading:
        yield make_finding(
            "imbalance",
            "warning",
            _misleading_ranking_text(pair),
            above=pair[0],
            below=pair[1],
        )
