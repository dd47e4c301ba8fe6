"""Encoding of Python values as JSON and tensors, and back.

None, bool, text, whole numbers, finite floats and lists stand for themselves; all
else is an object `{"$": tag, ...}`. Arrays become tensors, named by number. An object
met twice is written once and referred to by its number, so that what was shared is
shared again. Decoding looks a tag up in a table; an unknown tag is an error, and a
reference can only point back, so that nothing can contain itself.
"""

import base64
import dataclasses
import math
from collections import OrderedDict, defaultdict
from functools import cache

import numpy as np

from ..core.recipes import recipe_of
from . import arrays, classes, foreign
from .classes import PersistError
from .saved_state import check_saved_state

# Attributes that belong to a running fit, not to a fitted model.
TRANSIENT = {
    "_skl_callbacks",
    "_skl_callbacks_to_teardown",
    "_callback_fit_ctx",
    "_parent_callback_ctx",
    "_sklearn_version",  # the manifest holds it once
    "_paused_run",  # of an agent: its environments and replay buffer
}
PLAIN = frozenset({type(None), bool, int, float, str})  # stand for themselves
PLAIN_INT = 2**53  # above this JSON readers disagree
MAX_DEPTH = 300  # levels of nesting
MAX_RANGE = 1_000_000  # numbers in a range: it is written in a few bytes, however long
MAX_GROWTH = 10  # bytes made of one byte of the file
MIN_BUDGET = 1 << 16  # bytes that any file may ask for


def _path_key(where, key):
    return f"{where}[{key!r}]"


