"""What every estimator accepts, and where every public name is defined.

The only part of the site that imports the whole library; it prints JSON.
"""

import importlib
import inspect
import json
import warnings


def capability(cls) -> dict[str, bool]:
    """What `fit` of one estimator accepts."""
    from sklearn.utils import get_tags

    from pansophy.core.arrays.block_readers import reads_blocks
    from pansophy.testing import quick_instance

    model = quick_instance(cls)
    tags = get_tags(model)
    fit = getattr(cls, "fit", None)
    parameters = inspect.signature(fit).parameters if fit else {}
    return {
        "sparse": bool(tags.input_tags.sparse),
        "missing": bool(tags.input_tags.allow_nan),
        "weights": "sample_weight" in parameters,
        "tensors": bool(getattr(cls, "_tensors", False)),
        "blocks": bool(reads_blocks(cls)),
        "stream": hasattr(cls, "partial_fit"),
    }


def capabilities() -> dict[str, dict[str, bool]]:
    """Name of the class -> what it accepts; those that cannot be asked are left out."""
    from pansophy.testing import all_estimators

    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, cls in all_estimators():
            try:
                found[name] = capability(cls)
            except Exception as error:
                found[name] = {"error": f"{type(error).__name__}: {error}"}
    return found


def origins() -> dict[str, str]:
    """Public name -> dotted place where it is defined, by what the object says."""
    import facts

    found = {}
    for name in facts.public_names():
        value = importlib.import_module("pansophy")
        for part in name.split("."):
            value = getattr(value, part)
        home = getattr(value, "__module__", None)
        called = getattr(value, "__qualname__", None)
        if isinstance(home, str) and isinstance(called, str):
            found[name] = f"{home}.{called}"
    return found


if __name__ == "__main__":
    print(json.dumps({"accepts": capabilities(), "origins": origins()}))
