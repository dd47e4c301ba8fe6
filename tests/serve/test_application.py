"""The application: what to install without the extra."""

import pytest

from pansophy import serve


def test_without_the_extra_it_is_said_what_to_install(dummy, monkeypatch):
    from pansophy.serve import application

    monkeypatch.setattr(
        application, "find_spec", lambda name: None if name == "uvicorn" else name
    )
    for call in (serve.app, serve.run):
        with pytest.raises(
            ImportError, match=r"uvicorn.*pip install 'pansophy\[serve\]'"
        ):
            call(dummy)
