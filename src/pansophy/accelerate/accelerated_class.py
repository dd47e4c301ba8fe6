"""A subclass of a class of scikit-learn or hmmlearn, whose fits our class does.

An accelerated estimator e has the parameters of the original. `e.fit(X, y)` makes our
estimator m of the same parameters and fits it; m is kept as `e.accelerated_`, and from
then on methods and fitted attributes of e are those of m. If m cannot be made or
fitted, the original's own `fit` runs on e, which then behaves as the original. That
also decides which error a user sees: the original's.

Because e is an instance of the original class, `isinstance`, `clone`, metadata routing
and all that looks at parameters find what they expect. The other way round, an instance
of the original or of our class also counts as an instance of the accelerated class.

- A parameter left at the original's default is left out when m is made. Ours has the
  same default, or one that chooses for itself (`solver="auto"`).
- A parameter that is an accelerated estimator is handed to m as our estimator.
- `random_state=None` means NumPy's global stream, as it does for the original.
- A subclass in the user's program that overrides a private method of the original
  counts on the original's `fit` to call it, and gets it.
"""

import functools
import importlib
import inspect
from abc import ABCMeta
from types import FunctionType

import numpy as np

from .report import count_fit_by_original, count_fit_by_ours, reason_of

OURS = "accelerated_"  # ends as fitted attributes do: `check_is_fitted` sees it
WITH_ORIGINAL = "_with_original"  # set while the original's own fit runs
GENERAL_MODULES = ("sklearn.base", "sklearn.utils", "abc", "builtins")
PLACE = "pansophy.accelerate.classes"

# parameters of ours alone, whose default is not what the original does
LIKE_THE_ORIGINAL = {
    "GaussianProcessRegressor": {"prior": None},  # of the kernel's parameters
    "GaussianProcessClassifier": {"prior": None},
}


class AcceleratedMeta(ABCMeta):
    """The class of accelerated classes: originals and ours count as instances.

    Only the chain of base classes is asked. Virtual subclasses would lead in a circle,
    as `ABCMeta` asks each subclass of the original, and so the accelerated class.
    """

    def __instancecheck__(cls, instance):
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass):
        chain = getattr(subclass, "__mro__", ())
        state = vars(cls)
        return cls in chain or (
            "_original" in state
            and (state["_original"] in chain or subclass is _imported_class(cls))
        )


def _imported_class(cls) -> type | None:
    """Our class behind an accelerated one, None while it is not imported."""
    return vars(cls).get("_our_class")


def our_class(cls) -> type:
    """Our class behind an accelerated one; imported when it is first needed."""
    home = next(c for c in cls.__mro__ if "_original" in vars(c))
    own_class = _imported_class(home)
    if own_class is None:
        module, _, last = home._our_name.rpartition(".")
        own_class = home._our_class = getattr(importlib.import_module(module), last)
    return own_class


@functools.cache
def accelerated_class(name) -> type:
    """The accelerated class of a dotted name, such as "sklearn.linear_model.Ridge"."""
    from .replacement import STATE, replaced_names

    module, _, last = name.rpartition(".")
    original = STATE.originals.get(name)
    if original is None:
        original = getattr(importlib.import_module(module), last)
    namespace = {
        "__doc__": original.__doc__,
        "__module__": PLACE,
        "__qualname__": name,
        "__getattr__": _get_fitted_attribute,
        "__setattr__": _set_attribute,
        "__dir__": _list_attributes,
        "_original": original,
        "_our_name": replaced_names()[name],
    }
    for attribute, value in _public_behaviour(original):
        is_fit = attribute.startswith("fit") or attribute == "partial_fit"
        if not isinstance(value, FunctionType):
            namespace[attribute] = ForwardedDescriptor(attribute, value, is_fit)
        elif is_fit:
            namespace[attribute] = _fitting_method(attribute, value)
        else:
            namespace[attribute] = _forwarded_method(attribute, value)
    return AcceleratedMeta(original.__name__, (original,), namespace)


def _public_behaviour(original):
    """Methods and properties of a class that depend on what it was fitted to.

    What scikit-learn's base classes do for every estimator (parameters, requests,
    containers of output, pictures) works on the accelerated estimator as it is.
    """
    for name in dir(original):
        home = next((c for c in original.__mro__ if name in vars(c)), object)
        value = inspect.getattr_static(original, name)
        if (
            name.startswith("__")
            or name in ("get_params", "set_params")
            or (name.startswith("set_") and name.endswith("_request"))
            or home.__module__.startswith(GENERAL_MODULES)
            or isinstance(value, (staticmethod, classmethod))
        ):
            continue
        if isinstance(value, (FunctionType, property)) or hasattr(value, "__get__"):
            yield name, value


