"""Figures of data and models judged: what is drawn is what was computed."""

import json
import warnings
from collections import namedtuple
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    precision_score,
    recall_score,
    roc_auc_score,
)

from pansophy import diagnose, plot
from pansophy.linear_model import LinearRegression, LogisticRegression, Ridge
from pansophy.plot.decision_regions import over_grid
from pansophy.plot.gain import cumulative_gains
from pansophy.plot.style import figure_svg, short_name
from pansophy.plot.threshold_curves import curves_to_draw
from pansophy.tree import DecisionTreeClassifier

W14 = ([1, 1, 0, 1, 1, 1, 0, 0, 1, 0],
       [0.9, 0.8, 0.7, 0.6, 0.55, 0.54, 0.53, 0.52, 0.51, 0.505])  # fmt: skip
W1 = np.array([[5, 2, 0], [3, 7, 0], [1, 0, 6]])  # predicted by rows
HARM = [
    "<script>alert(1)</script>",
    "$\\frac{",
    "_hidden",
    "a\nb\tc",
    "x" * 200,
    "100 %",
]


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def labels(ax):
    return [t.get_text() for t in ax.get_legend().get_texts()]


def words(axis_labels):
    return [t.get_text() for t in axis_labels]


def test_roc_of_worked_examples():
    ax = plot.roc(*W14)
    assert labels(ax) == ["model: area 0.750"]
    fpr, tpr = ax.lines[1].get_data()
    assert (fpr[0], tpr[0], fpr[-1], tpr[-1]) == (0, 0, 1, 1)
    assert np.all(np.diff(fpr) >= 0) and np.all(np.diff(tpr) >= 0)
    assert roc_auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]) == 0.75
    y, s = map(np.array, W14)
    pairs = [(a > b) + (a == b) / 2 for a in s[y == 1] for b in s[y == 0]]
    assert roc_auc_score(y, s) == pytest.approx(np.mean(pairs))
    assert roc_auc_score(y, np.exp(5 * s)) == roc_auc_score(y, s)
    assert roc_auc_score(y, -s) == pytest.approx(1 - roc_auc_score(y, s))


def test_ranked_curves_of_models_and_classes(rng):
    y = np.array(["no", "yes"])[rng.integers(0, 2, 200)]
    s = (y == "yes") + rng.normal(size=200)
    both = {"good": s, "<b>$bad$</b>": rng.random(200)}
    for draw in (plot.roc, plot.precision_recall, plot.gain):
        assert [t.split(":")[0] for t in labels(draw(y, both))[:2]] == list(both)
    three = rng.integers(0, 3, 90)
    p = np.eye(3)[three] + rng.random((90, 3))
    assert len(curves_to_draw(three, p)) == 3  # a curve a class
    assert len(curves_to_draw(three, {"a": p, "b": p})) == 2  # a curve a model
    assert len(curves_to_draw(three, p, positive=2)) == 1
    area = roc_auc_score(three == 2, p[:, 2])
    assert labels(plot.roc(three, p, positive=2))[0].endswith(f"{area:.3f}")
    low, high = (plot.roc(y, s).collections[0].get_paths()[0].vertices[:, 1]).min(), 1
    assert 0 <= low <= high
    assert plot.roc(y, s, bands=False).collections[:] == []
    assert len(plot.roc(np.zeros(9), np.ones(9)).lines) == 1  # one class: no curve
    with pytest.raises(ValueError, match="rows of y"):
        plot.roc(y, s[:5])


def test_the_band_of_a_curve_covers(rng):
    """The true ROC curve lies inside the 95 % band at most places."""
    from scipy.stats import norm

    from pansophy.plot.roc import false_and_true_positive_rates
    from pansophy.plot.threshold_curves import curve_band

    grid, inside = np.array([0.2, 0.5]), []
    true = norm.cdf(norm.ppf(grid) + 1)
    for seed in range(80):
        g = np.random.default_rng(seed)
        yes = g.integers(0, 2, 150).astype(bool)
        low, high = curve_band(
            false_and_true_positive_rates, yes, yes + g.normal(size=150), grid
        )
        inside.append((low <= true) & (true <= high))
    assert 0.85 <= np.mean(inside) <= 1


