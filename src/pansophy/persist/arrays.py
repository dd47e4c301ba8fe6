"""Encoding of NumPy and SciPy values: arrays, scalars, random states, sparse."""

import numpy as np

from .classes import PersistError

NATIVE = {np.dtype(c).name for c in "?bhilqBHILQefd"}
INLINE = 1000  # longer lists of strings are tensors
MAX_EMPTY = 1_000_000  # longest side of an array without elements
MAX_ITEM = 1 << 16  # bytes of one element of a dtype
STREAMS = frozenset({"MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"})
SPARSE = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "bsr": ("data", "indices", "indptr"),
    "coo": ("data", "coords"),
    "dia": ("data", "offsets"),
}


def encode_numpy(encoder, value, where):
    """The node of a NumPy or SciPy value, or None if it is neither."""
    if isinstance(value, np.ma.MaskedArray):
        parts = [value.data, np.ma.getmaskarray(value), value.fill_value]
        return {"$": "masked", "v": [encoder.encode(p, where) for p in parts]}
    if type(value) in (np.ndarray, np.memmap):
        return _encode_array(encoder, np.asarray(value), where)
    if isinstance(value, np.str_):
        return {"$": "npstr", "v": str(value)}
    if isinstance(value, np.generic):
        return {**_encode_array(encoder, np.asarray(value), where), "scalar": True}
    if isinstance(value, np.dtype):
        return {"$": "dtype", "v": _dtype_to_json(value)}
    if isinstance(value, np.random.RandomState):
        state = value.get_state(legacy=False)
        return {"$": "RandomState", "v": encoder.encode(state, where)}
    if isinstance(value, np.random.Generator):
        state = value.bit_generator.state
        return {"$": "Generator", "v": encoder.encode(state, where)}
    if type(value).__module__.startswith("scipy.sparse"):
        return _encode_sparse(encoder, value, where)
    if type(value).__module__.startswith("scipy.interpolate"):
        if type(value).__name__ != "BSpline":
            return None
        parts = [value.t, value.c, value.k, value.extrapolate, value.axis]
        return {"$": "BSpline", "v": [encoder.encode(p, where) for p in parts]}
    return None


def _encode_array(encoder, value, where):
    kind = value.dtype.kind
    if kind in "UT":
        return _encode_strings(encoder, value)
    if value.dtype.hasobject:
        if kind != "O":
            raise PersistError(f"{where} holds objects inside a structured array")
        values = [encoder.encode(v, where) for v in value.ravel()]
        return {"$": "objects", "shape": list(value.shape), "v": values}
    turned = (
        value.ndim > 1 and value.flags.f_contiguous and not value.flags.c_contiguous
    )
    plain = value.T if turned else value
    if value.dtype.name not in NATIVE or not value.dtype.isnative:
        return encode_bytes(encoder, value, turned)
    node: dict = {"$": "array"}
    node["t"] = encoder.named(value, lambda: np.ascontiguousarray(plain))
    if value.ndim == 0 and "shape" not in node:
        node["shape"] = []  # contiguous copies have at least one dimension
    if turned:
        node["turned"] = True
    return node


def encode_bytes(encoder, value, turned):
    """An array stored as bytes, with the dtype told apart."""
    plain = value.T if turned else value
    raw = lambda: np.frombuffer(plain.tobytes(), np.uint8)
    node: dict = {"$": "array", "t": encoder.named(value, raw)}
    node["dtype"] = _dtype_to_json(value.dtype)
    node["shape"] = list(plain.shape)
    if turned:
        node["turned"] = True
    return node


def _encode_strings(encoder, value):
    node: dict = {"$": "strings", "shape": list(value.shape)}
    if value.dtype.kind == "T":
        node["variable"] = True
    texts = [str(s) for s in value.ravel()]
    codes = [t.encode("utf-8", "surrogatepass") for t in texts]
    widest = max(map(len, texts), default=0)
    if value.dtype.kind == "U" and len(texts) * widest > 1000 + sum(map(len, codes)):
        # few long strings among short ones: as wide in the file as in memory, so that
        # no file can ask for more than it holds
        return encode_bytes(encoder, value.astype(f"<U{widest}"), False)
    if len(texts) <= INLINE:
        return {**node, "v": texts}
    lengths = np.array([len(c) for c in codes], np.int64)
    node["t"] = encoder.add(np.frombuffer(b"".join(codes), np.uint8))
    node["lengths"] = encoder.add(lengths)
    return node


def _encode_sparse(encoder, value, where):
    kept = value if value.format in SPARSE else value.tocoo()
    parts = [getattr(kept, name) for name in SPARSE[kept.format]]
    return {
        "$": "sparse",
        "format": kept.format,
        "becomes": value.format,
        "matrix": type(value).__name__.endswith("_matrix"),
        "shape": [int(s) for s in value.shape],
        "v": [encoder.encode(p, where) for p in parts],
    }


def _dtype_to_json(dtype):
    """A dtype as JSON."""
    if dtype.kind == "T":
        return "T"
    return np.lib.format.dtype_to_descr(dtype)


def _make_dtype(descr) -> np.dtype:
    def tupled(d):
        if isinstance(d, str):
            return d
        fields = [(tuple(n) if isinstance(n, list) else n, *rest) for n, *rest in d]
        return [(n, tupled(t), *map(tuple, shape)) for n, t, *shape in fields]

    if descr == "T":
        return np.dtypes.StringDType()
    return np.lib.format.descr_to_dtype(tupled(descr))


