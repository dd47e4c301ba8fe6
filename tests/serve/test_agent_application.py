"""An agent behind HTTP: actions, masks, what is refused."""

import numpy as np
import pytest

pytest.importorskip("fastapi")
from fastapi.testclient import TestClient

from pansophy.persist import save
from pansophy.rl import PPO, QLearning
from pansophy.rl.envs import CartPole, Corridor
from pansophy.serve import ServerLimits, app

SMALL = {"n_envs": 2, "horizon": 16, "hidden_layer_sizes": (8,), "random_state": 0}


@pytest.fixture(scope="module")
def agent():
    return PPO(64, **SMALL).fit(CartPole())


@pytest.fixture(scope="module")
def client(agent, tmp_path_factory):
    path = tmp_path_factory.mktemp("agent") / "agent.pansophy"
    save(agent, path)
    return TestClient(app(path))


def test_actions_are_those_of_the_agent(client, agent):
    X = np.random.default_rng(0).normal(size=(7, 4)).round(3)
    answer = client.post("/act", json={"observations": X.tolist()})
    assert answer.json() == {"actions": agent.predict(X).tolist()}
    one = client.post("/act", json={"observation": X[0].tolist()})
    assert one.json() == {"action": int(agent.predict(X[:1])[0])}
    for allowed in ([True, False], [False, True]):
        sent = {"observation": X[0].tolist(), "mask": allowed}
        assert client.post("/act", json=sent).json()["action"] == allowed.index(True)


def test_schema_and_health(client):
    told = client.get("/schema").json()
    assert told["observation"] == {"kind": "numbers", "shape": [4], "width": 4}
    assert told["action"]["sizes"] == [2]
    assert client.get("/health").json()["agent"] == "PPO"


@pytest.mark.parametrize(
    ("sent", "status", "text"),
    [
        ({"observations": []}, 422, "not empty"),
        ({"observations": [[1.0, 2.0]]}, 422, "must have the shape"),
        ({"rows": []}, 422, "Send"),
        ({"observation": [0] * 4, "observations": [[0] * 4]}, 422, "either"),
        ({"observations": [[0] * 4] * 10001}, 413, "too many"),
        ({"observations": [[0] * 4], "masks": []}, 422, "masks"),
        ({"observations": [["a", 0, 0, 0]]}, 422, "do not fit"),
        ({"observations": [[None, 0, 0, 0]]}, 422, "do not fit"),
        ({"observations": [[0] * 4, [0] * 3]}, 422, "do not fit"),
        ({"observations": 3}, 422, "a list"),
        ({"observations": [{"x": 1}]}, 422, "do not fit"),
        ({"observation": 7}, 422, "must have the shape"),
        ({"observation": [0] * 4, "mask": [False, False]}, 422, "forbids every"),
        ({"observation": [0] * 4, "mask": [True]}, 422, "a mask must have"),
        ({"observations": [[0] * 4], "mask": [[True, False]]}, 422, "mask goes with"),
        ({"observation": [0] * 4, "masks": [[True, False]]}, 422, "mask goes with"),
    ],
)
def test_refusals_say_why(client, sent, status, text):
    answer = client.post("/act", json=sent)
    assert answer.status_code == status and text in answer.json()["error"]


def test_nan_is_no_observation(client):
    answer = client.post("/act", content='{"observation": [NaN, 0, 0, Infinity]}')
    assert answer.status_code == 422 and "NaN" in answer.json()["error"]


def test_bad_json(client):
    answer = client.post(
        "/act", content=b"{", headers={"content-type": "application/json"}
    )
    assert answer.status_code == 400


def test_tables_are_served_and_memories_are_not():
    table = QLearning(500, random_state=0).fit(Corridor(3, max_steps=9))
    answer = TestClient(app(table)).post("/act", json={"observations": [0, 1, 2]})
    assert answer.json() == {"actions": [1, 1, 1]}
    forgetful = PPO(32, memory="gru", memory_size=4, **SMALL).fit(CartPole())
    with pytest.raises(ValueError, match="memory"):
        app(forgetful)


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ('{"observation": ' + "[" * 5000 + "]" * 5000 + "}", 400, "not JSON"),
        ('{"observations": [[1' + "0" * 400 + ", 0, 0, 0]]}", 422, "do not fit"),
        ('{"observation": ', 400, "not JSON"),
        ('{"observations": [' + "[0, 0, 0, 0], " * 9999 + "[0]]}", 422, "do not fit"),
    ],
)
def test_numbers_and_nesting_of_any_kind_are_no_failure(client, body, status, text):
    answer = client.post("/act", content=body)
    assert answer.status_code == status and text in answer.json()["error"]


def test_only_so_many_observations_wait(agent):
    limits = ServerLimits(waiting=3)
    with TestClient(app(agent, limits)) as busy:
        sent = {"observations": [[0.0] * 4] * 4}
        assert busy.post("/act", json=sent).status_code == 503
        sent = {"observations": [[0.0] * 4] * 3}
        assert busy.post("/act", json=sent).status_code == 200
        assert busy.get("/health").json()["waiting"] == 0


def test_the_start_page_is_the_schema(client):
    answer = client.get("/", follow_redirects=False)
    assert answer.status_code == 307 and answer.headers["location"] == "/schema"
    assert "see /schema" in client.get("/docs").json()["error"]
