"""Callbacks: scikit-learn's protocol is spoken, and a silent fit pays nothing."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.callback import ProgressBar, ScoringMonitor

from pansophy.base import Estimator, Regressor
from pansophy.core.drivers.iterate import best_of, iterate
from pansophy.core.drivers.progress import SILENT, FitTask, run_with_progress
from pansophy.params import Count, Verbosity


class State(NamedTuple):
    mean: float
    objective: float


@dataclass(eq=False, repr=False)
class Mean(Regressor, Estimator):
    """Walks half the way to the mean of y each turn."""

    max_iter: Count = 5
    n_init: Count = 1
    verbose: Verbosity = 0

    def fit(self, X, y):
        X, y, _ = self._check_training_data(X, y, y_kind="number")
        cost = lambda m: State(m, float(np.mean((y - m) ** 2)))
        turn = lambda s: cost((s.mean + y.mean()) / 2)

        def start(i, task):
            limits = {"max_iter": self.max_iter, "tol": 1e-9}
            return iterate(turn, cost(float(i)), task=task, **limits)

        r = self._run_driver(
            lambda task: best_of(self.n_init, start, task=task),
            total=self.n_init if self.n_init > 1 else self.max_iter,
            X=X,
            y=y,
            snapshot=lambda s: {"mean_": s.mean},
        )
        self.mean_ = r.state.mean
        return self

    def predict(self, X):
        return np.full(len(self._check_new_data(X)), self.mean_)


class Diary:
    """Writes down what it is told; may ask to stop, or press Ctrl-C."""

    def __init__(self, stop_after=None, interrupt_after=None):
        self.stop_after, self.interrupt_after = stop_after, interrupt_after
        self.events, self.means = [], []

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        self.events.append(("end", context.task_name))
        if context.max_subtasks == 0:
            assert X is not None
            assert y is not None
            self.means.append(fitted_estimator.mean_)
        if len(self.means) == self.interrupt_after:
            self.interrupt_after = None
            raise KeyboardInterrupt
        return len(self.means) == self.stop_after

    def teardown(self, estimator, context):
        self.events.append("teardown")


@pytest.fixture
def data():
    return np.zeros((4, 1)), np.array([8.0, 8.0, 8.0, 8.0])


@pytest.mark.filterwarnings("ignore:Mean did not converge")
def test_every_turn_is_told(data):
    diary = Diary()
    model = Mean().set_callbacks(diary).fit(*data)
    steps = [f"step {i}" for i in range(5)]
    told = [(kind, name) for name in steps for kind in ("begin", "end")]
    want = ["setup", ("begin", "fit"), *told, ("end", "fit"), "teardown"]
    assert diary.events == want
    assert diary.means == [4, 6, 7, 7.5, 7.75]
    assert model.mean_ == 7.75
    assert not hasattr(model, "_callback_fit_ctx")


@pytest.mark.filterwarnings("ignore:Mean did not converge")
def test_starts_are_tasks_of_their_own(data):
    diary = Diary()
    Mean(max_iter=2, n_init=3).set_callbacks(diary).fit(*data)
    begun = [e[1] for e in diary.events if e[0] == "begin"]
    starts = [n for i in range(3) for n in (f"start {i}", "step 0", "step 1")]
    assert begun == ["fit", *starts]
    ended = [e[1] for e in diary.events if e[0] == "end"]
    assert sorted(ended) == sorted(begun)


def test_a_callback_can_end_the_fit(data):
    model = Mean().set_callbacks(Diary(stop_after=2)).fit(*data)
    assert model.n_iter_ == 2
    assert model.mean_ == 6
    assert model.converged_


def test_ctrl_c_in_a_callback(data):
    diary = Diary(interrupt_after=3)
    model = Mean().set_callbacks(diary)
    with pytest.warns(UserWarning, match="Mean was interrupted after 3 iterations"):
        model.fit(*data)
    assert model.interrupted_
    assert model.mean_ == 7
    assert diary.events[-1] == "teardown"
    np.testing.assert_array_equal(model.predict(data[0]), 7)


@pytest.mark.filterwarnings("ignore:Mean did not converge")
def test_scoring_monitor_scores_snapshots(data):
    X, y = data[0], np.array([6.0, 10.0, 6.0, 10.0])
    monitor = ScoringMonitor(scoring="neg_mean_squared_error")
    Mean().set_callbacks(monitor).fit(X, y)
    log = monitor.get_logs().data
    scores = [
        row["neg_mean_squared_error"] for row in log if "step" in row["task_name"]
    ]
    want = [-np.mean((y - m) ** 2) for m in (4, 6, 7, 7.5, 7.75)]
    np.testing.assert_allclose(scores, want)


@pytest.mark.filterwarnings("ignore:Mean did not converge")
@pytest.mark.parametrize("n_init", [1, 3])
def test_progress_bar_runs(data, n_init):
    model = Mean(n_init=n_init).set_callbacks(ProgressBar()).fit(*data)
    assert model.n_iter_ == 5


@pytest.mark.filterwarnings("ignore:Mean did not converge")
def test_verbose_is_a_progress_bar_for_one_fit(data):
    model = Mean(verbose=1).fit(*data)
    assert model.n_iter_ == 5
    assert not hasattr(model, "_skl_callbacks")
    assert clone(model).verbose == 1


def test_a_silent_task_does_nothing():
    assert SILENT.child("x", 3) is SILENT
    assert SILENT.end(object()) is False
    assert FitTask() == SILENT
    assert run_with_progress(object(), lambda task: task, total=1) is SILENT


def test_a_failing_fit_still_tears_down(data):
    diary = Diary()
    model = Mean().set_callbacks(diary)

    def fail(task):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_with_progress(model, fail, total=3)
    assert diary.events == ["setup", ("begin", "fit"), "teardown"]
