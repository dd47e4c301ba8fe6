"""Quality of generated samples: how far they are from real rows, and how.

With n real rows x and m generated rows z, means m_1, m_2, covariances S_1, S_2:

    Frechet        |m_1 - m_2|^2 + tr(S_1 + S_2 - 2 (S_1^1/2 S_2 S_1^1/2)^1/2)     (1)
    MMD^2          | mean phi(x) - mean phi(z) |^2          (`kernel_model.mmd`)   (2)
    precision      share of z inside the union of the balls of the real rows       (3)
    recall         share of x inside the union of the balls of the generated rows
    density        mean over z of the number of real balls that hold z, over k     (4)
    coverage       share of the real balls that hold a generated row
    C2ST           share of rows that a classifier, fitted to other rows, assigns
                   to the right set; 1/2 if the sets cannot be told apart          (5)
    bits/dim       -(log p(x) + d log b) / (d log 2), values in bins of width b    (6)

The ball of a row reaches to its k-th nearest neighbour in its own set. (1) is the
squared 2-Wasserstein distance of two Normals; with S_i = L_i L_i^T its last term is
the nuclear norm of L_1^T L_2, which needs no matrix root and takes singular S_i. It
sees two moments only and falls with the number of rows: compare sets of one size. (3)
tells bad samples (low precision) from missing ones (low recall). In (5) equal rows stay
in one fold, so that a set against its copy scores 1/2 exactly. Distances are only as
good as the space they are taken in: for images give `features` of a trained net. A
table with text, categories or times is compared as `table_codec` encodes it, numbers by
their normal scores and levels as indicators.

Weights count rows in means, covariances and shares, as repeated rows would; the balls
of (3) and (4) are those of the distinct rows.

Cost      (1) n d^2 + d^3; (2)-(4) n m d; (5) one fit of a classifier for each fold
Refs      [Heusel2017] (1); [Gretton2012] (2); [Kynkaanniemi2019] (3); [Naeem2020] (4);
          [LopezPaz2017] (5); [Theis2016] (6)
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.stats
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, cross_val_predict

from ..core.arrays import arrays
from ..core.arrays.unreadable import (
    array_of_numbers,
    array_of_rows,
    unreadable_error,
)
from ..core.arrays.weighted import check_sample_weight, effective_sample_size
from ..core.random import draw_seed, make_rng
from ..distances.pairwise_metrics import euclidean
from ..distributions.gaussian.normal import moments
from ..kernels import kernel_tests
from ..kernels.kernel_tests import Discrepancy, drawn_rows
from ..neighbors import NearestNeighbors
from ..params import Positive, check_argument, check_count
from .tabular.memorisation import (
    as_table,
    comparable,
    count_table_rows,
    joined_tables,
)
from .tabular.table_codec import learn_table_codec

BLOCK_ROWS = 1024  # rows whose distances to the other set are held at once


class PrecisionRecall(NamedTuple):
    """Shares of eq. (3) and (4)."""

    precision: float
    recall: float
    density: float
    coverage: float

    def __str__(self):
        return (
            f"precision {self.precision:.3f}, recall {self.recall:.3f}, density "
            f"{self.density:.3f}, coverage {self.coverage:.3f}"
        )


class TwoSampleAccuracy(NamedTuple):
    """Accuracy of a classifier that tells two sets apart, eq. (5)."""

    accuracy: float
    standard_error: float
    pvalue: float  # chance of this accuracy or more if the sets cannot be told apart

    def __str__(self):
        return (
            f"accuracy {self.accuracy:.3f} +- {self.standard_error:.3f} "
            f"(p = {self.pvalue:.3g})"
        )


class ModeCoverage(NamedTuple):
    """Coverage of known modes by samples."""

    covered: int  # modes with enough samples
    n_modes: int
    good_share: float  # samples within reach of a mode
    counts: np.ndarray  # samples within reach of each mode

    def __str__(self):
        return (
            f"{self.covered} of {self.n_modes} modes, {self.good_share:.1%} of the "
            "samples near a mode"
        )


# -- rows ----------------------------------------------------------------------------


def _rows_of_set(X, name) -> np.ndarray:
    """A set of rows as (n, d) floats: images are flattened, a vector is one column."""
    X = array_of_rows(X, name)
    try:
        X = X.astype(float)
    except (TypeError, ValueError) as error:
        raise unreadable_error(name, X, error) from None
    if X.ndim == 0 or 0 in X.shape:
        raise ValueError(f"{name} must hold at least one row, got the shape {X.shape}.")
    X = X.reshape(len(X), -1)
    if not np.isfinite(X).all():
        raise ValueError(f"{name} holds NaN or infinite values.")
    return X


def is_mixed_table(X) -> bool:
    """Whether X is a table with columns that are no numbers."""
    if arrays.is_foreign(X):
        return False
    try:
        np.asarray(X, dtype=float)
    except (TypeError, ValueError):
        return True
    return False


def _real_and_fake(real, fake, features=None):
    """Both sets as rows of the same columns, or of the features of both."""
    if features is not None:
        real, fake = (_features_of_rows(features, X) for X in (real, fake))
    elif is_mixed_table(real) or is_mixed_table(fake):
        tables = [as_table(t) for t in (real, fake)]
        codec = learn_table_codec(joined_tables(*tables))
        real, fake = (comparable(codec, t) for t in tables)
    X, Z = _rows_of_set(real, "real"), _rows_of_set(fake, "fake")
    if X.shape[1] != Z.shape[1]:
        raise ValueError(
            f"real has {X.shape[1]} values a row, but fake has {Z.shape[1]}."
        )
    return X, Z


def _features_of_rows(features, X):
    """Features of rows by a fitted net, an object with `transform`, or a function."""
    if hasattr(features, "nets_"):
        from ..nn import FeatureExtractor

        return FeatureExtractor(features).fit(X).transform(X)
    if hasattr(features, "transform"):
        return features.transform(X)
    if callable(features):
        return features(X)
    raise TypeError(
        "features must be a fitted net of ours, an object with transform, or a "
        f"function of rows, got {type(features).__name__}."
    )


# -- Frechet -------------------------------------------------------------------------


def frechet_distance(
    real, fake, *, features=None, real_weight=None, fake_weight=None
) -> float:
    """Frechet distance of two sets of rows, or of two Normals, eq. (1).

    Parameters
    ----------
    real, fake : arrays of n and m rows, or two `distributions.Normal`
        Rows of numbers, or images of any shape. Covariances are unbiased.
    features : fitted net of ours, object with `transform`, function, or None
        Makes the columns that are compared; a `ConvClassifier` gives what its output
        layer sees, in the manner of the Inception distance.
    real_weight, fake_weight : arrays of shape (n,) and (m,), optional

    Examples
    --------
    >>> from pansophy.distributions import Normal
    >>> from pansophy.generative import frechet_distance
    >>> frechet_distance(Normal(0.0, 1.0), Normal(3.0, 4.0))  # 3^2 + (2 - 1)^2
    10.0
    """
    if hasattr(real, "dense") and hasattr(fake, "dense"):
        return _frechet_of_moments(*_moments_of_normal(real), *_moments_of_normal(fake))
    X, Z = _real_and_fake(real, fake, features)
    w = check_sample_weight(real_weight, len(X), "real_weight")
    v = check_sample_weight(fake_weight, len(Z), "fake_weight")
    return _frechet_of_moments(
        *_mean_and_unbiased_covariance(X, w), *_mean_and_unbiased_covariance(Z, v)
    )


def _moments_of_normal(p):
    """Mean (d,) and covariance (d, d) of a Normal."""
    mean = np.atleast_1d(arrays.to_numpy(p.mean)).astype(float)
    cov = np.asarray(arrays.to_numpy(p.dense), float)
    return mean.reshape(-1), cov.reshape(mean.size, mean.size)


def _mean_and_unbiased_covariance(X, w=None):
    """Weighted mean and unbiased covariance of rows; 0 for a single row."""
    result = moments(X, w)
    return result.mean, result.scatter / max(float(result.weight) - 1, 1)


def _frechet_of_moments(m1, S1, m2, S2) -> float:
    """Eq. (1) of means (d,) and covariances (d, d)."""
    gap = float(np.sum((m1 - m2) ** 2))
    nuclear = np.linalg.svd(_psd_root(S1).T @ _psd_root(S2), compute_uv=False).sum()
    size = float(np.trace(S1) + np.trace(S2))
    spread = size - 2 * float(nuclear)
    rounding = 8 * len(S1) * np.finfo(float).eps * size
    return gap + (spread if spread > rounding else 0.0)


def _psd_root(S):
    """L with L L^T = S, also for a singular S."""
    values, vectors = np.linalg.eigh(S)
    return vectors * np.sqrt(np.maximum(values, 0.0))


# -- precision and recall ------------------------------------------------------------


def precision_recall(
    real, fake, *, k=5, features=None, real_weight=None, fake_weight=None
) -> PrecisionRecall:
    """Precision, recall, density and coverage by balls of k neighbours, eq. (3), (4).

    Parameters
    ----------
    real, fake : arrays of n and m rows
        Rows of numbers, or images of any shape.
    k : int, default=5
        Neighbours within a ball; at most the rows of a set less one.
    features, real_weight, fake_weight
        As for `frechet_distance`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import precision_recall
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> print(precision_recall(X, X[:100]))
    precision 1.000, recall 0.975, density 1.186, coverage 0.990
    >>> precision_recall(X, X + 100).precision
    0.0
    """
    k = check_count("k", k)
    X, Z = _real_and_fake(real, fake, features)
    w = check_sample_weight(real_weight, len(X), "real_weight")
    v = check_sample_weight(fake_weight, len(Z), "fake_weight")
    # moving both sets to their mean keeps digits of distances far from 0
    centre = np.vstack([X, Z]).mean(axis=0)
    X, Z = X - centre, Z - centre
    real_radius, fake_radius = _ball_radii(X, k), _ball_radii(Z, k)
    holders = np.empty(len(Z))  # real balls that hold each generated row
    held = np.zeros(len(X), bool)  # real rows inside a generated ball
    full = np.zeros(len(X), bool)  # real balls that hold a generated row
    for start in range(0, len(Z), BLOCK_ROWS):
        cut = slice(start, start + BLOCK_ROWS)
        far = euclidean(Z[cut], X)
        inside = far <= real_radius
        holders[cut] = inside.sum(axis=1)
        full |= inside.any(axis=0)
        held |= (far <= fake_radius[cut, None]).any(axis=0)
    neighbours = max(1, min(k, len(X) - 1))
    return PrecisionRecall(
        precision=float(np.average(holders > 0, weights=v)),
        recall=float(np.average(held, weights=w)),
        density=float(np.average(holders, weights=v) / neighbours),
        coverage=float(np.average(full, weights=w)),
    )


def _ball_radii(X, k):
    """Distance of each row to its k-th nearest other row; 0 for a single row."""
    k = min(k, len(X) - 1)
    if k == 0:
        return np.zeros(len(X))
    distances, _ = NearestNeighbors(n_neighbors=k).fit(X).kneighbors()
    far = distances[:, -1]
    return far * (1 + 1e-9)  # a row at the rim is inside, whatever the rounding


# -- classifier two-sample test ------------------------------------------------------


def classifier_two_sample_accuracy(
    real, fake, *, classifier=None, folds=5, real_weight=None, fake_weight=None,
    random_state=0,
) -> TwoSampleAccuracy:  # fmt: skip
    """Cross-fitted accuracy of a classifier that tells two sets apart, eq. (5).

    Both sets count for one half, whatever their sizes, so that 1/2 is chance.

    Parameters
    ----------
    real, fake : arrays of n and m rows
        Rows of numbers, or images of any shape, which are flattened.
    classifier : classifier with `sample_weight`, optional
        Copied and fitted for each fold; a forest of 100 extremely random trees by
        default.
    folds : int, default=5
    real_weight, fake_weight : arrays of shape (n,) and (m,), optional
    random_state : seed

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import classifier_two_sample_accuracy
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> classifier_two_sample_accuracy(X, X).accuracy
    0.5
    >>> classifier_two_sample_accuracy(X, X + 4).accuracy > 0.95
    True
    """
    folds = check_count("folds", folds, 2)
    X, Z = _real_and_fake(real, fake)
    rng = make_rng(random_state)
    pooled = np.vstack([X, Z])
    side = np.repeat([0, 1], [len(X), len(Z)])
    parts = []
    totals = []
    for rows, weight, name in (
        (X, real_weight, "real_weight"),
        (Z, fake_weight, "fake_weight"),
    ):
        w = check_sample_weight(weight, len(rows), name)
        w = np.ones(len(rows)) if w is None else w
        parts.append(w)
        totals.append(float(w.sum()))
    n_effective = sum(effective_sample_size(part) for part in parts)
    _, groups = np.unique(pooled, axis=0, return_inverse=True)
    groups = groups.reshape(-1)
    folds = min(folds, int(groups.max()) + 1)
    if folds < 2:  # all rows are equal
        return TwoSampleAccuracy(0.5, 0.5 / math.sqrt(n_effective), 0.5)
    if classifier is None:
        from ..ensemble import ExtraTreesClassifier

        classifier = ExtraTreesClassifier(
            100, min_samples_leaf=3, random_state=draw_seed(rng)
        )
    shares = np.concatenate([w / t for w, t in zip(parts, totals, strict=True)])
    answers = cross_val_predict(
        clone(classifier),
        pooled,
        side,
        groups=groups,
        cv=GroupKFold(folds, shuffle=True, random_state=draw_seed(rng)),
        params={"sample_weight": shares * len(shares) / 2},
    )
    # counts add up without rounding, shares of rows would not
    hits = [float(w[answers[side == i] == i].sum()) for i, w in enumerate(parts)]
    both_right = hits[0] * totals[1] + hits[1] * totals[0]
    accuracy = both_right / (2 * totals[0] * totals[1])
    error = 0.5 / math.sqrt(n_effective)
    return TwoSampleAccuracy(
        accuracy, error, float(scipy.stats.norm.sf((accuracy - 0.5) / error))
    )


# -- maximum mean discrepancy --------------------------------------------------------


def mmd(
    X, Z, *, features=None, length_scale=None, weight_x=None, weight_z=None,
    permutations=200, rows=500, random_state=0,
) -> Discrepancy:  # fmt: skip
    """Maximum mean discrepancy of two sets of rows, with a permutation test.

    `kernel_model.mmd` for tables too: text, categories and times are encoded as for
    `frechet_distance`.

    Parameters
    ----------
    X, Z : arrays of shape (n, d) and (m, d), images of one shape, or mixed tables
    features : as for `frechet_distance`
    length_scale, weight_x, weight_z, permutations, rows, random_state
        As for `kernel_model.mmd`.

    Examples
    --------
    >>> import pandas as pd
    >>> from pansophy.generative import mmd
    >>> real = pd.DataFrame({"city": ["a", "b"] * 30, "age": range(60)})
    >>> fake = pd.DataFrame({"city": ["b", "b"] * 30, "age": range(60)})
    >>> mmd(real, real).value, mmd(real, fake).p < 0.05
    (0.0, True)
    """
    return kernel_tests.mmd(
        *_real_and_fake(X, Z, features),
        length_scale=length_scale,
        weight_x=weight_x,
        weight_z=weight_z,
        permutations=permutations,
        rows=rows,
        random_state=random_state,
    )


# -- all together --------------------------------------------------------------------


def sample_quality(
    real, fake, rng=0, *, features=None, rows=1000, k=5, permutations=100
) -> dict[str, float]:
    """Every measure of this module by its name, on at most `rows` rows of each set.

    Parameters
    ----------
    real, fake : arrays of n and m rows
        Real rows should not be those that the model was fitted to. The same number of
        rows of both sets is compared.
    rng : seed or Generator
        Draws the rows and the folds.
    features : as for `frechet_distance`
    rows : int, default=1000
    k : int, default=5
        Neighbours of `precision_recall`.
    permutations : int, default=100
        Of the test of the MMD.

    Returns
    -------
    dict of frechet, mmd (squared), mmd_pvalue, c2st (accuracy), precision, recall,
    density and coverage

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import sample_quality
    >>> rng = np.random.default_rng(0)
    >>> real, fake = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    >>> found = sample_quality(real, fake)
    >>> found["mmd_pvalue"] > 0.05, found["frechet"] < 0.1, found["c2st"] < 0.6
    (True, True, True)
    """
    rng = make_rng(rng)
    sizes = [count_table_rows(t, n) for t, n in ((real, "real"), (fake, "fake"))]
    rows = min(*sizes, check_count("rows", rows))
    X, Z = _real_and_fake(real, fake, features)
    X, _ = drawn_rows(X, None, rows, rng)
    Z, _ = drawn_rows(Z, None, rows, rng)
    discrepancy = mmd(X, Z, permutations=permutations, rows=None, random_state=rng)
    two_sample = classifier_two_sample_accuracy(X, Z, random_state=rng)
    return {
        "frechet": frechet_distance(X, Z),
        "mmd": discrepancy.value,
        "mmd_pvalue": discrepancy.p,
        "c2st": two_sample.accuracy,
        **precision_recall(X, Z, k=k)._asdict(),
    }


def bits_per_dimension(log_prob, n_dims, *, bin_width=1.0, sample_weight=None) -> float:
    """Mean code length of a value in bits, eq. (6).

    Parameters
    ----------
    log_prob : array of shape (n,), or a number
        Log density of each row in nats.
    n_dims : int
        Values of a row: pixels times channels.
    bin_width : float, default=1
        Distance of neighbouring values in the units of the density: 1 for bytes as
        they are (with uniform noise added), 1/256 for bytes divided by 256.
    sample_weight : array of shape (n,), optional

    Examples
    --------
    >>> from pansophy.generative import bits_per_dimension
    >>> bits_per_dimension(0.0, 64, bin_width=1 / 256)  # uniform over 256 values
    8.0
    """
    n_dims = check_count("n_dims", n_dims)
    check_argument("bin_width", bin_width, Positive)
    log_prob = np.atleast_1d(array_of_numbers(log_prob, "log_prob"))
    w = check_sample_weight(sample_weight, len(log_prob))
    mean = float(np.average(log_prob, weights=w))
    return -(mean / n_dims + math.log(bin_width)) / math.log(2)


def mode_coverage(samples, modes, *, reach, least=None) -> ModeCoverage:
    """Number of the known modes of a distribution that the samples reach.

    Parameters
    ----------
    samples : array of shape (n, d)
    modes : array of shape (M, d)
        Their centres.
    reach : float
        Largest distance from a centre that counts as near, three standard deviations
        of a mode, say.
    least : int, optional
        Samples that make a mode covered; a fifth of an even share by default.

    Examples
    --------
    >>> from pansophy.generative import mode_coverage
    >>> print(mode_coverage([[0.0], [0.1], [9.0]], [[0.0], [5.0]], reach=0.5))
    1 of 2 modes, 66.7% of the samples near a mode
    """
    X, centres = _real_and_fake(samples, modes)
    check_argument("reach", reach, Positive)
    far = euclidean(X, centres)
    nearest = far.argmin(axis=1)
    near = far[np.arange(len(X)), nearest] <= reach
    counts = np.bincount(nearest[near], minlength=len(centres))
    if least is None:
        least = max(1, math.ceil(0.2 * len(X) / len(centres)))
    return ModeCoverage(
        int((counts >= least).sum()), len(centres), float(near.mean()), counts
    )
