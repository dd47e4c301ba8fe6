"""GloVe: word vectors whose products are logarithms of co-occurrence counts.

With X_ij how often words i and j stand within a window of each other, a pair at
distance r counting 1 / r,

    J = 1/2 sum over X_ij > 0 of f(X_ij) (u_i' v_j + b_i + c_j - log X_ij)^2,
    f(x) = min(1, (x / x_max)^alpha)                                               (1)

is lowered by AdaGrad, pair after pair in an order drawn anew in every epoch. X is
symmetric, so that u and v play the same part; the vector of a word is u + v.

Cost      O(pairs that occur * d) an epoch
Refs      [Pennington2014]; [Duchi2011] AdaGrad
"""

from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np

from ...core.drivers.iterate import repeat
from ...core.random import make_rng
from ...params import Count, Positive, check_params
from ._glove import GloVeVectors, glove_epoch
from .cooccurrences import count_pairs
from .word_vectors import AbstractWordVectors


class GloVeState(NamedTuple):
    """Vectors, sums of squared gradients, and J of the epoch."""

    model: GloVeVectors
    squares: GloVeVectors
    objective: float


@dataclass(eq=False, repr=False)
class GloVe(AbstractWordVectors):
    """Word vectors from co-occurrence counts, eq. (1).

    Parameters
    ----------
    vector_size : int, default=100
    window : int, default=5
        How far apart two words may be.
    min_count : int, default=5
        Words that occur less often are left out.
    x_max : float, default=100
    alpha : float, default=0.75
    learning_rate_init : float, default=0.05
    n_epochs : int, default=25
    random_state : int, RandomState, Generator or None, default=None
    verbose : bool or int, default=False

    Attributes
    ----------
    words_ : array of shape (V,)
        The words, the most frequent first.
    vectors_ : array of shape (V, vector_size)
        u + v.
    n_iter_, history_, interrupted_

    Examples
    --------
    >>> from pansophy.text import GloVe
    >>> texts = ["a cat eats fish", "a dog eats meat", "red and blue paint"] * 50
    >>> model = GloVe(10, min_count=1, random_state=0).fit(texts)
    >>> model.similarity("cat", "dog") > model.similarity("cat", "blue")
    True
    """

    _: KW_ONLY
    x_max: Positive = 100.0
    alpha: Positive = 0.75
    learning_rate_init: Positive = 0.05
    n_epochs: Count = 25

    def fit(self, sentences, y=None):
        """Learn vectors from sentences: texts, or lists of words."""
        check_params(self)
        numbered = self._number(sentences)
        rng = make_rng(self.random_state)
        n = len(numbered.words)
        pairs = count_pairs(
            numbered.ids, numbered.ends, n, window=self.window, symmetric=True,
            by_distance=True,
        ).tocoo()  # fmt: skip
        if not pairs.nnz:
            raise ValueError("no two words stand next to each other in the texts.")
        rows, columns = (part.astype(np.int64) for part in pairs.coords)
        logs = np.log(pairs.data).astype(np.float32)
        weights = np.minimum((pairs.data / self.x_max) ** self.alpha, 1.0)
        weights = weights.astype(np.float32)
        draw = lambda *shape: (
            (rng.random(shape) - 0.5) / self.vector_size
        ).astype(np.float32)  # fmt: skip
        shape = (n, self.vector_size)
        model = GloVeVectors(draw(*shape), draw(*shape), draw(n), draw(n))
        squares = GloVeVectors(*(np.ones_like(part) for part in model))

        def step(state):
            order = rng.permutation(len(rows))
            total = glove_epoch(
                rows, columns, logs, weights, order, state.model, state.squares,
                self.learning_rate_init,
            )  # fmt: skip
            return state._replace(objective=float(total) / len(rows))

        def run(task):
            first = GloVeState(model, squares, np.inf)
            return repeat(step, first, self.n_epochs, task=task)

        self._run_driver(run, total=self.n_epochs)
        self.words_ = np.array(numbered.words)
        self.vectors_ = model.U + model.V
        return self
