"""Linear-chain conditional random field: labels of a sequence given all its tokens.

For tokens x_1..x_n and labels y_1..y_n

    P(y | x) = exp S(x, y) / Z(x),   S = sum_t U_t(y_t) + sum_t T(y_t-1, y_t)     (1)
    U_t(l) = sum_a w_al x_ta        (+ b_l at the start, e_l at the end)          (2)

and the weights minimise the penalised negative log-likelihood

    J = sum over sequences (log Z - S) + c2 |w|_2^2 + c1 |w|_1                    (3)

which is convex. Its gradient is expected minus observed counts of each feature, and the
expected ones come from the recursions of `core.chains.filtering`: a chain with the
transitions exp T, which need not sum to 1, and the evidence U has log-likelihood log Z,
and its posteriors are the marginals of (1). A sequence of one token is multinomial
logistic regression. The optimiser is L-BFGS, or its orthant-wise form if c1 > 0; the
best labels are the Viterbi path.

By default there are weights only for pairs of attribute and label, and of labels, that
occur in the data, as in CRFsuite.

Cost      O(features present + n k^2) a step; memory O(n k)
Shapes    X (n, d)   U, P (n, k)   T (k, k)   ends (s,) where sequences end
Refs      [Lafferty2001] [Sutton2012] [Andrew2007]
"""

from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator
from ...core.arrays.labels import class_codes
from ...core.arrays.ragged import join_sequences, sequence_ends, stack_sequences
from ...core.chains.filtering import (
    Chain,
    Evidence,
    expected_counts,
    smooth_chain,
    viterbi,
)
from ...core.loops import threads
from ...params import Count, Flag, NonNegative, Verbosity, check_params
from ...persist.saved_state import FloatArray, saved_state
from . import _chain_crf as loops
from .token_features import (
    AttributeVocabulary,
    as_sequence_list,
    check_sequence_list,
    is_token_sequences,
    vectorize_tokens,
)

N_PIECES = 16  # of the work of threads


class SparseFeatures(NamedTuple):
    """A feature matrix by rows and by columns, with the weights of each column."""

    rows: scipy.sparse.csr_array
    columns: scipy.sparse.csc_array
    first: np.ndarray  # (d + 1,) where the weights of a column begin
    label: np.ndarray  # (m,) label of each weight

    def scores(self, w, k):
        """U of eq. (2), (n, k)."""
        U = np.zeros((self.rows.shape[0], k))
        A = self.rows
        work = lambda b, e: loops.add_label_scores(
            A.indptr, A.indices, A.data, self.first, self.label, w, b, e, U
        )
        _run_in_pieces(work, A.indptr)
        return U

    def sums(self, R):
        """sum_t x_ta R_tl for each weight, (m,)."""
        G = np.empty(len(self.label))
        A = self.columns
        work = lambda b, e: loops.weight_gradient(
            A.indptr, A.indices, A.data, self.first, self.label, R, b, e, G
        )
        _run_in_pieces(work, A.indptr)
        return G


def _run_in_pieces(work, indptr):
    """Run work(begin, end) over pieces of about equal numbers of entries."""
    targets = np.linspace(0, indptr[-1], N_PIECES + 1)[1:-1]
    cuts = np.r_[0, np.searchsorted(indptr, targets), len(indptr) - 1]
    tasks = (
        (lambda b=int(b), e=int(e): work(b, e)) for b, e in pairwise(cuts) if e > b
    )
    for _ in threads.run_tasks(tasks):
        pass


def build_features(X, codes, k, everything) -> SparseFeatures:
    """X with a weight for every label of a column, or for labels that occur with it."""
    A = scipy.sparse.csr_array(X)
    C = A.tocsc()
    d = A.shape[1]
    if everything or codes is None:
        first = np.arange(d + 1) * k
        label = np.tile(np.arange(k), d)
    else:
        pairs = np.unique(_entry_columns(C) * k + codes[C.indices])
        label = pairs % k
        first = np.searchsorted(pairs, np.arange(d + 1) * k)
    return SparseFeatures(
        _with_compact_indices(A),
        _with_compact_indices(C),
        first.astype(np.int64),
        label.astype(np.int64),
    )


def _entry_columns(C):
    """Column of each stored entry."""
    return np.repeat(np.arange(C.shape[1]), np.diff(C.indptr))


def _with_compact_indices(A):
    """The matrix with index arrays of one type, so that loops compile once."""
    A.indptr = A.indptr.astype(np.int64)
    A.indices = A.indices.astype(np.int32)
    return A


