"""Skip-gram with negative sampling: vectors that predict which words stand together.

Of a word w and a word o within a window of it, with u the vectors of words and v those
of contexts, and k words n drawn in proportion to (their counts)^(3/4),

    J = - sum over pairs [ log s(u_w' v_o) + sum_k log s(-u_w' v_n) ],
    s(z) = 1 / (1 + exp(-z))                                                       (1)

is lowered by stochastic gradient steps whose rate falls linearly. For many pairs u'v
tends to the pointwise mutual information less log k. Details of the original:

- a token of a word with share f of all tokens is kept with the chance
  sqrt(t / f) + t / f, so that frequent words do not drown the others            (2)
- the distance of a window is drawn from 1 to `window` for every centre, so that near
  words count more.

The negative words are drawn once for a centre and shared by the pairs of its window,
which keeps their vectors in the cache and costs no accuracy. Everything is done by one
thread, in order: the same seed gives the same vectors.

Cost      O(tokens * window * (k + 1) * d) an epoch
Refs      [Mikolov2013b]; [Levy2014] mutual information; [Ji2016] shared negatives
"""

from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np

from ...core.drivers.iterate import repeat
from ...core.random import draw_seed, make_rng
from ...params import Count, NonNegative, Positive, check_params
from ._skip_gram import SamplingTables, SkipGramPlan, skip_gram_epoch
from .word_vectors import AbstractWordVectors

TABLE = 1 << 12  # places of the table of the logistic function
BOUND = 8.0  # its ends; beyond them the slope is that at the end
POWER = 0.75


class SkipGramState(NamedTuple):
    """Vectors, the epoch, and the mean loss of its pairs."""

    U: np.ndarray
    V: np.ndarray
    epoch: int
    objective: float


def alias_table(p) -> tuple[np.ndarray, np.ndarray]:
    """Shares (times 2^24) and aliases of Walker's method of drawing from p."""
    n = len(p)
    scaled = np.asarray(p, float) / np.sum(p) * n
    share = np.ones(n)
    alias = np.arange(n)
    small = [i for i in range(n) if scaled[i] < 1]
    large = [i for i in range(n) if scaled[i] >= 1]
    while small and large:
        i, j = small.pop(), large.pop()
        share[i] = scaled[i]
        alias[i] = j
        scaled[j] -= 1 - scaled[i]
        (small if scaled[j] < 1 else large).append(j)
    return (share * (1 << 24)).astype(np.float32), alias


def keep_chances(counts, sample) -> np.ndarray:
    """Eq. (2): the chance that a token of each word is kept."""
    if not sample:
        return np.ones(len(counts))
    ratio = sample * counts.sum() / counts
    return np.minimum(np.sqrt(ratio) + ratio, 1.0)


def sampling_tables(counts, sample) -> SamplingTables:
    """The tables of a vocabulary."""
    share, alias = alias_table(counts**POWER)
    z = np.linspace(-BOUND, BOUND, TABLE)
    z = z + (z[1] - z[0]) / 2  # the middle of each place
    s = 1 / (1 + np.exp(-z))
    sigmoid, logs = s.astype(np.float32), np.log(s).astype(np.float32)
    return SamplingTables(keep_chances(counts, sample), share, alias, sigmoid, logs)


@dataclass(eq=False, repr=False)
class SkipGram(AbstractWordVectors):
    """Word vectors by skip-gram with negative sampling (word2vec), eq. (1).

    Parameters
    ----------
    vector_size : int, default=100
    window : int, default=5
        How far apart a word and its context may be.
    negative : int, default=5
        k.
    min_count : int, default=5
        Words that occur less often are left out.
    sample : float, default=1e-3
        t of eq. (2); 0 keeps all tokens.
    learning_rate_init, learning_rate_min : float, default=0.025 and 0.0001
        The rate at the beginning and at the end.
    n_epochs : int, default=5
    random_state : int, RandomState, Generator or None, default=None
    verbose : bool or int, default=False

    Attributes
    ----------
    words_ : array of shape (V,)
        The words, the most frequent first.
    vectors_ : array of shape (V, vector_size)
        u.
    context_vectors_ : array of shape (V, vector_size)
        v.
    n_iter_, history_, interrupted_

    Examples
    --------
    >>> from pansophy.text import SkipGram
    >>> texts = ["a cat eats fish", "a dog eats meat", "red and blue paint"] * 200
    >>> model = SkipGram(10, min_count=1, sample=0, n_epochs=20, random_state=0)
    >>> model = model.fit(texts)
    >>> model.vector("cat").shape
    (10,)
    >>> model.similarity("cat", "dog") > model.similarity("cat", "blue")
    True
    """

    _: KW_ONLY
    negative: Count = 5
    sample: NonNegative = 1e-3
    learning_rate_init: Positive = 0.025
    learning_rate_min: NonNegative = 1e-4
    n_epochs: Count = 5

    def fit(self, sentences, y=None):
        """Learn vectors from sentences: texts, or lists of words."""
        check_params(self)
        numbered = self._number(sentences)
        rng = make_rng(self.random_state)
        shape = (len(numbered.words), self.vector_size)
        U = ((rng.random(shape) - 0.5) / self.vector_size).astype(np.float32)
        V = np.zeros(shape, np.float32)
        stream = np.array([draw_seed(rng)], dtype=np.uint64)
        tables = sampling_tables(numbered.counts.astype(float), self.sample)
        fall = (self.learning_rate_init - self.learning_rate_min) / self.n_epochs

        def step(state):
            rate = self.learning_rate_init - fall * state.epoch
            plan = SkipGramPlan(self.window, self.negative, rate, fall, BOUND)
            total, pairs = skip_gram_epoch(
                numbered.ids, numbered.ends, state.U, state.V, tables, plan, stream
            )
            return state._replace(
                epoch=state.epoch + 1, objective=float(total) / max(pairs, 1)
            )

        def run(task):
            first = SkipGramState(U, V, 0, np.inf)
            return repeat(step, first, self.n_epochs, task=task)

        result = self._run_driver(run, total=self.n_epochs)
        self.words_ = np.array(numbered.words)
        self.vectors_ = result.state.U
        self.context_vectors_ = result.state.V
        return self
