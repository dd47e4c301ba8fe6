"""Bags, AdaBoost and rotation forests against scikit-learn's and a literal one."""

import numpy as np

from .runner import Case


def classes(size):
    from sklearn.datasets import make_classification

    n, d = size
    X, y = make_classification(
        n + n // 4, d, n_informative=max(2, 2 * d // 5), flip_y=0.05, random_state=0
    )
    return X[:n], y[:n], X[n:], y[n:]


def numbers(size):
    from sklearn.datasets import make_regression

    n, d = size
    X, y = make_regression(
        n + n // 4, d, n_informative=d // 2, noise=20.0, random_state=0
    )
    return X[:n], y[:n], X[n:], y[n:]


def ensemble(library, name, depth=None, **options):
    """A fit of the class of this name, its members trees of some depth at most."""

    def fit(data, seed=0):
        import importlib

        tree = importlib.import_module(f"{library}.tree")
        kind = "Classifier" if name.endswith("Classifier") else "Regressor"
        base = getattr(tree, f"DecisionTree{kind}")(max_depth=depth)
        cls = getattr(importlib.import_module(f"{library}.ensemble"), name)
        jobs = {"n_jobs": 2} if name.startswith("Bagging") else {}
        return cls(base, random_state=seed, **jobs, **options).fit(data[0], data[1])

    return fit


def pair(name, depth=None, **options):
    """Ours and scikit-learn's, for a case."""
    return {
        "ours": ensemble("pansophy", name, depth, **options),
        "peers": {"sklearn": ensemble("sklearn", name, depth, **options)},
    }


def held_out_error(data, model):
    """Share of wrong classes, or the unexplained share of the variance."""
    return 1.0 - model.score(data[2], data[3])


def rotation(data, seed=0):
    from pansophy.ensemble import RotationForestClassifier

    return RotationForestClassifier(random_state=seed).fit(data[0], data[1])


class LiteralRotation:
    """The recipe of the paper with scikit-learn's parts, tree after tree."""

    def __init__(self, seed):
        self.seed = seed

    def fit(self, X, y):
        from sklearn.decomposition import PCA
        from sklearn.tree import DecisionTreeClassifier

        rng = np.random.default_rng(self.seed)
        d, self.trees = X.shape[1], []
        for _ in range(10):
            R, order = np.zeros((d, d)), rng.permutation(d)
            for group in np.split(order, range(3, d, 3)):
                keep = np.isin(y, rng.choice(2, rng.integers(1, 3), replace=False))
                rows = np.flatnonzero(keep)
                rows = rng.choice(rows, int(0.75 * len(rows)))
                parts = PCA().fit(X[np.ix_(rows, group)]).components_
                R[np.ix_(group, group)] = parts.T
            tree = DecisionTreeClassifier(random_state=0).fit(X @ R, y)
            self.trees.append((R, tree))
        return self

    def score(self, X, y):
        p = sum(tree.predict_proba(X @ R) for R, tree in self.trees)
        return np.mean(p.argmax(axis=1) == y)


def literal_rotation(data, seed=0):
    return LiteralRotation(seed).fit(data[0], data[1])


def fitted(size):
    X, y, _, _ = classes(size)
    return {"X": X, "y": y, "models": {}}


def predictor(make):
    def run(data):
        if make not in data["models"]:
            data["models"][make] = make((data["X"], data["y"]))
        return data["models"][make].predict(data["X"])

    return run


def wrong(data, labels):
    return float(np.mean(labels != data["y"]))


STUMPS = pair("AdaBoostClassifier", 1, n_estimators=100)
SIZES = [(2_000, 20), (6_000, 20), (20_000, 20)]

CASES = [
    Case(
        name="adaboost_stumps",
        what="AdaBoost of 100 stumps, two classes, exact splits",
        sizes=SIZES,
        data=classes,
        **STUMPS,
        quality=held_out_error,
        tolerance=0.002,
        target=10.0,
        rounds=3,
    ),
    Case(
        name="adaboost_depth_3",
        what="AdaBoost of 50 trees of depth 3, two classes, exact splits",
        sizes=SIZES,
        data=classes,
        **pair("AdaBoostClassifier", 3, n_estimators=50),
        quality=held_out_error,
        tolerance=0.01,
        target=5.0,
        rounds=3,
    ),
    Case(
        name="adaboost_regression",
        what="AdaBoost.R2 of 50 trees of depth 3",
        sizes=SIZES,
        data=numbers,
        **pair("AdaBoostRegressor", 3, n_estimators=50),
        quality=held_out_error,
        tolerance=0.02,
        target=5.0,
        rounds=3,
    ),
    Case(
        name="adaboost_predict",
        what="classes of n rows by AdaBoost of 100 stumps",
        sizes=SIZES,
        data=fitted,
        ours=predictor(STUMPS["ours"]),
        peers={"sklearn": predictor(STUMPS["peers"]["sklearn"])},
        quality=wrong,
        tolerance=0.002,
        target=5.0,
    ),
    Case(
        name="bagging_trees",
        what="bag of 50 full classification trees",
        sizes=SIZES,
        data=classes,
        **pair("BaggingClassifier", n_estimators=50),
        quality=held_out_error,
        tolerance=0.01,
        target=5.0,
        rounds=3,
    ),
    Case(
        name="bagging_regression",
        what="bag of 50 full regression trees with out-of-bag score",
        sizes=SIZES,
        data=numbers,
        **pair("BaggingRegressor", n_estimators=50, oob_score=True),
        quality=held_out_error,
        tolerance=0.02,
        target=5.0,
        rounds=3,
    ),
    Case(
        name="rotation_forest",
        what="rotation forest of 10 trees, groups of 3 columns",
        sizes=SIZES,
        data=classes,
        ours=rotation,
        peers={"literal": literal_rotation},
        written=("literal",),
        quality=held_out_error,
        tolerance=0.02,
        target=3.0,
        rounds=3,
        notes="the peer is the recipe of the paper with scikit-learn's PCA and trees",
    ),
]
