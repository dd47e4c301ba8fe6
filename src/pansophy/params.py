"""Parameter rules as types: the annotation of a field says which values it may have.

An estimator is a dataclass whose fields are its parameters::

    n_clusters: Count = 8
    init: Literal["k-means++", "random"] | Array = "k-means++"

`check_params` compares every field with its annotation, once, at the start of `fit`. A
rule is an ordinary type: a `Literal` lists the allowed values, `None` and unions have
their usual meaning, a class means `isinstance`, and a number with limits is an
`Annotated` type made by `number_rule`. Nothing else is needed to add a rule.
"""

import difflib
import functools
import inspect
import math
import operator
import re
import types
from collections.abc import Callable
from functools import cache
from numbers import Integral, Real
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin
from typing import get_type_hints as type_hints

import numpy as np


class ParameterError(ValueError, TypeError):
    """A parameter has a value that its rule does not allow."""


class UnsupportedChoiceError(ParameterError, NotImplementedError):
    """One parameter asks for what the choice of another does not offer.

    It is scikit-learn's NotImplementedError as well, which programs may catch.
    """


class ParameterRule(NamedTuple):
    """A description of the allowed values, and the test of a value."""

    description: str
    accepts: Callable[[Any], bool]

    def __repr__(self):
        return self.description


def number_rule(
    description, low=-math.inf, high=math.inf, *, open_low=False, whole=False
):
    """A rule for a finite real (or whole) number between two limits.

    A field that means something for infinity adds `Infinite` to its annotation.
    """
    kind = Integral if whole else Real

    def holds(value: Any):
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, kind):
            return False
        number: Any = value
        if not -math.inf < number < math.inf:
            return False
        return (low < number if open_low else low <= number) and number <= high

    return ParameterRule(description, holds)


def count_rule(minimum):
    """A rule for a whole number of at least `minimum`."""
    return number_rule(f"a whole number of at least {minimum}", minimum, whole=True)


def check_count(name, value, minimum=1) -> int:
    """`value` as an int, if it is a whole number of at least `minimum`.

    For arguments of functions; parameters of estimators have a type such as `Count`.

    Examples
    --------
    >>> from pansophy.params import check_count
    >>> check_count("n", 3)
    3
    >>> check_count("n", 1.5, 2)
    Traceback (most recent call last):
    pansophy.params.ParameterError: n must be a whole number of at least 2, got 1.5.
    """
    return int(check_argument(name, value, Annotated[int, count_rule(minimum)]))


def check_argument(name, value, hint):
    """`value`, if the rule of an annotation such as `Fraction` allows it.

    `check_params` for one argument of a function.

    Examples
    --------
    >>> from pansophy.params import Fraction, check_argument
    >>> check_argument("gamma", 0.9, Fraction)
    0.9
    >>> check_argument("gamma", "high", Fraction)
    Traceback (most recent call last):
    pansophy.params.ParameterError: gamma must be a number from 0 to 1, got 'high'.
    """
    rule = rule_of(hint)
    if not rule.accepts(value):
        raise ParameterError(
            f"{name} must be {rule.description}, got {short_repr(value)}."
        )
    return value


def check_list(name, value, what="a list") -> list:
    """`value` as a list, if it can be gone through.

    Examples
    --------
    >>> from pansophy.params import check_list
    >>> check_list("tags", ("D", "N"))
    ['D', 'N']
    >>> check_list("tags", None, "a list of tags")
    Traceback (most recent call last):
    pansophy.params.ParameterError: tags must be a list of tags, got None.
    """
    try:
        return list(value)
    except TypeError:
        raise ParameterError(
            f"{name} must be {what}, got {short_repr(value)}."
        ) from None


def check_string(name, value) -> str:
    """`value`, if it is a text.

    Examples
    --------
    >>> from pansophy.params import check_string
    >>> check_string("word", "cat")
    'cat'
    >>> check_string("word", None)
    Traceback (most recent call last):
    pansophy.params.ParameterError: word must be a text, got None.
    """
    if not isinstance(value, str):
        raise ParameterError(f"{name} must be a text, got {short_repr(value)}.")
    return value


Count = Annotated[int, count_rule(1)]
TwoOrMore = Annotated[int, count_rule(2)]
Natural = Annotated[int, count_rule(0)]
Whole = Annotated[int, number_rule("a whole number", whole=True)]
Number = Annotated[float, number_rule("a real number")]
Positive = Annotated[float, number_rule("a number above 0", 0, open_low=True)]
NonNegative = Annotated[float, number_rule("a number of at least 0", 0)]
AtLeastOne = Annotated[float, number_rule("a number of at least 1", 1)]
Fraction = Annotated[float, number_rule("a number from 0 to 1", 0, 1)]
Infinite = Annotated[float, ParameterRule("inf", lambda v: v == math.inf)]
PositiveFraction = Annotated[
    float, number_rule("a number above 0 and at most 1", 0, 1, open_low=True)
]
OpenFraction = Annotated[
    float, ParameterRule("a number strictly between 0 and 1", lambda v: 0 < v < 1)
]
FractionBelowOne = Annotated[
    float, ParameterRule("a number from 0 to below 1", lambda v: 0 <= v < 1)
]
Flag = Annotated[
    bool, ParameterRule("True or False", lambda v: isinstance(v, (bool, np.bool_)))
]
Verbosity = Annotated[int, number_rule("0 (quiet) or more", 0, whole=True)] | bool