def _fitted_by_ours(estimator):
    """Our estimator, if it did the fit that is in force; else None."""
    state = vars(estimator)
    return None if WITH_ORIGINAL in state else state.get(OURS)


def _forwarded_method(name, original):
    """A method that our estimator answers, if it did the fit and knows the name."""

    @functools.wraps(original)
    def method(self, *args, **keywords):
        own_estimator = _fitted_by_ours(self)
        if own_estimator is None or not hasattr(own_estimator, name):
            return original(self, *args, **keywords)
        return _answer_of(
            self, own_estimator, getattr(own_estimator, name)(*args, **keywords)
        )

    return method


def _answer_of(estimator, ours, answer):
    """An answer of our estimator; where it is that estimator, the accelerated one."""
    return estimator if answer is ours else answer


def _fitting_method(name, original):
    """A method that fits: ours if it can, else the original's."""

    @functools.wraps(original)
    def method(self, *args, **keywords):
        return _fit_by_either(self, name, original, args, keywords)

    return method


class ForwardedDescriptor:
    """A property, or a method that is there under a condition, of either estimator."""

    def __init__(self, name, original, is_fit):
        self.name, self.original, self.is_fit = name, original, is_fit
        self.__doc__ = getattr(original, "__doc__", None)

    def __get__(self, instance, owner=None):
        if instance is None:
            return self.original.__get__(None, owner)
        own_estimator = _fitted_by_ours(instance)
        if self.is_fit:
            bound = self.original.__get__(instance, owner)  # AttributeError if it fails

            def run_original(estimator, *args, **keywords):
                return bound(*args, **keywords)

            return functools.partial(_fit_as, instance, self.name, run_original)
        if own_estimator is None:
            return self.original.__get__(instance, owner)
        return getattr(own_estimator, self.name)

    def __set__(self, instance, value):
        own_estimator = _fitted_by_ours(instance)
        if own_estimator is not None:
            setattr(own_estimator, self.name, value)
        elif hasattr(self.original, "__set__"):
            self.original.__set__(instance, value)
        else:
            vars(instance)[self.name] = value


def _fit_as(estimator, name, run_original, /, *args, **keywords):
    """`_fit_by_either` for a method that is there under a condition."""
    return _fit_by_either(estimator, name, run_original, args, keywords)


def _get_fitted_attribute(self, name):
    """Attributes that the accelerated estimator does not have are our estimator's."""
    own_estimator = vars(self).get(OURS)
    if own_estimator is None or (name.startswith("__") and name.endswith("__")):
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}"
        )
    if name == "n_features" and not hasattr(own_estimator, name):
        name = "n_features_in_"  # hmmlearn's own name for it
    return getattr(own_estimator, name)


def _set_attribute(self, name, value):
    """Parameters are set in both, fitted attributes in the estimator that has them."""
    own_estimator = vars(self).get(OURS)
    if own_estimator is not None and name != OURS:
        if name.endswith("_") and not name.endswith("__"):
            setattr(own_estimator, name, value)
            return
        if hasattr(own_estimator, name) and not name.startswith("_"):
            setattr(own_estimator, name, _our_value(value))
    object.__setattr__(self, name, value)


def _list_attributes(self):
    own_estimator = vars(self).get(OURS)
    return sorted(
        {
            *object.__dir__(self),
            *(dir(own_estimator) if own_estimator is not None else ()),
        }
    )


# -- fitting -----------------------------------------------------------------------


