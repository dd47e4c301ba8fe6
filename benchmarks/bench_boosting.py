"""Gradient boosting: fits and predictions against the four well-known boosters."""

import numpy as np

from .runner import Case

ROUNDS, LEAVES, BINS, RATE, THREADS = 100, 31, 255, 0.1, 2
KINDS = {"regression": 0, "binary": 2, "seven": 7}


def table(kind, missing=0.0, categories=0):
    """Data of a size: rows and targets to fit, rows and targets held out."""

    def make(size):
        from sklearn.datasets import make_classification, make_regression

        n, d = size
        many = n + n // 4
        k = KINDS[kind]
        if k:
            X, y = make_classification(
                many, d, n_informative=max(4, 2 * d // 5), n_classes=k, flip_y=0.05,
                random_state=0,
            )  # fmt: skip
        else:
            X, y = make_regression(
                many, d, n_informative=d // 2, noise=20.0, random_state=0
            )
        X, rng = X.astype(np.float32), np.random.default_rng(0)
        for j in range(categories):  # levels in an order that says nothing
            level = np.digitize(X[:, j], np.quantile(X[:, j], np.arange(1, 30) / 30))
            X[:, j] = rng.permutation(30)[level]
        if missing:
            X[rng.random(X.shape) < missing] = np.nan
        return {
            "fit": (X[:n], y[:n]),
            "held": (X[n:], y[n:]),
            "classes": k,
            "categories": list(range(categories)),
        }

    return make


def ours(data):
    from pansophy import ensemble

    name = "Classifier" if data["classes"] else "Regressor"
    model = getattr(ensemble, f"HistGradientBoosting{name}")(
        max_iter=ROUNDS, max_leaf_nodes=LEAVES, learning_rate=RATE, max_bins=BINS,
        early_stopping=False, categorical_features=data["categories"] or None,
    )  # fmt: skip
    return model.fit(*data["fit"])


def sklearn(data):
    from sklearn import ensemble

    name = "Classifier" if data["classes"] else "Regressor"
    model = getattr(ensemble, f"HistGradientBoosting{name}")(
        max_iter=ROUNDS, max_leaf_nodes=LEAVES, learning_rate=RATE, max_bins=BINS,
        early_stopping=False, categorical_features=data["categories"] or None,
    )  # fmt: skip
    return model.fit(*data["fit"])


def lightgbm(data):
    import lightgbm

    name = "Classifier" if data["classes"] else "Regressor"
    model = getattr(lightgbm, f"LGBM{name}")(
        n_estimators=ROUNDS, num_leaves=LEAVES, learning_rate=RATE, max_bin=BINS,
        n_jobs=THREADS, verbose=-1,
    )  # fmt: skip
    cats = data["categories"]
    return model.fit(*data["fit"], categorical_feature=cats or "auto")


def xgboost(data):
    import xgboost

    name = "Classifier" if data["classes"] else "Regressor"
    types = ["c" if j in data["categories"] else "q"
             for j in range(data["fit"][0].shape[1])]  # fmt: skip
    model = getattr(xgboost, f"XGB{name}")(
        n_estimators=ROUNDS, max_leaves=LEAVES, max_depth=0, learning_rate=RATE,
        max_bin=BINS, grow_policy="lossguide", tree_method="hist", n_jobs=THREADS,
        enable_categorical=bool(data["categories"]), feature_types=types,
    )  # fmt: skip
    return model.fit(*data["fit"])


def catboost(data):
    import catboost

    name = "Classifier" if data["classes"] else "Regressor"
    model = getattr(catboost, f"CatBoost{name}")(
        iterations=ROUNDS, grow_policy="Lossguide", max_leaves=LEAVES,
        learning_rate=RATE, border_count=254, thread_count=THREADS, verbose=False,
        allow_writing_files=False,
    )  # fmt: skip
    return model.fit(*data["fit"])


def held_out(data, model):
    """Log loss, or one less R squared, of rows held out."""
    from sklearn.metrics import log_loss, r2_score

    X, y = data["held"]
    if data["classes"]:
        return log_loss(y, model.predict_proba(X))
    return 1.0 - r2_score(y, model.predict(X))


FOUR = {
    "lightgbm": lightgbm,
    "xgboost": xgboost,
    "sklearn": sklearn,
    "catboost": catboost,
}
NO_CATBOOST = {name: f for name, f in FOUR.items() if name != "catboost"}
SIZES = [(20_000, 50), (200_000, 50), (1_000_000, 20)]
FEWER = [(20_000, 50), (60_000, 50), (200_000, 50)]
SMALLER = [(5_000, 50), (20_000, 50), (60_000, 50)]  # seven trees a round


def case(name, what, data, sizes, peers=FOUR):
    return Case(
        name=f"boosting_{name}",
        what=f"{ROUNDS} rounds of {LEAVES} leaves, {BINS} bins: {what}",
        sizes=sizes,
        data=data,
        ours=ours,
        peers=peers,
        quality=held_out,
        tolerance=0.01,
        target=1.0,
        rounds=2,
        targets=dict.fromkeys(peers, 1.0),
    )


def prepared(fit):
    """A fitted model and a large table to predict, by the name of the fit."""

    def predict(data):
        if fit not in data:
            data[fit] = fit(data)
        model, X = data[fit], data["held"][0]
        if data["classes"]:
            return model.predict_proba(X)[:, 1]
        return model.predict(X)

    return predict


def error_of(data, predicted):
    from sklearn.metrics import log_loss

    return log_loss(data["held"][1], predicted)


CASES = [
    case("regression", "numbers", table("regression"), SIZES),
    case("binary", "two classes", table("binary"), SIZES),
    case("seven", "seven classes", table("seven"), SMALLER),
    case("missing", "two classes, 10 % missing", table("binary", 0.1), FEWER),
    case(
        "categories",
        "two classes, 10 categorical columns of 30 levels",
        table("binary", categories=10),
        FEWER,
        NO_CATBOOST,
    ),
    Case(
        name="boosting_predict",
        what=f"probabilities by {ROUNDS} trees of {LEAVES} leaves, a quarter of n rows",
        sizes=FEWER,
        data=table("binary"),
        ours=prepared(ours),
        peers={name: prepared(fit) for name, fit in FOUR.items()},
        quality=error_of,
        tolerance=0.01,
        target=1.0,
        targets=dict.fromkeys(FOUR, 1.0),
    ),
]
