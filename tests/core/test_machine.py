"""The report of the machine holds plain values about what is there."""

import json

from pansophy.core.machine import machine_report


def test_the_report_is_plain_and_says_what_runs():
    report = machine_report()
    assert json.loads(json.dumps(report)) == report
    assert report["versions"]["numpy"] and report["threads"]["usable"] >= 1
    assert all(blas["threads"] >= 1 for blas in report["blas"])
    assert not report["devices"] or report["devices"][0]["name"] == "cpu"
