"""Tagging sequences by a linear-chain conditional random field.

The model and its objective are those of `chain_field`; tokens described in words are
read by `tokens`.

Refs      [Lafferty2001]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator
from ..core import threads
from ..core.filtering import expected_counts, smooth, viterbi
from ..params import Count, Flag, NonNegative, Verbosity, check_params
from .chain_field import (
    SparseFeatures,
    WeightLayout,
    build_features,
    chain_potentials,
    feature_counts,
    label_pair_counts,
    neg_log_likelihood,
    with_compact_indices,
)
from .token_features import (
    AttributeVocabulary,
    as_sequence_list,
    check_sequence_list,
    is_token_sequences,
    vectorize_tokens,
)


@dataclass(eq=False, repr=False)
class ChainCRF(Estimator):
    """Conditional random field for tagging sequences.

    The objective is eq. (3) of `chain_field`. Parameters that CRFsuite has too mean
    what they mean there.

    Parameters
    ----------
    algorithm : {"lbfgs"}, default="lbfgs"
    c1, c2 : float, default=0 and 1
        Strengths of the L1 and L2 penalty.
    min_freq : float, default=0
        Attributes that occur less often than this are left out.
    all_possible_states : bool, default=False
        Whether pairs of attribute and label that never occur have weights too.
    all_possible_transitions : bool, default=False
        The same for pairs of labels.
    max_iterations : int or None, default=None
        None is 1000.
    num_memories : int, default=6
        Changes of the gradient that L-BFGS remembers.
    epsilon : float, default=1e-5
        Stop when |gradient| <= epsilon max(1, |weights|) ...
    period, delta : int and float, default=10 and 1e-5
        ... or when the last `period` steps made the objective fall by less than
        `delta` of itself.
    boundary : bool, default=False
        Whether labels have weights for the start and the end of a sequence.
    fit_intercept : bool, default=False
        Whether each label has a weight of its own, which is not penalised.
    verbose : int, default=0

    Attributes
    ----------
    classes_ : array of shape (k,)
        The labels, sorted.
    coef_ : array of shape (m,)
        Weights of the pairs of attribute and label, see `state_features_`.
    transitions_ : array of shape (k, k)
        Weights of pairs of labels.
    start_, end_ : arrays of shape (k,)
    intercept_ : array of shape (k,)
    objective_ : float
        Surprise and penalties at the end.
    n_iter_, converged_, history_ : int, bool, dict

    Examples
    --------
    >>> from pansophy.graphical import ChainCRF
    >>> X = [[{"word": w} for w in "the dog barks".split()],
    ...      [{"word": w} for w in "a cat sleeps".split()]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"]]
    >>> model = ChainCRF(c2=0.1).fit(X, y)
    >>> model.predict([[{"word": w} for w in "the fish sleeps".split()]])
    [['D', 'N', 'V']]
    """

    algorithm: Literal["lbfgs"] = "lbfgs"
    _: KW_ONLY
    c1: NonNegative = 0.0
    c2: NonNegative = 1.0
    min_freq: NonNegative = 0.0
    all_possible_states: Flag = False
    all_possible_transitions: Flag = False
    max_iterations: Count | None = None
    num_memories: Count = 6
    epsilon: NonNegative = 1e-5
    period: Count = 10
    delta: NonNegative = 1e-5
    boundary: Flag = False
    fit_intercept: Flag = False
    verbose: Verbosity = 0

    def fit(self, X, y, lengths=None):
        """Learn from labelled sequences.

        Parameters
        ----------
        X : list of sequences of dicts or of lists of words; or list of arrays (n_i, d);
            or array or sparse matrix (n, d) with `lengths`
        y : list of sequences of labels, or array of shape (n,)
        lengths : array of int, optional

        Returns
        -------
        self : object
        """
        check_params(self)
        X = as_sequence_list(X)
        M, ends = self._read(X, lengths, fitting=True)
        labels = matched_labels(y, ends)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        k = len(self.classes_)
        F = build_features(M, codes, k, self.all_possible_states)
        pairs = label_pair_counts(codes, ends, k)
        every = (
            np.ones(k * k, bool) if self.all_possible_transitions else pairs.ravel() > 0
        )
        layout = WeightLayout(k, len(F.label), np.flatnonzero(every), self.boundary)
        Y = np.zeros((M.shape[0], k))
        Y[np.arange(len(codes)), codes] = 1
        observed = feature_counts(F, layout, Y, pairs, ends)
        free = np.ones(layout.size)
        if self.fit_intercept:
            free[F.first[-2] : F.first[-1]] = 0  # the last column
        result = self._run(F, layout, ends, observed, free)
        self._store(result.state.position, F, layout)
        self.objective_ = result.objective
        return self

    def _run(self, F, layout, ends, observed, free):
        from ..optim.orthant import orthant_lbfgs  # loads when it is wanted

        def objective(theta):
            value, g = neg_log_likelihood(theta, F, layout, ends, observed)
            held = self.c2 * free * theta
            return value + held @ theta, g + 2 * held

        trace = []

        def change(old, new):
            trace.append(new.objective)
            size = np.linalg.norm(new.slope)
            if size <= self.epsilon * max(1.0, np.linalg.norm(new.position)):
                return -1.0
            if len(trace) <= self.period:
                return np.inf
            fall = trace[-1 - self.period] - trace[-1]
            return fall - self.delta * abs(trace[-1])

        most = self.max_iterations or 1000
        run = lambda task: orthant_lbfgs(
            objective,
            np.zeros(layout.size),
            self.c1 * free,
            max_iter=most,
            tol=0.0,
            memory=self.num_memories,
            change=change,
            task=task,
        )
        with threads.single_blas():  # products of vectors are too short to share
            return self._drive(run, total=most)

    def _warn_unsettled(self, reason):
        """A limit that the user set is no surprise."""
        if not (reason == "max_iter" and self.max_iterations is not None):
            super()._warn_unsettled(reason)

    def _store(self, theta, F, layout):
        w, T, b, e = layout.parts(theta)
        self.first_, self.label_, self.moves_ = F.first, F.label, layout.moves
        self.transitions_, self.start_, self.end_ = T, b.copy(), e.copy()
        self.intercept_ = np.zeros(layout.k)
        if self.fit_intercept:
            last = slice(F.first[-2], F.first[-1])
            self.intercept_[F.label[last]] = w[last]
        self.coef_ = w.copy()

    def _read(self, X, lengths, fitting=False):
        """All tokens as one sparse matrix, and where sequences end."""
        from ..state_space.sequences import joined, sequence_ends, stacked

        if is_token_sequences(X):
            if lengths is not None:
                raise ValueError("a list of sequences has its lengths already.")
            words = None if fitting else AttributeVocabulary(self.names_, self.values_)
            M, ends, words = vectorize_tokens(X, words)
            if fitting:
                M = self._keep_frequent(M, words)
        else:
            check_sequence_list(X)
            if scipy.sparse.issparse(X):
                M = scipy.sparse.csr_array(X)
                ends = sequence_ends(M.shape[0], lengths)
            else:
                M, ends = stacked(*joined(X, lengths))
                if not np.isfinite(M).all():
                    raise ValueError("X of ChainCRF contains NaN or infinity.")
            if fitting:
                self.names_, self.values_ = np.zeros(0, str), np.zeros(0, str)
            M = scipy.sparse.csr_array(M, dtype=float)
        if not fitting and M.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {M.shape[1]} features, but ChainCRF is expecting "
                f"{self.n_features_in_} features as input."
            )
        self.n_features_in_ = M.shape[1]
        if self.fit_intercept:
            ones = scipy.sparse.csr_array(np.ones((M.shape[0], 1)))
            M = scipy.sparse.hstack([M, ones], format="csr")
        return M, ends

    def _keep_frequent(self, M, words):
        often = np.bincount(M.indices, minlength=len(words)) >= self.min_freq
        kept = np.flatnonzero(often)
        self.names_ = np.array([words.names[i] for i in kept], dtype=str)
        self.values_ = np.array([words.values[i] for i in kept], dtype=str)
        return M if len(kept) == len(words) else M[:, kept]

    def _look(self, X, lengths):
        check_is_fitted(self, "coef_")
        M, ends = self._read(X, lengths)
        k = len(self.classes_)
        F = SparseFeatures(with_compact_indices(M), M.tocsc(), self.first_, self.label_)
        layout = WeightLayout(k, len(self.coef_), self.moves_, self.boundary)
        theta = layout.joined(self.coef_, self.transitions_, self.start_, self.end_)
        return chain_potentials(F, layout, theta, ends)

    def predict(self, X, lengths=None):
        """The likeliest labels of each sequence, in the form of X: lists, or (n,)."""
        X = as_sequence_list(X)
        if isinstance(X, list) and not X:
            return []
        chain, evidence, _ = self._look(X, lengths)
        labels = self.classes_[viterbi(chain, evidence)[0]]
        return split_like(labels, evidence.ends, X)

    def predict_proba(self, X, lengths=None):
        """Marginal probability of the labels of every token, in the form of X."""
        X = as_sequence_list(X)
        chain, evidence, _ = self._look(X, lengths)
        P, _ = smooth(chain, evidence)
        return split_like(P, evidence.ends, X)

    def predict_marginals(self, X, lengths=None):
        """The same as a dict a token, as CRFsuite gives them."""
        names = self.classes_.tolist()
        P = self.predict_proba(X, lengths)
        parts = P if isinstance(P, list) else [P]
        return [[dict(zip(names, row.tolist())) for row in part] for part in parts]

    def log_likelihood(self, X, y, lengths=None) -> float:
        """log P(y | x), all sequences together."""
        chain, evidence, extra = self._look(as_sequence_list(X), lengths)
        labels = matched_labels(y, evidence.ends)
        codes = np.searchsorted(self.classes_, labels)
        codes = np.minimum(codes, len(self.classes_) - 1)
        if (self.classes_[codes] != labels).any():
            raise ValueError("y holds labels that the model was not shown in fit.")
        log_z = expected_counts(chain, evidence).loglik + extra
        U, ends = evidence.log_table, evidence.ends
        path = U[np.arange(len(codes)), codes].sum()
        pairs = label_pair_counts(codes, ends, len(self.classes_))
        return float(path + (pairs * self.transitions_).sum() - log_z)

    def score(self, X, y, lengths=None) -> float:
        """Share of tokens with the right label."""
        X = as_sequence_list(X)
        found = flat_labels(self.predict(X, lengths))
        parts = [len(s) for s in X] if isinstance(X, (list, tuple)) else lengths
        ends = np.cumsum([len(found)] if parts is None else parts)
        return float(np.mean(found == matched_labels(y, ends)))

    @property
    def attributes_(self) -> list[str]:
        """Names of the columns, where tokens were given in words."""
        check_is_fitted(self, "coef_")
        return AttributeVocabulary(
            self.names_.tolist(), self.values_.tolist()
        ).attributes()

    @property
    def state_features_(self) -> dict:
        """Weight of each pair of attribute (its name, or its column) and label."""
        names = self.attributes_ or range(self.n_features_in_)
        classes, out = self.classes_.tolist(), {}
        for a, name in enumerate(names):
            for q in range(self.first_[a], self.first_[a + 1]):
                out[name, classes[self.label_[q]]] = float(self.coef_[q])
        return out

    @property
    def transition_features_(self) -> dict:
        """Weight of each pair of labels that has one."""
        check_is_fitted(self, "coef_")
        classes, k = self.classes_.tolist(), len(self.classes_)
        pairs = ((int(q) // k, int(q) % k) for q in self.moves_)
        return {
            (classes[a], classes[b]): float(self.transitions_[a, b]) for a, b in pairs
        }


def flat_labels(y):
    """Labels one after the other."""
    if not is_list_of_sequences(y):
        return np.asarray(y)
    labels = [v for part in y for v in part]
    if len({isinstance(v, str) for v in labels}) > 1 or None in labels:
        raise ValueError("labels of y must be all texts or all numbers, none missing.")
    return np.array(labels)


def is_list_of_sequences(y) -> bool:
    """Whether y is a list of sequences of labels."""
    held = isinstance(y, (list, tuple)) and len(y) > 0
    return held and (isinstance(y[0], (list, tuple)) or np.ndim(y[0]) > 0)


def matched_labels(y, ends):
    """Labels one after the other, if there is one for each token of each sequence."""
    y = as_sequence_list(y)
    labels = flat_labels(y)
    if is_list_of_sequences(y):
        if len(y) != len(ends):
            raise ValueError(f"X has {len(ends)} sequences, but y has {len(y)}.")
        pairs = zip(np.diff(ends, prepend=0).tolist(), map(len, y), strict=True)
        for i, (told, have) in enumerate(pairs):
            if told != have:
                raise ValueError(
                    f"sequence {i} of X has {told} tokens, but y has {have} labels."
                )
    if len(labels) != ends[-1]:
        raise ValueError(f"X has {ends[-1]} tokens, but y has {len(labels)} labels.")
    return labels


def split_like(values, ends, X):
    """Rows cut into sequences as X is; labels of lists as lists."""
    if not isinstance(X, (list, tuple)):
        return values
    parts = np.split(values, ends[:-1])
    if is_token_sequences(X) and values.ndim == 1:
        return [part.tolist() for part in parts]
    return parts
