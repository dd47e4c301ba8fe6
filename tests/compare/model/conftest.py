"""The model of people that several tests of saved models share."""

import pytest

from tests.compare.table_models import fitted, people

INPUTS = ["age", "pay", "city", "day", "note"]


@pytest.fixture(scope="session")
def model():
    """A fitted classifier of the column "yes"."""
    return fitted(people().select([*INPUTS, "yes"]), "yes", "logistic regression")


@pytest.fixture(scope="session")
def yes(model):
    """The same, by the name of its column."""
    return model
