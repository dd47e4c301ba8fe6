"""Controls of a model's columns, and its answer to one row."""

import pytest

from pansophy.persist import load, save
from pansophy.studio.answers import (
    ModelShelf,
    answer_row,
    fan_chart,
    model_controls,
    row_of_controls,
)
from tests.compare.table_models import fitted
from tests.serve.people_rows import INPUTS, TABLE
from tests.studio.small_folder import write_sales


@pytest.fixture(scope="module")
def model():
    return fitted(TABLE.select([*INPUTS, "yes"]), "yes", "logistic regression")


def test_every_column_has_a_control(model):
    controls = {c.name: c for c in model_controls(model)}
    assert list(controls) == [c.name for c in model.schema.used]
    for column in model.schema.used:
        control = controls[column.name]
        if column.role in ("category", "ordinal"):
            assert control.kind == "choice" and control.levels
        if control.kind == "number" and control.low is not None:
            assert control.low <= control.high


def test_what_is_typical_gets_an_answer_with_reasons(model):
    given = {c.name: c.value for c in model_controls(model) if c.value is not None}
    told = answer_row(model, given)
    answer = told["answer"]
    assert sum(answer["probabilities"].values()) == pytest.approx(1)
    assert 0 < len(told["reasons"]) <= 8 and told["about"]
    sizes = [abs(v) for _, v in told["reasons"]]
    assert sizes == sorted(sizes, reverse=True)
    assert answer_row(model, {}).keys() == told.keys()  # all values missing


def test_rows_are_read_as_they_are_typed(model):
    number = next(c for c in model_controls(model) if c.kind == "number")
    assert row_of_controls(model, {number.name: "1,5"})[number.name] == 1.5
    assert row_of_controls(model, {number.name: " "})[number.name] is None
    with pytest.raises(ValueError, match="should be a number, got 'old'"):
        row_of_controls(model, {number.name: "old"})


def test_the_last_models_are_kept(model, tmp_path):
    shelf, paths = ModelShelf(), [tmp_path / f"{k}.pansophy" for k in range(3)]
    for path in paths:
        save(model, path)
    first = shelf.model(paths[0])
    assert shelf.model(paths[0]) is first
    for path in paths:
        shelf.model(path)
    assert len(shelf.models) == 2 and shelf.model(paths[0]) is not first


def test_a_fan_chart_stands_by_itself(tmp_path):
    from pansophy.forecasting import forecast

    write_sales(tmp_path / "sales.csv", years=3)
    result = forecast(
        tmp_path / "sales.csv",
        time="month",
        target="sales",
        series="shop",
        horizon=3,
        methods=["naive"],
        n_origins=1,
    )
    save(result.model, tmp_path / "model.pansophy")
    svg = fan_chart(load(tmp_path / "model.pansophy"), 1)
    assert svg.startswith(b"<svg ") and b'xmlns="http://www.w3.org/2000/svg"' in svg
