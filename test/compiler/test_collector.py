"""Garbage is collected after a compilation, not during it; who has it off keeps it off."""

import gc

import pytest

from lamina.compiler.collector import collected_after


def test_once_at_the_end(monkeypatch):
    times = []
    monkeypatch.setattr(gc, "collect", lambda generation: times.append((generation, gc.isenabled())))
    with pytest.raises(ValueError), collected_after():
        assert not gc.isenabled()
        with collected_after():
            pass
        assert not gc.isenabled() and not times
        raise ValueError
    assert times == [(1, True)] and gc.isenabled()


def test_what_is_off_stays_off(monkeypatch):
    monkeypatch.setattr(gc, "collect", lambda *_: pytest.fail("collected"))
    gc.disable()
    try:
        with collected_after():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
