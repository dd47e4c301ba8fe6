"""A table larger than the memory that a fit may add, in a process of its own."""

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

resource = pytest.importorskip("resource")

FIT = """
import json, resource, sys
from pansophy.cluster import KMeans

def peak():  # MB; ru_maxrss begins with what the parent held
    try:
        with open("/proc/self/status") as file:
            return int(file.read().split("VmHWM:")[1].split()[0]) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

small, large = sys.argv[1:]
KMeans(2, random_state=0).fit(small)  # imports and compiled loops
before = peak()
model = KMeans(4, random_state=0).fit(large)
print(json.dumps({
    "grown": peak() - before,
    "inertia": model.inertia_,
    "centers": model.cluster_centers_[:, 0].tolist(),
}))
"""


def table(rng, n, d):
    side = rng.integers(0, 4, n)
    return pa.table({f"x{j}": rng.normal(size=n) + 10.0 * side for j in range(d)})


def test_fit_needs_less_memory_than_the_table(tmp_path):
    rng = np.random.default_rng(0)
    small, large = tmp_path / "small.parquet", tmp_path / "large.parquet"
    pq.write_table(table(rng, 2000, 4), small)
    plain = {"use_dictionary": False, "compression": "none"}
    n, d = 200_000, 128
    pq.write_table(table(rng, n, d), large, **plain)  # one row group
    megabytes = os.path.getsize(large) / 2**20
    assert megabytes > 190
    done = subprocess.run(
        [sys.executable, "-c", FIT, str(small), str(large)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "2"},  # each thread holds a block
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["grown"] < 0.65 * megabytes
    assert sorted(round(c) for c in told["centers"]) == [0, 10, 20, 30]
    assert told["inertia"] / (n * d) == pytest.approx(1, rel=0.01)
