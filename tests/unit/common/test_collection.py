"""The garbage collector rests while anybody asked for it, and then works as before."""

from __future__ import annotations

import gc
import threading

import pytest

from common.collection import collection_paused


def test_it_rests_until_the_last_block_has_ended() -> None:
    assert gc.isenabled()
    with collection_paused():
        with collection_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_works_again_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), collection_paused():
        raise ZeroDivisionError
    assert gc.isenabled()


def test_another_thread_does_not_end_the_pause_of_the_first() -> None:
    def pause_shortly() -> None:
        with collection_paused():
            pass

    with collection_paused():
        thread = threading.Thread(target=pause_shortly)
        thread.start()
        thread.join()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_stays_off_where_it_was_off() -> None:
    gc.disable()
    try:
        with collection_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