class WeightLayout(NamedTuple):
    """The layout of theta: weights of features, transitions, start and end."""

    k: int
    m: int
    transitions: np.ndarray  # (q,) pairs a * k + b that have a weight
    boundary: bool

    @property
    def size(self):
        return self.m + len(self.transitions) + 2 * self.k * self.boundary

    def split(self, theta):
        """w (m,), T (k, k), b (k,), e (k,)."""
        w, rest = theta[: self.m], theta[self.m :]
        T = np.zeros(self.k**2)
        T[self.transitions] = rest[: len(self.transitions)]
        ends = rest[len(self.transitions) :] if self.boundary else np.zeros(2 * self.k)
        return w, T.reshape(self.k, self.k), ends[: self.k], ends[self.k :]

    def concatenate(self, w, T, b, e):
        """One vector theta of weights, or of feature counts."""
        ends = (b, e) if self.boundary else ()
        return np.concatenate([w, T.ravel()[self.transitions], *ends])


def _chain_potentials(F: SparseFeatures, layout: WeightLayout, theta, ends):
    """Chain and evidence of eq. (1), and the logarithm of the scale of the chain."""
    w, T, b, e = layout.split(theta)
    U = F.scores(w, layout.k)
    if layout.boundary:
        U[np.r_[0, ends[:-1]]] += b
        U[ends - 1] += e
    top = float(T.max())
    chain = Chain(np.ones(layout.k), np.exp(T - top))
    return chain, Evidence(U, None, ends), top * (len(U) - len(ends))


def feature_counts(F, layout, P, pairs, ends):
    """Counts of every feature under label probabilities P (n, k) and pairs (k, k)."""
    first = P[np.r_[0, ends[:-1]]].sum(axis=0)
    last = P[ends - 1].sum(axis=0)
    return layout.concatenate(F.sums(P), pairs, first, last)


def neg_log_likelihood(theta, F, layout, ends, observed):
    """sum (log Z - S) of eq. (3) and its gradient."""
    chain, evidence, extra = _chain_potentials(F, layout, theta, ends)
    E = expected_counts(chain, evidence)
    expected = feature_counts(F, layout, E.counts, E.trans, ends)
    return E.loglik + extra - theta @ observed, expected - observed


def label_pair_counts(codes, ends, k):
    """Number of times that label b follows label a: (k, k)."""
    inner = np.setdiff1d(np.arange(1, len(codes)), ends)
    N = np.bincount(codes[inner - 1] * k + codes[inner], minlength=k * k)
    return N.reshape(k, k).astype(float)


