"""List of all estimators, and which of scikit-learn's checks they may fail and why."""

import importlib
import importlib.util
import inspect
import pkgutil

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
    "cli", "compare", "testing", "core", "plot", "play", "datasets", "tables", "serve",
}  # fmt: skip

# Which of scikit-learn's checks fail, and why that is right. Nothing else may fail.
SEQUENCE = (
    "a sequence of symbols is one column: the check reduces X to one dimension and "
    "then indexes or measures two"
)
FRACTIONS = "the check gives fractions as categories, which are refused, not truncated"
SINGULAR = (
    "a class of the check has a singular covariance (too few rows, or dependent "
    "columns), which is refused as scikit-learn refuses it"
)
ROW_BY_ROW = {
    f"check_sample_weight_equivalence_on_{kind}_data": (
        "rows are drawn or visited one at a time, so a weight of k is k repetitions "
        "in expectation only"
    )
    for kind in ("dense", "sparse")
}
DRAWN = {
    f"check_sample_weight_equivalence_on_{kind}_data": (
        "members are fitted to rows drawn by weight, so a weight of k is k "
        "repetitions in distribution only"
    )
    for kind in ("dense", "sparse")
}
IN_TIME = {
    "check_fit_score_takes_y": "the second argument is `lengths`, as in hmmlearn",
    "check_n_features_in_after_fitting": "the check gives `score` a y, not `lengths`",
    "check_methods_sample_order_invariance": "the rows are ordered in time",
    "check_methods_subset_invariance": "a row's state depends on its neighbours",
    "check_fit1d": "a vector is a sequence of one column",
    "check_fit2d_predict1d": "a vector is a sequence of one column",
}
FORECASTS = {
    "check_fit_score_takes_y": "the second argument is `lengths`, as in hmmlearn",
    "check_methods_sample_order_invariance": "the rows are ordered in time",
    "check_methods_subset_invariance": "a row's likelihood depends on those before",
    "check_fit1d": "a vector is a series of one column",
}
NO_LABEL = {"check_classifiers_classes": "-1 in y means a row without a label"}
NO_TURN = {
    "check_non_transformer_estimators_n_iter": (
        "every label of the check is known, so that there is nothing to repeat"
    )
}
DIRECT = {
    "check_non_transformer_estimators_n_iter": (
        "n_iter_ of a direct solver is None, as in scikit-learn"
    )
}
INFEASIBLE = "the class weights of the check leave one class too little for nu = 0.5"
DRAWN_DENSE = {k: why for k, why in DRAWN.items() if "dense" in k}
NOISE_BY_ROW = {
    "check_sample_weight_equivalence_on_dense_data": (
        "a code is drawn for each row, so a weight of k is k repetitions in "
        "expectation only"
    )
}
EXPECTED: dict[str, dict[str, str]] = {
    "AttackGenerator": {
        "check_sample_weight_equivalence_on_dense_data": (
            "gradients summed by weight and by rows differ by rounding, which training "
            "magnifies"
        )
    },
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
    "GaussianMixtureClassifier": NO_LABEL,
    "SeededKMeans": NO_LABEL,
    "FeatureThenClassify": NO_LABEL
    | {
        "check_sample_weight_equivalence_on_dense_data": (
            "the weights reach the reducer only if it takes any, and PCA does not"
        )
    },
    "CoTraining": NO_LABEL | NO_TURN,
    "TransductiveSVM": NO_LABEL | NO_TURN,
    "SelfTrainingClassifier": NO_TURN,
    "Ridge": DIRECT,
    "RidgeClassifier": DIRECT,
    "MultipleInstance": NO_TURN,
    "LabelPropagation": NO_TURN,
    "LabelModel": {"check_sample_weight_equivalence_on_dense_data": FRACTIONS},
    "KernelPCA": {
        "check_array_api_input": (
            "inverse_transform without fit_inverse_transform=True raises "
            "NotFittedError, as scikit-learn's does"
        )
    },
    "NuSVC": {
        "check_sample_weight_equivalence_on_dense_data": INFEASIBLE,
        "check_sample_weight_equivalence_on_sparse_data": INFEASIBLE,
        "check_class_weight_classifiers": INFEASIBLE,
    },
    "MiniBatchKMeans": ROW_BY_ROW,
    "SGDClassifier": ROW_BY_ROW,
    "SGDRegressor": ROW_BY_ROW,
    "Perceptron": ROW_BY_ROW,
    "RANSACRegressor": ROW_BY_ROW,
    "QuadraticDiscriminantAnalysis": {
        "check_sample_weights_shape": SINGULAR,
        "check_sample_weights_not_overwritten": SINGULAR,
        "check_sample_weight_equivalence_on_dense_data": SINGULAR,
        "check_sample_weight_equivalence_on_sparse_data": SINGULAR,
        "check_array_api_input": SINGULAR,
    },
    "JointTableClassifier": {
        "check_sample_weight_equivalence_on_dense_data": FRACTIONS,
        "check_classifiers_one_label_sample_weights": FRACTIONS,
    },
    "TreeAugmentedNB": {
        "check_sample_weight_equivalence_on_dense_data": FRACTIONS,
        "check_classifiers_one_label_sample_weights": FRACTIONS,
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
        "check_fit_score_takes_y": "the second argument is `lengths`, as in hmmlearn",
        "check_estimator_sparse_array": "the check cannot build a 1-D sparse array",
        "check_dont_overwrite_parameters": SEQUENCE,
        "check_n_features_in_after_fitting": SEQUENCE,
        "check_n_features_in": SEQUENCE,
        "check_dtype_object": SEQUENCE,
        "check_f_contiguous_array_estimator": SEQUENCE,
        "check_fit2d_1sample": SEQUENCE,
        "check_fit2d_1feature": SEQUENCE,
        "check_fit2d_predict1d": SEQUENCE,
        "check_dict_unchanged": SEQUENCE,
        "check_methods_sample_order_invariance": "the rows are ordered in time",
        "check_methods_subset_invariance": "a row's state depends on its neighbours",
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
    "NeuralODEClassifier": SMALL_FLOW,
    "NeuralODERegressor": SMALL_FLOW,
    "SequenceClassifier": {"hidden_size": 8, "n_epochs": 15, **SMALL_SEQUENCE},
    "SequenceRegressor": {"hidden_size": 16, "n_epochs": 40, **SMALL_SEQUENCE},
    "TabularResNetClassifier": {"n_epochs": 30, **SMALL_TABULAR},
    "TabularResNetRegressor": {"n_epochs": 40, **SMALL_TABULAR},
    "FTTransformerClassifier": {"n_epochs": 30, **SMALL_TRANSFORMER},
    "FTTransformerRegressor": {"n_epochs": 40, **SMALL_TRANSFORMER},
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
    for module in estimator_packages():
        for name, cls in inspect.getmembers(module, inspect.isclass):
            final = issubclass(cls, Estimator) and issubclass(cls, wanted)
            if (
                final
                and not name.startswith("_")
                and cls.__module__.startswith(module.__name__)
                and not takes_texts(cls)
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


def estimator_packages():
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
    return EXPECTED.get(type(estimator).__name__, {})
