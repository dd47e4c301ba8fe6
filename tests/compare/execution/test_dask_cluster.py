"""The same fits on a dask cluster: same bits, same limits."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

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
