"""Encoding of torch tensors and modules, and of compiled parts by skops.

torch is looked at only when it has been imported by whoever made the model, and
imported at loading only when the file holds tensors. Compiled leaves of scikit-learn
(its trees, for instance) are handed to skops with a fixed list of types to trust,
never one that a file asks for, and are checked so that no index in them leads outside.
"""

import importlib
import io
import math
import sys
import zipfile
from typing import Any

import numpy as np

from . import classes
from .classes import PersistError

# Types that skops may build besides those it trusts by itself.
TRUSTED = [
    "sklearn._loss.loss.HalfTweedieLoss",
    "sklearn._loss.loss.HalfTweedieLossIdentity",
    "sklearn.metrics._dist_metrics.ChebyshevDistance64",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.metrics._dist_metrics.ManhattanDistance64",
    "sklearn.metrics._dist_metrics.MinkowskiDistance64",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.tree._tree.Tree",
]
MODULE_PARTS = ("_parameters", "_buffers", "_modules")


def encode_foreign(encoder, value, where):
    torch = sys.modules.get("torch")
    if torch is not None:
        if isinstance(value, torch.Tensor):
            return _encode_tensor(encoder, value, torch)
        if isinstance(value, (torch.dtype, torch.device)):
            return {"$": f"torch.{type(value).__name__}", "v": str(value)}
        if isinstance(value, torch.Generator):
            state = encoder.encode(value.get_state(), where)
            return {"$": "torch.Generator", "v": state}
    if type(value).__module__.startswith("sklearn."):
        return _encode_skops(encoder, value, where)
    if type(value).__name__ == "StringArray" and "pyarrow" in sys.modules:
        return {"$": "texts", "v": value.to_pylist()}
    return None


def _encode_tensor(encoder, value, torch):
    plain = value.detach().cpu().contiguous()
    node: dict = {"$": "tensor", "dtype": str(plain.dtype)}
    node["device"] = str(value.device)
    if plain.dtype == torch.bfloat16:
        plain = plain.view(torch.int16)
    elif plain.is_complex():
        plain = torch.view_as_real(plain)
    node["t"] = encoder.named(value, lambda: np.array(plain.numpy(), order="C"))
    node["shape"] = list(value.shape)
    if isinstance(value, torch.nn.Parameter):
        node["parameter"] = True
    if value.requires_grad:
        node["grad"] = True
    return node


def module_state(encoder, module, where):
    """A torch module: its plain attributes, parameters, buffers and children."""
    fresh = vars(sys.modules["torch"].nn.Module())
    kept = {k: v for k, v in vars(module).items() if k not in fresh}
    bad = next((k for k in kept if not classes.may_hold(type(module), k)), None)
    if bad is not None:
        raise PersistError(f"{where}.{bad} hides a method and cannot be saved")
    return {
        "$": "module",
        "v": encoder.state(kept, where),
        "training": module.training,
        "unsaved": sorted(module._non_persistent_buffers_set),
        **{p: encoder.state(getattr(module, p), where) for p in MODULE_PARTS},
    }


def _encode_skops(encoder, value, where):
    """A compiled leaf of scikit-learn as skops bytes, if skops trusts it."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    try:
        import skops.io
    except ImportError as error:
        raise PersistError(
            f"{where} is a {kind}, which only skops can write; install skops"
        ) from error
    try:
        data = skops.io.dumps(value)
        unknown = sorted({*skops.io.get_untrusted_types(data=data)} - {*TRUSTED})
    except Exception as error:  # skops raises many kinds for what it cannot write
        raise PersistError(f"{where} is a {kind}, which skops cannot write") from error
    if unknown:
        raise PersistError(
            f"{where} is a {kind}, which skops does not trust ({', '.join(unknown)})"
        )
    name = encoder.named(value, lambda: np.frombuffer(data, np.uint8))
    return {"$": "skops", "t": name}


def _make_skops(decoder, node):
    try:
        import skops.io
    except ImportError as error:
        raise PersistError("the file needs skops to be read; install skops") from error
    data = decoder.tensor(node["t"]).tobytes()
    return decoder.shared(
        node,
        lambda: checked_leaf(skops.io.loads(_unpacked(decoder, data), trusted=TRUSTED)),
    )


def _unpacked(decoder, data) -> bytes:
    """A zip of skops, if what its parts unpack to is within the budget of the file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for part in archive.infolist():
            decoder.claim(part.file_size)
            with archive.open(part) as file:  # reads no more than it declares
                head = file.read(4096)
            if head.startswith(b"\x93NUMPY"):
                decoder.claim(_npy_bytes(head))
    return data