def _fit_by_either(estimator, name, original, args, keywords):
    """Fit ours; where it refuses the parameters or the data, the original."""
    from .replacement import is_active

    if WITH_ORIGINAL in vars(estimator):  # a fit of the original calls another
        return original(estimator, *args, **keywords)
    label = type(estimator).__qualname__
    goes_on = name == "partial_fit" or getattr(estimator, "warm_start", False)
    reason = _reason_against_ours(estimator, goes_on)
    if reason is None and is_active():
        stream = _random_stream(estimator)
        stream_state = None if stream is None else stream.get_state()
        try:
            own_estimator = _prepare_ours(estimator, label)
            answer = getattr(own_estimator, name)(*args, **keywords)
        except Exception as error:
            if goes_on and OURS in vars(estimator):
                raise  # the fit so far is ours, and the original cannot go on with it
            reason = reason_of(error)
            if stream is not None:
                stream.set_state(stream_state)
        else:
            _drop_fit_of_original(estimator)
            vars(estimator)[OURS] = own_estimator
            count_fit_by_ours(label)
            return _answer_of(estimator, own_estimator, answer)
    vars(estimator).pop(OURS, None)
    vars(estimator)[WITH_ORIGINAL] = True
    try:
        answer = original(estimator, *args, **keywords)
    finally:
        del vars(estimator)[WITH_ORIGINAL]
    count_fit_by_original(label, reason or "turned off")
    return answer


def _reason_against_ours(estimator, goes_on) -> str | None:
    """Why the original has to fit, before anything is tried; None if ours may."""
    state = vars(estimator)
    if goes_on and OURS not in state and any(_is_fitted_name(n) for n in state):
        return "goes on with a fit of the original"
    for cls in type(estimator).__mro__:
        if "_original" in vars(cls):
            return None
        for name in vars(cls):
            if (
                name.startswith("_")
                and not name.startswith("__")
                and callable(getattr(cls, name))
                and hasattr(type(estimator)._original, name)
                and not name.startswith(("_sklearn", "_get_", "_parameter"))
            ):
                return f"{cls.__name__} overrides {name}"
    return None


def _is_fitted_name(name) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _drop_fit_of_original(estimator) -> None:
    state = vars(estimator)
    for name in [n for n in state if _is_fitted_name(n) and n != OURS]:
        del state[name]


def _random_stream(estimator):
    """The stream that `random_state` stands for, None for a seed or no such thing."""
    if not hasattr(estimator, "random_state"):
        return None
    value = estimator.random_state
    if value is None:
        return np.random.mtrand._rand  # what None means to scikit-learn
    return value if isinstance(value, np.random.RandomState) else None


def _prepare_ours(estimator, label):
    """Our estimator with the parameters of an accelerated one."""
    parameters = _our_parameters(estimator)
    own_estimator = vars(estimator).get(OURS)
    if own_estimator is None:
        own_estimator = our_class(type(estimator))(**parameters)
        if label.startswith("hmmlearn"):  # a fit starts from what the user has set
            for name, value in list(vars(estimator).items()):
                if _is_fitted_name(name) or name in ("n_features", "n_trials"):
                    setattr(own_estimator, name, value)
    else:
        own_estimator.set_params(**parameters)
    return own_estimator


def _our_parameters(estimator) -> dict:
    """The parameters that are not at the original's defaults, in our words."""
    home = next(c for c in type(estimator).__mro__ if "_original" in vars(c))
    parameters = {}
    for name, parameter in _class_parameters(home._original).items():
        value = getattr(estimator, name)
        if not _is_same(value, parameter.default):
            parameters[name] = _our_value(value)
    if "random_state" in _class_parameters(home._original):
        parameters["random_state"] = _random_stream(estimator) or estimator.random_state
    if OURS in vars(estimator):  # it may have been fitted with other values before
        known = set(_class_parameters(home._original)) - set(parameters)
        defaults = _class_parameters(our_class(type(estimator)))
        for name in known & set(defaults):
            if defaults[name].default is not inspect.Parameter.empty:
                parameters[name] = defaults[name].default
    return parameters | LIKE_THE_ORIGINAL.get(home.__name__, {})


@functools.cache
def _class_parameters(cls) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(cls).parameters)


def _is_same(value, default) -> bool:
    """Whether a parameter is left at its default; arrays never are."""
    if value is default:
        return True
    simple = (bool, int, float, str, type(None), tuple)
    return (
        type(value) is type(default)
        and isinstance(value, simple)
        and (value == default)
    )


def _our_value(value):
    """A parameter in our words: our estimator for an accelerated one, in lists too."""
    cls = type(value)
    if type(cls) is AcceleratedMeta and "_original" in vars(cls):
        try:
            return _fitted_by_ours(value) or our_class(cls)(**_our_parameters(value))
        except Exception:  # ours does not take these parameters: the original serves
            return value
    if cls in (list, tuple):
        return cls(_our_value(item) for item in value)
    return value
