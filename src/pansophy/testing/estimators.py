"""List of all estimators, and which of scikit-learn's checks they may fail and why."""

import importlib
import importlib.util
import inspect
import pkgutil
from typing import NamedTuple

from numpy.linalg import LinAlgError
from sklearn.exceptions import NotFittedError

import pansophy

from ..base import (
    Classifier,
    Clusterer,
    Density,
    Estimator,
    OneClass,
    Regressor,
    Transformer,
)

ROLES = {
    "classifier": Classifier,
    "regressor": Regressor,
    "clusterer": Clusterer,
    "transformer": Transformer,
    "density": Density,
    "one_class": OneClass,
}

# subpackages that need an extra, and the module whose absence is forgiven
OPTIONAL = {
    "nn": "torch", "neural_network": "torch", "generative": "torch", "rl": "gymnasium",
}  # fmt: skip

# not domains: nothing in them is an estimator, and importing them costs time
ELSEWHERE = {
    "cli", "compare", "model_selection", "testing", "core", "plot", "play", "datasets",
    "tables", "serve", "interchange", "assistant", "accelerate",
}  # fmt: skip


class ExpectedFailure(NamedTuple):
    """Why a check fails, and with what: an exception and a piece of its message.

    The message is that of the exception or of one that caused it. A check that is not
    certain to fail depends on the rounding of the processor.
    """

    reason: str
    error: type[Exception]
    message: str
    certain: bool = True


# Which of scikit-learn's checks fail, and why that is right. Nothing else may fail.
DENSE_WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
SPARSE_WEIGHTS = "check_sample_weight_equivalence_on_sparse_data"
NOT_REPETITIONS = "with `sample_weight` is not equivalent to fitting"


def _unlike_repetitions(reason, *checks):
    """Checks that fail since a weight of k is not exactly k repetitions."""
    failure = ExpectedFailure(reason, AssertionError, NOT_REPETITIONS)
    return dict.fromkeys(checks or (DENSE_WEIGHTS, SPARSE_WEIGHTS), failure)


FRACTIONS = ExpectedFailure(
    "the check gives fractions as categories, which are refused, not truncated",
    ValueError,
    "numbers that are not whole",
)
SINGULAR = ExpectedFailure(
    "a class of the check has a singular covariance (too few rows, or dependent "
    "columns), which is refused as scikit-learn refuses it",
    LinAlgError,
    "is not full rank",
)
ROW_BY_ROW = _unlike_repetitions(
    "rows are drawn or visited one at a time, so a weight of k is k repetitions in "
    "expectation only"
)
DRAWN = _unlike_repetitions(
    "members are fitted to rows drawn by weight, so a weight of k is k repetitions in "
    "distribution only"
)
DRAWN_DENSE = {DENSE_WEIGHTS: DRAWN[DENSE_WEIGHTS]}
NOISE_BY_ROW = _unlike_repetitions(
    "a code is drawn for each row, so a weight of k is k repetitions in expectation "
    "only",
    DENSE_WEIGHTS,
)
TAKES_LENGTHS = ExpectedFailure(
    "the second argument is `lengths`, as in hmmlearn",
    AssertionError,
    "Expected y or Y as second argument for method fit",
)
VECTOR_IS_A_SERIES = ExpectedFailure(
    "a vector is a sequence of one column", AssertionError, "Did not raise"
)
IN_TIME = {
    "check_fit_score_takes_y": TAKES_LENGTHS,
    "check_n_features_in_after_fitting": ExpectedFailure(
        "the check gives `score` a y, not `lengths`",
        AssertionError,
        "got an unexpected keyword argument 'y'",
    ),
    "check_methods_sample_order_invariance": ExpectedFailure(
        "score_samples gives the log-likelihood and the posteriors, as in hmmlearn, "
        "and the check takes rows of that pair; the rows are ordered in time besides",
        IndexError,
        "tuple index out of range",
    ),
    "check_methods_subset_invariance": ExpectedFailure(
        "score_samples gives one log-likelihood of the sequence, as in hmmlearn, and a "
        "row's state depends on its neighbours",
        AssertionError,
        "(shapes (1,), (20,) mismatch)",
    ),
    "check_fit1d": VECTOR_IS_A_SERIES,
    "check_fit2d_predict1d": ExpectedFailure(
        "a vector is a sequence of one column, which the model of three refuses",
        AssertionError,
        "X has 1 features, but",
    ),
}
FORECASTS = {
    "check_fit_score_takes_y": TAKES_LENGTHS,
    "check_methods_sample_order_invariance": ExpectedFailure(
        "the rows are ordered in time",
        AssertionError,
        "is not invariant when applied to a dataset",
    ),
    "check_methods_subset_invariance": ExpectedFailure(
        "a row's likelihood depends on those before",
        AssertionError,
        "is not invariant when applied to a subset",
    ),
    "check_fit1d": VECTOR_IS_A_SERIES,
}
ONE_COLUMN = (
    "a sequence of symbols is one column: the check reduces X to one dimension "
)
INDEXES_TWO = ExpectedFailure(
    ONE_COLUMN + "and then indexes two", IndexError, "too many indices for array"
)
MEASURES_TWO = ExpectedFailure(
    ONE_COLUMN + "and then measures two", IndexError, "tuple index out of range"
)


