"""Forests against scikit-learn's and Intel's, prediction against the boosters'."""

import numpy as np

from .runner import Case


def classes(size):
    from sklearn.datasets import make_classification

    n, d, k = size if len(size) == 3 else (*size, 2)
    X, y = make_classification(
        n + n // 4, d, n_classes=k, n_informative=max(2, 2 * d // 5), flip_y=0.05,
        random_state=0,
    )  # fmt: skip
    X = X.astype(np.float32)
    return X[:n], y[:n], X[n:], y[n:]


def expected(X):
    return X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3]


def numbers(size):
    n, d = size
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + n // 4, d)).astype(np.float32)
    y = expected(X) + 0.5 * rng.normal(size=len(X))
    return X[:n], y[:n], X[n:], y[n:]


def fit_with(module, name, **options):
    def fit(data, seed=0):
        import importlib

        make = getattr(importlib.import_module(module), name)
        return make(random_state=seed, **options).fit(data[0], data[1])

    return fit


def peers_of(name, **options):
    options = {"n_jobs": 2, **options}
    return {
        "sklearn": fit_with("sklearn.ensemble", name, **options),
        "sklearnex": fit_with("sklearnex.ensemble", name, **options),
    }


def held_out_error(data, model):
    """Share of wrong classes, or the unexplained share of the variance."""
    return 1.0 - model.score(data[2], data[3])


def outliers(size):
    n, d = size
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    X[: n // 50] *= 4.0
    return X, np.arange(n) >= n // 50


def isolate(module):
    def run(data, seed=0):
        import importlib

        make = importlib.import_module(module).IsolationForest
        model = make(random_state=seed, n_jobs=2).fit(data[0])
        return model.score_samples(data[0])

    return run


def missed(data, scores):
    """One less the area under the curve."""
    from sklearn.metrics import roc_auc_score

    return 1.0 - roc_auc_score(data[1], scores)


def predict_data(size):
    n, d = size
    X, y, _, _ = numbers((20_000, d))
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(n, d)).astype(np.float32)
    return {"X": X, "y": y, "Z": Z, "truth": expected(Z), "made": {}}


def predictor(key, make):
    """Fit once (not timed after the first repeat), then predict."""

    def run(data):
        if key not in data["made"]:
            data["made"][key] = make().fit(data["X"], data["y"])
        return data["made"][key].predict(data["Z"])

    return run


def ours_boosted():
    from pansophy.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(max_iter=100, early_stopping=False)


def sklearn_boosted():
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(max_iter=100, early_stopping=False)


def lightgbm_boosted():
    import lightgbm

    return lightgbm.LGBMRegressor(
        n_estimators=100, num_leaves=31, n_jobs=2, verbose=-1, max_bin=255
    )


def xgboost_boosted():
    import xgboost

    return xgboost.XGBRegressor(
        n_estimators=100,
        learning_rate=0.1,
        max_leaves=31,
        max_depth=0,
        n_jobs=2,
        grow_policy="lossguide",
        min_child_weight=20,
        reg_lambda=0.0,
    )


def deep(module):
    def make():
        import importlib

        forest = importlib.import_module(module).RandomForestRegressor
        return forest(100, max_features=1 / 3, n_jobs=2, random_state=0)

    return make


def distance_from_truth(data, predicted):
    """Mean squared error over the variance: wrong trees would predict worse."""
    return float(np.mean((predicted - data["truth"]) ** 2) / np.var(data["truth"]))


SIZES = [(2_000, 10), (8_000, 30), (20_000, 30)]
SEVEN = [(2_000, 10, 7), (8_000, 30, 7), (20_000, 30, 7)]
CASES = [
    Case(
        name="random_forest_classifier",
        what="100 full trees, sqrt features, two classes",
        sizes=SIZES,
        data=classes,
        ours=fit_with("pansophy.ensemble", "RandomForestClassifier"),
        peers=peers_of("RandomForestClassifier"),
        quality=held_out_error,
        tolerance=0.005,
        target=1.0,
    ),
    Case(
        name="random_forest_regressor",
        what="100 full trees, a third of the features",
        sizes=[(2_000, 10), (8_000, 30), (20_000, 30)],
        data=numbers,
        ours=fit_with("pansophy.ensemble", "RandomForestRegressor", max_features=1 / 3),
        peers=peers_of("RandomForestRegressor", max_features=1 / 3),
        quality=held_out_error,
        tolerance=0.02,  # between seeds it differs by 0.015
        target=1.0,
    ),
    Case(
        name="extra_trees_classifier",
        what="100 full trees, sqrt features, two classes",
        sizes=SIZES,
        data=classes,
        ours=fit_with("pansophy.ensemble", "ExtraTreesClassifier"),
        peers=peers_of("ExtraTreesClassifier"),
        quality=held_out_error,
        tolerance=0.005,
        target=1.0,
    ),
    Case(
        name="random_forest_classes",
        what="100 full trees, sqrt features, seven classes",
        sizes=SEVEN,
        data=classes,
        ours=fit_with("pansophy.ensemble", "RandomForestClassifier"),
        peers=peers_of("RandomForestClassifier"),
        quality=held_out_error,
        tolerance=0.01,
        target=1.0,
    ),
    Case(
        name="extra_trees_classes",
        what="100 full trees, sqrt features, seven classes",
        sizes=SEVEN,
        data=classes,
        ours=fit_with("pansophy.ensemble", "ExtraTreesClassifier"),
        peers=peers_of("ExtraTreesClassifier"),
        quality=held_out_error,
        tolerance=0.01,
        target=1.0,
    ),
    Case(
        name="isolation_forest",
        what="100 trees of 256 rows, fit and score",
        sizes=[(2_000, 10), (20_000, 20), (100_000, 20)],
        data=outliers,
        ours=isolate("pansophy.ensemble"),
        peers={"sklearn": isolate("sklearn.ensemble")},
        quality=missed,
        tolerance=0.01,
        target=1.0,
    ),
    Case(
        name="predict_boosted_trees",
        what="100 trees of 31 leaves",
        sizes=[(10_000, 50), (50_000, 50), (100_000, 50)],
        data=predict_data,
        ours=predictor("ours", ours_boosted),
        peers={
            "lightgbm": predictor("lightgbm", lightgbm_boosted),
            "xgboost": predictor("xgboost", xgboost_boosted),
            "sklearn": predictor("sklearn", sklearn_boosted),
        },
        quality=distance_from_truth,
        tolerance=0.01,
        target=1.0,
    ),
    Case(
        name="predict_deep_forest",
        what="100 full trees grown on 20k rows",
        sizes=[(10_000, 30), (50_000, 30), (100_000, 30)],
        data=predict_data,
        ours=predictor("ours", deep("pansophy.ensemble")),
        peers={
            "sklearn": predictor("sklearn", deep("sklearn.ensemble")),
            "sklearnex": predictor("sklearnex", deep("sklearnex.ensemble")),
        },
        quality=distance_from_truth,
        tolerance=0.01,
        target=1.0,
    ),
]
