"""Each estimator as a formula of ONNX operators.

A converter takes the graph, the fitted model and the name of X (n, columns), and
returns the name of its raw answer: probabilities or scores (n, K) of a classifier,
numbers (n, outputs) of a regressor, new columns of a transformer. They are found by the
class's name, of which those of scikit-learn have a list of their own.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from ..core.score_calibration import LEAST_PROBABILITY
from .onnx_graph import ExportError
from .onnx_trees import tree_sum

TINY = 1e-12  # as compare's calibration clips probabilities


class Scores(NamedTuple):
    """Scores of classes that are no probabilities, and what decides."""

    values: str  # (n, K), or of pairs
    deciding: str  # (n, K): the class of the first largest one is predicted


# --- linear models --------------------------------------------------------------------


def _linear_scores(graph, model, x) -> str:
    """X coef' + intercept: (n, outputs)."""
    C = np.atleast_2d(np.asarray(_as_dense(model.coef_), dtype=float))
    b = np.broadcast_to(np.ravel(np.asarray(model.intercept_, float)), len(C))
    return graph.linear(x, C.T, b)


def _as_dense(values):
    return values.toarray() if hasattr(values, "toarray") else values


def _logistic_probabilities(graph, model, x) -> str:
    """Sigmoid or softmax of linear scores."""
    scores = _linear_scores(graph, model, x)
    if len(model.classes_) == 2:
        return graph.stacked(graph.node("Sigmoid", scores))
    return graph.node("Softmax", scores, axis=1)


def _linear_decision(graph, model, x) -> Scores:
    """Scores of two classes as (-f, f), else as they are."""
    return _two_sided(graph, _linear_scores(graph, model, x), len(model.classes_))


def _two_sided(graph, f, n_classes) -> Scores:
    if n_classes > 2:
        return Scores(f, f)
    return Scores(f, graph.side_by_side([graph.node("Neg", f), f]))


def _generalized_linear(graph, model, x) -> str:
    """The inverse link of a linear score."""
    f = _linear_scores(graph, model, x)
    return _inverse_link(graph, model._family_and_link()[1].name, f)


def _inverse_link(graph, name, f) -> str:
    """The mean of a linear score, by the name of a link."""
    if name == "identity":
        return f
    if name == "log":
        return graph.node("Exp", f)
    if name == "logit":
        return graph.node("Sigmoid", f)
    raise ExportError(f"There is no ONNX formula here for the link {name!r}.")


# --- trees ----------------------------------------------------------------------------


def _tree_answer(graph, model, x) -> str:
    """Numbers, or probabilities of one target."""
    if isinstance(getattr(model, "classes_", None), list):
        raise ExportError("Trees for several targets of classes are not exported.")
    return tree_sum(graph, model, x)


def _boosted_answer(graph, model, x) -> str:
    """The inverse link of the sum of the trees."""
    raw = tree_sum(graph, model, x)
    if not hasattr(model, "classes_"):
        return _inverse_link(graph, model._loss().link.name, raw)
    if len(model.classes_) > 2:
        return graph.node("Softmax", raw, axis=1)
    return graph.stacked(_inverse_link(graph, model._loss().link.name, raw))


# --- kernels, neighbours of means, Bayes ----------------------------------------------


def _kernel_values(graph, model, x) -> str:
    """k(x, s) for all support vectors s."""
    if getattr(model, "_objects", None) is not None or not isinstance(
        model.kernel, str
    ):
        raise ExportError("Of kernels only 'linear', 'rbf' and 'poly' are exported.")
    S = np.asarray(_as_dense(model.support_vectors_), dtype=float)
    gamma = float(model._gamma)
    if model.kernel == "linear":
        return graph.matmul(x, S.T)
    if model.kernel == "rbf":
        d2 = graph.squared_distances(x, S)
        return graph.node("Exp", graph.multiply(d2, [[-gamma]]))
    if model.kernel == "poly":
        inner = graph.add(graph.matmul(x, gamma * S.T), [[float(model.coef0)]])
        return graph.node("Pow", inner, graph.constant([[float(model.degree)]]))
    raise ExportError(f"The kernel {model.kernel!r} is not exported.")


