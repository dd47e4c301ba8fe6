"""The portfolio: every path of our own names a class."""


def test_every_path_of_our_own_names_a_class():
    """Also those of libraries that are not installed here."""
    import importlib

    from pansophy.compare.methods.portfolio import METHODS

    ours = {m.path for m in METHODS if m.path.startswith("pansophy.")}
    assert any("Booster" in path for path in ours)
    for path in sorted(ours):
        module, _, name = path.rpartition(".")
        assert hasattr(importlib.import_module(module), name), path
