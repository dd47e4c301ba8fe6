"""Class weights: the parameter `class_weight` as factors of classes and of rows.

`class_weight` is None (every factor is 1), a dict from class to factor (1 for classes
that it does not list), or "balanced": with W_c the weight of the rows of class c and K
the number of classes of weight above 0,

    factor of class c = sum_c W_c / (K W_c)                                        (1)

so that every class has the same total weight. Classes are counted by weight, hence a
row of weight k counts as k equal rows, and a row of weight 0 as none. Several outputs
take a list of dicts; the factor of a row is the product over its outputs.
"""

import numpy as np

from . import arrays


def compute_class_weight(class_weight, *, classes, codes, sample_weight=None):
    """Factor of each class, eq. (1).

    Parameters
    ----------
    class_weight : dict, "balanced" or None
    classes : array of shape (k,)
        The classes in order.
    codes : array of shape (n,) of int
        The class of each row, as its place in `classes`.
    sample_weight : array of shape (n,) or None

    Returns
    -------
    array of shape (k,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.core.arrays.class_weight import compute_class_weight
    >>> rows = {"classes": np.array(["a", "b"]), "codes": np.array([0, 0, 0, 1])}
    >>> compute_class_weight("balanced", **rows).round(3)
    array([0.667, 2.   ])
    >>> compute_class_weight({"b": 5}, **rows)
    array([1., 5.])
    """
    labels = arrays.to_numpy(classes)
    k = len(labels)
    if class_weight is None or len(class_weight) == 0:
        return np.ones(k)
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                "class_weight must be a dict, 'balanced' or None, got "
                f"{class_weight!r}."
            )
        counts = class_weight_totals(codes, k, sample_weight)
        present = counts > 0
        each = present.sum() * counts
        return np.divide(counts.sum(), each, out=np.ones(k), where=present)
    names = labels.tolist()
    unlisted = [name for name in names if name not in class_weight]
    if unlisted and k - len(unlisted) != len(class_weight):
        # some classes have no factor, and some factors belong to no class
        raise ValueError(f"The classes, {unlisted}, are not in class_weight")
    return np.array([float(class_weight.get(name, 1.0)) for name in names])


def class_weight_totals(codes, k, w=None) -> np.ndarray:
    """The weight of the rows of each class, (k,); tensors are added up where they are.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.core.arrays.class_weight import class_weight_totals
    >>> class_weight_totals(np.array([0, 2, 2]), 3, np.array([1.0, 2.0, 0.5]))
    array([1. , 0. , 2.5])
    """
    if not arrays.is_foreign(codes):
        w = None if w is None else arrays.to_numpy(w)
        return np.bincount(codes, weights=w, minlength=k)
    xp = arrays.namespace(codes)
    w = 1.0 if w is None else xp.astype(w, xp.float64)
    hits = (xp.astype(codes == c, xp.float64) * w for c in range(k))
    return arrays.to_numpy(xp.stack([xp.sum(h) for h in hits]))


def apply_class_weight(class_weight, y, sample_weight=None):
    """Row weights times the factors of the rows' classes.

    Parameters
    ----------
    class_weight : dict, list of dict, "balanced" or None
        A list has one dict for each output.
    y : array of shape (n,) or (n, m)
        Classes, one column for each output.
    sample_weight : array of shape (n,) or None

    Returns
    -------
    array of shape (n,), or None if neither weights nor class weights are given

    Examples
    --------
    >>> from pansophy.core.arrays.class_weight import apply_class_weight
    >>> apply_class_weight("balanced", ["a", "a", "b"], [1.0, 1.0, 4.0])
    array([1.5, 1.5, 3. ])
    """
    if class_weight is None:
        return sample_weight
    y = np.asarray(y)
    columns = y[:, None] if y.ndim == 1 else y
    factors = _checked_list(class_weight, columns.shape[1])
    w = None if sample_weight is None else np.asarray(sample_weight, np.float64)
    product = np.ones(len(columns))
    for column, one in zip(columns.T, factors):
        classes, codes = np.unique(column, return_inverse=True)
        product *= compute_class_weight(
            one, classes=classes, codes=codes, sample_weight=w
        )[codes]
    return product if w is None else w * product


def _checked_list(class_weight, n_outputs) -> list:
    """The class weights of each output."""
    if isinstance(class_weight, str):
        return [class_weight] * n_outputs
    if isinstance(class_weight, dict):
        if n_outputs > 1:
            raise ValueError(
                "For multi-output, class_weight should be a list of dicts, or the "
                "string 'balanced'."
            )
        return [class_weight]
    if len(class_weight) != n_outputs:
        raise ValueError(
            "For multi-output, number of elements in class_weight should match "
            f"number of outputs. Got {len(class_weight)} element(s) while having "
            f"{n_outputs} outputs."
        )
    return list(class_weight)
