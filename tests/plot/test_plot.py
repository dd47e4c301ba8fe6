"""Figures of runs."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from pansophy import optim, plot

bowl = lambda x: (float(x[0] ** 2 + 4 * x[1] ** 2), np.array([2 * x[0], 8 * x[1]]))


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_descent_path():
    run = optim.minimize(bowl, [2.0, 1.0], "gradient", trajectory=True)
    path = optim.Trajectory(np.array([2.0, 1.0]))
    optim.bfgs(bowl, np.array([2.0, 1.0]), task=path)
    ax = plot.descent_path(bowl, {"gradient": run, "bfgs": path}, resolution=30)
    way = np.column_stack(ax.lines[0].get_data())
    np.testing.assert_array_equal(way, run.history["position"])
    assert len(ax.lines[2].get_xdata()) == len(path)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["gradient", "bfgs"]
    assert len(ax.collections) >= 1  # contours
    same = plot.descent_path(lambda x: x @ x, np.ones((3, 2)), bounds=(-2, 2), ax=ax)
    assert same is ax and ax.get_xlim() == (-2, 2)


def test_descent_path_refuses():
    run = optim.minimize(bowl, [2.0, 1.0])
    with pytest.raises(ValueError, match="trajectory=True"):
        plot.descent_path(bowl, run)
    with pytest.raises(ValueError, match="two coordinates"):
        plot.descent_path(bowl, np.ones((3, 4)))


def test_search_points():
    f = lambda x: float(x @ x)
    run = optim.random_search(f, [(-1, 1)] * 2, 40, random_state=0)
    ax = plot.search_points(run, f)
    np.testing.assert_allclose(ax.collections[0].get_offsets(), run.state.points)
    np.testing.assert_allclose(ax.lines[0].get_xydata()[0], run.state.position)
    many = np.random.default_rng(0).random((9, 4))
    wide = plot.search_points(many, coordinates=(1, 3))
    assert wide.get_xlabel() == "$x_2$" and wide.get_ylabel() == "$x_4$"
    with pytest.raises(ValueError, match="keeps no points"):
        plot.search_points(optim.particle_swarm(f, [(-1, 1)] * 2, max_iter=2))


def test_import_leaves_matplotlib_alone():
    import subprocess
    import sys

    code = "import pansophy.plot, sys; print('matplotlib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_losses_bound_the_error():
    ax = plot.losses()
    zero_one = ax.lines[0].get_ydata()
    for line in ax.lines[1:]:
        scale = np.log(2) if line.get_label() == "logistic" else 1.0
        if line.get_label() != "perceptron":  # no bound: 0 at margin 0
            assert np.all(line.get_ydata() / scale >= zero_one - 1e-12)
    assert plot.losses(["huber", "absolute"]).get_xlabel() == "$f - y$"
    with pytest.raises(ValueError, match="different axes"):
        plot.losses(["huber", "hinge"])


def test_regularization_path(rng):
    from pansophy.linear_model import lasso_path

    X = rng.normal(size=(40, 5))
    alphas, coefs, _ = lasso_path(X, X[:, 0] + 0.5 * X[:, 3])
    ax = plot.regularization_path(alphas, coefs, names=list("abcde"), limit=2)
    np.testing.assert_array_equal(ax.lines[3].get_ydata(), coefs[3])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["a", "d"]
    low, high = ax.get_xlim()
    assert low > high  # strongest penalty on the left
    with pytest.raises(ValueError, match="one column for each of 100 alphas"):
        plot.regularization_path(alphas, coefs[:, :7])


def test_validation_curve(rng):
    test = rng.random((4, 5)) + np.array([[3.0], [1.0], [0.0], [2.0]])
    ax = plot.validation_curve([1, 2, 4, 8], test / 2, test, label="depth", log=True)
    assert ax.lines[-1].get_xdata()[0] == 4
    with pytest.raises(ValueError, match="3 values but 4 training errors"):
        plot.validation_curve([1, 2, 3], test, test)


def test_tree():
    from sklearn.datasets import load_iris

    from pansophy import datasets
    from pansophy.tree import DecisionTreeClassifier, ID3Classifier

    data = load_iris()
    model = DecisionTreeClassifier(max_depth=2).fit(data.data, data.target)
    ax = plot.tree(model, class_names=data.target_names)
    words = [t.get_text() for t in ax.texts]
    assert len(ax.patches) == model.tree_.node_count
    assert "setosa 100%" in words and "150 rows" in words and "yes" in words
    assert plot.tree(model, max_depth=1, ax=ax) is ax
    table = datasets.load_weather().table
    model = ID3Classifier().fit(table.drop_columns(["Play"]), table["Play"].to_pylist())
    words = [t.get_text() for t in plot.tree(model).texts]
    assert {"Outlook?", "Sunny", "Overcast", "Rainy", "yes 100%"} <= set(words)
    ax.figure.canvas.draw()


def test_impurity():
    ax = plot.impurity()
    g, h, e = (line.get_ydata() for line in ax.lines)
    p = ax.lines[0].get_xdata()
    np.testing.assert_allclose(g, 2 * p * (1 - p), atol=1e-12)
    assert h[100] == pytest.approx(1.0) and h[0] == 0.0
    np.testing.assert_allclose(e, np.minimum(p, 1 - p), atol=1e-12)
    assert np.all(h >= g - 1e-12) and np.all(g >= e - 1e-12)
    assert all(max(x.get_ydata()) == 1.0 for x in plot.impurity(scaled=True).lines)


def test_growth_curve(rng):
    from pansophy.tree import DecisionTreeClassifier, growth_curve

    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    curve = growth_curve(DecisionTreeClassifier(), X[:40], y[:40], X[40:], y[40:])
    ax = plot.growth_curve(curve)
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), curve.validation)
    assert ax.lines[2].get_xdata()[0] == curve.best_leaves
    assert plot.growth_curve(curve, by="nodes").get_xlabel() == "nodes"
    with pytest.raises(ValueError, match="by must be"):
        plot.growth_curve(curve, by="depth")
