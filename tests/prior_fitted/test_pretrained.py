"""Files of weights: read without torch, refused in a sentence."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from pansophy.prior_fitted import pretrained
from pansophy.prior_fitted.pretrained import (
    FORMAT,
    VARIABLE,
    has_pretrained,
    load_pretrained,
)

from .tiny_network import WITH_HEADS, random_weights, write_random_network


def test_a_file_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "w.safetensors"
    write_random_network(path, seed=3)
    network = load_pretrained(path)
    assert network.shape == WITH_HEADS
    assert network.limits["columns"] == 6
    for name, w in random_weights(WITH_HEADS, 3).items():
        np.testing.assert_array_equal(network.weights[name], w)
    write_random_network(path, seed=4)
    assert load_pretrained(path).digest != network.digest


def test_bfloat16_is_the_upper_half_of_float32():
    values = np.array([1.0, -2.5, 3e38, 1e-30, 0.0], np.float32)
    upper = (values.view(np.uint32) >> 16).astype("<u2").tobytes()
    tensor = {"dtype": "BF16", "shape": [5], "data": upper}
    read = pretrained._as_float32(tensor)
    np.testing.assert_allclose(read, values, rtol=2**-7)
    assert (read.view(np.uint32) & 0xFFFF == 0).all()


def test_the_variable_names_another_file(tmp_path, monkeypatch):
    path = tmp_path / "w.safetensors"
    monkeypatch.setenv(VARIABLE, str(path))
    assert not has_pretrained()
    with pytest.raises(FileNotFoundError, match=f"no pretrained weights.*{VARIABLE}"):
        load_pretrained()
    write_random_network(path)
    assert has_pretrained()
    assert load_pretrained().provenance == {"steps": 0}


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "w.safetensors"
    path.write_bytes(b"no tensors")
    with pytest.raises(ValueError, match="no safetensors file"):
        load_pretrained(path)
    save_file({"a": np.zeros(2)}, path)
    with pytest.raises(ValueError, match="holds no weights of a network for tables"):
        load_pretrained(path)
    write_random_network(tmp_path / "good.safetensors")
    from safetensors import safe_open

    with safe_open(tmp_path / "good.safetensors", framework="np") as file:
        meta = file.metadata()
    assert meta["format"] == FORMAT
    assert json.loads(meta["shape"])["n_outputs"] == 74
    save_file({"cell": np.zeros((2, 2), np.float32)}, path, metadata=meta)
    with pytest.raises(ValueError, match="do not have the shapes"):
        load_pretrained(path)
