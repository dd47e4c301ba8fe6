"""Trips of values through a model file, and files that are forged."""

import json
import math
import os

import numpy as np
import pytest
from safetensors.numpy import save_file

from pansophy import persist
from pansophy.persist import PersistError, codec, file, foreign


def turned(value, folder):
    """The value after a trip through a file."""
    path = os.path.join(folder, "trip.pansophy")
    persist.save(value, path)
    return persist.load(path)


def decoded(value):
    """The value after a trip through the codec alone."""
    encoder = codec.Encoder()
    node = json.loads(json.dumps(encoder.encode(value), allow_nan=False))
    return codec.Decoder(encoder.tensors).decode(node)


def refuse(manifest_model, tmp_path, tensors=None, match=None, **changes):
    """A file with this manifest and a right checksum must raise PersistError."""
    path = tmp_path / "bad.pansophy"
    forge(path, manifest_model, tensors or {}, **changes)
    with pytest.raises(PersistError, match=match):
        persist.load(path)


def forge(path, model, tensors, **changes):
    manifest = {
        "format": "pansophy model",
        "schema": file.SCHEMA,
        "versions": {"pansophy": "0.1.0", **file.library_versions()},
        "model": model,
        **changes,
    }
    text = json.dumps(manifest)
    note = {"manifest": text, "sha256": file.checksum(text, tensors)}
    save_file(tensors, path, metadata=note)


def attack(name, kind="object", **more):
    parts = {p: {} for p in foreign.MODULE_PARTS} if kind == "module" else {}
    return {"$": kind, "class": name, "id": 0, "v": {}, **parts, **more}


def same(a, b):
    """Equal in type and value, NaN equal to NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        alike = a.dtype.kind == b.dtype.kind and a.shape == b.shape
        if a.dtype.kind == "O":
            return alike and all(map(same, a.ravel(), b.ravel()))
        nan = a.dtype.kind in "fcmM"
        return alike and np.array_equal(a, b, equal_nan=nan)
    if isinstance(a, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, dict):
        pairs = zip(a.items(), b.items())
        return len(a) == len(b) and all(
            same(k, m) and same(v, w) for (k, v), (m, w) in pairs
        )
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b