class Encoder:
    """Turns one value into JSON, collecting tensors on the way."""

    def __init__(self):
        self.tensors: dict[str, np.ndarray] = {}
        self._names: dict[int, str] = {}  # id of an array -> its tensor
        self._numbers: dict[int, int] = {}  # id of an object -> its number
        self._open: set[int] = set()  # what is being written right now
        self._kept: list = []  # ids stay valid while we hold the objects

    def add(self, array) -> str:
        """Store an array as a tensor and return its name."""
        name = str(len(self.tensors))
        self.tensors[name] = array
        return name

    def named(self, value, store) -> str:
        """The tensor of `value`, made by `store()` at the first meeting."""
        if id(value) not in self._names:
            self._names[id(value)] = self.add(store())
            self._kept.append(value)
        return self._names[id(value)]

    def encode(self, value, where="model"):
        kind = type(value)
        if value is None or kind in (bool, str):
            return value
        if kind is int:
            plain = -PLAIN_INT < value < PLAIN_INT
            return value if plain else {"$": "int", "v": hex(value)}
        if kind is float:
            plain = math.isfinite(value)
            return value if plain else {"$": "float", "v": repr(value)}
        if id(value) in self._open:
            raise PersistError(f"{where} contains itself and cannot be saved")
        self._open.add(id(value))
        try:
            return self._compound(value, kind, where)
        finally:
            self._open.discard(id(value))

    def _compound(self, value, kind, where):
        if kind is list:
            return self._items(value, where)
        if kind in (tuple, set, frozenset):
            items = self._items(value, where)
            if kind is not tuple:
                items.sort(key=repr)  # the same set is always written the same way
            return {"$": kind.__name__, "v": items}
        if kind is dict or kind is OrderedDict:
            return {"$": kind.__name__, "v": self._pairs(value, where)}
        if kind in (complex, range, slice):
            if kind is range and len(value) > MAX_RANGE:
                raise PersistError(f"{where} is a range of more than {MAX_RANGE:,}")
            parts = {
                complex: lambda: [value.real, value.imag],
                range: lambda: [value.start, value.stop, value.step],
                slice: lambda: [value.start, value.stop, value.step],
            }[kind]()
            return {"$": kind.__name__, "v": self._items(parts, where)}
        if kind in (bytes, bytearray):
            text = base64.b64encode(value).decode()
            return {"$": kind.__name__, "v": text}
        attempts = (
            arrays.encode_numpy,
            Encoder._other_dict,
            Encoder._made,
            Encoder._object,
            Encoder._callable,
            foreign.encode_foreign,
        )
        for attempt in attempts:
            result = attempt(self, value, where)
            if result is not None:
                return result
        raise PersistError(
            f"{where} is a {kind.__module__}.{kind.__qualname__}, which cannot be "
            "saved: its class is neither pansophy's nor an estimator of scikit-learn "
            "(see pansophy.persist.register; installing skops may help)"
        )

    def _items(self, values, where):
        return [self.encode(v, f"{where}[{i}]") for i, v in enumerate(values)]

    def _pairs(self, value, where):
        return [
            [self.encode(k, f"a key of {where}"), self.encode(v, _path_key(where, k))]
            for k, v in value.items()
        ]

    def _other_dict(self, value, where):
        if type(value) is defaultdict:
            factory = value.default_factory
            node: dict = {"$": "dict", "v": self._pairs(value, where)}
            if factory in (None, int, float, list, dict, set):
                name = factory and factory.__name__
                node.update({"$": "defaultdict", "made": name})
            return node  # with another factory only look-ups survive
        if type(value).__name__ == "Bunch" and isinstance(value, dict):
            return {"$": "Bunch", "v": self._pairs(value, where)}
        return None

    def _object(self, value, where):
        """An estimator, NamedTuple or dataclass on the list of classes."""
        cls = type(value)
        name = classes.name_of(cls)
        if name is None:
            return None
        if id(value) in self._numbers:
            return {"$": "same", "id": self._numbers[id(value)]}
        if classes.is_record(cls):
            fields = dict(zip(cls._fields, value))
            return {"$": "record", "class": name, "v": self.state(fields, where)}
        if classes.is_module(cls):
            body = foreign.module_state(self, value, where)
        else:
            body = {"$": "object", "v": self.state(_state_of(value, where), where)}
        return {**body, "class": name, "id": self._number(value)}

    def _number(self, value) -> int:
        """A new number for an object, by which later meetings refer to it."""
        number = len(self._numbers)
        self._numbers[id(value)] = number
        self._kept.append(value)
        return number

    def _made(self, value, where):
        """A value of functions, such as a loss, as the call that makes it again."""
        recipe = recipe_of(value)
        maker = recipe and classes.maker_name(recipe.make)
        if recipe is None or maker is None:
            return None
        if id(value) in self._numbers:
            return {"$": "same", "id": self._numbers[id(value)]}
        return {
            "$": "made",
            "by": maker,
            "v": self._items(recipe.arguments, where),
            "options": self.state(recipe.keywords, where),
            "id": self._number(value),
        }

    def state(self, attributes, where):
        return {k: self.encode(v, f"{where}.{k}") for k, v in attributes.items()}

    def _callable(self, value, where):
        if isinstance(value, type):
            if classes.BUILTINS.get(value.__name__) is value:
                return {"$": "type", "v": value.__name__}
            if issubclass(value, np.generic):
                return {"$": "type", "v": f"numpy.{value.__name__}"}
            name = classes.name_of(value)
            return name and {"$": "type", "v": name}
        if callable(value):
            name = classes.function_name(value)
            return name and {"$": "function", "v": name}
        return None


def _state_of(value, where) -> dict:
    """The attributes of an object that make it what it is."""
    cls = type(value)
    own_getstate = getattr(cls, "__getstate__", None)
    if dataclasses.is_dataclass(cls) and not hasattr(value, "__dict__"):
        state = {f.name: getattr(value, f.name) for f in dataclasses.fields(cls)}
    elif (
        cls.__module__.startswith("sklearn.")
        and own_getstate is not object.__getstate__
    ):
        state = value.__getstate__()  # some of them leave out what can be rebuilt
    else:
        state = vars(value)
    kept = {}
    for name, held in state.items():
        if name in TRANSIENT or classes.is_cached(cls, name):
            continue
        if not classes.may_hold(cls, name):
            raise PersistError(f"{where}.{name} hides a method and cannot be saved")
        kept[name] = held
    return kept


