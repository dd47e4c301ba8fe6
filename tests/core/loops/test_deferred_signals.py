"""Signals are handled after the block, once, by the handler that was there before."""

import signal
import threading

import pytest

from pansophy.core.loops import loop_cache
from pansophy.core.loops.compiled import compiled
from pansophy.core.loops.deferred_signals import deferred_signals


@pytest.fixture
def ctrl_c(monkeypatch):
    """Whatever the test runner does with Ctrl-C, Python's own handler is there."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_waits_for_the_end(ctrl_c):
    done = []
    with pytest.raises(KeyboardInterrupt), deferred_signals():  # noqa: PT012
        ctrl_c()
        ctrl_c()
        done.append("all")
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_blocks_can_be_nested(ctrl_c):
    done = []
    with pytest.raises(KeyboardInterrupt), deferred_signals():  # noqa: PT012
        with deferred_signals():
            ctrl_c()
        done.append("outer")
    assert done


def test_an_error_inside_is_not_lost(ctrl_c):
    with pytest.raises(ZeroDivisionError), deferred_signals():
        _ = 1 / 0
    with pytest.raises(KeyboardInterrupt) as caught, deferred_signals():  # noqa: PT012
        ctrl_c()
        _ = 1 / 0
    assert isinstance(caught.value.__context__, ZeroDivisionError)


def test_ignored_signals_stay_ignored(ctrl_c):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with deferred_signals():
        ctrl_c()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_other_threads_leave_handlers_alone(ctrl_c):
    seen = []

    def look():
        with deferred_signals():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


@pytest.mark.parametrize("moment", ["load_overload", "save_overload"])
def test_ctrl_c_while_a_loop_is_compiled(tmp_path, monkeypatch, ctrl_c, moment):
    """It is compiled and stored before Ctrl-C is heard, and works afterwards."""
    monkeypatch.setenv("PANSOPHY_CACHE_DIR", str(tmp_path))

    @compiled
    def doubled(v):
        return 2 * v

    plain = getattr(loop_cache.LoopCache, moment)

    def pressed(self, *arguments):
        monkeypatch.setattr(loop_cache.LoopCache, moment, plain)
        ctrl_c()
        return plain(self, *arguments)

    monkeypatch.setattr(loop_cache.LoopCache, moment, pressed)
    with pytest.raises(KeyboardInterrupt):
        doubled(3)
    assert len(list((tmp_path / "loops").glob("*.loop"))) == 1
    before = loop_cache.WATCH.count
    assert doubled(3) == 6
    assert loop_cache.WATCH.count == before
