"""Decision trees: one tree, and growth alone, against the trees of other libraries."""

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


def xgboost(kind, leaves):
    def fit(data):
        import xgboost

        model = getattr(xgboost, f"XGB{kind}")(
            n_estimators=1, learning_rate=1.0, max_leaves=leaves, max_depth=0, n_jobs=2,
            grow_policy="lossguide", tree_method="hist", min_child_weight=0.0,
            reg_lambda=0.0,
        )  # fmt: skip
        return model.fit(data[0], data[1])

    return fit


def rounds(size):
    """Numbers for trees of 31 leaves, each fitted to what is left by those before."""
    n, d = size
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(3 * X[:, 3]) + rng.normal(size=n)
    return X, y


TREES, RATE = 20, 0.1


def grow_rounds(data):
    """Squared error and nothing else: bins, then trees of the engine itself."""
    from pansophy.tree.growing._structures import NEWTON
    from pansophy.tree.growing.criteria import Criterion
    from pansophy.tree.growing.grower import Grower, GrowthLimits
    from pansophy.tree.growing.prepared_columns import prepare_columns

    X, y = data
    limits = GrowthLimits(max_leaves=31, min_leaf=20)
    grower = Grower(
        prepare_columns(X, max_bins=255, interleave=True), Criterion(NEWTON, 1), limits
    )
    left = y - y.mean()
    for _ in range(TREES):
        tree, rows, start, stop = grower.grow(left[:, None])
        leaf = np.flatnonzero(tree.children_left < 0)
        leaf = leaf[np.argsort(start[leaf])]
        step = RATE * tree.value[leaf, 0, 0]
        left[rows] -= np.repeat(step, stop[leaf] - start[leaf])
    return left


def lightgbm_rounds(data):
    import lightgbm

    X, y = data
    model = lightgbm.LGBMRegressor(
        n_estimators=TREES, learning_rate=RATE, num_leaves=31, n_jobs=2, verbose=-1
    )
    return y - model.fit(X, y).predict(X)


def xgboost_rounds(data):
    import xgboost

    X, y = data
    model = xgboost.XGBRegressor(
        n_estimators=TREES, learning_rate=RATE, max_leaves=31, max_depth=0, n_jobs=2,
        grow_policy="lossguide", tree_method="hist", max_bin=255, min_child_weight=20,
        reg_lambda=0.0,
    )  # fmt: skip
    return y - model.fit(X, y).predict(X)


def sklearn_rounds(data):
    from sklearn.ensemble import HistGradientBoostingRegressor

    X, y = data
    model = HistGradientBoostingRegressor(
        max_iter=TREES, learning_rate=RATE, early_stopping=False
    )
    return y - model.fit(X, y).predict(X)


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
            "xgboost": xgboost("Classifier", 256),
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
            "xgboost": xgboost("Classifier", 256),
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
            "xgboost": xgboost("Regressor", 256),
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
        name="growth_in_bins",
        what="20 trees of 31 leaves on what is left, 255 bins, with binning",
        sizes=[(12_500, 50), (50_000, 50), (200_000, 50)],
        data=rounds,
        ours=grow_rounds,
        peers={
            "lightgbm": lightgbm_rounds,
            "xgboost": xgboost_rounds,
            "sklearn": sklearn_rounds,
        },
        quality=lambda data, left: float(np.mean(left**2)),
        tolerance=0.01,
        target=1.0,
    ),
    Case(
        name="growth_by_columns",
        what="20 trees of 31 leaves on what is left, 255 bins, with binning",
        sizes=[(50_000, 12), (50_000, 48), (50_000, 192)],
        data=rounds,
        ours=grow_rounds,
        peers={"lightgbm": lightgbm_rounds},
        quality=lambda data, left: float(np.mean(left**2)),
        tolerance=0.01,
        target=1.0,
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
