"""Diagnostics of models beside scikit-learn's."""

import numpy as np

from .runner import Case


def classes(size):
    n, d = size
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=d) + rng.normal(size=n) > 0).astype(int)
    return X, y


def tree():
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=4, random_state=0)


def our_dependence(payload):
    from pansophy.diagnose import partial_dependence

    X, y = payload
    model = tree().fit(X, y)
    found = partial_dependence(model, X, range(5), most=len(X), points=20)
    return [(d.values, d.mean[:, 0]) for d in found]


def their_dependence(payload):
    from sklearn.inspection import partial_dependence

    X, y = payload
    model = tree().fit(X, y)
    out = []
    for j in range(5):
        r = partial_dependence(
            model, X, [j], grid_resolution=20, percentiles=(0.02, 0.98), method="brute"
        )
        out.append((r["grid_values"][0], r["average"][0]))
    return out


def dependence_error(payload, found):
    """Largest distance to predictions with the value set by hand."""
    X, y = payload
    model, worst = tree().fit(X, y), 0.0
    for j, (values, mean) in enumerate(found):
        for v, m in list(zip(values, mean, strict=True))[::7]:
            A = X.copy()
            A[:, j] = v
            worst = max(worst, abs(model.predict_proba(A)[:, 1].mean() - m))
    return float(worst)


def our_check(payload):
    from pansophy.diagnose import permutation_check

    return permutation_check(tree(), *payload, permutations=30).p_value


def their_check(payload):
    from sklearn.model_selection import permutation_test_score

    return permutation_test_score(
        tree(), *payload, cv=5, n_permutations=30, random_state=0
    )[2]


CASES = [
    Case(
        name="partial_dependence",
        what="five columns at 20 values, a tree of depth 4",
        sizes=[(2_000, 10), (20_000, 10), (100_000, 10)],
        data=classes,
        ours=our_dependence,
        peers={"sklearn": their_dependence},
        quality=dependence_error,
        tolerance=1e-9,
        target=1.0,
    ),
    Case(
        name="permutation_check",
        what="30 shuffles of the labels, five folds, a tree of depth 4",
        sizes=[(200, 5), (1_000, 10), (5_000, 10)],
        data=classes,
        ours=our_check,
        peers={"sklearn": their_check},
        quality=lambda payload, p: abs(p - 1 / 31),  # no shuffle does as well
        tolerance=1e-9,
        target=1.0,
    ),
]
