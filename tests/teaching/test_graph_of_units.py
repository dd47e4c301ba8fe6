"""Checks of a network's graph."""

import pytest

torch = pytest.importorskip("torch")
from pansophy import teaching  # noqa: E402


def test_feed_forward_has_an_order():
    report = teaching.check_graph({"x": ["a", "b"], "a": ["y"], "b": ["a"]})
    assert report.kind == "feed-forward" and report.trainable
    assert report.order.index("b") < report.order.index("a") < report.order.index("y")


@pytest.mark.parametrize(
    "edges", [{"x": ["h"], "h": ["h", "y"]}, [("x", "a"), ("a", "b"), ("b", "a")]]
)
def test_a_cycle_is_recurrent(edges):
    report = teaching.check_graph(edges)
    assert report.kind == "recurrent" and report.cycle[0] == report.cycle[-1]
    assert "recurrent" in str(report) and report.order == ()


def test_units_without_slope_are_refused_for_training():
    edges = {"x": ["h"], "h": ["y"]}
    with pytest.raises(ValueError, match="'sign', the activation of 'h'"):
        teaching.check_graph(edges, {"h": "sign", "y": "identity"})
    report = teaching.check_graph(edges, {"h": "sign"}, training=False)
    assert report.untrainable == ("h",) and not report.trainable
    assert teaching.check_graph(edges, {"h": "tanh"}).trainable
    with pytest.raises(ValueError, match="'sine'"):
        teaching.check_graph(edges, {"h": "sine"})
