"""Checkpoints: tensors and JSON in one file, written atomically.

The file is safetensors, whose header holds the JSON values; nothing in it can execute
code. It is written under a temporary name and then renamed, so that a run that is
killed while writing leaves the older file intact.
"""

import json
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ...core.files.atomic_files import replacing_file

FORMAT = "pansophy.checkpoint"
VERSION = 2


def write_checkpoint(path, tensors: dict[str, Tensor], facts: dict) -> None:
    """Write tensors and facts to `path`, replacing what is there at the end."""
    path = Path(path)
    meta = {"format": FORMAT, "version": str(VERSION), "facts": json.dumps(facts)}
    copies = {k: t.detach().cpu().clone().contiguous() for k, t in tensors.items()}
    with replacing_file(path) as draft:
        save_file(copies, draft, metadata=meta)


def read_checkpoint(path) -> tuple[dict[str, Tensor], dict]:
    """Read what `write_checkpoint` wrote, or say in one sentence why not."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"no such checkpoint: {path}")
    try:
        with safe_open(path, framework="pt") as file:
            meta = file.metadata() or {}
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged or not a checkpoint: {error}.") from error
    if meta.get("format") != FORMAT:
        raise ValueError(f"{path} is not a checkpoint of pansophy.")
    if int(meta["version"]) > VERSION:
        raise ValueError(f"{path} was written by a newer pansophy; please upgrade.")
    if int(meta["version"]) < VERSION:
        raise ValueError(f"{path} was written by an older pansophy; start a new run.")
    return tensors, json.loads(meta["facts"])
