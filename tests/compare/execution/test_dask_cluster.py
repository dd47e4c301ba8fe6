"""The same fits on a dask cluster: same bits, same limits."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from pansophy.compare.execution import dask_cluster
from tests.cli.commands import call
from tests.compare.faulty_estimators import Case, Dice, Mean, same

distributed = pytest.importorskip("distributed")


def local_cluster(threads=1, **more):
    return distributed.LocalCluster(
        n_workers=1, threads_per_worker=threads, dashboard_address=None, **more
    )


OWN = {"line": LinearRegression(), "dice": Dice(), "bad": Mean("raises")}


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_cluster_gives_the_same_bits_and_keeps_limits():
    hangs = {"hangs": Mean("sleeps")}
    case = Case(OWN | hangs, folds=3)
    with local_cluster(processes=False) as cluster:
        far = case.run(cluster=cluster.scheduler_address, time_limit=3.0)
    assert case.complete
    assert far["hangs"].failure == "took more than 3 s (fold 1 of 3)"
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
