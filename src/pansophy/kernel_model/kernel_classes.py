"""Classes in kernel models: codes, signs of one class against the rest, and labels."""

import numpy as np

from ..core.arrays.class_weight import compute_class_weight
from ..core.arrays.labels import class_codes


def encode_classes(model, y, w):
    """Codes of the labels and weights of the rows (None if all are 1).

    Sets `classes_`; `class_weight` of the model multiplies the weights. One class alone
    is refused.
    """
    model.classes_, codes = class_codes(y)
    if len(model.classes_) < 2:
        raise ValueError(
            f"{type(model).__name__} needs at least 2 classes, y has one class."
        )
    class_weight = getattr(model, "class_weight", None)
    if class_weight is not None:
        factors = compute_class_weight(
            class_weight, classes=model.classes_, codes=codes, sample_weight=w
        )
        w = factors[codes] if w is None else w * factors[codes]
    return codes, w


def signs_against_rest(codes, k):
    """+1 for a class and -1 for the rest: (n, 1) for two classes, else (n, k)."""
    if k == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    return np.where(codes[:, None] == np.arange(k), 1.0, -1.0)


def labels_from_scores(model, scores):
    """The class of the sign, or of the largest score."""
    if scores.ndim == 1:
        return model.classes_[(scores > 0).astype(int)]
    return model.classes_[scores.argmax(axis=1)]