def unlabelled(error, message):
    """The check has classes -1 and 1, of which -1 is no class here."""
    reason = "-1 in y means a row without a label"
    return {"check_classifiers_classes": ExpectedFailure(reason, error, message)}


ONE_CLASS_LEFT = unlabelled(ValueError, "the data contains only one class: 1")
NO_TURN = {
    "check_non_transformer_estimators_n_iter": ExpectedFailure(
        "every label of the check is known, so that there is nothing to repeat",
        AssertionError,
        "should expose an `n_iter_` attribute",
    )
}
DIRECT = {
    "check_non_transformer_estimators_n_iter": ExpectedFailure(
        "n_iter_ of a direct solver is None, as in scikit-learn",
        TypeError,
        "'>=' not supported between instances of 'NoneType' and 'int'",
    )
}
INFEASIBLE = ExpectedFailure(
    "the class weights of the check leave one class too little for nu = 0.5",
    ValueError,
    "specified nu is infeasible",
)
TOO_FEW_FOR_A_DRAW = ExpectedFailure(
    "the check has fewer rows than the d + 1 of a draw; rows are drawn one at a time "
    "besides, so a weight of k is k repetitions in expectation only",
    ValueError,
    "`min_samples` may not be larger than number of samples",
)
BLOCKS_ROUND = ExpectedFailure(
    "products of float32 matrices round the last bits by the place of a row in them",
    AssertionError,
    "is not invariant when applied to a",
    certain=False,
)
FLOAT32_ROWS = {
    "check_methods_sample_order_invariance": BLOCKS_ROUND,
    "check_methods_subset_invariance": BLOCKS_ROUND,
}
EXPECTED: dict[str, dict[str, ExpectedFailure]] = {
    "PretrainedTableClassifier": FLOAT32_ROWS,
    "PretrainedTableRegressor": FLOAT32_ROWS,
    "AttackGenerator": _unlike_repetitions(
        "gradients summed by weight and by rows differ by rounding, which training "
        "magnifies",
        DENSE_WEIGHTS,
    ),
    "IWAE": NOISE_BY_ROW,
    "VAE": NOISE_BY_ROW,
    "VaDE": NOISE_BY_ROW,
    "BaggingClassifier": DRAWN,
    "BaggingRegressor": DRAWN,
    "IsolationForest": DRAWN,
    "RandomForestClassifier": DRAWN,
    "RandomForestRegressor": DRAWN,
    "AdaBoostRegressor": DRAWN,
    "RotationForestClassifier": DRAWN_DENSE,
    "RotationForestRegressor": DRAWN_DENSE,
    "GaussianMixtureClassifier": unlabelled(ValueError, "needs 2 classes, got 1 class"),
    "SeededKMeans": unlabelled(AssertionError, "expected '-1, 1', got '1'"),
    "FeatureThenClassify": ONE_CLASS_LEFT
    | _unlike_repetitions(
        "the weights reach the reducer only if it takes any, and PCA does not",
        DENSE_WEIGHTS,
    ),
    "CoTraining": ONE_CLASS_LEFT | NO_TURN,
    "TransductiveSVM": NO_TURN
    | unlabelled(ValueError, "y must hold at least 2 classes, got 1 class"),
    "SelfTrainingClassifier": NO_TURN,
    "Ridge": DIRECT,
    "RidgeClassifier": DIRECT,
    "MultipleInstance": NO_TURN,
    "LabelPropagation": NO_TURN,
    "LabelModel": {DENSE_WEIGHTS: FRACTIONS._replace(message="whole numbers")},
    "KernelPCA": {
        "check_array_api_input": ExpectedFailure(
            "inverse_transform without fit_inverse_transform=True raises "
            "NotFittedError, as scikit-learn's does",
            NotFittedError,
            "fit_inverse_transform parameter was not set to True",
        )
    },
    "NuSVC": dict.fromkeys(
        (DENSE_WEIGHTS, SPARSE_WEIGHTS, "check_class_weight_classifiers"), INFEASIBLE
    ),
    "MiniBatchKMeans": ROW_BY_ROW,
    "SGDClassifier": ROW_BY_ROW,
    "SGDRegressor": ROW_BY_ROW,
    "Perceptron": ROW_BY_ROW,
    "RANSACRegressor": dict.fromkeys(
        (DENSE_WEIGHTS, SPARSE_WEIGHTS), TOO_FEW_FOR_A_DRAW
    ),
    "QuadraticDiscriminantAnalysis": {
        "check_sample_weights_shape": SINGULAR,
        "check_sample_weights_not_overwritten": SINGULAR,
        DENSE_WEIGHTS: SINGULAR,
        SPARSE_WEIGHTS: SINGULAR,
        "check_array_api_input": SINGULAR,
    },
    "JointTableClassifier": {
        DENSE_WEIGHTS: FRACTIONS,
        "check_classifiers_one_label_sample_weights": FRACTIONS._replace(
            error=AssertionError  # of the check, for the refusal
        ),
    },
    "TreeAugmentedNB": {
        DENSE_WEIGHTS: FRACTIONS,
        "check_classifiers_one_label_sample_weights": FRACTIONS._replace(
            error=AssertionError
        ),
    },
    "GaussianHMM": IN_TIME,
    "KalmanFilter": FORECASTS,
    "StructuralTimeSeries": FORECASTS,
    "GMMHMM": IN_TIME,
    "PoissonHMM": IN_TIME,
    "MultinomialHMM": IN_TIME,
    "MixedHMM": IN_TIME,
    "AutoregressiveHMM": IN_TIME,
    "CategoricalHMM": {
        "check_fit_score_takes_y": TAKES_LENGTHS,
        "check_estimator_sparse_array": ExpectedFailure(
            "the check cannot build a 1-D sparse array",
            ValueError,
            "Cannot convert a 1d sparse array",
        ),
        "check_dont_overwrite_parameters": INDEXES_TWO,
        "check_n_features_in_after_fitting": MEASURES_TWO,
        "check_n_features_in": MEASURES_TWO,
        "check_dtype_object": INDEXES_TWO,
        "check_f_contiguous_array_estimator": INDEXES_TWO,
        "check_fit2d_1sample": INDEXES_TWO,
        "check_fit2d_1feature": INDEXES_TWO,
        "check_fit2d_predict1d": INDEXES_TWO,
        "check_dict_unchanged": INDEXES_TWO,
        "check_methods_sample_order_invariance": INDEXES_TWO,
        "check_methods_subset_invariance": INDEXES_TWO,
    },
}

