"""Known posteriors of the example networks."""

import numpy as np

from pansophy.graphical import (
    alarm_network,
    sprinkler_network,
    student_network,
)


def test_known_networks():
    assert np.isclose(sprinkler_network().query("rain", {"wet": True})[True], 0.7079277)
    assert np.isclose(
        sprinkler_network().query("sprinkler", {"wet": True})[True], 0.4297636
    )
    assert np.isclose(
        alarm_network().query("burglary", {"john": True, "mary": True})[True], 0.2841718
    )
    course = student_network()
    assert np.isclose(course.query("letter")["strong"], 0.502336)
    weak = course.query("intelligence", {"letter": "weak"})
    assert np.isclose(weak["high"], 0.1400222)
    assert course.query(["grade", "sat"]).prob.shape == (3, 2)
    assert course.query("grade").best == "A"
