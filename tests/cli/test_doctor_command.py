"""The command doctor: a report for readers and for programs."""

import json

from typer.testing import CliRunner

from pansophy.cli import app


def test_a_reader_sees_devices_and_what_runs_where():
    text = CliRunner().invoke(app, ["doctor"]).output
    assert "Threads: " in text and "Compiled loops: " in text and "Device: " in text
    assert "estimators compute where X is" in text


def test_a_program_reads_names_by_place():
    report = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).output)
    places = report["estimators"]
    assert "KMeans" in places["where X is"] and "Lasso" in places["with NumPy"]
    assert report["versions"]["numpy"]