def _npy_bytes(head) -> int:
    """Bytes of the array that the head of an .npy file announces."""
    file = io.BytesIO(head)
    version = np.lib.format.read_magic(file)
    read = {(1, 0): np.lib.format.read_array_header_1_0}.get(
        version, np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = read(file)
    return math.prod(shape) * dtype.itemsize


def checked_leaf(leaf):
    """A compiled leaf whose indices all stay inside it; compiled code does not look."""
    kind = type(leaf).__name__
    sound = True
    if kind == "Tree":
        n = leaf.node_count
        node_numbers = np.arange(n)
        splits = leaf.children_left != -1
        for child in (leaf.children_left[splits], leaf.children_right[splits]):
            sound &= bool(np.all((child > node_numbers[splits]) & (child < n)))
        feature = leaf.feature[splits]
        sound &= bool(np.all((feature >= 0) & (feature < leaf.n_features)))
    elif kind in ("KDTree", "BallTree"):
        data, index, nodes, bounds = map(np.asarray, leaf.get_arrays())
        n, d = data.shape
        sound &= np.array_equal(np.sort(index), np.arange(n))
        for name in ("idx_start", "idx_end"):
            sound &= bool(np.all((nodes[name] >= 0) & (nodes[name] <= n)))
        sound &= bool(np.all(nodes["idx_start"] <= nodes["idx_end"]))
        # node i has the children 2i + 1 and 2i + 2, which must be there
        inner = np.flatnonzero(nodes["is_leaf"] == 0)
        sound &= bool(np.all(2 * inner + 2 < len(nodes)))
        sound &= bounds.shape[1:] == (len(nodes), d) and np.isfinite(data).all()
    if not sound:
        raise PersistError(f"the file holds a {kind} that points outside itself")
    return leaf


def check_sklearn_sizes(model):
    """Sizes of a scikit-learn estimator that its compiled code takes for granted."""
    d = getattr(model, "n_features_in_", None)
    fits = lambda a, *shape: np.shape(a) == shape
    sound = True
    trees = [model, *np.ravel(np.asarray(getattr(model, "estimators_", []), object))]
    if not hasattr(model, "estimators_features_"):
        widths = [getattr(m, "tree_", None) for m in trees]
        sound &= all(getattr(t, "n_features", d) == d for t in widths)
    centers = getattr(model, "cluster_centers_", None)
    if isinstance(centers, np.ndarray) and d is not None:
        sound &= fits(centers, len(centers), d)
    vectors = getattr(model, "support_vectors_", None)
    if vectors is not None:
        n = len(model.support_)
        dual = model._dual_coef_
        sound &= dual.shape[1] == n and fits(model._intercept_, len(model._intercept_))
        sound &= model.kernel == "precomputed" or vectors.shape == (n, d)
        counts = model._n_support
        if len(counts) > 1 and hasattr(model, "classes_"):
            K = len(model.classes_)
            sound &= len(counts) == K == len(dual) + 1 and counts.sum() == n
            sound &= len(model._intercept_) == K * (K - 1) // 2
            pairs = K * (K - 1) // 2
            sound &= len(model._probA) == len(model._probB)
            sound &= len(model._probA) in (0, pairs)
        sound &= bool(np.all(counts >= 0))
    rows = getattr(model, "_fit_X", None)
    if isinstance(rows, np.ndarray) and hasattr(model, "n_samples_fit_"):
        sound &= fits(rows, model.n_samples_fit_, d)
        tree = getattr(model, "_tree", None)
        sound &= tree is None or np.asarray(tree.data).shape == rows.shape
    if not sound:
        raise PersistError(f"the file holds a {type(model).__name__} of other sizes")


def check_predictors(model):
    """Check the trees of scikit-learn's histogram boosting."""
    for tree in [t for trees in vars(model).get("_predictors", ()) for t in trees]:
        n = len(tree.nodes)
        nodes = tree.nodes
        splits = nodes["is_leaf"] == 0
        split_numbers = np.flatnonzero(splits)
        left, right = nodes["left"][splits], nodes["right"][splits]
        sound = np.all(
            (left > split_numbers) & (left < n) & (right > split_numbers) & (right < n)
        )
        feature = nodes["feature_idx"][splits]
        sound &= np.all((feature >= 0) & (feature < model._n_features))
        named = nodes["bitset_idx"][splits & (nodes["is_categorical"] == 1)]
        sound &= np.all(named < len(tree.raw_left_cat_bitsets))
        if not sound:
            raise PersistError("the file holds a tree that points outside itself")


def import_torch():
    try:
        return importlib.import_module("torch")
    except ImportError:
        return None


def _make_tensor(decoder, node):
    """A torch tensor on its old device where there is one, else on the CPU.

    Without torch it becomes a NumPy array, so that the numbers can still be read.
    """

    def make():
        data = decoder.tensor(node["t"])
        name = str(node["dtype"]).removeprefix("torch.")
        torch = import_torch()
        if torch is None:
            if name == "bfloat16":
                raise PersistError("the file holds bfloat16 tensors; install torch")
            data = data.view(name) if name.startswith("complex") else data
            return data.reshape(node["shape"])
        dtype = _torch_dtype(torch, name)
        tensor = torch.from_numpy(data)
        if name == "bfloat16":
            tensor = tensor.view(dtype)
        elif name.startswith("complex"):
            tensor = torch.view_as_complex(tensor)
        tensor = tensor.reshape(node["shape"]).to(_find_device(torch, node["device"]))
        if node.get("parameter"):
            return torch.nn.Parameter(tensor, requires_grad=bool(node.get("grad")))
        return tensor.requires_grad_(bool(node.get("grad")))

    return decoder.shared(node, make)


def _torch_dtype(torch, name):
    result = vars(torch).get(name)
    if not isinstance(result, torch.dtype):
        raise PersistError(f"the file names an unknown torch type {name!r}")
    return result


def _find_device(torch, name):
    wanted = torch.device(name)
    if wanted.type == "cuda" and torch.cuda.is_available():
        return wanted if (wanted.index or 0) < torch.cuda.device_count() else "cuda"
    return torch.device("cpu")


def _make_texts(decoder, node):
    """An Arrow array of texts, as frames hold them."""
    import pyarrow as pa

    return pa.array(node["v"], pa.string())


def _needed_torch():
    torch = import_torch()
    if torch is None:
        raise PersistError("the file needs torch to be read; install torch")
    return torch


def _make_torch_dtype(decoder, node):
    return _torch_dtype(_needed_torch(), str(node["v"]).removeprefix("torch."))


def _make_torch_device(decoder, node):
    return _needed_torch().device(node["v"])


def _make_torch_generator(decoder, node):
    generator = _needed_torch().Generator()
    generator.set_state(decoder.decode(node["v"]))
    return generator


def _make_module(decoder, node):
    torch = _needed_torch()
    cls = classes.class_of(node.get("class"))
    if not classes.is_module(cls):
        raise PersistError(f"the file misuses {cls.__name__}")
    state = decoder.state(cls, node.get("v"))
    parts = {
        p: {k: decoder.decode(v) for k, v in node[p].items()} for p in MODULE_PARTS
    }
    module: Any = object.__new__(cls)
    torch.nn.Module.__init__(module)
    for name, held in state.items():
        object.__setattr__(module, name, held)
    for name, held in parts["_parameters"].items():
        module.register_parameter(name, held)
    for name, held in parts["_buffers"].items():
        module.register_buffer(name, held, persistent=name not in node["unsaved"])
    for name, held in parts["_modules"].items():
        module._modules[name] = held
        if held is not None and not isinstance(held, torch.nn.Module):
            raise PersistError(f"the file puts {name!r} where a torch module belongs")
    module.training = bool(node["training"])
    return decoder.remember(node, module)


DECODERS = {
    "texts": _make_texts,
    "skops": _make_skops,
    "tensor": _make_tensor,
    "torch.dtype": _make_torch_dtype,
    "torch.device": _make_torch_device,
    "torch.Generator": _make_torch_generator,
    "module": _make_module,
}