def test_the_band_of_a_curve_is_not_sure_at_its_ends():
    """Where all draws agree, what is known is a share of so many rows."""
    from pansophy.plot.precision_recall import recall_and_precision
    from pansophy.plot.roc import false_and_true_positive_rates
    from pansophy.plot.threshold_curves import curve_band, wilson_interval

    yes, grid = np.arange(60) % 3 == 0, np.array([0.0, 0.5, 1.0])
    low, high = curve_band(
        false_and_true_positive_rates, yes, yes + 0.0, grid
    )  # told apart without a mistake
    assert high.tolist() == [1, 1, 1]
    assert low == pytest.approx(wilson_interval(1.0, 20)[0])
    assert curve_band(recall_and_precision, yes, yes + 0.0, grid)[0] == pytest.approx(
        wilson_interval(1.0, 20)[0]
    )


def test_weights_count_as_repeated_rows_do(rng):
    y, w = rng.integers(0, 2, 60), rng.integers(1, 4, 60)
    s = (y + rng.normal(size=60)).round(1)
    Y, S = np.repeat(y, w), np.repeat(s, w)
    for draw in (plot.roc, plot.precision_recall, plot.gain):
        a, b = draw(y, s, weights=w), draw(Y, S)
        assert labels(a) == labels(b)
        if draw is plot.gain:
            one, other = (ax.lines[0].get_xydata() for ax in (a, b))
            np.testing.assert_allclose(one, other, atol=1e-9)
    cells = [words(plot.confusion_matrix(y, s > 0.5, weights=w).texts),
             words(plot.confusion_matrix(Y, S > 0.5).texts)]  # fmt: skip
    assert cells[0] == cells[1]
    marks = [plot.residuals(y, s, weights=u, parts=3).lines[2].get_xydata()
             for u in (None, np.full(60, 2.0))]  # fmt: skip
    np.testing.assert_allclose(*marks)
    with pytest.raises(ValueError, match="weights must be 60 numbers"):
        plot.roc(y, s, weights=w[:5])


def test_gain_and_lift():
    y, s = np.array([1, 0, 1, 0, 0]), np.array([5, 4, 3, 3, 1.0])
    u, v = cumulative_gains(y.astype(bool), s)
    np.testing.assert_allclose(u, [0, 0.2, 0.4, 0.8, 1])  # equal scores together
    np.testing.assert_allclose(v, [0, 0.5, 0.5, 1, 1])
    ax = plot.gain(y, s, kind="lift")
    np.testing.assert_allclose(ax.lines[0].get_ydata()[[0, -1]], [2.5, 1])
    assert "best possible" in labels(plot.gain(y, s))
    with pytest.raises(ValueError, match="kind"):
        plot.gain(y, s, kind="loss")


def test_confusion_orientation_and_numbers():
    names = ["cat", "dog", "elephant"]
    true = np.repeat(np.tile(names, 3), W1.ravel())
    guess = np.repeat(np.repeat(names, 3), W1.ravel())
    assert accuracy_score(true, guess) == 0.75
    np.testing.assert_array_equal(confusion_matrix(true, guess).T, W1)
    assert W1.sum(1).tolist() == [7, 10, 7] and W1.sum(0).tolist() == [9, 9, 6]
    assert precision_score(true, guess, average=None)[0] == pytest.approx(5 / 7)
    assert recall_score(true, guess, average=None)[0] == pytest.approx(5 / 9)
    for rows, other, C in (("predicted", "true", W1), ("true", "predicted", W1.T)):
        ax = plot.confusion_matrix(true, guess, rows=rows)
        assert (ax.get_ylabel(), ax.get_xlabel()) == (rows, other)
        assert [int(t) for t in words(ax.texts)] == C.ravel().tolist()
        assert words(ax.get_yticklabels()) == names
    given = plot.confusion_matrix(
        W1.T, labels=names, rows="predicted", normalize="rows"
    )
    assert words(given.texts)[:3] == ["71%", "29%", "0%"]
    empty = plot.confusion_matrix([0, 1], [0, 0], labels=[0, 1, 2], normalize="rows")
    assert words(empty.texts)[-1] == "0%"
    for how, match in (({"rows": "x"}, "rows"), ({"normalize": "x"}, "normalize")):
        with pytest.raises(ValueError, match=match):
            plot.confusion_matrix([0], [0], **how)
    with pytest.raises(ValueError, match="square"):
        plot.confusion_matrix(np.ones((2, 3)))


