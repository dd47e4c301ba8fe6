"""The studio as a program: its port, its address, an end without waiting."""

import socket

import pytest

from pansophy.studio import server


def test_the_first_free_port_is_taken():
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind((server.ADDRESS, server.PORT))
            taken.listen()
        except OSError:
            pass  # another program has it
        assert server.first_free_port() > server.PORT


def test_folders_that_cannot_be_used_are_told(tmp_path):
    with pytest.raises(ValueError, match="There is no folder"):
        server.run_studio(tmp_path / "none")
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="There is no folder"):
        server.run_studio(tmp_path / "file")


def test_no_browser_is_opened_without_a_screen(monkeypatch):
    monkeypatch.setattr(server.sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not server.can_open_browser()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert server.can_open_browser()
