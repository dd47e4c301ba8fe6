"""Schema mismatches, changed units, and the stored reference."""

import json

import numpy as np
import pytest

from pansophy.diagnose import (
    Reference,
    drift,
    reference_of,
)
from tests.diagnose.small_tables import people


def test_form_and_units():
    new = people(1)
    new["height"] = new["height"] / 100
    new["heat"] = 1.8 * new["heat"] + 32
    new["town"] = np.where(np.arange(500) < 100, "Linz", new["town"])
    new["visits"] = [str(v) + " times" for v in new["visits"]]
    new["more"] = new["age"]
    del new["age"]
    found = {(f.column, f.kind): f for f in drift(people(0), new, whole=False).form}
    assert set(found) == {
        ("age", "column gone"),
        ("height", "unit changed"),
        ("heat", "unit changed"),
        ("town", "new levels"),
        ("visits", "type changed"),
        ("more", "new column"),
    }
    old = people(0)["height"]
    ratio = np.median(new["height"]) / np.median(old)
    assert ratio == pytest.approx(0.01, rel=0.01)
    assert f"{ratio:.4g} times" in found["height", "unit changed"].text
    assert "Fahrenheit" in found["heat", "unit changed"].text
    assert "'Linz', in 20.0%" in found["town", "new levels"].text


def test_a_kept_reference_says_the_same():
    kept = json.loads(json.dumps(reference_of(people(0, 5000)).to_dict()))
    kept = Reference.from_dict(kept)
    assert not drift(kept, people(2, 3000)).found
    moved = people(2, 3000)
    moved["visits"] = moved["visits"] + 1
    assert drift(kept, moved).drifted == ["visits"]
