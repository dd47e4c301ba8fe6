"""A forecast model behind HTTP: forecasts, later rows, what is refused."""

import numpy as np
import pytest

pytest.importorskip("fastapi")
from fastapi.testclient import TestClient

import pansophy
from pansophy.serve import app


@pytest.fixture(scope="module")
def model():
    day = np.arange("2024-01-01", "2024-02-10", dtype="M8[D]").astype(str)
    y = 20 + np.tile([0.0, 1.0, 3.0, 2.0], 10) + 0.1 * np.arange(40)
    table = {
        "day": np.tile(day, 2),
        "shop": np.repeat(["a", "b"], 40),
        "sales": np.r_[y, 2 * y],
    }
    return pansophy.forecast(
        table, time="day", target="sales", series=["shop"], horizon=3,
        methods=["theta", "drift"],
    ).model  # fmt: skip


@pytest.fixture(scope="module")
def client(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("forecast") / "model.pansophy"
    pansophy.save(model, path)
    return TestClient(app(path))


def test_forecasts_are_those_of_the_model(client, model):
    rows = client.post("/forecast").json()["forecasts"]
    assert len(rows) == 6 and rows[0]["day"].startswith("2024-02-10")
    found = model.predict()
    assert [row["sales"] for row in rows] == found.mean.ravel().tolist()
    assert rows[5]["high 95"] == found.intervals[95.0][1, 2, 1]
    longer = client.post("/forecast", json={"horizon": 5, "level": [50]}).json()
    assert len(longer["forecasts"]) == 10 and "low 50" in longer["forecasts"][0]


def test_later_rows_move_the_end_for_one_request_only(client):
    later = [{"shop": "b", "day": "2024-02-10", "sales": 50.0}, {"shop": "a", "day":
             "2024-02-11", "sales": None}]  # fmt: skip
    rows = client.post("/forecast", json={"rows": later}).json()["forecasts"]
    starts = {row["shop"]: row["day"][:10] for row in rows[::3]}
    assert starts == {"a": "2024-02-10", "b": "2024-02-11"}
    again = client.post("/forecast", json={}).json()["forecasts"]
    assert again[3]["day"].startswith("2024-02-10")


def test_schema_and_health(client, model):
    told = client.get("/schema").json()
    assert told["columns"]["series"] == ["shop"] and told["horizon"] == 3
    assert client.get("/health").json()["model"] == model.method


@pytest.mark.parametrize(
    ("sent", "status", "text"),
    [
        ({"horizon": 0}, 422, "at least 1"),
        ({"horizon": True}, 422, "at least 1"),
        ({"horizon": 10**6}, 413, "too many"),
        ({"level": [0]}, 422, "level"),
        ({"table": []}, 422, "Send"),
        ({"rows": [3]}, 422, "objects"),
        ({"rows": [{}] * 10_001}, 413, "too many"),
        ({"rows": [{"sales": 1}]}, 422, "no column 'day'"),
        ({"rows": [{"shop": "c", "day": "2024-02-10", "sales": 1}]}, 422, "series c"),
    ],
)
def test_refusals(client, sent, status, text):
    answer = client.post("/forecast", json=sent)
    assert answer.status_code == status and text in answer.json()["error"]


def test_a_body_that_is_no_json(client):
    answer = client.post("/forecast", content=b"{")
    assert answer.status_code == 400 and "not JSON" in answer.json()["error"]