def _support_vector_regression(graph, model, x) -> str:
    """Sum of the kernel values, weighted by the dual coefficients."""
    C = np.asarray(_as_dense(model.dual_coef_), dtype=float)
    return graph.linear(_kernel_values(graph, model, x), C.T, model.intercept_)


def _pair_decisions(graph, model, x) -> str:
    """The decision of every pair of classes i < j, above 0 for i: (n, pairs).

    The dual coefficients of a support vector of class i stand in row j - 1 for the
    pair (i, j), and in row i for (j, i), as in libsvm.
    """
    D = np.asarray(_as_dense(model.dual_coef_), dtype=float)
    n_classes = len(model.classes_)
    ends = np.r_[0, np.cumsum(model.n_support_)]
    pairs = list(combinations(range(n_classes), 2))
    C = np.zeros((ends[-1], len(pairs)))
    for k, (i, j) in enumerate(pairs):
        C[ends[i] : ends[i + 1], k] = D[j - 1, ends[i] : ends[i + 1]]
        C[ends[j] : ends[j + 1], k] = D[i, ends[j] : ends[j + 1]]
    return graph.linear(_kernel_values(graph, model, x), C, model.intercept_)


def _support_vector_classes(graph, model, x) -> Scores:
    """Votes of all pairs; of two classes the decision itself."""
    if hasattr(model, "probA_"):
        raise ExportError("An SVC with probability=True is not exported.")
    n_classes = len(model.classes_)
    f = _pair_decisions(graph, model, x)
    if n_classes == 2:
        return _two_sided(graph, f, 2)
    first, second = _pair_sides(n_classes)
    positive = graph.node("Greater", f, graph.constant([[0.0]]))
    wins = graph.cast(positive, "double")
    votes = graph.add(
        graph.matmul(wins, first),
        graph.matmul(graph.subtract([[1.0]], wins), second),
    )
    confidence = graph.matmul(f, first - second)
    size = graph.add(graph.node("Abs", confidence), [[1.0]])
    share = graph.divide(confidence, graph.multiply(size, [[3.0]]))
    scores = graph.add(votes, share)
    return Scores(
        f if model.decision_function_shape == "ovo" else scores,
        scores if model.break_ties else votes,
    )


def _pair_sides(n_classes) -> tuple[np.ndarray, np.ndarray]:
    """Which class is the first, and which the second, of each pair: (pairs, K)."""
    pairs = np.array(list(combinations(range(n_classes), 2)))
    eye = np.eye(n_classes)
    return eye[pairs[:, 0]], eye[pairs[:, 1]]


def _joint_probabilities(graph, joint) -> str:
    """Posterior probabilities of log joint densities."""
    return graph.node("Softmax", joint, axis=1)


def _gaussian_bayes(graph, model, x) -> str:
    """log prior - 1/2 sum (log 2 pi v + (x - m)^2 / v), as a product with (x, x^2)."""
    M, V = np.asarray(model.theta_, float), np.asarray(model.var_, float)
    center = M.mean(axis=0)  # where squares cancel least
    z = graph.subtract(x, center[None])
    D = M - center
    squares = graph.matmul(graph.multiply(z, z), (-0.5 / V).T)
    cross = graph.matmul(z, (D / V).T)
    fixed = -0.5 * (D**2 / V + np.log(2 * np.pi * V)).sum(axis=1)
    prior = np.asarray(model.class_log_prior_, float)
    joint = graph.add(graph.add(squares, cross), (fixed + prior)[None])
    return _joint_probabilities(graph, joint)


def _multinomial_bayes(graph, model, x) -> str:
    """log prior + X log p'."""
    L = np.asarray(model.feature_log_prob_, float)
    return _joint_probabilities(graph, graph.linear(x, L.T, model.class_log_prior_))


