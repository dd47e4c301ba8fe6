"""Model files: a safetensors container with a manifest, a checksum and a schema number.

Metadata holds two texts: `manifest` (JSON: schema, versions, the model) and `sha256`,
taken over the manifest and every tensor. The checksum finds damage, not malice; what
keeps a hostile file harmless is that decoding builds listed classes only.

A new schema adds its number here and, where old files can still be read, one function
to `MIGRATIONS` that converts the manifest of the schema before it; old files pass
through all of them. A schema without such a function is refused in one sentence.
"""

import contextlib
import hashlib
import json
import os
import warnings
from functools import cache
from importlib import metadata

import numpy as np

from .. import __version__
from ..core.files.atomic_files import replacing_file
from .classes import PersistError
from .codec import Decoder, Encoder
from .migrations import MIGRATIONS

SCHEMA = 5  # classes and fields have had other names before
LIBRARIES = ("numpy", "scipy", "scikit-learn")


def save(model, path) -> int:
    """Write a model to `path`, whole or not at all.

    Parameters
    ----------
    model : estimator, or any value made of estimators, arrays and plain data
        An estimator of pansophy or scikit-learn, or a pipeline of both. Parts whose
        class is on neither list raise `PersistError`; see `register`.
    path : str or path
        The file to write. An existing file is replaced in one step, so that a crash
        leaves either the old or the new one.

    Returns
    -------
    int
        The size of the file in bytes.

    Examples
    --------
    >>> import os, tempfile
    >>> import pansophy
    >>> from sklearn.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "line.pansophy")
    ...     size = pansophy.save(model, path)
    ...     size == os.path.getsize(path)
    ...     float(pansophy.load(path).predict([[2.0]])[0].round(6))
    True
    5.0
    """
    encoder = Encoder()
    try:
        body = encoder.encode(model)
        manifest = {
            "format": "pansophy model",
            "schema": SCHEMA,
            "versions": {"pansophy": __version__, **library_versions()},
            "model": body,
        }
        text = json.dumps(manifest, ensure_ascii=True, allow_nan=False)
    except PersistError as error:
        raise PersistError(f"Cannot save: {error}.") from error
    except RecursionError as error:
        raise PersistError("Cannot save: the model is nested too deeply.") from error
    note = {"manifest": text, "sha256": checksum(text, encoder.tensors)}
    return write_model_file(path, encoder.tensors, note)


def load(path):
    """The model in a file written by `save`.

    A file that is damaged, foreign, from a newer pansophy or that asks for anything
    but listed classes raises `PersistError`; nothing in it is ever run.
    """
    with _one_sentence("load", path):
        manifest, tensors = read_manifest(path)
        _warn_of_other_release(manifest)
        decoder = Decoder(tensors, os.path.getsize(path))
        return decoder.decode(manifest["model"])


@contextlib.contextmanager
def _one_sentence(verb, path):
    """Turns whatever a malformed file leads to into a PersistError of one sentence."""
    failed = f"Cannot {verb} {os.fspath(path)!r}"
    try:
        yield
    except PersistError as error:
        raise PersistError(f"{failed}: {error}.") from error
    except OSError:
        raise
    except MemoryError as error:
        raise PersistError(f"{failed}: it needs more memory than is free.") from error
    except RecursionError as error:
        raise PersistError(f"{failed}: it is nested too deeply.") from error
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise PersistError(f"{failed}: its content makes no sense ({text}).") from error


def inspect(path) -> dict:
    """Summary of a file, without building anything.

    Returns the schema, the versions it was written with, the classes it asks for, the
    number of bytes in its tensors and the size of the whole file.
    """
    with _one_sentence("read", path):
        manifest, tensors = read_manifest(path)
    result: set = set()

    stack = [manifest["model"]]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if isinstance(node.get("class"), str):
                result.add(node["class"])
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
    return {
        "schema": manifest["schema"],
        "versions": manifest["versions"],
        "classes": sorted(result),
        "bytes": sum(t.nbytes for t in tensors.values()),
        "file_bytes": os.path.getsize(path),
    }


def library_versions() -> dict[str, str]:
    return {name: _installed_version(name) for name in LIBRARIES}


@cache
def _installed_version(name) -> str:
    return metadata.version(name)


@cache
def _dtype_name(dtype) -> str:
    return dtype.name


def checksum(text, tensors) -> str:
    """sha256 over the manifest and every tensor: name, type, shape and bytes."""
    total = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        head = f"\0{name}\0{_dtype_name(tensor.dtype)}\0{tensor.shape}\0"
        total.update(head.encode())
        total.update(np.ascontiguousarray(tensor))
    return total.hexdigest()


