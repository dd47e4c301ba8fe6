"""Audits of groups are compared here."""

import pytest


def assert_same_audit(a, b):
    """Two audits that say the same."""
    assert (a.groups, a.counts, a.left_out) == (b.groups, b.counts, b.left_out)
    assert list(a.measures) == list(b.measures)
    for name, spans in a.measures.items():
        assert len(spans) == len(b.measures[name])
        for one, other in zip(spans, b.measures[name], strict=True):
            assert one == pytest.approx(other, rel=1e-9, abs=1e-12, nan_ok=True)
    for one, other in zip(a.gaps, b.gaps, strict=True):
        assert one[:3] == other[:3]
        assert one.gap == pytest.approx(other.gap, rel=1e-9, abs=1e-12)
    assert [f.severity for f in a.findings()] == [f.severity for f in b.findings()]
