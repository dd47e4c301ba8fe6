"""Why estimators are not among the methods that a comparison tries.

Names of classes, not imports: the list is part of every answer, and importing all of
the library for it would cost seconds. A test holds it against the library.
"""

import pkgutil

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
    "RandomTreesEmbedding": "makes columns; it does not predict a target",
    "KernelDensity": "models how rows are distributed; it does not predict a target",
    "HistogramDensity": "models how rows are distributed; it does not predict a target",
    "LocalOutlierFactor": "finds outliers; it does not predict a target",
    "KNNOutlier": "finds outliers; it does not predict a target",
}
MIXTURES = "needs rows enough for a mixture of densities"
EXCLUDED_CLASSIFIERS = {
    "LogisticRegressionCV": SAME_MODEL,
    "SGDClassifier": SAME_MODEL,
    "RegularizedRiskClassifier": SAME_MODEL,
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
    "Ridge": TUNED_BY_OTHER,
    "Lasso": TUNED_BY_OTHER,
    "ElasticNet": TUNED_BY_OTHER,
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
    "cluster": "finds groups; it does not predict a target",
    "covariance": "measures how columns vary together; it does not predict a target",
    "decomposition": "makes columns; it does not predict a target",
    "manifold": "draws maps of rows; it does not predict a target",
    "semi_supervised": "learns from rows without a label too; here every row has one",
    "active": "asks for labels one by one; here every row has one",
    "recommend": "predicts ratings of users for items",
    "mixture": "models how rows are distributed; it does not predict a target",
    "graphical": "models how columns depend on each other, without a target",
    "state_space": "models sequences, not independent rows",
    "sampling": "draws from a given density",
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
    NOT_A_COUNT_LOSS,
)  # by a method that is tried


def excluded_estimators(task, run, listed, named=False) -> list[tuple[str, str]]:
    """(estimator or part of the package, why it is not run) for one task.

    `run` and `listed` are the names of classes that are run now, and in any task. With
    `named`, methods were asked for by name: what would have spoken for the others may
    not be tried, so of those only that they were not asked for is said.
    """
    classes = task in (CLASS, LABELS)
    mine, not_mine = (
        (EXCLUDED_CLASSIFIERS, EXCLUDED_REGRESSORS)
        if classes
        else (EXCLUDED_REGRESSORS, EXCLUDED_CLASSIFIERS)
    )
    if task == COUNT:
        mine = {**mine, **EXCLUDED_FOR_COUNTS}
    away = "predicts numbers" if classes else "predicts classes"
    rest = sorted((set(not_mine) | set(listed)) - set(mine))
    found = {**mine, **dict.fromkeys(rest, away), **NO_TARGET}
    said = lambda why: NOT_REQUESTED if named and why in REPRESENTED else why
    left = [(name, said(why)) for name, why in found.items() if name not in run]
    return left + excluded_subpackages()


def excluded_subpackages() -> list[tuple[str, str]]:
    """Parts of the package whose methods do not predict a target from rows."""
    import pansophy

    present = {m.name for m in pkgutil.iter_modules(pansophy.__path__)}
    return [(f"pansophy.{d}", why) for d, why in OTHER_TASKS.items() if d in present]
