"""SHAP values of 100 trees: the same trees explained by the shap package's C++."""

import numpy as np

from .runner import Case


def trees(size):
    """scikit-learn's forest and its trees in our arrays; rows to explain."""
    from sklearn.ensemble import RandomForestRegressor

    n, leaves = size
    rng = np.random.default_rng(0)
    X = rng.normal(size=(max(n, 4000), 20)).astype(np.float32)
    y = X[:, 0] * X[:, 1] + X[:, 2] + X[:, 3:8].sum(axis=1) + rng.normal(size=len(X))
    model = RandomForestRegressor(
        100, max_leaf_nodes=leaves, max_features=0.5, random_state=0, n_jobs=2
    )
    return {"model": model.fit(X, y), "X": X[:n], "Z": X[-100:]}


def parts_of(data):
    from pansophy.tree import Tree
    from pansophy.tree.storage.additive_trees import AdditiveTrees

    if "parts" not in data:
        found = []
        for e in data["model"].estimators_:
            t = e.tree_
            found.append(
                Tree(
                    t.children_left, t.children_right, t.feature, t.threshold,
                    t.impurity, t.n_node_samples, t.weighted_n_node_samples, t.value,
                    t.missing_go_to_left.astype(bool), t.n_features,
                )
            )  # fmt: skip
        values = [t.value[:, 0] / len(found) for t in found]
        offset, first = np.zeros(1), [0] * len(found)
        data["parts"] = AdditiveTrees(found, values, first, offset, None, None)
    return data["parts"]


def ours(background=False):
    def run(data):
        from pansophy.tree.explanation.shap import explain_rows

        Z = data["Z"] if background else None
        phi, base, _ = explain_rows(parts_of(data), data["X"], Z)
        return phi[:, :, 0], float(base[0])

    return run


def peer(background=False):
    def run(data):
        import shap

        Z = data["Z"] if background else None
        explainer = shap.TreeExplainer(data["model"], Z)
        phi = explainer.shap_values(data["X"], check_additivity=False)
        return phi, float(np.ravel(explainer.expected_value)[0])

    return run


def gap(data, result):
    """How far the values are from adding up to the predictions."""
    phi, base = result
    return float(
        np.abs(phi.sum(axis=1) + base - data["model"].predict(data["X"])).max()
    )


CASES = [
    Case(
        name="shap_forest",
        what="path-dependent SHAP values, 100 trees by leaves, 20 columns",
        sizes=[(250, 31), (1_000, 31), (1_000, 255)],
        data=trees,
        ours=ours(),
        peers={"shap": peer()},
        quality=gap,
        tolerance=1e-9,
        target=1.0,
    ),
    Case(
        name="shap_background",
        what="interventional SHAP values, 100 trees, 100 background rows, 20 columns",
        sizes=[(50, 31), (200, 31), (500, 63)],
        data=trees,
        ours=ours(background=True),
        peers={"shap": peer(background=True)},
        quality=gap,
        tolerance=1e-9,
        target=1.0,
    ),
]
