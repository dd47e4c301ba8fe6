"""Train/test splits by time: no rating is predicted from later ones.

A random split lets a model look ahead: it learns from what a user did next week what
the user does today, and its score is better than anything that will be seen in use.

`temporal_split`, `TemporalSplit`   everything before a moment trains, the rest tests
`leave_last_out`, `LeaveLastOut`    the last ratings of each user test

The classes are splitters in scikit-learn's sense: `cross_val_score(model, X, y,
cv=TemporalSplit(), groups=times)`. The functions cut `Ratings`, and keep all names in
both parts, so that a user or item that is new in the test part is known by name.

Ratings made at the same moment stay together: those at the moment of a cut test.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..params import check_count
from .name_codes import check_labels, encode_names
from .ratings import Ratings, split_columns


def _rating_times(X, groups):
    """When each rating was made."""
    times = X.times if groups is None and isinstance(X, Ratings) else groups
    if times is None:
        raise ValueError(
            "times are needed: give them as `groups`, or as `times` of the ratings."
        )
    return check_labels(times, "times")


def _user_codes(X):
    """Codes of the users of X, `Ratings` or two columns."""
    if isinstance(X, Ratings):
        return X.users
    return encode_names(split_columns(X)[0], "users")[0]


def _cut_time(times, rows):
    """The time of the cut that has about `rows` ratings before it."""
    return np.sort(times)[min(max(rows, 0), len(times) - 1)]


def _is_last_rating(users, times, n):
    """Whether each rating is among the last n of its user, who has more than n."""
    order = np.lexsort((np.arange(len(users)), times, users))
    sizes = np.bincount(users)[users[order]]
    start = np.r_[True, users[order][1:] != users[order][:-1]]
    begin = np.maximum.accumulate(np.where(start, np.arange(len(users)), 0))
    rank = np.arange(len(users)) - begin
    out = np.empty(len(users), bool)
    out[order] = (rank >= sizes - n) & (sizes > n)
    return out


def temporal_split(ratings, test_size=0.2) -> tuple[Ratings, Ratings]:
    """(train, test): the last `test_size` of the ratings test.

    Examples
    --------
    >>> from pansophy.recommend import Ratings, temporal_split
    >>> R = Ratings.from_triplets([1, 1, 2, 2], [1, 2, 1, 2], times=[4, 1, 2, 3])
    >>> train, test = temporal_split(R, 0.25)
    >>> train.times.tolist(), test.times.tolist()
    ([1, 2, 3], [4])
    """
    if not 0 < test_size < 1:
        raise ValueError(f"test_size must be between 0 and 1, got {test_size}.")
    times = _rating_times(ratings, None)
    if len(times) < 2:
        raise ValueError(f"2 ratings are needed to be split, got {len(times)}.")
    late = times >= _cut_time(times, round((1 - test_size) * len(times)))
    if late.all():
        raise ValueError("too many ratings have the same time to be split.")
    return ratings[~late], ratings[late]


def leave_last_out(ratings, n=1) -> tuple[Ratings, Ratings]:
    """(train, test): the last n ratings of every user with more than n test.

    Of equally late ones those given later.

    Examples
    --------
    >>> from pansophy.recommend import Ratings, leave_last_out
    >>> R = Ratings.from_triplets([1, 1, 2], [1, 2, 1], times=[4, 1, 2])
    >>> train, test = leave_last_out(R)
    >>> train.to_triplets()[0].tolist(), test.to_triplets()[0].tolist()
    ([1, 2], [1])
    """
    late = _is_last_rating(
        ratings.users, _rating_times(ratings, None), check_count("n", n)
    )
    return ratings[~late], ratings[late]


@dataclass(eq=False)
class TemporalSplit:
    """Growing training parts, each followed in time by its test part.

    The rows are cut at n_splits moments into n_splits + 1 parts of about equal size;
    split j trains on parts 1 .. j and tests on part j + 1.

    Parameters
    ----------
    n_splits : int, default 5

    Examples
    --------
    >>> from pansophy.recommend import TemporalSplit
    >>> X = [["a", "x"], ["b", "x"], ["a", "y"]]
    >>> for train, test in TemporalSplit(2).split(X, groups=[3, 1, 2]):
    ...     print(train, test)
    [1] [2]
    [1 2] [0]
    """

    n_splits: int = 5

    def get_n_splits(self, X=None, y=None, groups=None) -> int:
        """Number of splits that `split` yields."""
        return self.n_splits

    def split(self, X, y=None, groups: Any = None):
        """Yield (train, test) row numbers; groups are the times."""
        times = _rating_times(X, groups)
        n = len(times)
        parts = check_count("n_splits", self.n_splits) + 1
        if n < parts:
            raise ValueError(f"{self.n_splits} splits need {parts} rows, got {n}.")
        cuts = [_cut_time(times, j * n // parts) for j in range(1, parts)]
        for begin, end in zip(cuts, [*cuts[1:], None]):
            later = times >= begin
            inside = later if end is None or end == begin else later & (times < end)
            if later.all():
                raise ValueError("too many ratings have the same time to be split.")
            yield np.flatnonzero(~later), np.flatnonzero(inside)


@dataclass(eq=False)
class LeaveLastOut:
    """One split: the last n rows of each user test.

    Parameters
    ----------
    n : int, default 1

    Examples
    --------
    >>> from pansophy.recommend import LeaveLastOut
    >>> X = [["a", "x"], ["b", "x"], ["a", "y"]]
    >>> next(LeaveLastOut().split(X, groups=[3, 1, 2]))
    (array([1, 2]), array([0]))
    """

    n: int = 1
    _: KW_ONLY

    def get_n_splits(self, X=None, y=None, groups=None) -> int:
        """1."""
        return 1

    def split(self, X, y=None, groups: Any = None):
        """Yield (train, test) row numbers; groups are the times."""
        late = _is_last_rating(
            _user_codes(X), _rating_times(X, groups), check_count("n", self.n)
        )
        if not late.any():
            raise ValueError(f"no user has more than n={self.n} rows.")
        yield np.flatnonzero(~late), np.flatnonzero(late)
