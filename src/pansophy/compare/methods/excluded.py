"""Why estimators are not among the methods that a comparison tries.

Names of classes, not imports: the list is part of every answer, and importing all of
the library for it would cost seconds. A test holds it against the library.
"""

import pkgutil
from enum import StrEnum
from typing import NamedTuple


class SkipKind(StrEnum):
    """Reason of a skipped method, by the remedy."""

    OVER_LIMITS = "over the limits"
    NOT_INSTALLED = "not installed"
    NOT_REQUESTED = "not requested"
    UNSUITED = "unsuited"  # to this table, or represented by a method that ran
    OTHER_TASK = "for other tasks"


class SkippedMethod(NamedTuple):
    """A method that was not run."""

    name: str
    reason: str  # a phrase for the reader
    kind: SkipKind


NOT_ALONG_TIME = "for rows along time; name the column of times to run it"
NOT_IN_ORDER = "for classes that are in order; say so with task='ordinal'"
CLASS, NUMBER, COUNT, LABELS = "classification", "regression", "count", "multilabel"
TUNED_BY_OTHER = "its strength is chosen by a method that is tried"
SAME_MODEL = "another way to a model that is tried"
SCORES_ONLY = "gives scores, not probabilities; linear support vectors speak for it"
NEEDS_COLUMN_INFO = "needs something about the columns that a table does not say"
SPECIAL_TARGET = "for targets or noise of a special kind"
NEEDS_MEMBERS = "made of models that must be given"
SIMILAR_ENSEMBLE = "a forest or a booster that is tried speaks for it"
NOT_REQUESTED = "not asked for"
NO_TARGET = {
    "IsolationForest": "finds outliers; it does not predict a target",
    "BernoulliRBM": "makes columns; it does not predict a target",
    "AttackGenerator": "changes rows against a model; it does not predict a target",
    "FeatureExtractor": "makes columns; it does not predict a target",
    "RandomTreesEmbedding": "makes columns; it does not predict a target",
    "KernelDensity": "models how rows are distributed; it does not predict a target",
    "HistogramDensity": "models how rows are distributed; it does not predict a target",
    "LocalOutlierFactor": "finds outliers; it does not predict a target",
    "KNNOutlier": "finds outliers; it does not predict a target",
    "OneClassSVM": "finds outliers; it does not predict a target",
}
KERNEL_MODEL = "a support vector machine, which is tried, speaks for it"
MIXTURES = "needs rows enough for a mixture of densities"
IMAGES = "for images; here every row is a list of columns"
OWN_MODULE = "needs a module of your own; hand such an estimator over yourself"
DEEP_NET = "a residual network, which may be asked for, speaks for it"
SEQUENCES = "for sequences; here every row is a list of columns"
EXCLUDED_CLASSIFIERS = {
    "ConvClassifier": IMAGES,
    "NetClassifier": OWN_MODULE,
    "NeuralODEClassifier": DEEP_NET,
    "SequenceClassifier": SEQUENCES,
    "LogisticRegressionCV": SAME_MODEL,
    "SGDClassifier": SAME_MODEL,
    "NuSVC": SAME_MODEL,
    "KernelLogisticRegression": KERNEL_MODEL,
    "FalkonClassifier": KERNEL_MODEL,
    "LSSVMClassifier": KERNEL_MODEL,
    "KernelPerceptron": KERNEL_MODEL,
    "GaussianProcessClassifier": KERNEL_MODEL,
    "AsymmetricLSSVM": "its asymmetric kernel must be given",
    "RegularizedRiskClassifier": SAME_MODEL,
    "NearestCentroid": "a linear discriminant, which is tried, speaks for it",
    "RidgeClassifier": SCORES_ONLY,
    "RidgeClassifierCV": SCORES_ONLY,
    "LeastSquaresClassifier": SCORES_ONLY,
    "Perceptron": SCORES_ONLY,
    "Adaline": SCORES_ONLY,
    "CostSensitiveClassifier": "decides by costs, which must be given",
    "BernoulliNB": SPECIAL_TARGET,
    "MultinomialNB": SPECIAL_TARGET,
    "ComplementNB": SPECIAL_TARGET,
    "CategoricalNB": SPECIAL_TARGET,
    "MixedNB": SAME_MODEL,
    "NaiveBayes": SAME_MODEL,
    "GenerativeClassifier": SAME_MODEL,
    "ExponentialFamilyClassifier": SAME_MODEL,
    "JointTableClassifier": "needs few columns of few levels",
    "TreeAugmentedNB": "needs columns of few levels",
    "DecisionStump": SIMILAR_ENSEMBLE,
    "ExtraTreeClassifier": SIMILAR_ENSEMBLE,
    "ID3Classifier": SPECIAL_TARGET,
    "C45Classifier": SAME_MODEL,
    "AdaBoostClassifier": SIMILAR_ENSEMBLE,
    "BaggingClassifier": SIMILAR_ENSEMBLE,
    "GradientBoostingClassifier": SIMILAR_ENSEMBLE,
    "RotationForestClassifier": SIMILAR_ENSEMBLE,
    "CascadeClassifier": NEEDS_MEMBERS,
    "MixtureOfExpertsClassifier": NEEDS_MEMBERS,
    "StackingClassifier": NEEDS_MEMBERS,
    "VotingClassifier": NEEDS_MEMBERS,
    "MixtureClassifier": MIXTURES,
}
EXCLUDED_REGRESSORS = {
    "ConvRegressor": IMAGES,
    "NetRegressor": OWN_MODULE,
    "NeuralODERegressor": DEEP_NET,
    "SequenceRegressor": SEQUENCES,
    "Ridge": TUNED_BY_OTHER,
    "Lasso": TUNED_BY_OTHER,
    "ElasticNet": TUNED_BY_OTHER,
    "NuSVR": SAME_MODEL,
    "KernelRidge": KERNEL_MODEL,
    "FalkonRegressor": KERNEL_MODEL,
    "LSSVMRegressor": KERNEL_MODEL,
    "LocallyWeightedRegression": "nearest neighbours, which are tried, speak for it",
    "SGDRegressor": SAME_MODEL,
    "RecursiveLeastSquares": SAME_MODEL,
    "BayesianLinearRegression": TUNED_BY_OTHER,
    "NormalInverseGammaRegression": TUNED_BY_OTHER,
    "ARDRegression": SAME_MODEL,
    "RegularizedRisk": SAME_MODEL,
    "AdaptiveLasso": SAME_MODEL,
    "BridgeRegression": SAME_MODEL,
    "RANSACRegressor": SPECIAL_TARGET,
    "RobustRegressor": SAME_MODEL,
    "TheilSenRegressor": SAME_MODEL,
    "QuantileRegressor": "predicts a quantile, not the mean",
    "NegativeBinomialRegressor": SPECIAL_TARGET,
    "PoissonRegressor": SPECIAL_TARGET,
    "GammaRegressor": SPECIAL_TARGET,
    "TweedieRegressor": SPECIAL_TARGET,
    "GeneralizedLinearModel": SPECIAL_TARGET,
    "GeneralizedLeastSquares": NEEDS_COLUMN_INFO,
    "Tikhonov": NEEDS_COLUMN_INFO,
    "GroupLasso": NEEDS_COLUMN_INFO,
    "MultiTaskRidge": "predicts several targets at once",
    "MultiTaskLasso": "predicts several targets at once",
    "MultiTaskLassoCV": "predicts several targets at once",
    "MultiTaskElasticNet": "predicts several targets at once",
    "MultiTaskElasticNetCV": "predicts several targets at once",
    "PolynomialRegression": "for one column",
    "DirectionalTreeRegressor": "predicts angles",
    "ExtraTreeRegressor": SIMILAR_ENSEMBLE,
    "AdaBoostRegressor": SIMILAR_ENSEMBLE,
    "BaggingRegressor": SIMILAR_ENSEMBLE,
    "GradientBoostingRegressor": SIMILAR_ENSEMBLE,
    "RotationForestRegressor": SIMILAR_ENSEMBLE,
    "MixtureOfExperts": NEEDS_MEMBERS,
    "StackingRegressor": NEEDS_MEMBERS,
    "VotingRegressor": NEEDS_MEMBERS,
    "MixtureRegressor": MIXTURES,
}  # estimator -> why another method of the list speaks for it
OTHER_TASKS = {
    "feature_selection": "chooses columns; it does not predict a target",
    "feature_extraction": "makes columns; it does not predict a target",
    "kernel_approximation": "makes columns; it does not predict a target",
    "cluster": "finds groups; it does not predict a target",
    "covariance": "measures how columns vary together; it does not predict a target",
    "decomposition": "makes columns; it does not predict a target",
    "manifold": "draws maps of rows; it does not predict a target",
    "semi_supervised": "learns from rows without a label too; here every row has one",
    "active": "asks for labels one by one; here every row has one",
    "recommend": "predicts ratings of users for items",
    "mixture": "models how rows are distributed; it does not predict a target",
    "generative": "draws rows like those given; it does not predict a target",
    "graphical": "models how columns depend on each other, without a target",
    "state_space": "models sequences, not independent rows",
    "sampling": "draws from a given density",
    "text": "works on texts; columns of text are prepared for all methods",
    "rl": "learns by acting in an environment",
}
NOT_A_COUNT_LOSS = (
    "its loss is not that of counts; the Poisson models that are tried have it"
)
EXCLUDED_FOR_COUNTS = {
    "LassoCV": NOT_A_COUNT_LOSS,
    "ElasticNetCV": NOT_A_COUNT_LOSS,
    "BayesianRidge": NOT_A_COUNT_LOSS,
    "HuberRegressor": NOT_A_COUNT_LOSS,
    "LinearSVR": NOT_A_COUNT_LOSS,
    "GeneralizedLinearModel": SAME_MODEL,
    "TweedieRegressor": SAME_MODEL,
}
REPRESENTED = (
    TUNED_BY_OTHER,
    SAME_MODEL,
    SCORES_ONLY,
    SIMILAR_ENSEMBLE,
    KERNEL_MODEL,
    NOT_A_COUNT_LOSS,
)  # by a method that is tried