# Less of the same work where a check asks nothing of the amount: each of scikit-learn's
# checks fits a dozen times, and ten trees show as much as a hundred.
FEW = {"n_estimators": 10}
EXACT = {  # weights equal repeated rows
    "dropout": 0.0, "dtype": "float64", "batch_size": 1000, "learning_rate_init": 0.03,
    "early_stopping": False,
}  # fmt: skip
SMALL_CONV = {"n_filters": (4,), "hidden_layer_sizes": (16,), **EXACT}
SMALL_TABULAR = {"n_blocks": 1, "hidden_size": 16, "n_members": 2, **EXACT}
SMALL_MODULE = {"n_epochs": 60, "batch_size": 1000, "dtype": "float64"}
SMALL_TRANSFORMER = {
    "n_blocks": 1, "hidden_size": 8, "n_heads": 2, **EXACT
}  # fmt: skip
SMALL_FLOW = {
    "n_epochs": 30,
    "method": "euler",
    "n_steps": 1,
    "batch_size": 1000,  # all rows, in float64: weights equal repeated rows
    "dtype": "float64",
}
FULL_BATCH = {"n_epochs": 5, "batch_size": 1000, "dtype": "float64"}
SMALL_AUTOENCODER: dict = {"hidden_layer_sizes": (8,), **FULL_BATCH}
SMALL_CONV_AUTOENCODER = {"n_filters": (4,), **FULL_BATCH}
SMALL_SEQUENCE = {
    "architecture": "rnn",
    "learning_rate_init": 0.03,
    "batch_size": 100,
    "dtype": "float64",
}
SMALL_GAN = {"n_components": 2, "hidden_layer_sizes": (8,), "n_epochs": 2}
SMALL_DIFFUSION = {"hidden_layer_sizes": (8,), "n_epochs": 2, "n_likelihood_steps": 2}
QUICK: dict[str, dict] = {
    "AttackGenerator": {"hidden_layer_sizes": (8,), "n_epochs": 2},
    "Autoencoder": SMALL_AUTOENCODER,
    "GAN": SMALL_GAN,
    "InfoGAN": SMALL_GAN,
    "WGAN": SMALL_GAN,
    "AutoencoderDetector": {"estimator": "small autoencoder"},
    "ConvAutoencoder": SMALL_CONV_AUTOENCODER,
    "TableVAE": {**SMALL_AUTOENCODER, "n_components": 2},
    "VAE": SMALL_AUTOENCODER,
    "VQVAE": {**SMALL_AUTOENCODER, "n_components": 2, "n_codes": 4},
    "VaDE": {**SMALL_AUTOENCODER, "n_components": 2, "n_clusters": 3, "n_epochs": 40},
    "ConditionalVAE": SMALL_AUTOENCODER,
    "IWAE": {**SMALL_AUTOENCODER, "n_samples": 2},
    "SparseAutoencoder": {**SMALL_AUTOENCODER, "n_components": 4},
    "BernoulliRBM": {"n_components": 8},
    "DDPM": {"n_steps": 5, **SMALL_DIFFUSION},
    "DiffusionModel": {"n_sampling_steps": 3, **SMALL_DIFFUSION},
    "EnergyModel": {"hidden_layer_sizes": (8,), "n_steps": 2, "n_epochs": 2},
    "Flow": {
        "hidden_layer_sizes": (8,),
        "n_transforms": 2,
        "n_epochs": 3,
        "batch_size": 1000,
        "dtype": "float64",
        "dequantize": "none",
    },
    "ScoreModel": {"n_levels": 3, "n_steps": 3, **SMALL_DIFFUSION},
    "ConvClassifier": {"n_epochs": 40, "convs_per_block": 1, **SMALL_CONV},
    "ConvRegressor": {"n_epochs": 40, "convs_per_block": 1, **SMALL_CONV},
    "NetClassifier": SMALL_MODULE,
    "NetRegressor": SMALL_MODULE,
    "NeuralODEClassifier": SMALL_FLOW,
    "NeuralODERegressor": SMALL_FLOW,
    "SequenceClassifier": {"hidden_size": 8, "n_epochs": 15, **SMALL_SEQUENCE},
    "SequenceRegressor": {"hidden_size": 16, "n_epochs": 40, **SMALL_SEQUENCE},
    "TabularResNetClassifier": {"n_epochs": 30, **SMALL_TABULAR},
    "TabularResNetRegressor": {"n_epochs": 40, **SMALL_TABULAR},
    "FTTransformerClassifier": {"n_epochs": 30, **SMALL_TRANSFORMER},
    "FTTransformerRegressor": {"n_epochs": 40, **SMALL_TRANSFORMER},
    "PretrainedTableClassifier": {"n_members": 1},
    "PretrainedTableRegressor": {"n_members": 1},
    "AdaBoostClassifier": FEW,
    "AdaBoostRegressor": FEW,
    "ExtraTreesClassifier": FEW,
    "ExtraTreesRegressor": FEW,
    "RandomForestClassifier": FEW,
    "RandomForestRegressor": FEW,
    "RandomTreesEmbedding": FEW,
    "IsolationForest": FEW,
    "GradientBoostingClassifier": {"n_estimators": 20},
    "GradientBoostingRegressor": {"n_estimators": 20},
    "HistGradientBoostingClassifier": {"max_iter": 20},
    "HistGradientBoostingRegressor": {"max_iter": 20},
    "StackingClassifier": {"cv": 3},
    "StackingRegressor": {"cv": 3},
    "MixtureOfExperts": {"max_iter": 30},
    "MixtureOfExpertsClassifier": {"max_iter": 30},
    "LogisticRegressionCV": {"Cs": 4, "cv": 3},
    "LassoCV": {"alphas": 20, "cv": 3},
    "ElasticNetCV": {"alphas": 20, "cv": 3},
    "MultiTaskLassoCV": {"alphas": 20, "cv": 3},
    "MultiTaskElasticNetCV": {"alphas": 20, "cv": 3},
    "StabilitySelection": {"n_pairs": 10},
    # fewer units than rows: between units without rows rounding decides
    "SelfOrganizingMap": {"shape": (2, 3)},
    "ExhaustiveSelector": {"cv": 2},
    "SequentialFeatureSelector": {"cv": 2},
    "GPLVM": {"max_iter": 10},
    "NeuralLanguageModel": {
        "vocab_size": 260,
        "hidden_size": 8,
        "n_layers": 1,
        "n_heads": 2,
        "n_epochs": 1,
        "context_length": 16,
        "random_state": 0,
    },
    "SkipGram": {"vector_size": 4, "min_count": 1, "random_state": 0},
    "GloVe": {"vector_size": 4, "min_count": 1, "n_epochs": 2, "random_state": 0},
    "TSNE": {"max_iter": 250, "perplexity": 2},
}