def _bernoulli_bayes(graph, model, x) -> str:
    """As the multinomial one, of whether columns are above `binarize`."""
    L = np.asarray(model.feature_log_prob_, float)
    absent = np.log1p(-np.exp(L))
    if model.binarize is not None:
        is_above = graph.node("Greater", x, graph.constant([[float(model.binarize)]]))
        x = graph.cast(is_above, "double")
    prior = np.asarray(model.class_log_prior_, float) + absent.sum(axis=1)
    return _joint_probabilities(graph, graph.linear(x, (L - absent).T, prior))


def _nearest_centers(graph, model, x) -> Scores:
    """Minus the squared distance to each center."""
    minus = graph.node("Neg", graph.squared_distances(x, model.cluster_centers_))
    return Scores(minus, minus)


# --- transformers ---------------------------------------------------------------------


def _principal_components(graph, model, x) -> str:
    """(X - mean) components', perhaps of unit variance."""
    W = np.asarray(model.components_, float)
    if model.whiten:
        W = W / np.sqrt(np.asarray(model.explained_variance_, float))[:, None]
    return graph.matmul(graph.subtract(x, np.asarray(model.mean_)[None]), W.T)


def _shifted_and_scaled(graph, x, shift, scale) -> str:
    """(X - shift) / scale; None leaves one out."""
    if shift is not None:
        x = graph.subtract(x, np.asarray(shift, float)[None])
    if scale is not None:
        x = graph.divide(x, np.asarray(scale, float)[None])
    return x


def _standard_scaler(graph, model, x) -> str:
    shift = model.mean_ if model.with_mean else None
    return _shifted_and_scaled(
        graph, x, shift, model.scale_ if model.with_std else None
    )


def _robust_scaler(graph, model, x) -> str:
    shift = model.center_ if model.with_centering else None
    return _shifted_and_scaled(
        graph, x, shift, model.scale_ if model.with_scaling else None
    )


def _min_max_scaler(graph, model, x) -> str:
    result = graph.add(graph.multiply(x, model.scale_[None]), model.min_[None])
    return (
        graph.clip(result, *map(float, model.feature_range)) if model.clip else result
    )


def _max_abs_scaler(graph, model, x) -> str:
    return _shifted_and_scaled(graph, x, None, model.scale_)


def _simple_imputer(graph, model, x) -> str:
    """The fitted value where one is missing."""
    fill = np.asarray(model.statistics_, dtype=float)
    plain = np.isscalar(model.missing_values) and np.isnan(model.missing_values)
    if not plain or model.add_indicator or np.isnan(fill).any():
        raise ExportError(
            "Of SimpleImputer only NaN as the missing value, no indicators and columns "
            "with values are exported."
        )
    return graph.where(graph.node("IsNaN", x), fill[None], x)


# --- nets -----------------------------------------------------------------------------

ACTIVATIONS = {"logistic": "Sigmoid", "tanh": "Tanh", "relu": "Relu"}


def _perceptron_output(graph, model, x) -> str:
    """Linear maps with activations between them: (n, outputs)."""
    last = len(model.coefs_) - 1
    for k, (W, b) in enumerate(zip(model.coefs_, model.intercepts_)):
        x = graph.linear(x, np.asarray(W, float), np.asarray(b, float))
        if k < last and model.activation != "identity":
            x = graph.node(ACTIVATIONS[model.activation], x)
    return x


def _perceptron_classes(graph, model, x) -> str:
    if getattr(model, "_multilabel", False):
        raise ExportError("Nets for several labels are not exported.")
    result = _perceptron_output(graph, model, x)
    if model.out_activation_ != "softmax":
        return graph.stacked(graph.node("Sigmoid", result))
    result = graph.node("Softmax", result, axis=1)
    return result


def _perceptron_numbers(graph, model, x) -> str:
    result = _perceptron_output(graph, model, x)
    return graph.node("Exp", result) if model.out_activation_ == "exp" else result


# --- what compare wraps around estimators ---------------------------------------------


def _smoothed_probabilities(graph, model, x) -> str:
    p = convert_estimator(graph, model.model_, x)
    share = (1 - model.shrink_) / len(model.classes_)
    return graph.add(graph.multiply(p, [[model.shrink_]]), [[share]])


