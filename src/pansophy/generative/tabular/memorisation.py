"""Does synthetic data copy the rows it was made from? Distances, and a membership test.

Rows are compared in the units of `table_codec`: normal scores of numbers, and levels
that differ by 1. With T the training rows, S the synthetic ones and H real rows that
the generator never saw (as many of T as there are in H),

    copies            rows of S that are in T, beside the share of H that is in T  (1)
    distance ratio    median d(s, T) / median d(h, T)                              (2)
    closer share      share of S that is nearer to T than to H                     (3)
    membership AUC    how well -d(x, S) tells rows of T from rows of H             (4)

d being the distance to the nearest row. A generator that learnt the distribution and no
rows has a ratio near 1 and shares of 1/2; one that memorised has a ratio near 0 and
shares near 1. The p-value is that of (4) by the Mann-Whitney test, one-sided.

Cost      three neighbour searches
Refs      [Platzer2021] eq. (3); [Chen2020g] eq. (4)
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import mannwhitneyu

from ...core.arrays.frames import column_names
from ...core.arrays.unreadable import array_of_rows
from ...core.random import make_rng
from ...distances.neighbor_search import build_index, k_nearest
from .table_codec import TableCodec, learn_table_codec

ALARM_RATIO = 0.5  # of the distances, below which rows are copies
ALARM_P = 0.01  # and this p-value with that AUC tell rows apart
ALARM_AUC = 0.55


class MemorisationReport(NamedTuple):
    """Distances from synthetic rows to the training rows, eq. (1) to (4)."""

    n_rows: int  # synthetic rows
    n_copies: int  # of them that equal a training row in all columns
    expected_copies: float  # as many, if held-out rows are the measure
    distance_ratio: float
    closer_share: float
    membership_auc: float
    p_value: float

    @property
    def copied(self) -> bool:
        """Whether synthetic rows are nearer to training rows than new rows are."""
        more_copies = self.n_copies > 2 * self.expected_copies + 2
        return more_copies or self.distance_ratio < ALARM_RATIO

    @property
    def told_apart(self) -> bool:
        """Whether training rows can be told from new ones by the synthetic rows."""
        return self.p_value < ALARM_P and self.membership_auc > ALARM_AUC

    @property
    def memorised(self) -> bool:
        """Whether there is reason to think that the generator kept training rows."""
        return self.copied or self.told_apart

    def __str__(self):
        verdict = "no sign of copies"
        if self.copied:
            verdict = "training rows were copied"
        elif self.told_apart:
            verdict = "no copies, but training rows can be told from new ones"
        return (
            f"{verdict}: {self.n_copies} of {self.n_rows} synthetic rows equal a "
            f"training row (new rows: {self.expected_copies:.1f}); distance to the "
            f"nearest training row {self.distance_ratio:.2f} of that of new rows; "
            f"{self.closer_share:.0%} nearer to training than to new rows; membership "
            f"AUC {self.membership_auc:.3f} (p = {self.p_value:.2g})."
        )


def comparable(codec: TableCodec, table) -> np.ndarray:
    """Rows whose distances compare tables: levels as indicators."""
    encoded = codec.encode(table)
    parts = []
    for place, column in zip(codec.places, codec.columns):
        if column.kind == "level":
            levels = np.arange(len(column.levels))
            parts.append((encoded[:, [place]] == levels) / np.sqrt(2))
        else:
            parts.append(encoded[:, place : place + column.width])
    return np.concatenate(parts, axis=1)


def _nearest_distance(X, Q) -> np.ndarray:
    """Distance of each row of Q to the nearest of X: (n,)."""
    return np.asarray(k_nearest(build_index(np.ascontiguousarray(X)), Q, 1)[0])[:, 0]


def _exact_matches(rows, others) -> int:
    """Number of rows that are among the others, all columns equal."""
    known = {row.tobytes() for row in np.ascontiguousarray(others)}
    return sum(row.tobytes() in known for row in np.ascontiguousarray(rows))


def memorisation_report(
    training, synthetic, held_out, *, random_state=None
) -> MemorisationReport:
    """Compare synthetic rows with the training rows and with real rows held out.

    Parameters
    ----------
    training : table of shape (n, columns)
        The rows that the generator was fitted to: array, data frame, Arrow table or
        stack of images.
    synthetic : table of the same columns
    held_out : table of the same columns
        Real rows that the generator did not see, at least 20.
    random_state : int, RandomState, Generator or None
        Chooses as many training rows as there are held-out ones.

    Returns
    -------
    MemorisationReport

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import memorisation_report
    >>> rng = np.random.default_rng(0)
    >>> training, held_out, fresh = rng.normal(size=(3, 500, 4))
    >>> memorisation_report(training, fresh, held_out, random_state=0).memorised
    False
    >>> copies = training + 0.01 * rng.normal(size=(500, 4))
    >>> memorisation_report(training, copies, held_out, random_state=0).memorised
    True
    """
    sizes = [
        count_table_rows(t, name)
        for t, name in (
            (training, "training"),
            (synthetic, "synthetic"),
            (held_out, "held_out"),
        )
    ]
    if sizes[2] < 20 or min(sizes) == 0:
        raise ValueError(
            f"training, synthetic and held_out have {sizes} rows: all need some, and "
            "held_out at least 20 to compare with."
        )
    tables = [as_table(t) for t in (training, synthetic, held_out)]
    codec = learn_table_codec(joined_tables(*tables))
    T, S, H = (comparable(codec, t) for t in tables)
    n_copies = _exact_matches(S, T)
    expected = _exact_matches(H, T) / len(H) * len(S)
    rng = make_rng(random_state)
    m = min(len(T), len(H))
    t = T[rng.choice(len(T), m, replace=False)]
    h = H[rng.choice(len(H), m, replace=False)]
    to_training = _nearest_distance(T, S)
    apart = float(np.median(_nearest_distance(T, H)))
    ratio = float(np.median(to_training)) / apart if apart > 0 else 1.0
    near_t, near_h = _nearest_distance(t, S), _nearest_distance(h, S)
    closer = float(np.mean((near_t < near_h) + 0.5 * (near_t == near_h)))
    from_t, from_h = _nearest_distance(S, t), _nearest_distance(S, h)
    test = mannwhitneyu(from_h, from_t, alternative="greater")
    auc = float(test.statistic) / (len(from_h) * len(from_t))
    return MemorisationReport(
        len(S), n_copies, expected, ratio, closer, auc, float(test.pvalue)
    )


def count_table_rows(table, name) -> int:
    """Rows of a table; the sentence about what has none."""
    if isinstance(table, (str, bytes)) or not hasattr(table, "__len__"):
        raise TypeError(f"{name} must be a table, got a {type(table).__name__}.")
    return len(table)


def as_table(rows):
    """A frame as it is, an array with its images as rows of pixels."""
    if column_names(rows) is not None:
        return rows
    X = array_of_rows(rows, "a table")
    return X.reshape(len(X), -1) if X.ndim > 2 else X


def joined_tables(*tables):
    """The rows of several tables of one kind, one after the other."""
    if column_names(tables[0]) is None:
        return np.concatenate([np.asarray(t) for t in tables])
    import narwhals as nw

    frames = [nw.from_native(t, eager_only=True) for t in tables]
    names = frames[0].columns
    for frame in frames[1:]:
        if frame.columns != names:
            raise ValueError(
                f"the tables have different columns: {names} and {frame.columns}."
            )
    return nw.concat(frames, how="vertical").to_native()
