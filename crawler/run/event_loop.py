"""The event loop of a run, and when the garbage collector runs under it."""

import gc


def tune_garbage_collector() -> None:
    """Everything that is imported by now stays; what a page leaves behind is freed by reference counts."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def loop_options() -> dict[str, bool]:
    """The options of the event loop: uvloop where there is one."""
    try:
        import uvloop  # noqa: F401, PLC0415 - optional: it does not exist everywhere
    except ImportError:
        return {"use_uvloop": False}
    return {"use_uvloop": True}