@saved_state(coef_=FloatArray(None))
@dataclass(eq=False, repr=False)
class ChainCRF(Estimator):
    """Conditional random field for tagging sequences.

    The objective is eq. (3) of the module text. Parameters that CRFsuite has too have
    the same meaning.

    Parameters
    ----------
    algorithm : {"lbfgs"}, default="lbfgs"
    c1, c2 : float, default=0 and 1
        Strengths of the L1 and L2 penalty.
    min_freq : float, default=0
        Attributes that occur less often are dropped.
    all_possible_states : bool, default=False
        Whether pairs of attribute and label that never occur have weights too.
    all_possible_transitions : bool, default=False
        The same for pairs of labels.
    max_iterations : int or None, default=None
        None is 1000.
    num_memories : int, default=6
        Number of corrections that L-BFGS keeps.
    epsilon : float, default=1e-5
        Stop when |gradient| <= epsilon max(1, |weights|) ...
    period, delta : int and float, default=10 and 1e-5
        ... or when the last `period` steps made the objective fall by less than
        `delta` of itself.
    boundary : bool, default=False
        Whether labels have weights at the start and the end of a sequence.
    fit_intercept : bool, default=False
        Whether each label has an intercept, which is not penalised.
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
        Value of eq. (3) at the end.
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
        """Fit the weights to labelled sequences.

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
        labels = _matched_labels(y, ends)
        self.classes_, codes = class_codes(labels)
        k = len(self.classes_)
        F = build_features(M, codes, k, self.all_possible_states)
        pairs = label_pair_counts(codes, ends, k)
        has_weight = (
            np.ones(k * k, bool) if self.all_possible_transitions else pairs.ravel() > 0
        )
        layout = WeightLayout(
            k, len(F.label), np.flatnonzero(has_weight), self.boundary
        )
        Y = np.zeros((M.shape[0], k))
        Y[np.arange(len(codes)), codes] = 1
        observed = feature_counts(F, layout, Y, pairs, ends)
        is_penalised = np.ones(layout.size)
        if self.fit_intercept:
            is_penalised[F.first[-2] : F.first[-1]] = 0  # the last column
        result = self._minimise(F, layout, ends, observed, is_penalised)
        self._store(result.state.position, F, layout)
        self.objective_ = result.objective
        return self

    def _minimise(self, F, layout, ends, observed, is_penalised):
        """Minimise eq. (3) with CRFsuite's stopping criteria."""
        from ...optim.nonsmooth.orthant_wise import (
            orthant_lbfgs,  # imported when needed
        )

        def objective(theta):
            value, g = neg_log_likelihood(theta, F, layout, ends, observed)
            penalised = self.c2 * is_penalised * theta
            return value + penalised @ theta, g + 2 * penalised

        trace = []

        def change(old, new):
            trace.append(new.objective)
            gradient_norm = np.linalg.norm(new.slope)
            if gradient_norm <= self.epsilon * max(1.0, np.linalg.norm(new.position)):
                return -1.0
            if len(trace) <= self.period:
                return np.inf
            decrease = trace[-1 - self.period] - trace[-1]
            return decrease - self.delta * abs(trace[-1])

        max_iter = self.max_iterations or 1000
        run = lambda task: orthant_lbfgs(
            objective,
            np.zeros(layout.size),
            self.c1 * is_penalised,
            max_iter=max_iter,
            tol=0.0,
            memory=self.num_memories,
            change=change,
            task=task,
        )
        with threads.single_blas():  # vectors are too short for several threads
            return self._run_driver(run, total=max_iter)

    def _warn_if_not_converged(self, reason):
        """Do not warn about a limit that the user has set."""
        if not (reason == "max_iter" and self.max_iterations is not None):
            super()._warn_if_not_converged(reason)

    def _store(self, theta, F, layout):
        w, T, b, e = layout.split(theta)
        self.first_ = F.first
        self.label_ = F.label
        self.transition_index_ = layout.transitions
        self.transitions_ = T
        self.start_ = b.copy()
        self.end_ = e.copy()
        self.intercept_ = np.zeros(layout.k)
        if self.fit_intercept:
            last = slice(F.first[-2], F.first[-1])
            self.intercept_[F.label[last]] = w[last]
        self.coef_ = w.copy()

    def _read(self, X, lengths, fitting=False):
        """All tokens as one sparse matrix, and the ends of the sequences."""
        if is_token_sequences(X):
            if lengths is not None:
                raise ValueError("a list of sequences has its lengths already.")
            vocabulary = (
                None if fitting else AttributeVocabulary(self.names_, self.values_)
            )
            M, ends, vocabulary = vectorize_tokens(X, vocabulary)
            if fitting:
                M = self._keep_frequent(M, vocabulary)
        else:
            check_sequence_list(X)
            if scipy.sparse.issparse(X):
                M = scipy.sparse.csr_array(X)
                ends = sequence_ends(M.shape[0], lengths)
            else:
                M, ends = stack_sequences(*join_sequences(X, lengths))
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

    def _keep_frequent(self, M, vocabulary):
        is_frequent = np.bincount(M.indices, minlength=len(vocabulary)) >= self.min_freq
        frequent = np.flatnonzero(is_frequent)
        self.names_ = np.array([vocabulary.names[i] for i in frequent], dtype=str)
        self.values_ = np.array([vocabulary.values[i] for i in frequent], dtype=str)
        return M if len(frequent) == len(vocabulary) else M[:, frequent]

    def _potentials(self, X, lengths):
        """Chain, evidence and log scale of sequences."""
        check_is_fitted(self, "coef_")
        M, ends = self._read(X, lengths)
        k = len(self.classes_)
        F = SparseFeatures(
            _with_compact_indices(M), M.tocsc(), self.first_, self.label_
        )
        layout = WeightLayout(k, len(self.coef_), self.transition_index_, self.boundary)
        theta = layout.concatenate(
            self.coef_, self.transitions_, self.start_, self.end_
        )
        return _chain_potentials(F, layout, theta, ends)

    def predict(self, X, lengths=None):
        """The most probable labels of each sequence: lists, or (n,) as X."""
        X = as_sequence_list(X)
        if isinstance(X, list) and not X:
            return []
        chain, evidence, _ = self._potentials(X, lengths)
        labels = self.classes_[viterbi(chain, evidence)[0]]
        return _split_like(labels, evidence.ends, X)

    def predict_proba(self, X, lengths=None):
        """Marginal probability of the labels of every token, in the form of X."""
        X = as_sequence_list(X)
        chain, evidence, _ = self._potentials(X, lengths)
        P, _ = smooth_chain(chain, evidence)
        return _split_like(P, evidence.ends, X)

    def predict_marginals(self, X, lengths=None):
        """Marginal probabilities as a dict for each token, as in CRFsuite."""
        names = self.classes_.tolist()
        P = self.predict_proba(X, lengths)
        parts = P if isinstance(P, list) else [P]
        return [[dict(zip(names, row.tolist())) for row in part] for part in parts]

    def log_likelihood(self, X, y, lengths=None) -> float:
        """log P(y | x), summed over all sequences."""
        chain, evidence, log_shift = self._potentials(as_sequence_list(X), lengths)
        labels = _matched_labels(y, evidence.ends)
        codes = np.searchsorted(self.classes_, labels)
        codes = np.minimum(codes, len(self.classes_) - 1)
        if (self.classes_[codes] != labels).any():
            raise ValueError("y holds labels that the model was not shown in fit.")
        log_z = expected_counts(chain, evidence).loglik + log_shift
        U, ends = evidence.log_table, evidence.ends
        path = U[np.arange(len(codes)), codes].sum()
        pairs = label_pair_counts(codes, ends, len(self.classes_))
        return float(path + (pairs * self.transitions_).sum() - log_z)

    def score(self, X, y, lengths=None) -> float:
        """Accuracy over tokens."""
        X = as_sequence_list(X)
        predicted = _flat_labels(self.predict(X, lengths))
        parts = [len(s) for s in X] if isinstance(X, (list, tuple)) else lengths
        ends = np.cumsum([len(predicted)] if parts is None else parts)
        return float(np.mean(predicted == _matched_labels(y, ends)))

    @property
    def attributes_(self) -> list[str]:
        """Names of the columns, if tokens were given as features or words."""
        check_is_fitted(self, "coef_")
        return AttributeVocabulary(
            self.names_.tolist(), self.values_.tolist()
        ).attributes()

    @property
    def state_features_(self) -> dict:
        """Weight of each pair of attribute (its name, or its column) and label."""
        names = self.attributes_ or range(self.n_features_in_)
        classes = self.classes_.tolist()
        weights = {}
        for a, name in enumerate(names):
            for q in range(self.first_[a], self.first_[a + 1]):
                weights[name, classes[self.label_[q]]] = float(self.coef_[q])
        return weights

    @property
    def transition_features_(self) -> dict:
        """Weight of each pair of labels that has one."""
        check_is_fitted(self, "coef_")
        classes = self.classes_.tolist()
        k = len(self.classes_)
        pairs = ((int(q) // k, int(q) % k) for q in self.transition_index_)
        return {
            (classes[a], classes[b]): float(self.transitions_[a, b]) for a, b in pairs
        }


def _flat_labels(y):
    """Labels of all sequences end to end."""
    if not _is_list_of_sequences(y):
        return np.asarray(y)
    labels = [v for part in y for v in part]
    if len({isinstance(v, str) for v in labels}) > 1 or None in labels:
        raise ValueError("labels of y must be all texts or all numbers, none missing.")
    return np.array(labels)


def _is_list_of_sequences(y) -> bool:
    """Whether y is a list of sequences of labels."""
    is_list = isinstance(y, (list, tuple)) and len(y) > 0
    return is_list and (isinstance(y[0], (list, tuple)) or np.ndim(y[0]) > 0)


def _matched_labels(y, ends):
    """Labels end to end, if there is one for each token of each sequence."""
    y = as_sequence_list(y)
    labels = _flat_labels(y)
    if _is_list_of_sequences(y):
        if len(y) != len(ends):
            raise ValueError(f"X has {len(ends)} sequences, but y has {len(y)}.")
        pairs = zip(np.diff(ends, prepend=0).tolist(), map(len, y), strict=True)
        for i, (n_tokens, n_labels) in enumerate(pairs):
            if n_tokens != n_labels:
                raise ValueError(
                    f"sequence {i} of X has {n_tokens} tokens, but y has {n_labels} "
                    "labels."
                )
    if len(labels) != ends[-1]:
        raise ValueError(f"X has {ends[-1]} tokens, but y has {len(labels)} labels.")
    return labels


def _split_like(values, ends, X):
    """Rows split into sequences as X is; labels of lists as lists."""
    if not isinstance(X, (list, tuple)):
        return values
    parts = np.split(values, ends[:-1])
    if is_token_sequences(X) and values.ndim == 1:
        return [part.tolist() for part in parts]
    return parts
