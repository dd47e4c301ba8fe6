"""Names of the metrics, ours and those of other libraries.

Nothing heavy is imported: the command line looks a name up before it imports the rest.
"""

METRIC_NAMES = (
    "ranked probability score",
    "quadratic kappa",
    "class distance",
    "log loss",
    "accuracy",
    "brier score",
    "roc auc",
    "average precision",
    "balanced accuracy",
    "f1",
    "rmse",
    "r2",
    "mae",
    "poisson deviance",
    "label accuracy",
    "exact match",
)
ALIASES = {
    "acc": "accuracy",
    "auc": "roc auc",
    "auroc": "roc auc",
    "roc": "roc auc",
    "roc auc score": "roc auc",
    "rocauc": "roc auc",
    "ap": "average precision",
    "auprc": "average precision",
    "pr auc": "average precision",
    "f1 score": "f1",
    "f1 macro": "f1",
    "fscore": "f1",
    "logloss": "log loss",
    "neg log loss": "log loss",
    "cross entropy": "log loss",
    "deviance": "poisson deviance",
    "mean poisson deviance": "poisson deviance",
    "brier": "brier score",
    "balanced acc": "balanced accuracy",
    "bacc": "balanced accuracy",
    "mse": "rmse",
    "mean squared error": "rmse",
    "neg mean squared error": "rmse",
    "root mean squared error": "rmse",
    "neg root mean squared error": "rmse",
    "mean absolute error": "mae",
    "neg mean absolute error": "mae",
    "r squared": "r2",
    "r^2": "r2",
    "r2 score": "r2",
    "rps": "ranked probability score",
    "kappa": "quadratic kappa",
    "qwk": "quadratic kappa",
    "subset accuracy": "exact match",
    "hamming": "label accuracy",
}  # what people type -> our name; mse orders methods as rmse does


def metric_name(name) -> str:
    """Our name of a metric, from whatever it is called elsewhere.

    Examples
    --------
    >>> from pansophy.compare.metrics import metric_name
    >>> metric_name("AUC"), metric_name("neg_log_loss"), metric_name("MAE")
    ('roc auc', 'log loss', 'mae')
    """
    plain = " ".join(name.replace("_", " ").replace("-", " ").lower().split())
    return ALIASES.get(plain, plain)