def _is_jobs(value):
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    return is_integer and value != 0


Jobs = Annotated[int, ParameterRule("a whole number other than 0", _is_jobs)] | None


def _are_layer_sizes(value):
    widths = np.atleast_1d(np.asarray(value))
    has_integers = widths.size == 0 or widths.dtype.kind in "iu"
    return widths.ndim == 1 and has_integers and bool((widths > 0).all())


def _are_positive_counts(value):
    sizes = np.asarray(value)
    has_integers = sizes.ndim == 1 and sizes.size in (2, 3) and sizes.dtype.kind in "iu"
    return has_integers and bool((sizes > 0).all())


LayerSizes = Annotated[
    Any, ParameterRule("whole numbers above 0, one per hidden layer", _are_layer_sizes)
]
DeviceName = Annotated[
    str,
    ParameterRule(
        '"auto", "cpu", "cuda" or "cuda:" and a number',
        lambda v: re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", v) is not None,
    ),
]
PatienceCount = Count | Infinite
ImageShape = Annotated[
    Any,
    ParameterRule(
        "height and width, or height, width and channels", _are_positive_counts
    ),
]
Activation = Literal["relu", "leaky", "elu", "tanh", "logistic", "identity"]


def rule_of(hint) -> ParameterRule:
    """Read one annotation as a rule."""
    origin = get_origin(hint)
    args = get_args(hint)
    if hint is Any:
        return ParameterRule("anything", lambda v: True)
    if hint is None or hint is type(None):
        return ParameterRule("None", lambda v: v is None)
    if origin is Annotated:
        for extra in args[1:]:
            if isinstance(extra, ParameterRule):
                return _without_type_errors(extra)
        return rule_of(args[0])
    if origin is Literal:
        return _literal_rule(args)
    if origin in (Union, types.UnionType):
        rules = [rule_of(a) for a in args]
        return ParameterRule(
            " or ".join(dict.fromkeys(r.description for r in rules)),
            lambda v: any(r.accepts(v) for r in rules),
        )
    if origin is Callable or hint is Callable:
        return ParameterRule("a function", callable)
    cls = origin or hint
    if isinstance(cls, type):
        return ParameterRule(f"of type {cls.__name__}", lambda v: isinstance(v, cls))
    raise TypeError(f"no rule can be read from the annotation {hint!r}")


def _without_type_errors(rule):
    """A rule whose test may meet values of the wrong type altogether."""

    def holds(value: Any):
        try:
            return bool(rule.accepts(value))
        except (TypeError, ValueError):
            return False

    return ParameterRule(rule.description, holds)


def _literal_rule(words):
    """A rule for one of several literal values."""
    listed = ", ".join(repr(w) for w in words)
    says = f"one of {listed}" if len(words) > 1 else listed
    is_equal = lambda v, w: v == w and isinstance(v, bool) == isinstance(w, bool)
    return ParameterRule(
        says,
        lambda v: (
            isinstance(v, (str, bool, int)) and any(is_equal(v, w) for w in words)
        ),
    )


@cache
def rules_of(cls) -> dict[str, ParameterRule]:
    """The rule of every parameter of an estimator class, by name."""
    hints = type_hints(cls, include_extras=True)
    return {name: rule_of(hints[name]) for name in cls._get_param_names()}


def plain_type(hint):
    """An annotation without its rules: `Count | None` becomes `int | None`.

    Examples
    --------
    >>> from pansophy.params import Count, plain_type
    >>> plain_type(Count | None)
    int | None
    """
    origin = get_origin(hint)
    if origin is Annotated:
        return plain_type(get_args(hint)[0])
    if origin in (Union, types.UnionType):
        parts = list(dict.fromkeys(plain_type(a) for a in get_args(hint)))
        return Any if Any in parts else functools.reduce(operator.or_, parts)
    return hint


class PlainSignature:
    """Descriptor: the signature of a class with plain types in place of rules.

    `inspect.signature`, `help` and notebooks ask a class for `__signature__`.
    """

    def __get__(self, instance, cls) -> inspect.Signature:
        signature = inspect.signature(cls.__init__)
        _, *parameters = signature.parameters.values()
        return signature.replace(
            parameters=[_plain_parameter(p) for p in parameters],
            return_annotation=inspect.Signature.empty,
        )


