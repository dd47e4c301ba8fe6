"""Decision trees: one tree against scikit-learn's exact one and LightGBM's."""

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


def ours(kind, **options):
    def fit(data):
        from pansophy import tree

        return getattr(tree, f"DecisionTree{kind}")(**options).fit(data[0], data[1])

    return fit


def sklearn(kind, **options):
    def fit(data):
        from sklearn import tree

        model = getattr(tree, f"DecisionTree{kind}")(random_state=0, **options)
        return model.fit(data[0], data[1])

    return fit


def lightgbm(kind, leaves):
    def fit(data):
        import lightgbm

        model = getattr(lightgbm, f"LGBM{kind}")(
            n_estimators=1, learning_rate=1.0, num_leaves=leaves, n_jobs=2, verbose=-1,
            min_child_samples=1, min_child_weight=0.0,
        )  # fmt: skip
        return model.fit(data[0], data[1])

    return fit


def held_out_error(data, model):
    """Share of wrong classes, or the unexplained share of the variance."""
    return 1.0 - model.score(data[2], data[3])


def predict_data(size):
    X, y, _, _ = classes(size)
    return {"X": X, "y": y, "models": {}}


def predictor(make):
    def run(data):
        if make not in data["models"]:
            data["models"][make] = make((data["X"], data["y"]))
        return data["models"][make].predict(data["X"])

    return run


CASES = [
    Case(
        name="decision_tree_256",
        what="one classification tree, 256 leaves, exact",
        sizes=[(5_000, 50), (25_000, 50), (100_000, 50)],
        data=classes,
        ours=ours("Classifier", max_leaf_nodes=256),
        peers={
            "sklearn": sklearn("Classifier", max_leaf_nodes=256),
            "lightgbm": lightgbm("Classifier", 256),
        },
        quality=held_out_error,
        tolerance=0.005,
        target=5.0,
    ),
    Case(
        name="decision_tree_full",
        what="one classification tree, fully grown, exact",
        sizes=[(5_000, 50), (25_000, 50), (100_000, 50)],
        data=classes,
        ours=ours("Classifier"),
        peers={"sklearn": sklearn("Classifier")},
        quality=held_out_error,
        tolerance=0.005,
        target=5.0,
    ),
    Case(
        name="decision_tree_bins",
        what="one classification tree, 256 leaves, 255 bins",
        sizes=[(5_000, 50), (25_000, 50), (100_000, 50)],
        data=classes,
        ours=ours("Classifier", max_leaf_nodes=256, max_bins=255),
        peers={
            "sklearn": sklearn("Classifier", max_leaf_nodes=256),
            "lightgbm": lightgbm("Classifier", 256),
        },
        quality=held_out_error,
        tolerance=0.005,
        target=5.0,
    ),
    Case(
        name="regression_tree_256",
        what="one regression tree, 256 leaves, exact",
        sizes=[(5_000, 20), (25_000, 20), (100_000, 20)],
        data=numbers,
        ours=ours("Regressor", max_leaf_nodes=256),
        peers={
            "sklearn": sklearn("Regressor", max_leaf_nodes=256),
            "lightgbm": lightgbm("Regressor", 256),
        },
        quality=held_out_error,
        tolerance=0.005,
        target=5.0,
    ),
    Case(
        name="regression_tree_full",
        what="one regression tree, fully grown, exact",
        sizes=[(5_000, 20), (25_000, 20), (100_000, 20)],
        data=numbers,
        ours=ours("Regressor"),
        peers={"sklearn": sklearn("Regressor")},
        quality=held_out_error,
        tolerance=0.005,
        target=5.0,
    ),
    Case(
        name="small_tree",
        what="one classification tree, 150 rows",
        sizes=[(50, 4), (150, 4), (500, 4)],
        data=classes,
        ours=ours("Classifier"),
        peers={"sklearn": sklearn("Classifier")},
        quality=held_out_error,
        tolerance=0.1,
        target=1.0,
    ),
    Case(
        name="tree_predict",
        what="classes of n rows by a tree of 256 leaves",
        sizes=[(10_000, 20), (50_000, 20), (200_000, 20)],
        data=predict_data,
        ours=predictor(ours("Classifier", max_leaf_nodes=256)),
        peers={"sklearn": predictor(sklearn("Classifier", max_leaf_nodes=256))},
        quality=lambda data, labels: float(np.mean(labels != data["y"])),
        tolerance=0.002,
        target=1.0,
    ),
]
