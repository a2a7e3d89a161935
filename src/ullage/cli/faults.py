"""How faults are told: one line on standard error, the next step below it."""

from __future__ import annotations

import errno
import sys

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NOT_OURS = {errno.EACCES, errno.EPERM, errno.EROFS}
_TOO_MANY = {errno.EMFILE, errno.ENFILE}


def tell(message: str, hint: str) -> None:
    """One line, and the next step below it if there is one; with `ULLAGE_DEBUG=1` the traceback before both."""
    from ullage.settings import debug_wanted

    if sys.stderr is None:  # closed by the caller; `print` would take standard output in its place
        return
    if debug_wanted():
        import traceback

        traceback.print_exc()
    print(f"ullage: {message}", file=sys.stderr)
    if hint:
        print(f"hint: {hint}", file=sys.stderr)


def tell_system_fault(error: OSError) -> None:
    """Tells what the system refused: the output, a file, or something without a name."""
    what = error.strerror or str(error)
    if output_lost() or (error.filename is None and error.errno in _NO_SPACE):
        place = "Free some space, or send" if error.errno in _NO_SPACE else "Send"
        tell(f"The output cannot be written: {what}.", f"{place} the output elsewhere.")
    else:
        tell(f"{error.filename or 'The system refused'}: {what}.", _next_step(error.errno))


def output_lost() -> bool:
    """Whether what waits for standard output cannot be written. It is given up then, so that it fails only once."""
    if sys.stdout is None:
        return False
    try:
        sys.stdout.flush()
    except OSError:
        forget_output()
        return True
    return False


def forget_output() -> None:
    """Lets the interpreter flush what nobody reads any more without complaint."""
    import os

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def _next_step(number: int | None) -> str:
    if number in _NO_SPACE:
        return "Free some space, or name another place."
    if number in _NOT_OURS:
        return "Check that the file and its folder are yours to use."
    if number in _TOO_MANY:
        return "Close other programs, or raise the limit (`ulimit -n`)."
    return "Try it again; if it stays so, try another file or folder."
