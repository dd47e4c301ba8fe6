"""Models and a client that the tests of the service share."""

import pytest
from starlette.testclient import TestClient

from pansophy import serve
from pansophy.serve.openapi import row_model
from pansophy.serve.row_reader import RowReader
from tests.compare.table_models import fitted
from tests.serve.people_rows import INPUTS, TABLE


@pytest.fixture(scope="session")
def model():
    return fitted(TABLE.select([*INPUTS, "yes"]), "yes", "logistic regression")


@pytest.fixture(scope="session")
def dummy():
    return fitted(TABLE.select([*INPUTS, "yes"]), "yes", "dummy")


@pytest.fixture(scope="module")
def client(model):
    limits = serve.ServerLimits(
        body_bytes=100_000, rows=500, explained=5, body_seconds=0.2
    )
    with TestClient(serve.app(model, limits)) as made:
        yield made


@pytest.fixture(scope="module")
def small(dummy):
    """The reader of a dummy's rows, their declaration, and a client."""
    reader = RowReader(dummy)
    return reader, row_model(dummy, reader), TestClient(serve.app(dummy))