def write_model_file(path, tensors, note) -> int:
    """Write tensors and metadata to a file in one step; returns the bytes written."""
    from safetensors.numpy import save_file

    with replacing_file(path) as draft:
        save_file(tensors, draft, metadata=note)
        _sort_metadata(draft)
        return draft.stat().st_size


def _sort_metadata(path) -> None:
    """Sort the metadata of a new file, whose order safetensors leaves to chance.

    So the same model gives the same file, byte for byte. The header keeps its length,
    which the first eight bytes hold, and the tensors after it stay where they are.
    """
    with open(path, "r+b") as file:
        size = int.from_bytes(file.read(8), "little")
        head = json.loads(file.read(size))
        head["__metadata__"] = dict(sorted(head["__metadata__"].items()))
        text = json.dumps(head, ensure_ascii=False, separators=(",", ":"))
        body = text.encode().ljust(size)
        if len(body) == size:  # it was written as JSON in another way otherwise
            file.seek(8)
            file.write(body)


def read_manifest(path) -> tuple[dict, dict]:
    """The manifest, migrated to the current schema, and the tensors of a file."""
    from safetensors import SafetensorError, safe_open

    _refuse_other_files(path)
    try:
        with safe_open(path, framework="numpy") as file:
            note = file.metadata() or {}
            if set(note) != {"manifest", "sha256"}:
                raise PersistError("it is not a pansophy model")
            text = note["manifest"]
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        _refuse_pickle(path)
        raise PersistError(
            f"it is not a whole pansophy model, or it was cut short ({error})"
        ) from error
    try:
        manifest = json.loads(text)
        schema, _ = manifest["schema"], manifest["model"]
        if manifest["format"] != "pansophy model" or type(schema) is not int:
            raise KeyError("format")
        if not isinstance(manifest["versions"], dict):
            raise TypeError("versions")
    except (ValueError, KeyError, TypeError) as error:
        raise PersistError("its manifest is malformed") from error
    if schema > SCHEMA:
        written = manifest.get("versions", {}).get("pansophy", "?")
        raise PersistError(
            f"it was written by a newer pansophy ({written}, schema {schema}; this one "
            f"reads up to {SCHEMA}); upgrade pansophy"
        )
    if checksum(text, tensors) != note["sha256"]:
        raise PersistError("its checksum does not match: it was damaged or changed")
    return _migrate_manifest(manifest), tensors


PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")


def _refuse_other_files(path) -> None:
    """One sentence for what is not there, a folder, and a device."""
    if os.path.isdir(path):
        inside = os.path.join(path, "model.pansophy")
        hint = f"; its model is {inside}" if os.path.isfile(inside) else ""
        raise IsADirectoryError(f"{os.fspath(path)} is a folder, not a model{hint}.")
    if not os.path.exists(path):
        raise FileNotFoundError(f"There is no file {os.fspath(path)}.")
    if not os.path.isfile(path):
        raise PersistError("it is a device or a pipe, not a file")


def _refuse_pickle(path) -> None:
    with open(path, "rb") as file:
        if file.read(2) in PICKLES:
            raise PersistError(
                "it is a pickle, which is never loaded, since that runs what is in it; "
                "save the model with pansophy.save"
            )


def _migrate_manifest(manifest) -> dict:
    """Bring the manifest of an older schema up to date, one schema at a time."""
    while manifest["schema"] < SCHEMA:
        step = MIGRATIONS.get(manifest["schema"])
        if step is None:
            written = manifest.get("versions", {}).get("pansophy", "?")
            raise PersistError(
                f"it was written by an older pansophy ({written}, schema "
                f"{manifest['schema']}; this one reads schema {SCHEMA}), whose classes "
                "had other names; fit the model again and save it"
            )
        manifest = {**step(manifest), "schema": manifest["schema"] + 1}
    return manifest


def _warn_of_other_release(manifest) -> None:
    """Warn when parts of scikit-learn come from another release of it."""
    from sklearn.exceptions import InconsistentVersionWarning

    written = manifest["versions"].get("scikit-learn")
    current = _installed_version("scikit-learn")
    if written != current and '"sklearn.' in json.dumps(manifest["model"]):
        warnings.warn(
            InconsistentVersionWarning(
                estimator_name="a part of the model",
                current_sklearn_version=current,
                original_sklearn_version=written,
            ),
            stacklevel=3,
        )