class Decoder:
    """Turns JSON and tensors back into the value they were made from."""

    def __init__(self, tensors, size=None):
        """`size` is that of the file in bytes; by default that of the tensors."""
        self.tensors = tensors
        self.made: dict[object, object] = {}  # numbered objects and shared arrays
        self.depth = 0
        if size is None:
            size = sum(t.nbytes for t in tensors.values())
        self.budget = MIN_BUDGET + MAX_GROWTH * size

    def tensor(self, name) -> np.ndarray:
        if not isinstance(name, str) or name not in self.tensors:
            raise PersistError(f"the file refers to a missing tensor {name!r}")
        return self.tensors[name]

    def claim(self, size) -> None:
        """Called before `size` bytes are made that the file itself does not hold."""
        self.budget -= size
        if self.budget < 0:
            raise PersistError(
                f"its values would take more than {MAX_GROWTH} times its own size"
            )

    def decode(self, node):
        if type(node) in PLAIN:
            return node
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise PersistError("it is nested too deeply")
        if isinstance(node, list):
            value = [self.decode(v) for v in node]
        else:
            tag = node.get("$")
            make = DECODERS.get(tag) if isinstance(tag, str) else None
            if make is None:
                raise PersistError(f"the file holds a value of unknown kind {tag!r}")
            value = make(self, node)
        self.depth -= 1
        return value

    def items(self, node) -> list:
        """The values listed in a node: only a list can say how many there are."""
        listed = node.get("v")
        if type(listed) is not list:
            raise PersistError(f"the {node['$']} in the file is not a list")
        return [self.decode(v) for v in listed]

    def shared(self, node, make):
        """The value numbered in `node`, made once."""
        dtype = node.get("dtype")
        key = (node["$"], node.get("t"), None if dtype is None else repr(dtype))
        result = self.made.get(key)
        if result is None:
            result = self.made[key] = make()
        return result

    def remember(self, node, value):
        number = node.get("id")
        if not isinstance(number, int) or number in self.made:
            raise PersistError(f"the file numbers an object {number!r}")
        self.made[number] = value
        return value

    def same(self, node):
        number = node.get("id")
        if not isinstance(number, int) or number not in self.made:
            raise PersistError(f"the file refers to an object {number!r} before it")
        return self.made[number]

    def pairs(self, node):
        if type(node.get("v")) is not list:
            raise PersistError(f"the {node['$']} in the file is not a list of pairs")
        return {self.decode(k): self.decode(v) for k, v in node["v"]}

    def state(self, cls, node) -> dict:
        if not isinstance(node, dict):
            raise PersistError(f"the state of {cls.__name__} is not a table")
        if not classes.is_record(cls):
            for name in node:
                if not classes.may_hold(cls, name):
                    raise PersistError(f"the file sets {name!r} of {cls.__name__}")
        return {name: self.decode(v) for name, v in node.items()}


def _make_object(decoder, node):
    cls = classes.class_of(node.get("class"))
    if classes.is_record(cls) or classes.is_module(cls):
        raise PersistError(f"the file misuses {cls.__name__}")
    state = decoder.state(cls, node.get("v"))
    if state.get("input", "content") != "content" and _reads_files(cls):
        raise PersistError(
            f"the file holds a {cls.__name__} that takes texts for names of files to "
            "read; save it with input='content'"
        )
    value = object.__new__(cls)
    if cls.__module__ == "sklearn.isotonic":  # rebuilds its interpolation
        value.__setstate__({**state, "_sklearn_version": sklearn_version()})
    else:
        for name, held in state.items():
            object.__setattr__(value, name, held)
    if cls.__module__.startswith("sklearn."):
        foreign.check_sklearn_sizes(value)
    if is_checked_by_constructor(cls):
        value.__post_init__()
    check_saved_state(value, state)
    if cls.__module__.startswith("pansophy.") and hasattr(cls, "_loaded"):
        value._loaded()  # a class of ours may check or rebuild what it holds
    if cls.__name__ in (
        "HistGradientBoostingClassifier",
        "HistGradientBoostingRegressor",
    ):
        foreign.check_predictors(value)
    return decoder.remember(node, value)


