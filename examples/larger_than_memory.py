"""Cluster and model a Parquet file by reading it in blocks; memory stays small."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pansophy.cluster import KMeans
from pansophy.mixture import GaussianMixture

rng = np.random.default_rng(0)
centres = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])
X = centres[rng.integers(0, 3, 60_000)] + rng.standard_normal((60_000, 2))

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "points.parquet"
    pq.write_table(pa.table({"x": X[:, 0], "y": X[:, 1]}), path)

    km = KMeans(3, random_state=0).fit(path)
    print("k-means centres", km.cluster_centers_.round(1).tolist())

    gm = GaussianMixture(3, random_state=0).fit(path)
    print("mixture weights", gm.weights_.round(2).tolist())
