"""The portfolio: the methods that a comparison tries, from simple to elaborate.

To add a supervised estimator to the comparison, add an entry here; one that is not
tried is listed in `excluded` with the reason. Fields are explained in `method`, ranges
in `tuning`. Parameters are functions of what is known before the first fit (rows,
task), so that a fit is the same wherever it runs.

Categories are encoded for all methods but CatBoost, also for those that could split
them by sets of levels (`native`): such splits fit the noise of columns with many levels
(figures: `docs/decisions/comparison.md`).
"""

from .costs import EARLY_STOPPING_ROWS, FEW_ROWS, MANY_ROWS
from .excluded import CLASS, COUNT, LABELS, NUMBER
from .method import Method

defaults = lambda s: {}
ridge_strengths = lambda s: {"alphas": [10.0**k for k in range(-3, 5)]}
lasso_path_parameters = lambda s: {"eps": 1e-3, "cv": 5}
# small leaves have empty classes, for which log loss is merciless
classification_leaves = lambda s: {
    "min_samples_leaf": max(5, min(100, s.n // 20)),
    "smoothing": 1.0,
}
regression_leaves = lambda s: {"min_samples_leaf": max(5, min(50, s.n // 50))}


def _regression_forest(s):
    """Larger leaves for many rows, and half the trees for very many: to save time."""
    leaf = 1 if s.n < 1000 else max(3, s.n // 10_000)
    return {
        "min_samples_leaf": leaf,
        **({} if s.n < MANY_ROWS else {"n_estimators": 50}),
    }


def _count_forest(s):
    parameters = _regression_forest(s)
    leaf = max(5, parameters["min_samples_leaf"])
    return {**parameters, "criterion": "poisson", "min_samples_leaf": leaf}


classification_forest = _regression_forest
# votes may leave a class without any: see `wrappers.SmoothedProbabilities`
SMOOTHED = {"smoothed": True}
# many enough that a class that is there gets a vote
neighbour_count = lambda s: {"n_neighbors": int(min(max(5, s.n**0.5), 50, s.n))}


# Rows are set aside at random, to decide when to stop, only if they are exchangeable.
def _boosting_parameters(s):
    """Fewer rows: smaller steps and trees, on some of the columns, held back more."""
    restraints = {"max_features": 0.5, "l2_regularization": 3.0}
    if s.n < FEW_ROWS:  # too few to set any aside
        return {
            "early_stopping": False,
            "max_iter": 100,
            "learning_rate": 0.08,
            "max_leaf_nodes": 8,
            "min_samples_leaf": 10,
            **restraints,
        }
    stop = s.split == "plain"
    middle = s.n < 20_000
    return {
        "early_stopping": stop,
        "max_iter": 500 if stop else 200,
        "learning_rate": 0.1 if stop and not middle else 0.05,
        **({"max_leaf_nodes": 15, **restraints} if middle else {}),
    }


def _network_parameters(s):
    """Few rows: a strong penalty. Many: some are set aside to decide when to stop."""
    if s.n < FEW_ROWS:
        return {"alpha": 0.5, "batch_size": min(200, s.n), "max_iter": 1000}
    stop = s.split == "plain"
    return {
        "early_stopping": stop,
        "batch_size": max(200, min(1024, s.n // 50)),
        "max_iter": 200 if stop else 50,
    }


def _tabular_network_parameters(s):
    """Some rows decide when to stop, if there are enough of them."""
    return {"early_stopping": "auto" if s.split == "plain" else False}


def _transformer_parameters(s):
    """Parameters of the FT-Transformer; narrow tokens where rows are few."""
    stop = _tabular_network_parameters(s)
    return {**stop, "hidden_size": 32 if s.n < 2000 else 64}


def _pretrained_parameters(s):
    """Fewer members where each has much to read."""
    return {"n_members": 4 if s.n <= 1500 else 2}


def _external_booster_parameters(library, objective=None):
    """The boosters of others: many small steps, no rows set aside.

    Fewer rows: small trees on half of the columns, held back more, as ours are; at the
    defaults of these libraries they learn the noise of less than 2000 rows (log loss
    .62 in place of .76 on the mean of four tables), in three to five times the time.

    But for CatBoost, where rows are neither too few nor so many that it would take most
    of the time of a comparison: that lowers its loss on eight of nine tables, by 0.2 to
    9 %, for up to five times the time.
    """
    objective_option = {} if objective is None else {"objective": objective}

    def parameters(s):
        shared = {"min_samples_leaf": 20}
        if s.n < FEW_ROWS:
            shared = {
                "min_samples_leaf": 10,
                "max_leaves": 8,
                "l2": 3.0,
                "column_share": 0.5,
            }
        if library == "catboost" and s.split == "plain" and s.n in EARLY_STOPPING_ROWS:
            shared |= {"n_estimators": 1000, "patience": 30}
        return {"library": library, **shared, **objective_option}

    return parameters


def _gaussian_process_parameters(s):
    from ...kernels import RBF, Constant, White

    return {"kernel": Constant(1.0) * RBF(3.0) + White(0.1)}


PENALTY = {"C": ("log", 1e-3, 1e3)}
LEAVES = {"min_samples_leaf": ("log int", 1, 200), "ccp_alpha": ("log", 1e-6, 1e-1)}
NEIGHBOURS = {
    "n_neighbors": ("log int", 2, 200),
    "weights": ("choice", "uniform", "distance"),
}
FOREST = {
    "max_features": ("linear", 0.1, 1.0),
    "min_samples_leaf": ("log int", 1, 30),
}
BOOSTING = {
    "learning_rate": ("log", 0.01, 0.3),
    "max_leaf_nodes": ("log int", 4, 128),
    "min_samples_leaf": ("log int", 2, 100),
    "l2_regularization": ("log", 1e-6, 10.0),
    "max_features": ("linear", 0.3, 1.0),
}
BOOSTER = {
    "learning_rate": ("log", 0.01, 0.3),
    "n_estimators": ("log int", 50, 500),
    "max_leaves": ("log int", 4, 64),
    "min_samples_leaf": ("log int", 2, 100),
    "l2": ("log", 1e-3, 30.0),
    "column_share": ("linear", 0.3, 1.0),
}
NET = {
    "alpha": ("log", 1e-6, 1.0),
    "learning_rate_init": ("log", 1e-4, 3e-2),
    "hidden_layer_sizes": ("choice", (100,), (200,), (100, 100), (50, 50)),
    "dropout": ("linear", 0.0, 0.4),
}
TABULAR_NET = {
    "learning_rate_init": ("log", 3e-4, 1e-2),
    "weight_decay": ("log", 1e-4, 1.0),
    "hidden_size": ("choice", 64, 128, 256),
    "n_blocks": ("log int", 1, 4),
    "dropout": ("linear", 0.0, 0.5),
}
TRANSFORMER_NET = {
    "learning_rate_init": ("log", 1e-4, 1e-2),
    "weight_decay": ("log", 1e-4, 1.0),
    "n_blocks": ("log int", 1, 4),
    "dropout": ("linear", 0.0, 0.5),
}
SVM_SPACE = {"C": ("log", 1e-2, 1e3), "gamma": ("log", 1e-4, 1.0)}

PRETRAINED_ROWS = 2300  # as many as it was trained to read
OURS = "pansophy."
LINEAR, TREE, ENSEMBLE = OURS + "linear_model.", OURS + "tree.", OURS + "ensemble."
NETS, NEAR = "pansophy.neural_network.", "pansophy.neighbors."
DA = "pansophy.discriminant_analysis."
EACH = {"multilabel": "each"}
SCALED = {"scale": True}
RANKED = {"scale": True, "full_rank": True}  # columns of like size, none redundant
AT_ONCE = {"multilabel": "native"}

CLASSES = [
    Method("dummy", CLASS, "sklearn.dummy.DummyClassifier", defaults, **EACH),
    Method(
        "logistic regression",
        CLASS,
        LINEAR + "LogisticRegression",
        defaults,
        space=PENALTY,
        **SCALED,
        **EACH,
    ),
    Method(
        "proportional odds",
        CLASS,
        LINEAR + "ProportionalOdds",
        defaults,
        space=PENALTY,
        ordered=True,
        **SCALED,
    ),
    Method(
        "naive Bayes",
        CLASS,
        OURS + "naive_bayes.GaussianNB",
        defaults,
        space={"var_smoothing": ("log", 1e-10, 1.0)},
        **EACH,
    ),
    Method(
        "linear discriminant",
        CLASS,
        DA + "LinearDiscriminantAnalysis",
        lambda s: {"solver": "lsqr", "shrinkage": "auto"},
        **RANKED,
        **EACH,
    ),
    Method(
        "quadratic discriminant",
        CLASS,
        DA + "QuadraticDiscriminantAnalysis",
        lambda s: {"reg_param": 0.1},
        space={"reg_param": ("linear", 0.0, 1.0)},
        **RANKED,
        **EACH,
    ),
    Method(
        "linear support vectors",
        CLASS,
        OURS + "svm.LinearSVC",
        defaults,
        lacks_probabilities=True,
        space=PENALTY,
        **SCALED,
        **EACH,
    ),
    Method(
        "nearest neighbours",
        CLASS,
        NEAR + "KNeighborsClassifier",
        neighbour_count,
        weighted=False,
        multilabel="native",
        space=NEIGHBOURS,
        **SMOOTHED,
        **SCALED,
    ),
    Method(
        "decision tree",
        CLASS,
        TREE + "DecisionTreeClassifier",
        classification_leaves,
        space=LEAVES,
        **AT_ONCE,
    ),
    Method(
        "random forest",
        CLASS,
        ENSEMBLE + "RandomForestClassifier",
        classification_forest,
        space=FOREST,
        **SMOOTHED,
        **AT_ONCE,
    ),
    Method(
        "extra trees",
        CLASS,
        ENSEMBLE + "ExtraTreesClassifier",
        classification_forest,
        space=FOREST,
        **SMOOTHED,
        **AT_ONCE,
    ),
    Method(
        "gradient boosting",
        CLASS,
        ENSEMBLE + "HistGradientBoostingClassifier",
        _boosting_parameters,
        space=BOOSTING,
        **EACH,
    ),
    Method(
        "neural network",
        CLASS,
        NETS + "MLPClassifier",
        _network_parameters,
        needs="deep",
        multilabel="native",
        space=NET,
        **SCALED,
    ),
    Method(
        "residual network",
        CLASS,
        NETS + "TabularResNetClassifier",
        _tabular_network_parameters,
        native=True,
        needs="deep",
        on_request=True,
        space=TABULAR_NET,
        **EACH,
    ),
    Method(
        "FT-transformer",
        CLASS,
        NETS + "FTTransformerClassifier",
        _transformer_parameters,
        native=True,
        needs="deep",
        on_request=True,
        max_rows=50_000,
        space=TRANSFORMER_NET,
        **EACH,
    ),
    Method(
        "pretrained network",
        CLASS,
        NETS + "PretrainedTableClassifier",
        _pretrained_parameters,
        native=True,
        pretrained=True,
        on_request=True,
        max_rows=PRETRAINED_ROWS,
        **EACH,
    ),
    Method(
        "RBF support vectors",
        CLASS,
        OURS + "svm.SVC",
        lambda s: {"decision_function_shape": "ovo"},
        lacks_probabilities=True,
        max_rows=20_000,
        space=SVM_SPACE,
        **SCALED,
        **EACH,
    ),
    Method(
        "LightGBM",
        CLASS,
        OURS + "compare.methods.external_boosters.BoosterClassifier",
        _external_booster_parameters("lightgbm"),
        needs="lightgbm",
        space=BOOSTER,
        **EACH,
    ),
    Method(
        "XGBoost",
        CLASS,
        OURS + "compare.methods.external_boosters.BoosterClassifier",
        _external_booster_parameters("xgboost"),
        needs="xgboost",
        space=BOOSTER,
        **EACH,
    ),
    Method(
        "CatBoost",
        CLASS,
        OURS + "compare.methods.external_boosters.BoosterClassifier",
        _external_booster_parameters("catboost"),
        native=True,
        needs="catboost",
        space=BOOSTER,
        **EACH,
    ),
]


def _series_methods(task) -> list[Method]:
    """Forecasts from the past of the target alone, for folds along time."""
    kinds = ("last value", "moving average", "drift", "seasonal")
    path = OURS + "compare.methods.time_series.SeriesBaseline"
    return [
        Method(kind, task, path, lambda s, kind=kind: {"kind": kind}, series="baseline")
        for kind in kinds
    ]


def _lag_methods(task) -> list[Method]:
    """Regression of the change since the last known value, with lags as columns."""
    return [
        Method(
            "ridge with lags",
            task,
            LINEAR + "RidgeCV",
            ridge_strengths,
            series="lags",
            **SCALED,
        ),
        Method(
            "gradient boosting with lags",
            task,
            ENSEMBLE + "HistGradientBoostingRegressor",
            _boosting_parameters,
            series="lags",
        ),
    ]


NUMBERS = [
    Method("dummy", NUMBER, "sklearn.dummy.DummyRegressor", defaults),
    *_series_methods(NUMBER),
    Method(
        "linear regression", NUMBER, LINEAR + "LinearRegression", defaults, **RANKED
    ),
    Method("ridge", NUMBER, LINEAR + "RidgeCV", ridge_strengths, **SCALED),
    Method("lasso", NUMBER, LINEAR + "LassoCV", lasso_path_parameters, **SCALED),
    Method(
        "elastic net",
        NUMBER,
        LINEAR + "ElasticNetCV",
        lasso_path_parameters,
        space={"l1_ratio": ("linear", 0.05, 1.0)},
        **SCALED,
    ),
    Method("bayesian ridge", NUMBER, LINEAR + "BayesianRidge", defaults, **SCALED),
    Method(
        "huber",
        NUMBER,
        LINEAR + "HuberRegressor",
        lambda s: {"max_iter": 1000},
        scale_target=True,
        space={"epsilon": ("linear", 1.05, 3.0)},
        **SCALED,
    ),
    Method(
        "linear support vectors",
        NUMBER,
        OURS + "svm.LinearSVR",
        defaults,
        scale_target=True,
        space=PENALTY,
        **SCALED,
    ),
    Method(
        "nearest neighbours",
        NUMBER,
        NEAR + "KNeighborsRegressor",
        neighbour_count,
        weighted=False,
        space=NEIGHBOURS,
        **SCALED,
    ),
    Method(
        "decision tree",
        NUMBER,
        TREE + "DecisionTreeRegressor",
        regression_leaves,
        space=LEAVES,
    ),
    Method(
        "random forest",
        NUMBER,
        ENSEMBLE + "RandomForestRegressor",
        _regression_forest,
        space=FOREST,
    ),
    Method(
        "extra trees",
        NUMBER,
        ENSEMBLE + "ExtraTreesRegressor",
        _regression_forest,
        space=FOREST,
    ),
    Method(
        "gradient boosting",
        NUMBER,
        ENSEMBLE + "HistGradientBoostingRegressor",
        _boosting_parameters,
        space=BOOSTING,
    ),
    Method(
        "neural network",
        NUMBER,
        NETS + "MLPRegressor",
        _network_parameters,
        needs="deep",
        scale_target=True,
        space=NET,
        **SCALED,
    ),
    Method(
        "residual network",
        NUMBER,
        NETS + "TabularResNetRegressor",
        _tabular_network_parameters,
        native=True,
        needs="deep",
        on_request=True,
        space=TABULAR_NET,
    ),
    Method(
        "FT-transformer",
        NUMBER,
        NETS + "FTTransformerRegressor",
        _transformer_parameters,
        native=True,
        needs="deep",
        on_request=True,
        max_rows=50_000,
        space=TRANSFORMER_NET,
    ),
    Method(
        "pretrained network",
        NUMBER,
        NETS + "PretrainedTableRegressor",
        _pretrained_parameters,
        native=True,
        pretrained=True,
        max_rows=PRETRAINED_ROWS,
    ),
    Method(
        "RBF support vectors",
        NUMBER,
        OURS + "svm.SVR",
        defaults,
        scale_target=True,
        max_rows=20_000,
        space=SVM_SPACE,
        **SCALED,
    ),
    Method(
        "Gaussian process",
        NUMBER,
        OURS + "gaussian_process.GaussianProcessRegressor",
        _gaussian_process_parameters,
        scale_target=True,
        weighted=False,
        on_request=True,
        **SCALED,
    ),
    Method(
        "LightGBM",
        NUMBER,
        OURS + "compare.methods.external_boosters.BoosterRegressor",
        _external_booster_parameters("lightgbm"),
        needs="lightgbm",
        space=BOOSTER,
    ),
    *_lag_methods(NUMBER),
    Method(
        "XGBoost",
        NUMBER,
        OURS + "compare.methods.external_boosters.BoosterRegressor",
        _external_booster_parameters("xgboost"),
        needs="xgboost",
        space=BOOSTER,
    ),
    Method(
        "CatBoost",
        NUMBER,
        OURS + "compare.methods.external_boosters.BoosterRegressor",
        _external_booster_parameters("catboost"),
        native=True,
        needs="catboost",
        space=BOOSTER,
    ),
]
COUNTS = [
    Method("dummy", COUNT, "sklearn.dummy.DummyRegressor", defaults, floored=True),
    *_series_methods(COUNT),
    Method(
        "poisson regression",
        COUNT,
        LINEAR + "PoissonRegressor",
        lambda s: {"alpha": 1e-4, "max_iter": 300},
        space={"alpha": ("log", 1e-6, 10.0)},
        capped=True,
        **RANKED,
    ),
    Method(
        "negative binomial regression",
        COUNT,
        LINEAR + "NegativeBinomialRegressor",
        lambda s: {"alpha": 1e-4, "max_iter": 300},
        space={"alpha": ("log", 1e-6, 10.0)},
        capped=True,
        **RANKED,
    ),
    Method(
        "linear regression",
        COUNT,
        LINEAR + "LinearRegression",
        defaults,
        floored=True,
        **RANKED,
    ),
    Method("ridge", COUNT, LINEAR + "RidgeCV", ridge_strengths, floored=True, **SCALED),
    Method(
        "nearest neighbours",
        COUNT,
        NEAR + "KNeighborsRegressor",
        neighbour_count,
        floored=True,
        weighted=False,
        space=NEIGHBOURS,
        **SCALED,
    ),
    Method(
        "decision tree",
        COUNT,
        TREE + "DecisionTreeRegressor",
        regression_leaves,
        floored=True,
        space=LEAVES,
    ),
    Method(
        "random forest",
        COUNT,
        ENSEMBLE + "RandomForestRegressor",
        _count_forest,
        floored=True,
        space=FOREST,
    ),
    Method(
        "extra trees",
        COUNT,
        ENSEMBLE + "ExtraTreesRegressor",
        _count_forest,
        floored=True,
        space=FOREST,
    ),
    Method(
        "gradient boosting",
        COUNT,
        ENSEMBLE + "HistGradientBoostingRegressor",
        lambda s: {"loss": "poisson", **_boosting_parameters(s)},
        space=BOOSTING,
    ),
    Method(
        "neural network",
        COUNT,
        NETS + "MLPRegressor",
        lambda s: {"loss": "poisson", **_network_parameters(s)},
        capped=True,
        needs="deep",
        space=NET,
        **SCALED,
    ),
    Method(
        "LightGBM",
        COUNT,
        OURS + "compare.methods.external_boosters.BoosterRegressor",
        _external_booster_parameters("lightgbm", "poisson"),
        needs="lightgbm",
        space=BOOSTER,
    ),
    *_lag_methods(COUNT),
    Method(
        "XGBoost",
        COUNT,
        OURS + "compare.methods.external_boosters.BoosterRegressor",
        _external_booster_parameters("xgboost", "poisson"),
        needs="xgboost",
        space=BOOSTER,
    ),
    Method(
        "CatBoost",
        COUNT,
        OURS + "compare.methods.external_boosters.BoosterRegressor",
        _external_booster_parameters("catboost", "poisson"),
        native=True,
        needs="catboost",
        space=BOOSTER,
    ),
]
METHODS = [
    *CLASSES,
    *NUMBERS,
    *COUNTS,
    *(m._replace(task=LABELS) for m in CLASSES if m.multilabel),
]
