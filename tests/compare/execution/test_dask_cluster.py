"""The same fits on a dask cluster: same bits, same limits."""

import contextlib
import itertools
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression

from pansophy.compare.execution import dask_cluster
from pansophy.compare.execution.plan import ExecutionLimits
from pansophy.compare.execution.trials import run_trials
from tests.cli.commands import call
from tests.compare.execution.simulated_fits import (
    VARIANTS,
    SimulatedFits,
    simulated_race,
)
from tests.compare.faulty_estimators import Case, Dice, Mean, same

distributed = pytest.importorskip("distributed")


def local_cluster(threads=1, **more):
    return distributed.LocalCluster(
        n_workers=1, threads_per_worker=threads, dashboard_address=None, **more
    )


class Counts(RegressorMixin, BaseEstimator):
    """Predicts how many fits its class has seen."""

    seen: list = []

    def fit(self, X, y):
        self.seen.append(len(y))
        self.many_ = len(self.seen)
        return self

    def predict(self, X):
        return np.full(len(X), float(self.many_))


OWN = {"line": LinearRegression(), "dice": Dice(), "bad": Mean("raises")}


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_cluster_gives_the_same_bits_and_keeps_limits():
    hangs = {"hangs": Mean("sleeps"), "counts": Counts()}
    case = Case(OWN | hangs, folds=3)
    with local_cluster(processes=False) as cluster:
        far = case.run(cluster=cluster.scheduler_address, time_limit=3.0)
    assert case.complete
    assert far["hangs"].failure == "took more than 3 s (fold 1 of 3)"
    assert set(far["counts"].predictions) == {1.0}  # as in worker processes here
    near = Case(OWN, folds=3).run(workers=0)
    assert same({k: far[k] for k in near}, near)
    assert np.isfinite(far["line"].losses).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_cluster_of_processes_can_be_stopped():
    with local_cluster(2, processes=True) as cluster:
        with distributed.Client(cluster) as client:
            far = Case(OWN, folds=3).run(cluster=client)
            assert same(far, Case(OWN, folds=3).run(workers=0))
            slow = Case({"slow": Mean("sleeps")}, folds=3)
            found = slow.run(cluster=client, stop_after=8.0)
        assert not slow.complete and "stopped after 8 s" in found["slow"].failure


def test_no_cluster_is_one_sentence():
    from pansophy.compare.execution.dask_cluster import ClusterError

    with pytest.raises(ClusterError, match="No dask scheduler answers at nonsense"):
        Case({"line": LinearRegression()}).run(cluster="nonsense://1")


def test_no_cluster_is_one_sentence_in_the_shell(tmp_path):
    import socket

    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{i % 7}.5,{i % 2}\n" for i in range(60)))
    with socket.socket() as silent:  # something that is no scheduler
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        words = ["compare", str(path), "-t", "y", "-o", str(tmp_path / "run")]
        words += ["--methods", "naive-Bayes", "--cluster", f"tcp://127.0.0.1:{port}"]
        done = call(*words)
    assert done.exit_code == 2 and "Traceback" not in done.output
    assert "No dask scheduler answers at tcp://127.0.0.1" in done.stderr


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_workers_of_another_version_are_refused(monkeypatch):
    there = dask_cluster.recorded_versions() | {"pansophy": "9.9.9"}
    client = SimpleNamespace(run=lambda f: {"tcp://a:1": there})
    with pytest.raises(dask_cluster.ClusterError, match=r"a:1 has pansophy 9.9.9"):
        dask_cluster.check_worker_versions(client)
    client = SimpleNamespace(run=lambda f: {"tcp://a:1": f()})
    dask_cluster.check_worker_versions(client)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_lost_fits_are_handed_out_again(monkeypatch):
    whole = dask_cluster.joblib.Parallel
    breaks = []

    class Broken(whole):
        """Loses all but two of the fits that it was given, twice."""

        def __call__(self, jobs):
            outcomes = super().__call__(jobs)
            if len(breaks) < 2:
                breaks.append(1)
                yield next(outcomes)
                yield next(outcomes)
                raise RuntimeError("cancelled for reason: already forgotten")
            yield from outcomes

    monkeypatch.setattr(dask_cluster.joblib, "Parallel", Broken)
    case = Case({"line": LinearRegression()}, folds=5)
    with local_cluster(processes=False) as cluster:
        far = case.run(cluster=cluster.scheduler_address)
    assert len(breaks) == 2 and case.complete
    assert same(far, Case({"line": LinearRegression()}, folds=5).run(workers=0))


# --- the feeder, on a cluster that is simulated ------------------------------------