def test_residuals(rng):
    p = rng.uniform(0, 5, 3000)
    y = p + rng.normal(size=3000) + 0.5
    ax = plot.residuals(y, p)
    assert len(ax.lines[0].get_xdata()) == 2000  # of 3000
    means = ax.lines[2].get_ydata()
    np.testing.assert_allclose(means, 0.5, atol=0.25)
    bars = plot.residuals(y, p, kind="histogram")
    assert sum(b.get_height() for b in bars.patches) == 3000
    assert f"mean {np.mean(y - p):.3g}" in labels(bars)
    assert plot.residuals(y[:9], p[:9], kind="time").get_xlabel() == "time"
    assert plot.residuals([1.0, 1], [1, 1], kind="histogram").get_ylabel() == "rows"
    with pytest.raises(ValueError, match="kind"):
        plot.residuals(y, p, kind="pie")


def test_learning_and_complexity_curves(rng):
    X = rng.normal(size=(120, 3))
    y = X[:, 0] + rng.normal(size=120)
    curve = diagnose.learning_curve(Ridge(), X, y)
    ax = plot.learning_curve(curve, score="$R^2$")
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), curve.sizes)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), curve.test.mean(1))
    assert curve.verdict in ax.get_title() and ax.get_ylabel() == "$R^2$"
    values = [100.0, 1.0, 0.01]
    ax = plot.learning_curve(diagnose.complexity_curve(Ridge(), X, y, "alpha", values))
    assert ax.get_xscale() == "log" and ax.get_xlabel() == "alpha"
    named = diagnose.complexity_curve(Ridge(), X, y, "fit_intercept", [False, True])
    assert len(plot.learning_curve(named).lines) >= 3


def test_bias_variance_and_concentration():
    T = diagnose.BiasVariance
    terms = [T("squared", 5, 4, 1, 0, 0, 0, 9), T("squared", 3, 1, 2, 0, 0, 0, 9)]
    ax = plot.bias_variance([0.1, 100], terms, label="<alpha>")
    assert ax.get_xscale() == "log" and ax.get_xlabel() == "<alpha>"
    assert labels(ax) == ["error", "bias²", "variance", "least error"]
    np.testing.assert_array_equal(ax.lines[-2].get_xydata()[0], [100, 3])
    plot.bias_variance(["a", "b"], terms)
    with pytest.raises(ValueError, match="values"):
        plot.bias_variance([1], terms)
    C = namedtuple("C", "dimension min mean max")
    path = [C(100, 3.0, 4.07, 5.13), C(10, 0.265, 1.26, 2.34)]
    ax = plot.concentration(path)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [2.34 / 1.26, 5.13 / 4.07])
    assert words(ax.get_xticklabels()) == ["10", "100"]
    assert len(plot.concentration(path[0]).lines) == 3
    with pytest.raises(ValueError, match="at least one"):
        plot.concentration([])


def test_calibration():
    Curve = namedtuple("Curve", "predicted observed low high count")
    u = np.array([0.1, 0.5, 0.9])
    curve = Curve(u, u, u - 0.1, u + 0.1, np.array([5, 10, 5]))
    ax = plot.calibration(*curve)
    np.testing.assert_allclose(ax.lines[1].get_xydata(), np.column_stack([u, u]))
    sizes = ax.collections[0].get_sizes()
    assert sizes[1] > sizes[0] == sizes[2] and len(ax.collections) == 2
    several = plot.calibration({"a": curve, "_b": curve})
    assert labels(several) == ["perfect", "a", "\u2009_b"]
    assert len(plot.calibration(u, u).collections) == 1  # no band


def test_importance(rng):
    V = rng.random((30, 4)) * np.arange(30)[:, None]
    names = [f"c{j}" for j in range(30)]
    ax = plot.importance(names, V, limit=5)
    order = np.argsort(-V.mean(1))[:5]
    assert words(ax.get_yticklabels()) == [f"c{j}" for j in order]
    widths = [b.get_width() for b in ax.patches]
    np.testing.assert_allclose(widths, V.mean(1)[order])
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the largest on top
    assert "5 largest of 30" in ax.get_title(loc="right")
    with pytest.raises(ValueError, match="names"):
        plot.importance(["a"], [1, 2])


