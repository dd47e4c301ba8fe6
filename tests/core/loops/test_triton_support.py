"""Where Triton is looked for: a compiler that is named, and one that is not there."""

import sys

from pansophy.core.loops import triton_support


def test_a_named_compiler_is_the_only_one_looked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("CC", str(tmp_path / "no-such-compiler"))
    assert not triton_support.has_c_compiler()
    compiler = tmp_path / "cc"
    compiler.write_text("")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    paths = {"include": str(tmp_path)}
    monkeypatch.setattr(triton_support.sysconfig, "get_paths", lambda: paths)
    assert not triton_support.has_c_compiler()  # no headers
    (tmp_path / "Python.h").write_text("")
    assert triton_support.has_c_compiler()


def test_without_the_package_there_are_no_kernels(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    assert not triton_support.has_triton.__wrapped__()
