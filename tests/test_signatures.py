"""Public signatures against the record of the last release (docs/stability.md)."""

import pytest

from tools import signatures


def test_no_public_signature_is_broken():
    """After a wanted break: an `api` fragment, then `make signatures`."""
    recorded = signatures.read_signatures(signatures.FILE.read_text("utf-8"))
    assert len(recorded) > 1000
    assert signatures.breaks(recorded, signatures.current_signatures()) == []


BREAKS = {
    "(a)": ["b is gone"],
    "(a, b=2)": ["b had the default 1, now 2"],
    "(b=1, a=None)": ["a had no default", "the order of parameters has changed"],
    "(a, b=1, *, c)": ["c is new and has no default"],
    "(a, *, b=1)": ["b is no longer taken by position"],
    "(a, b=1, *, c=0)": [],
}


@pytest.mark.parametrize("new", BREAKS)
def test_breaks_are_found(new):
    found = signatures.breaks({"m.f": "(a, b=1)"}, {"m.f": new, "m.g": "()"})
    assert found == [f"m.f: {text}" for text in BREAKS[new]]


def test_what_is_gone_is_told_and_what_is_new_is_no_break():
    assert signatures.breaks({"m.f": "()"}, {}) == ["m.f is gone"]
    assert signatures.breaks({}, {"m.f": "()"}) == []
    assert signatures.breaks({"m.f": "(a=(1, 2))"}, {"m.f": "(a=(1, 2), b=[3])"}) == []


def test_defaults_have_the_same_text_in_every_process():
    def function(a, b=print, c=object(), *, d=len):
        return a

    text = signatures.parameters_text(function)
    assert "0x" not in text and text.startswith("(a, b=")
    assert signatures.parameters(text)[0] == "a"
