"""Recall over hundreds of steps (`examples/long_memory`): an LSTM is at chance."""

import importlib.util
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

FILE = Path(__file__).parents[2] / "examples" / "long_memory.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("LSTM", 0.0, 0.35), ("S4D", 0.9, 1.0), ("Mamba", 0.75, 1.0)],
)
def test_state_space_layers_remember_and_an_lstm_does_not(name, low, high):
    spec = importlib.util.spec_from_file_location("long_memory", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert low <= module.recall(name) <= high