def all_estimators(role: str | None = None) -> list[tuple[str, type]]:
    """(name, class) of every estimator that takes rows, sorted by name.

    Parameters
    ----------
    role : {"classifier", "regressor", "clusterer", "transformer", "density",
        "one_class"} or None
        Only estimators with this role.

    Examples
    --------
    >>> from pansophy.testing import all_estimators
    >>> "KMeans" in dict(all_estimators("clusterer"))
    True
    """
    if role is not None and role not in ROLES:
        raise ValueError(f"role must be one of {', '.join(ROLES)} or None, got {role}.")
    wanted = tuple(ROLES.values()) if role is None else (ROLES[role],)
    result = {}
    for module in _estimator_packages():
        for name, cls in inspect.getmembers(module, inspect.isclass):
            final = issubclass(cls, Estimator) and issubclass(cls, wanted)
            if (
                final
                and not name.startswith("_")
                and cls.__module__.startswith(module.__name__)
                and not takes_texts(cls)
                and not takes_panels(cls)
            ):
                result[cls] = name  # two packages may have a class of one name
    pairs = [(name, cls) for cls, name in result.items()]
    return sorted(pairs, key=lambda pair: (pair[0], pair[1].__module__))


def all_generators() -> list[tuple[str, type]]:
    """(name, class) of every generative model on a net, sorted by name.

    Examples
    --------
    >>> from pansophy.testing import all_generators
    >>> "Autoencoder" in dict(all_generators())
    True
    """
    from ..generative.abstract_generator import AbstractGenerator

    return [
        (n, cls) for n, cls in all_estimators() if issubclass(cls, AbstractGenerator)
    ]


