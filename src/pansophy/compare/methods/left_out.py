"""Why estimators are not among the methods that a comparison tries.

Names of classes, not imports: the list is part of every answer, and importing all of
the library for it would cost seconds. A test holds it against the library.
"""

import pkgutil

CLASS, NUMBER, COUNT, LABELS = "classification", "regression", "count", "multilabel"
TUNED = "its strength is chosen by a method that is tried"
SAME = "another way to a model that is tried"
SCORES = "gives scores, not probabilities; linear support vectors speak for it"
GIVEN = "needs something about the columns that a table does not say"
SPECIAL = "for targets or noise of a special kind"
MEMBERS = "made of models that must be given"
KIN = "a forest or a booster that is tried speaks for it"
NOT_ASKED = "not asked for"
NO_TARGET = {
    "IsolationForest": "finds outliers; it does not predict a target",
    "RandomTreesEmbedding": "makes columns; it does not predict a target",
    "KernelDensity": "models how rows are distributed; it does not predict a target",
    "HistogramDensity": "models how rows are distributed; it does not predict a target",
    "LocalOutlierFactor": "finds outliers; it does not predict a target",
    "KNNOutlier": "finds outliers; it does not predict a target",
}
MIXTURES = "needs rows enough for a mixture of densities"
CLASSIFIERS = {
    "LogisticRegressionCV": SAME,
    "SGDClassifier": SAME,
    "RegularizedRiskClassifier": SAME,
    "RidgeClassifier": SCORES,
    "RidgeClassifierCV": SCORES,
    "LeastSquaresClassifier": SCORES,
    "Perceptron": SCORES,
    "Adaline": SCORES,
    "CostSensitiveClassifier": "decides by costs, which must be given",
    "BernoulliNB": SPECIAL,
    "MultinomialNB": SPECIAL,
    "ComplementNB": SPECIAL,
    "CategoricalNB": SPECIAL,
    "MixedNB": SAME,
    "NaiveBayes": SAME,
    "GenerativeClassifier": SAME,
    "ExponentialFamilyClassifier": SAME,
    "JointTableClassifier": "needs few columns of few levels",
    "TreeAugmentedNB": "needs columns of few levels",
    "DecisionStump": KIN,
    "ExtraTreeClassifier": KIN,
    "ID3Classifier": SPECIAL,
    "C45Classifier": SAME,
    "AdaBoostClassifier": KIN,
    "BaggingClassifier": KIN,
    "GradientBoostingClassifier": KIN,
    "RotationForestClassifier": KIN,
    "CascadeClassifier": MEMBERS,
    "MixtureOfExpertsClassifier": MEMBERS,
    "StackingClassifier": MEMBERS,
    "VotingClassifier": MEMBERS,
    "MixtureClassifier": MIXTURES,
}
REGRESSORS = {
    "Ridge": TUNED,
    "Lasso": TUNED,
    "ElasticNet": TUNED,
    "SGDRegressor": SAME,
    "RecursiveLeastSquares": SAME,
    "BayesianLinearRegression": TUNED,
    "NormalInverseGammaRegression": TUNED,
    "ARDRegression": SAME,
    "RegularizedRisk": SAME,
    "AdaptiveLasso": SAME,
    "BridgeRegression": SAME,
    "RANSACRegressor": SPECIAL,
    "RobustRegressor": SAME,
    "TheilSenRegressor": SAME,
    "QuantileRegressor": "predicts a quantile, not the mean",
    "PoissonRegressor": SPECIAL,
    "GammaRegressor": SPECIAL,
    "TweedieRegressor": SPECIAL,
    "GeneralizedLinearModel": SPECIAL,
    "GeneralizedLeastSquares": GIVEN,
    "Tikhonov": GIVEN,
    "GroupLasso": GIVEN,
    "MultiTaskRidge": "predicts several targets at once",
    "MultiTaskLasso": "predicts several targets at once",
    "MultiTaskLassoCV": "predicts several targets at once",
    "MultiTaskElasticNet": "predicts several targets at once",
    "MultiTaskElasticNetCV": "predicts several targets at once",
    "PolynomialRegression": "for one column",
    "DirectionalTreeRegressor": "predicts angles",
    "ExtraTreeRegressor": KIN,
    "AdaBoostRegressor": KIN,
    "BaggingRegressor": KIN,
    "GradientBoostingRegressor": KIN,
    "RotationForestRegressor": KIN,
    "MixtureOfExperts": MEMBERS,
    "StackingRegressor": MEMBERS,
    "VotingRegressor": MEMBERS,
    "MixtureRegressor": MIXTURES,
}  # estimator -> why another method of the list speaks for it
OTHER_JOB = {
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
BETTER = "its loss is not that of counts; the Poisson models that are tried have it"
FOR_COUNTS = {
    "LassoCV": BETTER,
    "ElasticNetCV": BETTER,
    "BayesianRidge": BETTER,
    "HuberRegressor": BETTER,
    "LinearSVR": BETTER,
    "GeneralizedLinearModel": SAME,
    "TweedieRegressor": SAME,
}
SPOKEN_FOR = (TUNED, SAME, SCORES, KIN, BETTER)  # by a method that is tried


def others(task, run, listed, named=False) -> list[tuple[str, str]]:
    """(estimator or part of the package, why it is not run) for one task.

    `run` and `listed` are the names of classes that are run now, and in any task. With
    `named`, methods were asked for by name: what would have spoken for the others may
    not be tried, so of those only that they were not asked for is said.
    """
    classes = task in (CLASS, LABELS)
    mine, not_mine = (CLASSIFIERS, REGRESSORS) if classes else (REGRESSORS, CLASSIFIERS)
    if task == COUNT:
        mine = {**mine, **FOR_COUNTS}
    away = "predicts numbers" if classes else "predicts classes"
    rest = sorted((set(not_mine) | set(listed)) - set(mine))
    found = {**mine, **dict.fromkeys(rest, away), **NO_TARGET}
    said = lambda why: NOT_ASKED if named and why in SPOKEN_FOR else why
    left = [(name, said(why)) for name, why in found.items() if name not in run]
    return left + other_jobs()


def other_jobs() -> list[tuple[str, str]]:
    """Parts of the package whose methods do not predict a target from rows."""
    import pansophy

    present = {m.name for m in pkgutil.iter_modules(pansophy.__path__)}
    return [(f"pansophy.{d}", why) for d, why in OTHER_JOB.items() if d in present]