def excluded_estimators(task, run, listed, named=False) -> list[SkippedMethod]:
    """Estimators and parts of the package that are not run for a task.

    Parameters
    ----------
    task : str
    run, listed : set of str
        Names of the classes that are run now, and in any task.
    named : bool
        Whether methods were requested by name. Then the method that would have
        represented an estimator may not be run, so the reason is only that it was not
        requested.
    """
    for_classes = task in (CLASS, LABELS)
    reasons = EXCLUDED_CLASSIFIERS if for_classes else EXCLUDED_REGRESSORS
    other_reasons = EXCLUDED_REGRESSORS if for_classes else EXCLUDED_CLASSIFIERS
    if task == COUNT:
        reasons = {**reasons, **EXCLUDED_FOR_COUNTS}
    predicts = "predicts numbers" if for_classes else "predicts classes"
    rest = sorted((set(other_reasons) | set(listed)) - set(reasons))
    reasons = {**reasons, **dict.fromkeys(rest, predicts), **NO_TARGET}
    skipped = []
    for name, reason in reasons.items():
        if name in run:
            continue
        kind = SkipKind.OTHER_TASK if name in NO_TARGET else SkipKind.UNSUITED
        if named and reason in REPRESENTED:
            reason = NOT_REQUESTED
            kind = SkipKind.NOT_REQUESTED
        skipped.append(SkippedMethod(name, reason, kind))
    return skipped + _excluded_subpackages()


def _excluded_subpackages() -> list[SkippedMethod]:
    """Parts of the package whose methods do not predict a target from rows."""
    import pansophy

    present = {m.name for m in pkgutil.iter_modules(pansophy.__path__)}
    return [
        SkippedMethod(f"pansophy.{part}", reason, SkipKind.OTHER_TASK)
        for part, reason in OTHER_TASKS.items()
        if part in present
    ]