def _floored_counts(graph, model, x) -> str:
    ceiling = getattr(model, "ceiling_", np.inf)
    high = None if np.isinf(ceiling) else float(ceiling)
    return graph.clip(
        convert_estimator(graph, model.model_, x), float(model.floor_), high
    )


def _scaled_target(graph, model, x) -> str:
    """scikit-learn's TransformedTargetRegressor around a StandardScaler."""
    scaler = model.transformer_
    if type(scaler).__name__ != "StandardScaler":
        raise ExportError("Of transformed targets only standardised ones are exported.")
    result = convert_estimator(graph, model.regressor_, x)
    return graph.add(graph.multiply(result, scaler.scale_[None]), scaler.mean_[None])


def _score_calibrated(graph, model, x) -> str:
    """Probabilities from a map of scores (compare's `ScoreCalibrated`)."""
    k = len(model.classes_)
    inner = model.model_
    if model._pairs():
        scores = _pairwise_votes(
            graph, _pair_decisions(graph, inner, x), k, model.slope_
        )
    else:
        scores = _class_log_scores(graph, inner, x, k)
    scores = graph.multiply(scores, [[1.0 / model.scale_]])
    if k == 2:
        p = graph.stacked(graph.node("Sigmoid", scores))
    else:
        p = graph.node("Softmax", scores, axis=1)
    return _calibrated_probabilities(graph, model.map_, p, k)


def _class_log_scores(graph, model, x, n_classes) -> str:
    """(n, 1) for two classes, else (n, K)."""
    answer = convert_estimator(graph, model, x)
    if isinstance(answer, Scores):
        return answer.values
    logs = graph.node("Log", graph.clip(answer, TINY, 1.0))
    if n_classes == 2:
        return graph.subtract(graph.columns(logs, [1]), graph.columns(logs, [0]))
    return logs


def _pairwise_votes(graph, f, n_classes, slope) -> str:
    """Sums of log 1 / (1 + exp(-a f)) over the pairs of each class."""
    first, second = _pair_sides(n_classes)
    scaled_f = graph.multiply(f, [[float(slope)]])
    minus_f = graph.node("Neg", scaled_f)
    yes = graph.matmul(_log_sigmoid(graph, scaled_f, minus_f), first)
    return graph.add(yes, graph.matmul(_log_sigmoid(graph, minus_f, scaled_f), second))


def _log_sigmoid(graph, a, minus_a) -> str:
    """-max(-a, 0) - log(1 + exp(-|a|))."""
    tail = graph.node("Exp", graph.node("Neg", graph.node("Abs", a)))
    log = graph.node("Log", graph.add(tail, [[1.0]]))
    return graph.node("Neg", graph.add(graph.node("Relu", minus_a), log))


def _calibrated_probabilities(graph, table, p, n_classes) -> str:
    """A fitted `CalibrationMap` of probabilities."""
    if table.method == "none":
        return p
    if table.method == "temperature":
        logs = graph.node("Log", graph.clip(p, LEAST_PROBABILITY, 1.0))
        scale = float(table.values[0])
        return graph.node("Softmax", graph.multiply(logs, [[scale]]), axis=1)
    if table.method == "sigmoid" and len(table.values) == 1:
        a, c = table.values[0]
        q = graph.clip(graph.columns(p, [1]), TINY, 1 - TINY)
        odds = graph.divide(q, graph.subtract([[1.0]], q))
        score = graph.add(graph.multiply(graph.node("Log", odds), [[float(a)]]), [[c]])
        return graph.stacked(graph.node("Sigmoid", score))
    raise ExportError(f"Calibration by {table.method!r} is not exported.")


def _dummy_probabilities(graph, model, x) -> str:
    """Shares of the classes, equal for every row."""
    if model.strategy != "prior":
        raise ExportError("Of dummies only strategy='prior' is exported.")
    zeros = graph.multiply(graph.columns(x, [0]), [[0.0]])
    zeros = graph.where(graph.node("IsNaN", zeros), [[0.0]], zeros)
    return graph.add(zeros, np.asarray(model.class_prior_, float)[None])