def test_partial_dependence(rng):
    import pandas as pd
    from sklearn.inspection import partial_dependence as reference
    from sklearn.linear_model import LinearRegression as Theirs

    X = rng.normal(size=(80, 2))
    model = LinearRegression().fit(X, 3 * X[:, 0] - X[:, 1])
    (d,) = diagnose.partial_dependence(model, X, [0], most=80)
    np.testing.assert_allclose(np.diff(d.mean[:, 0]), 3 * np.diff(d.values), atol=1e-9)
    theirs = reference(Theirs().fit(X, 3 * X[:, 0] - X[:, 1]), X, [0],
                       custom_values={0: np.array(d.values)})  # fmt: skip
    np.testing.assert_allclose(d.mean[:, 0], theirs["average"][0], atol=1e-9)
    ax = plot.partial_dependence(d, centre=True)
    assert ax.lines[-1].get_ydata()[0] == 0 and ax.get_xlabel() == "x0"
    table = pd.DataFrame({"town": rng.choice(["a", "b"], 80), "size": X[:, 0]})

    class Fake(LogisticRegression):
        def predict_proba(self, X):
            p = np.where(X["town"] == "b", 0.9, 0.2)
            return np.column_stack([1 - p, p])

    fake = Fake().fit(X, rng.integers(0, 2, 80))
    found = diagnose.partial_dependence(fake, table, ["town", "size"])
    assert found[0].values == ["a", "b"] and "'town'" in str(found[0])
    np.testing.assert_allclose(found[0].mean[:, 0], [0.2, 0.9])
    made = plot.partial_dependence(found)
    assert [b.get_height() for b in made[0].patches] == pytest.approx([0.2, 0.9])
    assert words(made[0].get_xticklabels()) == ["a", "b"]
    assert made[0].get_ylabel() == "prediction of 1"
    with pytest.raises(ValueError, match="axes"):
        plot.partial_dependence(found, ax=[made[0]])


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


def test_scores_and_times():
    names, mean = ["a", "b", "c"], np.array([0.9, 0.8, 0.5])
    ax = plot.score_intervals(names, mean, mean - 0.1, mean + 0.1, best="a", marked="b")
    assert words(ax.get_yticklabels()) == names and ax.get_ylim()[0] > ax.get_ylim()[1]
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [0.8, 1.0])
    ax = plot.quality_time(names, [1, 0.1, 5], 1 - mean, greater=False, best="a")
    assert ax.yaxis_inverted() and set(words(ax.texts)) == set(names)
    assert ax.lines[0].get_xdata().tolist() == [0.1, 1]  # c is beaten in both
    ax.figure.canvas.draw()
    assert not any("$" in t for t in words(ax.get_xticklabels()))
    crowd = plot.quality_time([f"m{k}" for k in range(60)], np.ones(60), np.ones(60))
    assert len(crowd.texts) < 8  # names that do not fit stay away
    for draw in (plot.score_intervals, plot.quality_time):
        with pytest.raises(ValueError, match="names"):
            draw(["a"], *([[1, 2]] * (3 if draw is plot.score_intervals else 2)))


def test_names_do_no_harm(rng):
    y = rng.integers(0, 2, 60)
    m, v = len(HARM), np.linspace(0.1, 0.9, len(HARM))
    C = np.eye(m, dtype=int)
    D = SimpleNamespace(column=HARM[0], values=HARM, mean=v[:, None], outputs=[HARM[1]])
    draws = {
        "roc": lambda ax: plot.roc(y, {h: rng.random(60) for h in HARM}, ax=ax),
        "gain": lambda ax: plot.gain(y, {h: rng.random(60) for h in HARM}, ax=ax),
        "confusion": lambda ax: plot.confusion_matrix(C, labels=HARM, ax=ax),
        "importance": lambda ax: plot.importance(HARM, v, label=HARM[1], ax=ax),
        "intervals": lambda ax: plot.score_intervals(HARM, v, v, v, ax=ax),
        "time": lambda ax: plot.quality_time(HARM, v, v, label=HARM[1], ax=ax),
        "dependence": lambda ax: plot.partial_dependence(D, ax=ax),
    }
    for what, draw in draws.items():
        text = figure_svg(draw, label=HARM[0])
        assert "<script" not in text and "&lt;script" in text, what
        assert "$\\frac{" in text, what  # no mathematics
        assert "xxxx" in text and "x" * 60 not in text, what
    assert text == figure_svg(draw, label=HARM[0])  # the same picture is the same bytes
    assert "_hidden" in figure_svg(draws["roc"])
    assert short_name("\x00 a \u202e b") == "a b"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure_svg(lambda ax: ax.set_title("日本語 😀"))
    json.dumps(short_name(HARM[0]))


def test_axes_given_are_used(rng):
    _, ax = plt.subplots()
    y, s = rng.integers(0, 2, 30), rng.random(30)
    for draw in (plot.roc, plot.precision_recall, plot.gain, plot.residuals):
        assert draw(y, s, ax=ax) is ax
    assert plot.importance(["a"], [1], ax=ax) is ax
    size = plt.rcParams["font.size"]
    plot.confusion_matrix(y, y)
    assert plt.rcParams["font.size"] == size  # the session's settings stay