class SimulatedParallel:
    """joblib.Parallel as the feeder uses it: jobs drawn one by one, returned in any
    order, never asked for again after an end; and it may break."""

    def __init__(self, fits, rng, breaks, slowness=0.0):
        self.fits, self.rng, self.slowness = fits, rng, slowness
        self.breaks = list(breaks)  # outcomes until each break

    def __call__(self, jobs):
        until = self.breaks.pop(0) if self.breaks else None
        waiting = list(itertools.islice(jobs, 4))
        while waiting:
            if until == 0:
                time.sleep(0.05)  # what was returned has been taken note of
                raise RuntimeError("cancelled for reason: already forgotten")
            until = until if until is None else until - 1
            _, args, _ = waiting.pop(self.rng.integers(len(waiting)))
            time.sleep(self.slowness)
            yield self.fits(*args[2])
            waiting += itertools.islice(jobs, 1)


@pytest.fixture
def simulated_cluster(monkeypatch):
    """Races on a cluster whose outcomes are drawn."""

    def race(case, fits, seed=0, breaks=(), slowness=0.0, end=dict, **limits):
        parallel = SimulatedParallel(
            fits, np.random.default_rng(seed), breaks, slowness
        )
        joblib = SimpleNamespace(
            Parallel=lambda **_: parallel,
            parallel_config=lambda *_, **__: contextlib.nullcontext(),
            delayed=dask_cluster.joblib.delayed,
        )
        run = lambda call, *_: end() if call is dask_cluster.dismiss_run else {}
        client = SimpleNamespace(run=run, close=lambda: None)
        with monkeypatch.context() as patch:
            patch.setattr(dask_cluster, "joblib", joblib)
            patch.setattr(dask_cluster, "dask_client", lambda _: (client, True))
            patch.setattr(dask_cluster, "POLL_SECONDS", 0.002)
            limits = {"stop_after": 60.0} | limits
            limits = ExecutionLimits(cluster="simulated", **limits)
            trials, complete = run_trials(*case.parts, limits, None, False, race=True)
        return {t.method.name: t for t in trials}, complete

    return race


@pytest.mark.parametrize("breaks", [(), (0, 2, 7, 1, 0)])
def test_feeder_ends_with_the_stops_of_a_run_in_order(simulated_cluster, breaks):
    case = VARIANTS["rows"]()
    for seed in range(3):
        fits = SimulatedFits(case, seed)
        near = simulated_race(case, fits)
        far, complete = simulated_cluster(case, fits, seed, breaks)
        sound = [k for k, t in near.items() if not t.failure]
        assert complete and [t.failure for t in far.values()] == [
            t.failure for t in near.values()
        ]
        assert same({k: far[k] for k in sound}, {k: near[k] for k in sound})
        assert [t.stopped for t in far.values()] == [t.stopped for t in near.values()]


def test_feeder_waits_for_no_lost_fit_that_nobody_needs(simulated_cluster):
    case = VARIANTS["rows"]()
    failing = {(m, 0): "no" for m in range(1, len(case.methods))}
    fits = SimulatedFits(case, 0, failing)
    for breaks in ((13,), (14,), (15,), (1, 13)):
        far, complete = simulated_cluster(case, fits, breaks=breaks)
        assert complete and not far["dummy"].failure
        assert all(t.failure == "fold 1 failed: no" for t in list(far.values())[1:])


def test_feeder_ends_when_the_clock_stops_it(simulated_cluster):
    case = VARIANTS["rows"]()
    began = time.monotonic()
    fits = SimulatedFits(case, 0, {})
    far, complete = simulated_cluster(case, fits, slowness=0.05, stop_after=0.3)
    assert not complete and time.monotonic() - began < 30
    assert any("stopped after 0.3 s" in t.failure for t in far.values())


def test_a_machine_that_does_not_answer_is_not_waited_for(
    simulated_cluster, monkeypatch
):
    monkeypatch.setattr(dask_cluster, "END_SECONDS", 0.1)
    case, answer = VARIANTS["rows"](), threading.Event()
    began = time.monotonic()
    _, complete = simulated_cluster(
        case, SimulatedFits(case, 0, {}), end=lambda: answer.wait(60)
    )
    answer.set()
    assert complete and time.monotonic() - began < 30


def test_feeder_gives_up_a_cluster_that_always_breaks(simulated_cluster):
    case = VARIANTS["rows"]()
    with pytest.raises(dask_cluster.ClusterError, match="The cluster broke: cancelled"):
        simulated_cluster(case, SimulatedFits(case, 0, {}), breaks=[0] * 9)
