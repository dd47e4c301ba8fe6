"""Decision regions."""

import numpy as np
import pytest

from pansophy import plot
from pansophy.linear_model import LogisticRegression
from pansophy.plot.classification.decision_regions import over_grid
from pansophy.tree import DecisionTreeClassifier


def labels(ax):
    return [t.get_text() for t in ax.get_legend().get_texts()]


def test_decision_regions_are_those_of_the_model(rng):
    from sklearn.cluster import KMeans
    from sklearn.neighbors import KNeighborsClassifier

    X = rng.normal(size=(90, 2))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])]
    kinds = [LogisticRegression(), DecisionTreeClassifier(), KNeighborsClassifier(),
             KMeans(3, n_init=1, random_state=0)]  # fmt: skip
    for model in kinds:
        model.fit(X, y)
        ax = plot.decision_regions(model, X, y if hasattr(model, "classes_") else None,
                                   resolution=25)  # fmt: skip
        mesh = ax.collections[0]
        limits = np.array([ax.get_xlim(), ax.get_ylim()])
        grid, a, b = over_grid(model.predict, limits, resolution=25)
        A, B = np.meshgrid(a, b)
        answers = model.predict(np.column_stack([A.ravel(), B.ravel()]))
        np.testing.assert_array_equal(grid.ravel(), answers)
        codes = np.unique(answers, return_inverse=True)[1]
        np.testing.assert_array_equal(np.ravel(mesh.get_array()), codes)
    assert labels(plot.decision_regions(kinds[0], X, y)) == ["a", "b", "c"]
    square = np.array([[-3, 3], [-3, 3]])
    linear = over_grid(kinds[0].predict, square, resolution=40)[0]
    for c in "abc":  # regions of a linear model are convex: rows of the grid are runs
        runs = np.diff((linear == c).astype(int), axis=1)
        assert np.all((runs == 1).sum(1) <= 1) and np.all((runs == -1).sum(1) <= 1)
    two = LogisticRegression().fit(X, y == "a")
    ax = plot.decision_regions(two, X, margins=True, resolution=25)
    for level, line in zip((-1, 1), ax.collections[2].get_paths()):
        np.testing.assert_allclose(two.decision_function(line.vertices), level, 1e-9)
    wide = np.column_stack([X, rng.normal(size=90)])
    model = DecisionTreeClassifier().fit(wide, y)
    ax = plot.decision_regions(model, wide, y, columns=(1, 2), names=["p", "q", "$r$"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("q", "$r$")
    with pytest.raises(ValueError, match="two columns"):
        plot.decision_regions(model, X[:, :1])
