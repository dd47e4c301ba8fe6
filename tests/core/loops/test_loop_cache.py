"""Compiled loops are found again where they may be, and nothing else is ever loaded."""

import gc
import hashlib
import importlib.util
import json
import os
import pickle
import pkgutil
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numba
import numpy as np
import pytest

import pansophy
from pansophy.core.files import folder_lock
from pansophy.core.loops import loop_cache
from pansophy.core.loops.compiled import compiled
from pansophy.core.loops.completed_warm_up import completed_mark

POSIX = hasattr(os, "geteuid")
locks = pytest.mark.skipif(
    importlib.util.find_spec("fcntl") is None, reason="no locks on this system"
)

INNER = """
from pansophy.core.loops.compiled import compiled

SCALE = {scale}

@compiled(inner=True)
def scaled(v):
    return SCALE * v
"""
OUTER = """
from pansophy.core.loops.compiled import compiled
from {inner} import scaled

# {comment}
@compiled
def scaled_sum(x):
    total = 0.0
    for v in x:
        total += scaled(v)
    return total
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache of the user's."""
    monkeypatch.setenv("PANSOPHY_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "loops"


@pytest.fixture
def load_pair(tmp_path, monkeypatch):
    """Writes and imports a loop and one that calls it, from two files."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def load(scale=2.0, comment="first"):
        for name, text in (
            ("inner_of_pair", INNER.format(scale=scale)),
            ("outer_of_pair", OUTER.format(inner="inner_of_pair", comment=comment)),
        ):
            (tmp_path / f"{name}.py").write_text(text, "utf-8")
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module("outer_of_pair").scaled_sum

    yield load
    sys.modules.pop("inner_of_pair", None)
    sys.modules.pop("outer_of_pair", None)


HIGHEST = """
import middle_of_three as middle
@compiled
def high(x):
    return middle.lowest.low(x)
"""


def hits(loop):
    return sum(loop.stats.cache_hits.values())


def test_second_import_finds_the_loop_on_disk(folder, load_pair):
    first = load_pair()
    assert first(np.ones(3)) == 6
    assert hits(first) == 0
    again = load_pair()
    assert again(np.ones(3)) == 6
    assert hits(again) == 1
    assert len(list(folder.glob("*.loop"))) == 1


def test_edit_of_a_called_file_is_noticed(folder, load_pair):
    load_pair(scale=2.0)(np.ones(3))
    edited = load_pair(scale=5.0)
    assert edited(np.ones(3)) == 15
    assert hits(edited) == 0


def test_edit_of_a_comment_compiles_nothing(folder, load_pair):
    load_pair()(np.ones(3))
    edited = load_pair(comment="another\n# and one line more")
    edited(np.ones(3))
    assert hits(edited) == 1


def test_each_signature_has_its_own_file(folder, load_pair):
    loop = load_pair()
    loop(np.ones(3))
    loop(np.ones(3, np.float32))
    loop(np.ones(6)[::2])
    assert len(list(folder.glob("*.loop"))) == 3


def test_key_tells_what_the_machine_code_depends_on():
    def total(x):
        return x + 1

    def other(x):
        return x + 2

    double = (numba.float64,)
    target = ("triple", "cpu", "features")
    plain = compiled(total)
    keys = {
        loop_cache.loop_key(plain, double, target),
        loop_cache.loop_key(plain, (numba.float32,), target),
        loop_cache.loop_key(plain, double, ("triple", "cpu", "")),
        loop_cache.loop_key(plain, double, ("triple", "other", "features")),
        loop_cache.loop_key(compiled(fastmath={"contract"})(total), double, target),
        loop_cache.loop_key(compiled(other), double, target),
    }
    assert len(keys) == 6
    assert loop_cache.loop_key(compiled(total), double, target) in keys


KEYS = """
import importlib, json, pkgutil, sys, warnings
warnings.simplefilter("ignore")
import pansophy
from pansophy.core.loops import loop_cache
from pansophy.core.files import folder_lock

def keys_of_all_loops():
    found = {}
    for info in pkgutil.walk_packages(pansophy.__path__, "pansophy."):
        name = info.name.rsplit(".", 1)[1]
        if not name.startswith("_") or name == "__main__" or name.endswith("_triton"):
            continue
        module = importlib.import_module(info.name)
        for name, loop in vars(module).items():
            if loop_cache.internals.is_loop(loop):
                key = loop_cache.loop_key(loop, (), ("", "", ""))
                found[info.name + "." + name] = key
    return found
"""


def test_keys_are_the_same_in_every_process():
    """No address, no order of a set and no path enters a key of ours."""
    namespace = {}
    exec(KEYS, namespace)
    here = namespace["keys_of_all_loops"]()
    assert len(here) > 500
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    code = KEYS + "print(json.dumps(keys_of_all_loops()))"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(run.stdout) == here


def test_damaged_file_is_compiled_again(folder, load_pair):
    load_pair()(np.ones(3))
    (path,) = folder.glob("*.loop")
    content = path.read_bytes()
    for wrong in (b"", content[:40], content[:-1], content[:50] + b"?" + content[51:]):
        path.write_bytes(wrong)
        loop = load_pair()
        assert loop(np.ones(3)) == 6
        assert hits(loop) == 0


class Bomb:
    """Unpickling leaves a mark: the file was loaded."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def plant_bomb(path, mark):
    content = pickle.dumps(Bomb(mark))
    path.write_bytes(hashlib.sha256(content).digest() + content)


@pytest.mark.skipif(not POSIX, reason="owner and mode bits are of POSIX systems")
@pytest.mark.parametrize("what", ["folder", "file", "link"])
def test_what_others_could_have_written_is_not_read(folder, load_pair, tmp_path, what):
    load_pair()(np.ones(3))
    (path,) = folder.glob("*.loop")
    mark = tmp_path / "mark"
    if what == "link":
        plant_bomb(tmp_path / "bomb", mark)
        path.unlink()
        path.symlink_to(tmp_path / "bomb")
    else:
        plant_bomb(path, mark)
        os.chmod(folder if what == "folder" else path, 0o777)
    assert load_pair()(np.ones(3)) == 6
    assert not mark.exists()


@pytest.mark.skipif(not POSIX, reason="owner and mode bits are of POSIX systems")
def test_files_of_another_owner_are_not_read(folder, load_pair, monkeypatch, tmp_path):
    load_pair()(np.ones(3))
    (path,) = folder.glob("*.loop")
    plant_bomb(path, tmp_path / "mark")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert load_pair()(np.ones(3)) == 6
    assert not (tmp_path / "mark").exists()


def test_new_files_are_the_users_alone(folder, load_pair):
    load_pair()(np.ones(3))
    for path in (folder, *folder.iterdir()):
        assert loop_cache.is_private(os.stat(path))


def test_drafts_of_killed_processes_are_removed(folder):
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    old, fresh = (folder / f"{loop_cache.DRAFT}{name}" for name in ("old", "fresh"))
    for path in (old, fresh):
        path.touch()
    os.utime(old, (0, 0))
    loop_cache.remove_old_drafts.cache_clear()
    loop_cache.write_user_file("a.loop", b"code")
    assert not old.exists() and fresh.exists()
    assert loop_cache.read_user_file("a.loop") == b"code"


def test_working_directory_is_never_read(monkeypatch, tmp_path):
    monkeypatch.delenv("PANSOPHY_CACHE_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    assert tmp_path not in loop_cache.user_folder().parents
    assert tmp_path not in loop_cache.SHIPPED.parents
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.setenv("LOCALAPPDATA", "cache")
    usual = loop_cache.user_folder()
    assert tmp_path not in usual.parents
    loop_cache.warn_of_relative_path.cache_clear()
    monkeypatch.setenv("PANSOPHY_CACHE_DIR", "cache")
    with pytest.warns(RuntimeWarning, match="must be an absolute path, got 'cache'"):
        assert loop_cache.user_folder() == usual
    assert loop_cache.user_folder() == usual  # told once


def test_home_in_the_variable(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PANSOPHY_CACHE_DIR", "~/own")
    assert loop_cache.user_folder() == Path("~/own/loops").expanduser()


def test_user_without_a_home_compiles(monkeypatch, load_pair):
    def no_home(*args):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(loop_cache.Path, "home", no_home)
    for name in ("PANSOPHY_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    assert loop_cache.user_folder() is None
    assert load_pair()(np.ones(3)) == 6
    assert loop_cache.reason_not_kept() == "this user has no home folder"
    assert completed_mark() is None


def test_why_loops_are_not_kept(folder, monkeypatch):
    assert loop_cache.reason_not_kept() is None and folder.is_dir()
    folder.chmod(0o775)
    assert "others may write to it" in loop_cache.reason_not_kept()
    folder.chmod(0o700)
    monkeypatch.setattr(os, "access", lambda *args: False)
    assert loop_cache.reason_not_kept() == f"{folder} cannot be written"
    folder.rmdir()
    folder.touch()
    assert "cannot be made" in loop_cache.reason_not_kept()


def test_edit_of_a_loop_read_through_modules_is_noticed(folder, tmp_path, monkeypatch):
    """A loop may be read as module.loop, and that module read others so."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names = ("lowest_of_three", "middle_of_three", "highest_of_three")
    head = "from pansophy.core.loops.compiled import compiled\n"

    def load(factor):
        body = f"FACTOR = {factor}\n@compiled\ndef low(x):\n    return x * FACTOR\n"
        texts = (head + body, "import lowest_of_three as lowest\n", head + HIGHEST)
        for name, text in zip(names, texts, strict=True):
            (tmp_path / f"{name}.py").write_text(text, "utf-8")
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module(names[-1]).high

    try:
        assert load(2.0)(3.0) == 6
        assert load(5.0)(3.0) == 15
        again = load(2.0)
        assert again(3.0) == 6 and hits(again) == 1
    finally:
        for name in names:
            sys.modules.pop(name, None)


def test_full_disk_and_read_only_folder_compile(folder, load_pair, monkeypatch):
    def no_room(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", no_room)
    assert load_pair()(np.ones(3)) == 6
    assert not list(folder.iterdir())
    monkeypatch.setattr(loop_cache.Path, "mkdir", no_room)
    assert load_pair()(np.ones(3)) == 6


# ---- several processes


def hold_loop(path):
    """What another process that compiles the loop of this file holds."""
    lock = f"{loop_cache.DRAFT}{path.name}.lock"
    handle = folder_lock.lock_folder(path.parent, lock)
    assert handle is not None
    return handle


@locks
def test_a_loop_that_another_process_compiles_is_waited_for(folder, load_pair):
    load_pair()(np.ones(3))
    (path,) = folder.glob("*.loop")
    content = loop_cache.read_user_file(path.name)
    path.unlink()
    handle = hold_loop(path)
    waiting = threading.Event()

    def store_and_release():
        waiting.wait()
        loop_cache.write_user_file(path.name, content)
        os.close(handle)

    other = threading.Thread(target=store_and_release)
    other.start()
    loop = load_pair()
    pause = time.sleep
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "sleep", lambda s: (waiting.set(), pause(s)))
        assert loop(np.ones(3)) == 6
    other.join()
    assert hits(loop) == 1
    assert [p.name for p in folder.iterdir()] == [path.name]  # no lock is left


@locks
def test_nobody_waits_for_ever(folder, load_pair, monkeypatch):
    load_pair()(np.ones(3))
    (path,) = folder.glob("*.loop")
    path.unlink()
    handle = hold_loop(path)
    monkeypatch.setattr(loop_cache, "LONGEST_WAIT", 0.05)
    loop = load_pair()
    assert loop(np.ones(3)) == 6
    assert hits(loop) == 0
    os.close(handle)


@locks
def test_a_loop_that_does_not_compile_is_not_held(folder, load_pair):
    with pytest.raises(numba.TypingError):
        load_pair()("text")
    assert not list(folder.iterdir())


# ---- shipped loops


@pytest.fixture
def shipped(folder, load_pair, tmp_path, monkeypatch):
    """A package that ships the pair for the host's own level."""
    monkeypatch.setattr(loop_cache, "SHIPPED", tmp_path / "package")
    level = loop_cache.host_levels()[0]
    ship_pair(level, folder, load_pair)
    loop_cache.shipped_levels.cache_clear()
    yield tmp_path / "package" / level
    loop_cache.shipped_levels.cache_clear()


def ship_pair(level, folder, load_pair):
    loop = load_pair()
    triple, *_ = loop.targetctx.codegen().magic_tuple()
    loop._cache.file_name = lambda signature, target: loop_cache.LoopCache(
        loop
    ).file_name(signature, (triple, level, ""))
    loop(np.ones(3))
    assert loop_cache.pack_user_folder(level, ["another"]) == 0
    assert loop_cache.pack_user_folder(level) == 1
    for path in folder.iterdir():
        path.unlink()


def test_shipped_loop_is_used_and_the_users_folder_stays_empty(
    shipped, folder, load_pair
):
    loop = load_pair()
    assert loop(np.ones(3)) == 6
    assert hits(loop) == 1
    assert not list(folder.iterdir())


def test_shipped_file_that_was_not_built_is_not_read(shipped, load_pair, tmp_path):
    (path,) = shipped.glob("*.loop")
    path.write_bytes(pickle.dumps(Bomb(tmp_path / "mark")))
    loop = load_pair()
    assert loop(np.ones(3)) == 6
    assert hits(loop) == 0
    assert not (tmp_path / "mark").exists()


def test_loop_comes_from_the_highest_level_that_has_it(
    shipped, folder, load_pair, monkeypatch
):
    """A higher level holds few loops; the others come from the level below."""
    low, read = shipped.name, []
    read_file = loop_cache.read_shipped_file

    def note_level(level, name):
        read.append(level.name)
        return read_file(level, name)

    def use_pair(*levels):
        monkeypatch.setattr(loop_cache, "host_levels", lambda: list(levels))
        loop_cache.shipped_levels.cache_clear()
        loop = load_pair()
        assert loop(np.ones(3)) == 6 and hits(loop) == 1

    monkeypatch.setattr(loop_cache, "host_levels", list)
    loop_cache.shipped_levels.cache_clear()
    ship_pair("high", folder, load_pair)
    monkeypatch.setattr(loop_cache, "read_shipped_file", note_level)
    use_pair("high", low)
    (shipped.parent / "high" / loop_cache.MANIFEST).write_text('{"files": {}}')
    use_pair("high", low)
    assert read == ["high", low]


def test_another_level_is_compiled_from_the_files_of_the_first(
    shipped, folder, load_pair
):
    """The types of the arguments are read off the files; nothing is called."""
    loop = load_pair()
    (path,) = shipped.glob("*.loop")
    signature = loop_cache.internals.signature_of(path.read_bytes())
    assert signature.args == (numba.typeof(np.ones(3)),)
    loop_cache.recompile_shipped(shipped.name, [path.name])
    module = sys.modules[loop.py_func.__module__]
    assert list(module.scaled_sum.overloads) == [signature.args]


def test_host_below_the_level_compiles(shipped, load_pair, monkeypatch):
    monkeypatch.setattr(loop_cache, "host_levels", list)
    loop_cache.shipped_levels.cache_clear()
    loop = load_pair()
    assert loop(np.ones(3)) == 6
    assert hits(loop) == 0


def test_another_version_of_numba_compiles(shipped, load_pair, monkeypatch):
    monkeypatch.setattr(numba, "__version__", "0.0.1")
    loop = load_pair()
    assert loop(np.ones(3)) == 6
    assert hits(loop) == 0


def test_cpu_chosen_by_the_user_counts(shipped, monkeypatch):
    monkeypatch.setattr(numba.config, "CPU_NAME", "generic")
    loop_cache.shipped_levels.cache_clear()
    assert loop_cache.shipped_levels() == ()


def test_levels_are_nested(monkeypatch):
    monkeypatch.setattr(loop_cache.platform, "machine", lambda: "x86_64")
    for has, levels in (
        (loop_cache.ZNVER4, ["znver4", "x86-64-v4", "x86-64-v3", "x86-64-v2"]),
        (loop_cache.X86_64_V4, ["x86-64-v4", "x86-64-v3", "x86-64-v2"]),
        (loop_cache.X86_64_V3, ["x86-64-v3", "x86-64-v2"]),
        (loop_cache.X86_64_V2, ["x86-64-v2"]),
        ((), []),
    ):
        features = dict.fromkeys(has, True) | {"neon": False}
        monkeypatch.setattr(
            loop_cache.binding, "get_host_cpu_features", lambda f=features: f
        )
        assert loop_cache.host_levels() == levels


# ---- while Numba compiles


def test_no_garbage_collection_while_compiling(folder, monkeypatch):
    states = []
    plain = loop_cache.CompilationWatch.end

    def note_state(watch):
        states.append(gc.isenabled())
        plain(watch)

    monkeypatch.setattr(loop_cache.CompilationWatch, "end", note_state)
    before = loop_cache.WATCH.count
    assert gc.isenabled()
    compiled(lambda x: x + 1)(1)
    assert states == [False]
    assert gc.isenabled()
    assert loop_cache.WATCH.count == before + 1
    assert loop_cache.WATCH.depth == 0


def test_notice_comes_once_and_only_after_two_seconds(folder, load_pair, capsys):
    watch = loop_cache.CompilationWatch()
    loop = load_pair()
    watch.start_timer(loop)
    watch.timer.cancel()
    assert capsys.readouterr().err == ""
    watch.seconds = 3.0
    watch.start_timer(loop)
    watch.timer.join()
    assert capsys.readouterr().err == (
        "pansophy: compiling scaled_sum once on this machine ...\n"
    )
    watch.timer = None
    watch.start_timer(loop)
    assert watch.timer is None
    folder.chmod(0o777)
    watch.notice("scaled_sum")
    assert "in every process, since" in capsys.readouterr().err


def test_loops_of_others_are_not_announced():
    watch = loop_cache.CompilationWatch()
    watch.start_timer(numba.njit(lambda x: x))
    assert watch.timer is None


def test_every_loop_file_belongs_to_the_package():
    names = {m.name for m in pkgutil.iter_modules(pansophy.__path__)}
    assert "_compiled_loops" not in names


def test_a_relative_home_is_no_home(monkeypatch, tmp_path):
    # else loops of a folder that somebody else made would be read
    monkeypatch.chdir(tmp_path)
    for home in (".", "sub"):
        monkeypatch.setenv("HOME", home)
        monkeypatch.setenv("PANSOPHY_CACHE_DIR", "~/x")
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert loop_cache.user_folder() is None