def _make_array(decoder, node):
    def make():
        data = decoder.tensor(node["t"])
        if "dtype" in node:
            dtype = _make_dtype(node["dtype"])
            if dtype.hasobject:
                raise PersistError("the file asks for objects made of raw bytes")
            decoder.claim(2 * data.nbytes)
            data = np.frombuffer(data.tobytes(), dtype).copy()
        data = data.reshape(_array_shape(node)) if "shape" in node else data
        return data.T if node.get("turned") else data

    value = decoder.shared(node, make)
    if value.size == 0 and max(value.shape, default=0) > MAX_EMPTY:
        raise PersistError("the file holds an empty array of an impossible shape")
    return value[()] if node.get("scalar") else value


def _array_shape(node) -> list[int]:
    """The shape in a node: whole numbers from 0 on."""
    shape = node["shape"]
    if type(shape) is not list or not all(type(s) is int and s >= 0 for s in shape):
        raise PersistError("the file holds an array of an impossible shape")
    return shape


def _array_of_shape(values, node):
    """A list of values as an array of the shape in the node."""
    return np.asarray(values).reshape(_array_shape(node))


def _make_strings(decoder, node):
    if "t" in node:
        data, lengths = decoder.tensor(node["t"]), decoder.tensor(node["lengths"])
        ends = np.cumsum(lengths).tolist()
        if ends[-1:] != [data.nbytes] or lengths.min() < 0:
            raise PersistError("the file holds strings of impossible lengths")
        decoder.claim(data.nbytes + lengths.nbytes)
        raw = data.tobytes()
        pieces = [raw[a:b] for a, b in zip([0, *ends], ends)]
        texts = [p.decode("utf-8", "surrogatepass") for p in pieces]
    else:
        texts = node["v"]
        if type(texts) is not list or not all(isinstance(t, str) for t in texts):
            raise PersistError("the file holds strings that are not text")
    if node.get("variable"):
        return _array_of_shape(np.array(texts, dtype=np.dtypes.StringDType()), node)
    # the width is that of the longest string, never one that the file asks for
    decoder.claim(4 * len(texts) * max(map(len, texts), default=0))
    return _array_of_shape(np.array(texts, dtype=np.str_), node)


def _make_objects(decoder, node):
    values = decoder.items(node)
    out = np.empty(len(values), dtype=object)
    for i, v in enumerate(values):
        out[i] = v
    return _array_of_shape(out, node)


def _make_masked(decoder, node):
    data, mask, fill = decoder.items(node)
    if np.shape(mask) not in ((), np.shape(data)):
        raise PersistError("the file holds a mask of another shape than its array")
    return np.ma.MaskedArray(data, mask=mask, fill_value=fill)


def _make_stream(decoder, node):
    state = decoder.decode(node["v"])
    if state.get("bit_generator") not in STREAMS:
        raise PersistError("the file names an unknown random stream")
    check_stream(state)
    if node["$"] == "RandomState":
        random_state = np.random.RandomState(
            getattr(np.random, state["bit_generator"])(0)
        )
        random_state.set_state(state)
        return random_state
    stream = getattr(np.random, state["bit_generator"])(0)
    stream.state = state
    return np.random.Generator(stream)


def check_stream(state):
    """Positions inside the numbers that a stream holds; NumPy does not look."""
    held = state["state"]
    name = state["bit_generator"]
    if name == "MT19937":
        sound = np.shape(held["key"]) == (624,) and _is_place(held["pos"], 624)
    elif name == "Philox":
        sound = np.shape(state["buffer"]) == (4,) and _is_place(state["buffer_pos"], 4)
        sound &= np.shape(held["counter"]) == (4,) and np.shape(held["key"]) == (2,)
    else:
        sound = name != "SFC64" or np.shape(held["state"]) == (4,)
    if not sound:
        raise PersistError("the file holds a random stream that points outside itself")


def _is_place(value, last) -> bool:
    return isinstance(value, (int, np.integer)) and 0 <= value <= last


def _make_sparse(decoder, node):
    from scipy import sparse

    kind = node["format"]
    if kind not in SPARSE or node["becomes"] not in (*SPARSE, "lil", "dok"):
        raise PersistError(f"the file holds an unknown sparse format {kind!r}")
    suffix = "matrix" if node["matrix"] else "array"
    make = getattr(sparse, f"{kind}_{suffix}")
    shape = tuple(_array_shape(node))
    if kind in ("coo", "dia"):  # no array of the file is as long as the shape
        decoder.claim(8 * (shape[0] if node["becomes"] == "lil" else min(shape)))
    matrix = make(tuple(decoder.items(node)), shape=shape)
    if kind in ("csr", "csc", "bsr"):
        matrix.check_format(full_check=True)  # no index may point outside
    return matrix if node["becomes"] == kind else matrix.asformat(node["becomes"])


def _make_spline(decoder, node):
    from scipy.interpolate import BSpline

    return BSpline(*decoder.items(node))


def _make_stored_dtype(decoder, node):
    dtype = _make_dtype(node["v"])
    if dtype.itemsize > MAX_ITEM:
        raise PersistError("the file holds a dtype of an impossible size")
    return dtype


DECODERS = {
    "array": _make_array,
    "strings": _make_strings,
    "objects": _make_objects,
    "npstr": lambda d, n: np.str_(n["v"]),
    "masked": _make_masked,
    "dtype": _make_stored_dtype,
    "RandomState": _make_stream,
    "Generator": _make_stream,
    "sparse": _make_sparse,
    "BSpline": _make_spline,
}