def _dummy_number(graph, model, x) -> str:
    if model.strategy not in ("mean", "median", "constant", "quantile"):
        raise ExportError(f"A dummy of {model.strategy!r} is not exported.")
    zeros = graph.multiply(graph.columns(x, [0]), [[0.0]])
    zeros = graph.where(graph.node("IsNaN", zeros), [[0.0]], zeros)
    return graph.add(zeros, np.asarray(model.constant_, float).reshape(1, -1))


OURS = {
    **dict.fromkeys(
        [
            "LinearRegression",
            "Ridge",
            "RidgeCV",
            "Lasso",
            "LassoCV",
            "ElasticNet",
            "ElasticNetCV",
            "BayesianRidge",
            "ARDRegression",
            "HuberRegressor",
            "QuantileRegressor",
            "TheilSenRegressor",
            "LinearSVR",
            "SGDRegressor",
            "GroupLasso",
            "Lars",
            "LassoLars",
        ],
        _linear_scores,
    ),
    **dict.fromkeys(
        ["LogisticRegression", "LogisticRegressionCV"], _logistic_probabilities
    ),
    **dict.fromkeys(["LinearDiscriminantAnalysis"], _logistic_probabilities),
    **dict.fromkeys(["LinearSVC", "RidgeClassifier", "Perceptron"], _linear_decision),
    **dict.fromkeys(
        [
            "PoissonRegressor",
            "GammaRegressor",
            "TweedieRegressor",
            "GeneralizedLinearRegressor",
            "NegativeBinomialRegressor",
        ],
        _generalized_linear,
    ),
    **dict.fromkeys(
        [
            "DecisionTreeClassifier",
            "DecisionTreeRegressor",
            "ExtraTreeClassifier",
            "ExtraTreeRegressor",
            "RandomForestClassifier",
            "RandomForestRegressor",
            "ExtraTreesClassifier",
            "ExtraTreesRegressor",
        ],
        _tree_answer,
    ),
    **dict.fromkeys(
        [
            "HistGradientBoostingClassifier",
            "HistGradientBoostingRegressor",
            "GradientBoostingClassifier",
            "GradientBoostingRegressor",
        ],
        _boosted_answer,
    ),
    **dict.fromkeys(["SVC", "NuSVC"], _support_vector_classes),
    **dict.fromkeys(["SVR", "NuSVR"], _support_vector_regression),
    "GaussianNB": _gaussian_bayes,
    "MultinomialNB": _multinomial_bayes,
    "BernoulliNB": _bernoulli_bayes,
    **dict.fromkeys(["KMeans", "MiniBatchKMeans", "BisectingKMeans"], _nearest_centers),
    **dict.fromkeys(["PCA", "IncrementalPCA"], _principal_components),
    "MLPClassifier": _perceptron_classes,
    "MLPRegressor": _perceptron_numbers,
    "SmoothedProbabilities": _smoothed_probabilities,
    "FlooredCounts": _floored_counts,
    "ScoreCalibrated": _score_calibrated,
}
SCIKIT_LEARNS = {
    "StandardScaler": _standard_scaler,
    "RobustScaler": _robust_scaler,
    "MinMaxScaler": _min_max_scaler,
    "MaxAbsScaler": _max_abs_scaler,
    "SimpleImputer": _simple_imputer,
    "TransformedTargetRegressor": _scaled_target,
    "DummyClassifier": _dummy_probabilities,
    "DummyRegressor": _dummy_number,
}


def convert_estimator(graph, model, x):
    """The raw answer of a fitted estimator, by its class."""
    if type(model).__name__ == "Pipeline" and hasattr(model, "steps"):
        for _, step in model.steps:
            x = _step_output(graph, step, x)
        return x
    known = OURS if type(model).__module__.startswith("pansophy.") else SCIKIT_LEARNS
    name = type(model).__name__
    if name not in known:
        raise ExportError(
            f"{name} is not among the methods that are exported to ONNX; "
            "docs/interchange.md lists them."
        )
    return known[name](graph, model, x)


def _step_output(graph, step, x):
    """The output of a step of a pipeline."""
    return x if step in (None, "passthrough") else convert_estimator(graph, step, x)
