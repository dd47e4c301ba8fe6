"""Refits of the winner: from disk as in memory, blends, classes a sample lacks."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from pansophy.compare.methods.blending import make_blend
from pansophy.compare.model import refit as module
from pansophy.compare.model.refit import refit_on_all_rows
from tests.compare.table_models import compared, fitted, people

INPUTS = ["age", "pay", "city", "day", "note"]
TABLE = people()


def test_a_refit_from_disk_is_the_fit_in_memory(tmp_path):
    table = TABLE.select(["age", "pay", "city", "score"])
    made = compared(table, "score", "linear regression")
    parquet.write_table(table, tmp_path / "all.parquet")
    method = made.trial("").method
    streamed = refit_on_all_rows(method, tmp_path / "all.parquet", made, batch=70)
    direct = fitted(table, "score", "linear regression")
    assert np.allclose(streamed.predict(table), direct.predict(table))
    assert streamed.facts["fitted_on"] == 300
    assert streamed.facts["refit"] == "on all rows, read from disk"
    big = pa.concat_tables([table, people(2000, seed=5).select(table.column_names)])
    more = refit_on_all_rows(method, big, made, batch=500)
    assert more.facts["fitted_on"] == 2300 and "2,300 rows" in str(more)
    old = pc.greater(table.column("age"), 60.0)
    known = pc.if_else(old, None, table.column("score"))
    gone = table.set_column(3, "score", known)
    left = refit_on_all_rows(method, gone, made)
    assert left.facts["fitted_on"] < 300 and "without a known" in left.facts["left_out"]


def test_a_method_that_cannot_stream_says_so(tmp_path):
    table = TABLE.select(["age", "city", "yes"])
    made = compared(table, "yes", "decision tree")
    model = refit_on_all_rows(made.trial("").method, table, made)
    assert model.facts["refit"].startswith("on a sample of 300 rows, as decision tree")
    assert model.facts["fitted_on"] == 300
    assert (
        model.predict(table) == fitted(table, "yes", "decision tree").predict(table)
    ).all()


def test_a_blend_is_refitted_member_by_member():
    table = TABLE.select(["age", "pay", "city", "yes"])
    made = compared(table, "yes", "logistic regression")
    one, other = (
        compared(table, "yes", n).trial("").method
        for n in ("logistic regression", "gradient boosting")
    )
    made.leaderboard[0].method = "blend"
    blend = make_blend([one, other], (0.25, 0.75), "classification")
    big = pa.concat_tables([table, people(900, seed=5).select(table.column_names)])
    model = refit_on_all_rows(blend, big, made, batch=500)
    assert model.facts["fitted_on"] == 1200 and "read from disk" in model.facts["refit"]
    alone = [m._replace(name="blend") for m in (one, other)]
    p = [refit_on_all_rows(m, big, made, batch=500).predict_proba(table) for m in alone]
    assert np.allclose(model.predict_proba(table), 0.25 * p[0] + 0.75 * p[1])
    tree = compared(table, "yes", "decision tree").trial("").method
    part = refit_on_all_rows(
        make_blend([one, tree], (0.5, 0.5), "classification"), big, made
    )
    assert part.facts["refit"].startswith("on a sample of 300 rows, as decision tree")


def test_a_class_that_the_sample_lacks_is_left_out():
    table = TABLE.select(["age", "yes"])
    made = compared(table, "yes", "logistic regression")
    odd = pa.concat_tables([table, pa.table({"age": [1.0], "yes": ["perhaps"]})])
    kept = module.rows_with_known_target(odd, made.schema)
    assert kept.num_rows == 300
    assert refit_on_all_rows(made.trial("").method, odd, made).facts["fitted_on"] == 300