def _plain_parameter(parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter of a signature with its plain type; without one if it is any."""
    hint = plain_type(parameter.annotation)
    return parameter.replace(
        annotation=inspect.Parameter.empty if hint is Any else hint
    )


@cache
def _keyword_names(cls) -> frozenset[str] | None:
    """The keywords that a class can be called with; None if it takes any."""
    parameters = inspect.signature(cls.__init__).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return frozenset(p.name for p in parameters)


# names of one thing in scikit-learn, PyTorch, XGBoost and Stable-Baselines3
SYNONYMS = (
    ("learning_rate", "lr", "eta", "eta0", "learning_rate_init", "step_size", "alpha"),
    ("n_epochs", "epochs", "num_epochs", "nb_epochs", "max_epochs", "max_iter"),
    ("max_iter", "n_iter", "num_iter", "iterations", "max_iterations", "n_iterations"),
    ("n_steps", "total_timesteps", "timesteps", "num_steps", "total_steps"),
    ("random_state", "seed", "random_seed", "rng", "rng_seed"),
    ("n_jobs", "num_workers", "n_threads", "nthread", "num_threads", "workers"),
    (
        "n_estimators",
        "num_trees",
        "n_trees",
        "num_boost_round",
        "num_round",
        "max_iter",
    ),
    ("n_neighbors", "k", "num_neighbors"),
    ("n_clusters", "k", "num_clusters"),
    ("n_components", "k", "num_components", "latent_dim"),
    ("batch_size", "bs", "minibatch_size", "mini_batch_size"),
    ("gamma", "discount", "discount_factor"),
    ("hidden_layer_sizes", "hidden_sizes", "layers", "net_arch", "hidden_units"),
    ("clip_range", "clip_ratio", "clip_param", "epsilon_clip"),
    ("entropy_weight", "ent_coef", "entropy_coef", "entropy_coefficient"),
    ("value_weight", "vf_coef", "value_coef"),
    ("horizon", "rollout_length", "num_rollout_steps"),
    ("exploration", "epsilon", "eps", "epsilon_greedy", "exploration_fraction"),
    ("alpha", "l2", "weight_decay", "reg_lambda", "lambda_", "regularization", "lam"),
    ("C", "cost", "c"),
    ("max_depth", "depth"),
    ("tol", "tolerance", "eps", "rtol"),
    ("dropout", "dropout_rate", "p_dropout"),
    ("optimiser", "optimizer", "opt", "solver"),
    ("schedule", "scheduler", "lr_scheduler", "lr_schedule", "learning_rate"),
    ("loss", "criterion", "loss_fn", "loss_function", "objective"),
    ("valid", "validation_data", "val_data", "valid_data", "val_loader", "validation"),
    ("lr", "learning_rate", "learning_rate_init", "eta"),
    ("epochs", "n_epochs", "max_epochs", "num_epochs", "max_iter"),
    ("clip", "max_grad_norm", "grad_clip", "gradient_clip_val", "clip_norm"),
    ("accumulate", "accumulate_grad_batches", "gradient_accumulation_steps"),
    ("amp", "mixed_precision", "use_amp", "precision"),
    ("stop", "early_stopping", "patience"),
    ("module_options", "module_kwargs", "module_params"),
)


def check_keywords(cls, keywords) -> None:
    """Raise TypeError about a misspelt keyword, with what may have been meant.

    Examples
    --------
    >>> from pansophy.cluster import KMeans
    >>> KMeans(n_cluster=3)
    Traceback (most recent call last):
    TypeError: KMeans got an unexpected keyword argument 'n_cluster'. Did you mean \
'n_clusters'?
    """
    known = _keyword_names(cls)
    if known is None or known.issuperset(keywords):
        return
    misspelt = next(name for name in keywords if name not in known)
    names = sorted(known - {"self"})
    folded = {name.lower(): name for name in names}
    near = difflib.get_close_matches(misspelt.lower(), folded, 1, 0.6)
    meant = synonym_of(misspelt, names) or (folded[near[0]] if near else None)
    advice = f"Did you mean {meant!r}?" if meant else ""
    own_words = getattr(cls, "_keyword_advice", None)  # of libraries like this class
    advice = (own_words and own_words(misspelt, names)) or advice
    raise TypeError(
        f"{cls.__name__} got an unexpected keyword argument {misspelt!r}. "
        + (advice or f"It takes {', '.join(names) or 'none'}.")
    )


def synonym_of(name, known) -> str | None:
    """The name among `known` that means the same as a name of other libraries.

    Examples
    --------
    >>> from pansophy.params import synonym_of
    >>> synonym_of("lr", ["learning_rate", "n_steps"])
    'learning_rate'
    """
    for group in SYNONYMS:
        if name in group:
            meant = next((synonym for synonym in group if synonym in known), None)
            if meant is not None:
                return meant
    return None


def check_params(estimator) -> None:
    """Raise one sentence about the first parameter that breaks its rule."""
    cls = type(estimator)
    for name, rule in rules_of(cls).items():
        value = getattr(estimator, name)
        if not rule.accepts(value):
            value_text = short_repr(value)
            raise ParameterError(
                f"{name} of {cls.__name__} must be {rule.description}, got "
                f"{value_text}."
            )


def short_repr(value, limit=80):
    """A short repr for error messages."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."