def _reads_files(cls) -> bool:
    """Whether texts may be names of files to a class: a vectoriser of documents."""
    return cls.__name__.endswith("Vectorizer")


@cache
def is_checked_by_constructor(cls) -> bool:
    """Whether a class of ours is plain data that its constructor checks.

    A frozen dataclass (a distribution, a kernel) is checked as when it was made.
    """
    is_own_dataclass = cls.__module__.startswith(
        "pansophy."
    ) and dataclasses.is_dataclass(cls)
    return (
        is_own_dataclass
        and cls.__dataclass_params__.frozen
        and hasattr(cls, "__post_init__")
    )


def sklearn_version():
    import sklearn

    return sklearn.__version__


def _make_again(decoder, node):
    """A value of functions, such as a loss, by the call that its recipe names."""
    make = classes.maker_of(node.get("by"))
    options = node.get("options")
    if not isinstance(options, dict):
        raise PersistError("the options of a recipe are not a table")
    keywords = {name: decoder.decode(v) for name, v in options.items()}
    return decoder.remember(node, make(*decoder.items(node), **keywords))


def _make_record(decoder, node):
    cls = classes.class_of(node.get("class"))
    if not classes.is_record(cls):
        raise PersistError(f"the file misuses {cls.__name__}")
    # fields that a class got since the file was written have their defaults
    fields = {**cls._field_defaults, **decoder.state(cls, node.get("v"))}
    if set(fields) != set(cls._fields):
        raise PersistError(
            f"{cls.__name__} has fields {', '.join(cls._fields)}; the file has "
            f"{', '.join(fields)}"
        )
    value = tuple.__new__(cls, [fields[name] for name in cls._fields])
    check_saved_state(value, fields)
    return value


def _make_range(decoder, node):
    numbers = range(*decoder.items(node))
    if numbers[MAX_RANGE:]:
        raise PersistError(f"the file holds a range of more than {MAX_RANGE:,}")
    return numbers


def _make_type(decoder, node):
    name = node.get("v")
    if name in classes.BUILTINS:
        return classes.BUILTINS[name]
    if isinstance(name, str) and name.startswith("numpy."):
        result = vars(np).get(name.removeprefix("numpy."))
        if isinstance(result, type) and issubclass(result, np.generic):
            return result
    return classes.class_of(name)


def _make_defaultdict(decoder, node):
    factories = {f.__name__: f for f in (int, float, list, dict, set)}
    factory = node.get("made")
    return defaultdict(factory and factories[factory], decoder.pairs(node))


def _make_bunch(decoder, node):
    from sklearn.utils import Bunch

    return Bunch(**decoder.pairs(node))


DECODERS = {
    "int": lambda d, n: int(n["v"], 16),
    "float": lambda d, n: {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[n["v"]],
    "complex": lambda d, n: complex(*d.items(n)),
    "range": _make_range,
    "slice": lambda d, n: slice(*d.items(n)),
    "bytes": lambda d, n: base64.b64decode(n["v"], validate=True),
    "bytearray": lambda d, n: bytearray(base64.b64decode(n["v"], validate=True)),
    "tuple": lambda d, n: tuple(d.items(n)),
    "set": lambda d, n: set(d.items(n)),
    "frozenset": lambda d, n: frozenset(d.items(n)),
    "dict": Decoder.pairs,
    "OrderedDict": lambda d, n: OrderedDict(d.pairs(n)),
    "defaultdict": _make_defaultdict,
    "Bunch": _make_bunch,
    "same": Decoder.same,
    "object": _make_object,
    "record": _make_record,
    "made": _make_again,
    "type": _make_type,
    "function": lambda d, n: classes.function_of(n["v"]),
    **arrays.DECODERS,
    **foreign.DECODERS,
}
