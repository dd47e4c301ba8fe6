"""Labels spread over graphs, against scikit-learn."""

import numpy as np

from .runner import Case


def rows(n, known=100):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, n)
    centre = 4.0 * np.eye(3)[:, [0, 1, 2, 0, 1]]
    X = centre[truth] + rng.normal(size=(n, 5))
    y = np.full(n, -1)
    y[:known] = truth[:known]
    return X, y, truth


def wrong(payload, labels):
    return float(np.mean(labels != payload[2]))


def spread(kernel):
    def ours(payload):
        from pansophy.semi_supervised import LabelSpreading

        model = LabelSpreading(kernel, alpha=0.9, gamma=0.5, max_iter=100)
        return model.fit(*payload[:2]).transduction_

    def peer(payload):
        from sklearn.semi_supervised import LabelSpreading

        model = LabelSpreading(kernel, alpha=0.9, gamma=0.5, max_iter=100)
        return model.fit(*payload[:2]).transduction_

    return ours, peer


def propagate(payload):
    from pansophy.semi_supervised import LabelPropagation

    return LabelPropagation("knn", max_iter=1000).fit(*payload[:2]).transduction_


def propagate_sklearn(payload):
    from sklearn.semi_supervised import LabelPropagation

    model = LabelPropagation("knn", max_iter=1000)
    return model.fit(*payload[:2]).transduction_


knn, knn_sklearn = spread("knn")
rbf, rbf_sklearn = spread("rbf")

CASES = [
    Case(
        name="label_propagation_knn",
        what="harmonic labels over 7 neighbours, 3 classes, d=5",
        sizes=[(2000,), (20_000,), (100_000,)],
        data=lambda size: rows(*size),
        ours=propagate,
        peers={"sklearn": propagate_sklearn},
        quality=wrong,
        tolerance=0.01,
        target=1.5,
    ),
    Case(
        name="label_spreading_knn",
        what="spreading over 7 neighbours, 3 classes, d=5",
        sizes=[(2000,), (20_000,), (100_000,)],
        data=lambda size: rows(*size),
        ours=knn,
        peers={"sklearn": knn_sklearn},
        quality=wrong,
        tolerance=0.01,
        target=1.5,
    ),
    Case(
        name="label_spreading_rbf",
        what="spreading over a Gaussian kernel, 3 classes, d=5",
        sizes=[(500,), (2000,), (5000,)],
        data=lambda size: rows(*size),
        ours=rbf,
        peers={"sklearn": rbf_sklearn},
        quality=wrong,
        tolerance=0.01,
        target=1.5,
    ),
]