def takes_texts(cls) -> bool:
    """Whether an estimator is fitted to texts and not to rows."""
    return getattr(cls, "_takes_texts", False)


def takes_panels(cls) -> bool:
    """Whether an estimator is fitted to panels of time series and not to rows."""
    return getattr(cls, "_takes_panels", False)


def panel_estimators() -> list[tuple[str, type]]:
    """(name, class) of every estimator that forecasts time series, sorted by name.

    Examples
    --------
    >>> from pansophy.testing import panel_estimators
    >>> "Theta" in dict(panel_estimators())
    True
    """
    module = importlib.import_module("pansophy.forecasting")
    members = inspect.getmembers(module, takes_panels)
    return sorted((name, cls) for name, cls in members if inspect.isclass(cls))


def text_estimators() -> list[tuple[str, type]]:
    """(name, class) of every estimator that is fitted to texts, sorted by name.

    Examples
    --------
    >>> from pansophy.testing import text_estimators
    >>> "BM25" in dict(text_estimators())
    True
    """
    members = inspect.getmembers(importlib.import_module("pansophy.text"), takes_texts)
    return sorted((name, cls) for name, cls in members if inspect.isclass(cls))


def _estimator_packages():
    """The imported subpackages that may hold estimators."""
    for info in pkgutil.iter_modules(pansophy.__path__):
        if info.name.startswith("_") or info.name in ELSEWHERE:
            continue
        try:
            yield importlib.import_module(f"pansophy.{info.name}")
        except ImportError:
            needed = OPTIONAL.get(info.name)
            if needed is None or importlib.util.find_spec(needed) is not None:
                raise


