"""What an estimator does with a tensor of a device: answer there, refuse, or fail.

The rule: `X` decides. A method that can compute where X is answers there; one that
cannot says so in one sentence, which names the class and the device; none fetches the
rows without a word. `device_answer` says which of these a class does:

    there     fitted numbers or predictions are on the device of X
    refuses   a sentence of ours
    moves     answers on the host, or as many bytes brought there as X has
    fails     any other error

On the stand-in device (`stand_in_device.py`) the bytes are counted, so a machine
without a GPU can hold all estimators to the rule.
"""

from typing import Any, NamedTuple

import numpy as np
import torch

from .estimators import quick_instance
from .usual_calls import usual_table

ANSWERS = ("predict", "predict_proba", "transform", "score_samples")


class DeviceAnswer(NamedTuple):
    """What a class did with a tensor of a device."""

    outcome: str  # "there", "refuses", "moves" or "fails"
    detail: str
    answers: dict[str, Any]  # of each method that answered there
    model: Any  # as it was fitted, or not


def usual_tensors(cls, n_rows=300):
    """A quick instance with a fixed seed, and a table of the kind that it takes.

    Examples
    --------
    >>> from pansophy.cluster import KMeans
    >>> model, X, y = usual_tensors(KMeans, n_rows=4)
    >>> X.shape, X.device
    (torch.Size([4, 5]), device(type='cpu'))
    """
    model = quick_instance(cls)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    X, y = usual_table(model, n_rows=n_rows, n_classes=2)
    return model, torch.as_tensor(np.ascontiguousarray(X)), torch.as_tensor(y)


def device_answer(cls, device, counts=None, n_rows=300, limit=1.0) -> DeviceAnswer:
    """What a class does with a tensor of this type of device.

    `counts` are those of a `StandInDevice`; a call that brings more than `limit` times
    the bytes of X to the host is then one that moves the rows.

    Examples
    --------
    >>> from pansophy.decomposition import PCA
    >>> from pansophy.testing.stand_in_device import StandInDevice
    >>> with StandInDevice() as counts:
    ...     device_answer(PCA, "standin", counts).outcome
    'there'
    """
    model, X, y = usual_tensors(cls, n_rows)
    X = X.to(device)
    y = y.to(device)
    size = limit * X.numel() * X.element_size()
    fetched = []
    if counts is not None:
        counts.reset()

    def note(name):
        if counts is not None and counts.n_bytes_out >= size:
            fetched.append(f"{name} brings {counts.n_bytes_out} bytes to the host")
        if counts is not None:
            counts.reset()

    try:
        model.fit(X, y)
    except Exception as error:
        return DeviceAnswer(*_said_of(error, cls, device), {}, model)
    note("fit")
    answers: dict[str, Any] = {}
    details = []
    outcomes = []
    for name in ANSWERS:
        if not hasattr(model, name):
            continue
        try:
            value = getattr(model, name)(X)
        except Exception as error:
            outcome, detail = _said_of(error, cls, device)
            outcomes.append(outcome)
            details.append(f"{name}: {detail}")
            continue
        note(name)
        value = value[0] if isinstance(value, tuple) else value
        is_there = isinstance(value, torch.Tensor) and value.device.type == device
        outcomes.append("there" if is_there else "moves")
        if is_there:
            answers[name] = value
        else:
            details.append(f"{name} gives {type(value).__name__}")
    if not outcomes:
        outcomes.append("there" if _has_attributes_there(model, device) else "moves")
    if fetched:
        outcomes.append("moves")
        details += fetched
    worst = next(o for o in ("fails", "moves", "refuses", "there") if o in outcomes)
    return DeviceAnswer(worst, ", ".join(details), answers, model)


def _said_of(error, cls, device) -> tuple[str, str]:
    """Outcome and detail of an error: ours names the class and the device."""
    text = " ".join(str(error).split())
    ours = isinstance(error, TypeError) and cls.__name__ in text and device in text
    return ("refuses" if ours else "fails"), f"{type(error).__name__}: {text[:160]}"


def _has_attributes_there(model, device) -> bool:
    """Whether a fitted attribute is a tensor of the device."""
    return any(
        isinstance(value, torch.Tensor) and value.device.type == device
        for name, value in vars(model).items()
        if name.endswith("_")
    )
