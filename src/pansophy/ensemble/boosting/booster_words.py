"""Words of LightGBM and XGBoost, and what they are called here.

Tables for error messages: a parameter that the estimators of this package do not have
is answered with ours, or with the reason why there is none.
"""

from functools import wraps

# parameters of the class -> ours
PARAMETER_WORDS = {
    "n_estimators": "max_iter",
    "num_leaves": "max_leaf_nodes",
    "max_leaves": "max_leaf_nodes",
    "min_child_samples": "min_samples_leaf",
    "min_data_in_leaf": "min_samples_leaf",
    "reg_lambda": "l2_regularization",
    "lambda_l2": "l2_regularization",
    "lambda": "l2_regularization",
    "min_gain_to_split": "min_split_gain",
    "gamma": "min_split_gain",
    "min_split_loss": "min_split_gain",
    "colsample_bynode": "max_features",
    "feature_fraction_bynode": "max_features",
    "max_bin": "max_bins",
    "bagging_fraction": "subsample",
    "early_stopping_rounds": "n_iter_no_change",
    "early_stopping_round": "n_iter_no_change",
    "objective": "loss",
    "eval_metric": "scoring",
    "metric": "scoring",
    "monotone_constraints": "monotonic_cst",
    "interaction_constraints": "interaction_cst",
    "categorical_feature": "categorical_features",
    "enable_categorical": "categorical_features",
    "scale_pos_weight": "class_weight",
    "is_unbalance": "class_weight",
    "alpha": "quantile",
    "eta": "learning_rate",
    "seed": "random_state",
    "verbosity": "verbose",
}
THREADS = "threads are those the process may use; threadpoolctl limits them."
# parameters of the class without one of ours -> why
WITHOUT_COUNTERPART = {
    "colsample_bytree": "columns are drawn at each node: see max_features.",
    "feature_fraction": "columns are drawn at each node: see max_features.",
    "subsample_freq": "with subsample below 1, rows are drawn for every round.",
    "bagging_freq": "with subsample below 1, rows are drawn for every round.",
    "reg_alpha": "leaf values have a squared penalty only: see l2_regularization.",
    "lambda_l1": "leaf values have a squared penalty only: see l2_regularization.",
    "min_child_weight": "leaves are limited by rows: see min_samples_leaf.",
    "min_sum_hessian_in_leaf": "leaves are limited by rows: see min_samples_leaf.",
    "n_jobs": THREADS,
    "nthread": THREADS,
    "num_threads": THREADS,
    "device": "trees are grown on the processor.",
    "device_type": "trees are grown on the processor.",
    "tree_method": "trees are always grown on histograms.",
    "grow_policy": "the split of largest gain comes first; limit trees by max_depth.",
    "boosting_type": "there is boosting of trees only.",
    "booster": "there is boosting of trees only.",
    "importance_type": "feature_importances_ are shares of the gain.",
    "base_score": "give fit(..., init_score=number).",
    "boost_from_average": "give fit(..., init_score=0.0) to start from 0.",
}
# keywords of `fit` -> what to write
FIT_WORDS = {
    "eval_metric": "what is watched is the parameter `scoring` of the class.",
    "early_stopping_rounds": "that is the parameter `n_iter_no_change` of the class.",
    "base_margin": "write init_score.",
    "callbacks": "write model.set_callbacks(...) before fit.",
    "verbose": "that is a parameter of the class.",
    "categorical_feature": "that is the parameter `categorical_features` of the class.",
    "feature_name": "names of columns are those of a data frame.",
    "sample_weight_eval_set": "write sample_weight_val.",
    "eval_sample_weight": "write sample_weight_val.",
    "xgb_model": "set warm_start=True and call fit again.",
    "init_model": "set warm_start=True and call fit again.",
    "group": "the ranking objective has it: loss=losses.LambdaRank(group).",
    "qid": "the ranking objective has sizes of queries: loss=losses.LambdaRank(sizes).",
}


def keyword_advice(name, known) -> str | None:
    """What to say of a parameter of another library; None if the word is not known.

    Examples
    --------
    >>> from pansophy.ensemble.boosting.booster_words import keyword_advice
    >>> keyword_advice("num_leaves", ["max_leaf_nodes"])
    "Did you mean 'max_leaf_nodes'?"
    """
    ours = PARAMETER_WORDS.get(name)
    if ours in known:
        return f"Did you mean {ours!r}?"
    reason = WITHOUT_COUNTERPART.get(name)
    return None if reason is None else f"There is none: {reason}"


def answers_fit_words(fit):
    """A decorator of `fit`: keywords of other libraries are answered with ours."""

    @wraps(fit)
    def run(self, X, y=None, *args, **options):
        word = next((name for name in options if name in FIT_WORDS), None)
        if word is not None:
            raise TypeError(
                f"{type(self).__name__}.fit() got an unexpected keyword argument "
                f"{word!r}: {FIT_WORDS[word]}"
            )
        return fit(self, X, y, *args, **options)

    return run