def role_names(cls) -> list[str]:
    """The names of the roles a class has."""
    return [name for name, role in ROLES.items() if issubclass(cls, role)]


def quick_instance(cls):
    """An instance whose fits are short enough to be checked hundreds of times."""
    params = QUICK.get(cls.__name__, {})
    if params.get("estimator") == "small autoencoder":  # torch is not imported above
        from ..generative import Autoencoder

        params = {"estimator": Autoencoder(**SMALL_AUTOENCODER)}
    if cls.__name__ == "LatentDiffusion":
        from ..generative import Autoencoder, DiffusionModel

        diffusion = DiffusionModel(**QUICK["DiffusionModel"])
        return cls(Autoencoder(**SMALL_AUTOENCODER), diffusion)
    return cls(**params)


def expected_failures(estimator) -> dict[str, str]:
    """Checks of scikit-learn's that this estimator is known to fail, with reasons."""
    return {check: f.reason for check, f in expected_errors(estimator).items()}


def expected_errors(estimator) -> dict[str, ExpectedFailure]:
    """Checks of scikit-learn's that this estimator fails: reason, error and message.

    Examples
    --------
    >>> from pansophy.linear_model import Ridge
    >>> from pansophy.testing import expected_errors
    >>> [failure.error.__name__ for failure in expected_errors(Ridge()).values()]
    ['TypeError']
    """
    return EXPECTED.get(type(estimator).__name__, {})
