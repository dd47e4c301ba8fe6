"""Trees: growth curves, reduced-error pruning, and C4.5."""

import numpy as np

from .runner import Case


def three_way_split(size):
    """Training, validation and test rows of three noisy classes."""
    from sklearn.datasets import make_classification

    n, d = size
    X, y = make_classification(
        3 * n, d, n_informative=d // 2, n_classes=3, flip_y=0.2, random_state=0
    )
    return X[:n], y[:n], X[n : 2 * n], y[n : 2 * n], X[2 * n :], y[2 * n :]


def our_curve(data):
    from pansophy.teaching import growth_curve
    from pansophy.tree import DecisionTreeClassifier

    return growth_curve(DecisionTreeClassifier(), *data[:4]).validation


def refitted_curve(data, step=1.25):
    """A tree for each of a few dozen sizes; every size would take far longer."""
    from sklearn.tree import DecisionTreeClassifier

    X, y, Z, z = data[:4]
    most = DecisionTreeClassifier(random_state=0).fit(X, y).get_n_leaves()
    count = int(np.log(most) / np.log(step)) + 1
    sizes = np.unique(np.round(step ** np.arange(count)).astype(int))
    trees = (
        DecisionTreeClassifier(max_leaf_nodes=int(k), random_state=0)
        for k in sizes[sizes >= 2]
    )
    return np.array([tree.fit(X, y).score(Z, z) for tree in trees])


def our_pruning(data):
    from pansophy.tree import DecisionTreeClassifier, prune_reduced_error

    X, y, Z, z = data[:4]
    return prune_reduced_error(DecisionTreeClassifier().fit(X, y), Z, z)


def pruning_path(data, most=30):
    """The best of up to 30 values of ccp_alpha on the validation rows."""
    from sklearn.tree import DecisionTreeClassifier

    X, y, Z, z = data[:4]
    model = DecisionTreeClassifier(random_state=0)
    alphas = np.unique(
        np.maximum(model.cost_complexity_pruning_path(X, y).ccp_alphas, 0)
    )
    alphas = alphas[np.unique(np.linspace(0, len(alphas) - 1, most).astype(int))]
    fit = lambda a: DecisionTreeClassifier(ccp_alpha=a, random_state=0).fit(X, y)
    return max((fit(a) for a in alphas), key=lambda tree: tree.score(Z, z))


def test_error(data, model):
    return 1.0 - model.score(data[-2], data[-1])


def mixed_frame(size):
    """A data frame of levels and numbers, split into training and test rows."""
    import pandas as pd

    n, d = size
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, size=(2 * n, d))
    numbers = rng.normal(size=(2 * n, d))
    y = (codes[:, 0] % 2 + (numbers[:, 0] > 0) + (codes[:, 1] > 3)) % 3
    y = np.where(rng.random(2 * n) < 0.1, rng.integers(0, 3, 2 * n), y)
    names = np.array(["red", "green", "blue", "black", "white", "grey"])
    frame = {f"level{j}": names[codes[:, j]] for j in range(d)}
    X = pd.DataFrame({**frame, **{f"number{j}": numbers[:, j] for j in range(d)}})
    return X[:n], y[:n], X[n:], y[n:]


def c45(data):
    from pansophy.tree import C45Classifier

    return C45Classifier().fit(data[0], data[1])


def one_hot_tree(data):
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    text = make_column_selector(dtype_exclude="number")
    model = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(sparse_output=False), text), remainder="passthrough"
        ),
        DecisionTreeClassifier(criterion="entropy", random_state=0, min_samples_leaf=2),
    )
    return model.fit(data[0], data[1])


CASES = [
    Case(
        name="tree_growth_curve",
        what="held-out accuracy of a tree at every size; the peer at a few dozen sizes",
        sizes=[(500, 10), (2_000, 10), (8_000, 10)],
        data=three_way_split,
        ours=our_curve,
        peers={"sklearn": refitted_curve},
        quality=lambda data, curve: 1.0 - float(curve.max()),
        tolerance=0.01,
        target=5.0,
    ),
    Case(
        name="tree_reduced_error",
        what="a tree grown and pruned on held-out rows; the peer by ccp_alpha",
        sizes=[(500, 10), (2_000, 10), (8_000, 10)],
        data=three_way_split,
        ours=our_pruning,
        peers={"sklearn": pruning_path},
        quality=test_error,
        tolerance=0.02,
        target=5.0,
    ),
    Case(
        name="tree_c45",
        what="C4.5 on a frame of levels and numbers; the peer one-hot coded",
        sizes=[(1_000, 5), (10_000, 5), (50_000, 5)],
        data=mixed_frame,
        ours=c45,
        peers={"sklearn": one_hot_tree},
        quality=test_error,
        tolerance=0.01,
        target=1.0,
    ),
]
