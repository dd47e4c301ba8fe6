"""One tree on other kinds of columns and targets: levels, medians, random splits."""

import numpy as np

from .bench_forest import classes
from .runner import Case


def categories(size):
    """A table of which half the columns are levels, the target depending on sets."""
    n, d = size
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + n // 4, d)).astype(np.float32)
    half = d // 2
    X[:, :half] = rng.integers(0, 40, size=(len(X), half))
    effect = rng.normal(size=(half, 40))
    y = sum(effect[f][X[:, f].astype(int)] for f in range(half)) + X[:, half:].sum(1)
    y = (y + rng.normal(size=len(y)) > 0).astype(int)
    return X[:n], y[:n], X[n:], y[n:], half


def held_out_error(data, model):
    X = data[2]
    return float(np.mean(model.predict(X) != data[3]))


def ours_categories(data):
    from pansophy.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(
        max_leaf_nodes=64, max_bins=255, categorical_features=list(range(data[4]))
    )
    return model.fit(data[0], data[1])


def lightgbm_categories(data):
    import lightgbm

    model = lightgbm.LGBMClassifier(
        n_estimators=1, learning_rate=1.0, num_leaves=64, n_jobs=2, verbose=-1,
        min_child_samples=1, min_child_weight=0.0, cat_smooth=0.0, cat_l2=0.0,
        max_cat_threshold=255, min_data_per_group=1,
    )  # fmt: skip
    return model.fit(data[0], data[1], categorical_feature=list(range(data[4])))


def sklearn_categories(data):
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=1, learning_rate=1.0, max_leaf_nodes=64, min_samples_leaf=1,
        early_stopping=False, categorical_features=list(range(data[4])),
    )  # fmt: skip
    return model.fit(data[0], data[1])


def numbers(size):
    from sklearn.datasets import make_regression

    n, d = size
    X, y = make_regression(
        n + n // 4, d, n_informative=d // 2, noise=20.0, random_state=0
    )
    return X[:n], y[:n], X[n:], y[n:]


def absolute(module):
    def fit(data, seed=0):
        from importlib import import_module

        tree = import_module(f"{module}.tree")
        model = tree.DecisionTreeRegressor(
            criterion="absolute_error", max_leaf_nodes=32, random_state=seed
        )
        return model.fit(data[0], data[1])

    return fit


def extra(module):
    def fit(data, seed=0):
        from importlib import import_module

        tree = import_module(f"{module}.tree")
        return tree.ExtraTreeRegressor(random_state=seed).fit(data[0], data[1])

    return fit


def extra_classes(module, **options):
    def fit(data, seed=0):
        from importlib import import_module

        tree = import_module(f"{module}.tree")
        model = tree.ExtraTreeClassifier(random_state=seed, **options)
        return model.fit(data[0], data[1])

    return fit


def absolute_error(data, model):
    return float(np.mean(abs(model.predict(data[2]) - data[3])) / np.std(data[3]))


CASES = [
    Case(
        name="tree_categories",
        what="one tree of 64 leaves, half the columns of 40 levels each",
        sizes=[(5_000, 20), (20_000, 20), (100_000, 20)],
        data=categories,
        ours=ours_categories,
        peers={"lightgbm": lightgbm_categories, "sklearn_hist": sklearn_categories},
        quality=held_out_error,
        tolerance=0.01,
        target=1.0,
    ),
    Case(
        name="tree_absolute_error",
        what="one tree of 32 leaves, least absolute error",
        sizes=[(500, 10), (2_000, 10), (8_000, 10)],
        data=numbers,
        ours=absolute("pansophy"),
        peers={"sklearn": absolute("sklearn")},
        quality=absolute_error,
        tolerance=0.02,
        target=1.0,
    ),
    Case(
        name="extra_tree",
        what="one extremely randomised regression tree, fully grown",
        sizes=[(2_000, 20), (10_000, 20), (50_000, 20)],
        data=numbers,
        ours=extra("pansophy"),
        peers={"sklearn": extra("sklearn")},
        quality=absolute_error,
        tolerance=0.1,
        target=1.0,
    ),
    Case(
        name="extra_tree_classes",
        what="one extremely randomised tree, ten classes, fully grown",
        sizes=[(2_000, 20, 10), (10_000, 20, 10), (50_000, 20, 10)],
        data=classes,
        ours=extra_classes("pansophy"),
        peers={"sklearn": extra_classes("sklearn")},
        quality=held_out_error,
        tolerance=0.05,
        target=1.0,
    ),
    Case(
        name="extra_tree_entropy",
        what="one extremely randomised tree, three classes, entropy",
        sizes=[(2_000, 20, 3), (10_000, 20, 3), (50_000, 20, 3)],
        data=classes,
        ours=extra_classes("pansophy", criterion="entropy"),
        peers={"sklearn": extra_classes("sklearn", criterion="entropy")},
        quality=held_out_error,
        tolerance=0.05,
        target=1.0,
    ),
]
