"""Metrics: against scikit-learn, with weights as repetition, and by rows."""

import numpy as np
import pytest
from sklearn import metrics as sk

from pansophy.compare.metrics import METRICS, metrics_for

TASKS = sorted({m.task for m in METRICS})


def problem(task, rng, n=60):
    if task in ("classification", "ordinal"):
        return rng.integers(0, 3, n), rng.dirichlet(np.ones(3), n)
    if task == "multilabel":
        return rng.integers(0, 2, (n, 4)), rng.random((n, 4))
    if task == "count":
        return rng.poisson(2.0, n).astype(float), rng.gamma(2.0, 1.0, n)
    return rng.normal(size=n), rng.normal(size=n)


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: f"{m.task} {m.name}")
def test_weights_are_repeated_rows_and_row_losses_add_up(metric, rng):
    y, p = problem(metric.task, rng)
    w = rng.integers(0, 4, len(y))
    again = np.repeat(np.arange(len(y)), w)
    assert metric.score(y, p, w) == pytest.approx(metric.score(y[again], p[again]))
    order = rng.permutation(len(y))
    assert metric.score(y[order], p[order]) == pytest.approx(metric.score(y, p))
    if metric.row_losses is not None:
        losses = metric.row_losses(y, p)
        assert losses.shape == (len(y),) and (losses >= 0).all()
        assert metric.from_mean_loss(losses.mean()) == pytest.approx(metric.score(y, p))


def test_as_scikit_learn(rng):
    of = lambda task: {m.name: m.score for m in METRICS if m.task == task}
    y, p = problem("count", rng)
    want = sk.mean_poisson_deviance(y, p)
    assert of("count")["poisson deviance"](y, p) == pytest.approx(want)
    y, p = problem("classification", rng)
    c = of("classification")
    assert c["log loss"](y, p) == pytest.approx(sk.log_loss(y, p))
    assert c["roc auc"](y, p) == pytest.approx(
        sk.roc_auc_score(y, p, multi_class="ovr")
    )
    said = p.argmax(1)
    assert c["balanced accuracy"](y, p) == pytest.approx(
        sk.balanced_accuracy_score(y, said)
    )
    assert c["f1"](y, p) == pytest.approx(sk.f1_score(y, said, average="macro"))
    b, q = rng.integers(0, 2, 80), rng.random(80)
    two = np.c_[1 - q, q]
    assert c["average precision"](b, two) == pytest.approx(
        sk.average_precision_score(b, q)
    )
    assert c["f1"](b, two) == pytest.approx(sk.f1_score(b, q > 0.5))
    y, p = problem("multilabel", rng)
    m = of("multilabel")
    assert m["label accuracy"](y, p) == pytest.approx(1 - sk.hamming_loss(y, p >= 0.5))
    assert m["exact match"](y, p) == pytest.approx(sk.accuracy_score(y, p >= 0.5))
    assert m["roc auc"](y, p) == pytest.approx(sk.roc_auc_score(y, p))


@pytest.mark.parametrize("task", TASKS)
def test_a_proper_score_comes_first_and_others_on_request(task):
    proper = {"log loss", "rmse", "poisson deviance", "ranked probability score"}
    assert metrics_for(task)[0].name in proper
    other = metrics_for(task)[-1].name
    assert metrics_for(task, other.upper())[0].name == other
    with pytest.raises(ValueError, match="metric must be one of"):
        metrics_for(task, "odd")


def test_ordered_classes_have_scores_of_their_own():
    names = [m.name for m in metrics_for("classification", ordered=True)]
    assert names[:2] == ["ranked probability score", "quadratic kappa"]
    assert "log loss" in names
    with pytest.raises(ValueError, match="must be one of"):
        metrics_for("classification", "quadratic kappa")
    y = np.array([0, 1, 2, 3])
    near, far = np.eye(4)[[1, 2, 3, 2]], np.eye(4)[[3, 3, 0, 0]]
    for m in metrics_for("ordinal"):  # a near miss is better than a far one
        sign = 1 if m.greater else -1
        assert sign * m.score(y, np.eye(4)) > sign * m.score(y, near)
        assert sign * m.score(y, near) > sign * m.score(y, far)
    rps = metrics_for("ordinal")[0].score
    assert rps(np.array([0]), np.array([[0.0, 0.0, 1.0]])) == 1.0


@pytest.mark.parametrize(
    ("task", "typed", "name"),
    [
        ("classification", "AUC", "roc auc"),
        ("classification", "roc_auc", "roc auc"),
        ("classification", "logloss", "log loss"),
        ("classification", "neg_log_loss", "log loss"),
        ("classification", "F1-score", "f1"),
        ("regression", "MSE", "rmse"),
        ("regression", "R^2", "r2"),
        ("count", "deviance", "poisson deviance"),
        ("ordinal", "QWK", "quadratic kappa"),
    ],
)
def test_metrics_are_known_by_the_names_of_others(task, typed, name):
    assert metrics_for(task, typed)[0].name == name


def test_certainty_that_is_wrong_is_finite():
    p = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert np.isfinite(metrics_for("classification")[0].score(np.array([1, 0]), p))
    assert np.isfinite(metrics_for("count")[0].score(np.array([3.0]), np.zeros(1)))


def test_the_brier_score_of_two_classes_is_the_usual_one(rng):
    from sklearn.metrics import brier_score_loss

    y = rng.integers(0, 2, 50)
    p = rng.random(50)
    brier = next(m for m in metrics_for("classification") if m.name == "brier score")
    assert brier.score(y, np.column_stack([1 - p, p])) == pytest.approx(
        brier_score_loss(y, p)
    )
