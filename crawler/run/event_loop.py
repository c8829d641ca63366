"""Settings of the event loop of a run, and of the garbage collector under it."""

import gc


def tune_garbage_collector() -> None:
    """Freeze what is imported by now, and collect rarely: reference counts free what a page leaves behind."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def loop_options() -> dict[str, bool]:
    """The options of the event loop: uvloop where it is installed."""
    try:
        import uvloop  # noqa: F401, PLC0415 - optional: it does not exist everywhere
    except ImportError:
        return {"use_uvloop": False}
    return {"use_uvloop": True}
