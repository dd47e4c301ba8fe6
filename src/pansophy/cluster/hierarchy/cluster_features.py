"""Clusters as features: distances to k-means centres, similarities or memberships.

k-means centres c_j become columns for a later model,

    distance    |x - c_j|                                                       (1)
    similarity  exp(-|x - c_j|^2 / (2 s^2)),  s^2 = mean |x_i - c_{z_i}|^2      (2)
    onehot      1 for the nearest centre, else 0                                (3)

beside the columns of X or instead of them. (2) turns a linear model into a network of
radial basis functions, (3) into one constant for each cluster.

Shapes    X (n, d)   c (k, d)   result (n, k) or (n, d + k)
Refs      [Coates2012]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from ...base import Estimator, Transformer
from ...core.random import make_rng
from ...distances import euclidean
from ...params import Count, Flag
from ...typing import Seed
from ..centers.kmeans import KMeans
from ..centers.lloyd_iteration import nearest_centers


@dataclass(eq=False, repr=False)
class ClusterFeatures(Transformer, Estimator):
    """Distances to cluster centres (or similarities, or memberships) as columns.

    Parameters
    ----------
    n_clusters : int, default 8
        k, the number of clusters.
    kind : "distance", "similarity" or "onehot"
        Eq. (1), (2) or (3).
    append : bool, default True
        Whether the columns of X stay, before the new ones.
    n_init, max_iter : int
        Of k-means.
    random_state : None, int, RandomState or Generator
        Seed of the random draws.

    Attributes
    ----------
    cluster_centers_ : array of shape (k, d)
        The centres.
    scale_ : float
        s of eq. (2).
    labels_ : array of shape (n,)
        The nearest centre of each row of `fit`.

    Examples
    --------
    >>> from pansophy.cluster import ClusterFeatures
    >>> X = [[0.0], [2.0], [10.0], [12.0]]
    >>> F = ClusterFeatures(2, random_state=0).fit_transform(X)
    >>> F.shape, sorted(F[0, 1:].tolist())
    ((4, 3), [1.0, 11.0])
    """

    n_clusters: Count = 8
    _: KW_ONLY
    kind: Literal["distance", "similarity", "onehot"] = "distance"
    append: Flag = True
    n_init: Count = 1
    max_iter: Count = 300
    random_state: Seed = None

    _tensors = False

    def fit(self, X, y=None, sample_weight=None):
        """Find the centres.

        Parameters
        ----------
        X : array of shape (n, d)
        y : None
            Not used.
        sample_weight : array of length n or None
            Row weights; k is the same as k equal rows.
        """
        X, w = self._check_training_data(X, sample_weight=sample_weight, order="C")
        model = KMeans(
            self.n_clusters,
            n_init=self.n_init,
            max_iter=self.max_iter,
            random_state=make_rng(self.random_state),
        ).fit(X, sample_weight=w)
        self.cluster_centers_ = model.cluster_centers_
        self.labels_ = model.labels_
        total = len(X) if w is None else float(w.sum())
        self.scale_ = float(np.sqrt(model.inertia_ / total)) or 1.0
        self.n_iter_ = model.n_iter_
        return self

    def transform(self, X):
        """The columns of the clusters, after those of X if `append`."""
        X = self._check_new_data(X, order="C")
        C = self.cluster_centers_
        if self.kind == "onehot":
            z = nearest_centers(X, C.astype(np.float64))
            F = (z[:, None] == np.arange(len(C))).astype(X.dtype)
        else:
            F = euclidean(X, C.astype(X.dtype, copy=False))
            if self.kind == "similarity":
                F = np.exp(-0.5 * np.square(F / X.dtype.type(self.scale_)))
        return np.concatenate([X, F], axis=1) if self.append else F

    def get_feature_names_out(self, input_features=None):
        """Names of the columns: those of X if they stay, then distance0, ..."""
        check_is_fitted(self)
        new = [f"{self.kind}{j}" for j in range(len(self.cluster_centers_))]
        old = _check_feature_names_in(self, input_features) if self.append else []
        return np.asarray([*old, *new], dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
