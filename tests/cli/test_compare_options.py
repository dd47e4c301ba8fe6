"""Options of compare: each can be given, and completed."""

import inspect

import pansophy
from tests.cli.commands import call


def test_every_setting_of_compare_can_be_given(table, monkeypatch):
    seen = {}

    def stop(table, target, **asked):
        seen.update(asked, target=target)
        raise ValueError("seen")

    takes = set(inspect.signature(pansophy.compare.compare).parameters)
    monkeypatch.setattr(pansophy.compare, "compare", stop)
    words = ["--role", "a=b=category", "--role", "z=text", "--together", "--calibrate"]
    words += ["--gap", 3, "--ignore", '"x,1", c', "--costs", '"a, b"=2,c=1']
    done = call("compare", table, "-t", "y", "-t", "c", *words)
    assert done.exit_code == 2 and "seen" in done.stderr
    assert set(seen) == takes - {"table"} and seen["progress"] is True
    assert seen["target"] == ["y", "c"] and seen["ignore"] == ["x,1", "c"]
    assert seen["roles"] == {"a=b": "category", "z": "text"} and seen["gap"] == 3
    assert seen["costs"] == {"a, b": 2.0, "c": 1.0}
    assert seen["together"] is seen["calibrate"] is True
    for bad in (["--role", "z"], ["--costs", "yes"], ["--costs", "yes=a"]):
        done = call("compare", table, "-t", "y", *bad)
        assert done.exit_code == 2 and "must look like" in done.stderr


def bad(text, folder, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    return "predict", folder / "model.pansophy", path


def test_values_can_be_completed():
    from pansophy.cli.compare_options import completion_of
    from pansophy.cli.library_command import complete_family
    from pansophy.cli.model_commands import complete_plot_kind

    assert completion_of("metric")("bri") == ["brier-score"]
    found = completion_of("methods")("lasso,random")
    assert found == ["lasso,random-forest"]
    assert completion_of("keep")("b") == ["best"] and completion_of("folds") is None
    assert complete_family("tr") == ["trees"] and "roc" in complete_plot_kind("r")
