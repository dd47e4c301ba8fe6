"""The document of the service: no training row, no rare value."""

import numpy as np
import pyarrow as pa
from starlette.testclient import TestClient

from pansophy import serve
from pansophy.serve.openapi import example_row
from tests.compare.table_models import fitted


def test_pages_show_no_training_row_and_no_rare_value():
    rng = np.random.default_rng(0)
    n = 60
    table = {
        "pay": rng.normal(1000, 100, n).round(2).tolist(),
        "name": ["Ann", "Bob"] * (n // 2 - 1) + ["Zacharias", "Ann"],
        "note": [f"private words of patient {i}" for i in range(n)],
        "yes": (["yes", "no"] * n)[:n],
    }

    made = fitted(pa.table(table), "yes", "logistic regression")
    client = TestClient(serve.app(made))
    for page in ("/docs", "/openapi.json", "/schema"):
        text = client.get(page).text
        assert "Zacharias" not in text and "private words" not in text, page
    example = example_row(made)
    assert client.post("/predict", json=example).status_code == 200
    rows = set(zip(*(table[c] for c in ("pay", "name"))))
    assert (example["pay"], example["name"]) not in rows
    frame = made.schema.frame(pa.table(table))
    kept = {tuple(r) for r in frame.values.round(9)}
    assert not any(tuple(r) in kept for r in made.background.values.round(9))
    assert not any(t.as_py() for text in made.background.texts for t in text)
    asked = made.with_background(pa.table(table))
    assert len(asked.background) == n and asked.explain(pa.table(table)).method
