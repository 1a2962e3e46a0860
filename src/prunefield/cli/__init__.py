"""The command line: finds the verb's file, reads its options, calls it, and turns errors into one line.

A verb is one file in `verbs/` with `add_options(parser)` and `execute(args)`; its docstring is its help. Only the
requested verb is imported, so that `prunefield --help` answers quickly.
"""

import errno
import gc
import os
import signal
import sys
from contextlib import nullcontext
from importlib import import_module
from typing import NoReturn

import prunefield
from prunefield.core.errors import Error, show_line, unknown
from prunefield.core.interruption import find_advice
from prunefield.core.names import modules, read_summary
from prunefield.core.terminal import find_width, wrap_lines


def main(argv: list[str] | None = None) -> int:
    """Runs a command; returns its exit status: 0 done, 1 something failed, 2 bad usage (130 if interrupted)."""
    before = signal.signal(signal.SIGINT, _leave)
    if reconfigure := getattr(sys.stdout, "reconfigure", None):
        reconfigure(errors="backslashreplace")  # a name that the terminal cannot show must not make it fail
    try:
        status = call_verb(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()  # what cannot be written shall be known here
        return status
    except Error as error:
        return _complain(str(error), error.status)
    except BrokenPipeError:  # the reader of our output (head, less) has left
        _forget_stdout()
        return 0
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _forget_stdout()
        return _complain("cannot write the output: no space left on device; make room and run the command again", 1)
    except (MemoryError, RuntimeError) as error:
        if not _is_memory(error):
            raise
        return _complain(f"not enough memory on this machine: {error}; reduce the size of the problem", 1)
    finally:
        signal.signal(signal.SIGINT, before)
        if argv is None:  # the process ends: nobody needs to look for cycles among all that torch has loaded
            gc.freeze()


def _complain(message: str, status: int) -> int:
    print(f"prunefield: {show_line(message)}", file=sys.stderr)
    return status


def _forget_stdout() -> None:
    """Discards what is left in the buffer, so that Python does not complain about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_memory(error: Exception) -> bool:
    """Whether Python, numpy or torch, which has no specific error for it, ran out of memory."""
    said = ("allocate memory", "not enough memory", "calculation overflowed", "multiplication overflow")
    return isinstance(error, MemoryError) or any(text in str(error) for text in said)


def _leave(*_: object) -> NoReturn:
    """Exits immediately. No clean-up is needed: the store is safe at any moment, and workers die with this process.

    A KeyboardInterrupt could not do this: libraries that are being loaded swallow it or break in strange ways.
    """
    show_cursor = "\r\x1b[?25h" if sys.stderr.isatty() else "\n"
    os.write(2, f"{show_cursor}prunefield: interrupted; {find_advice()}\n".encode())
    os._exit(130)


def call_verb(argv: list[str]) -> int:
    """Calls the verb that `argv` names."""
    verbs = modules("cli.verbs")
    first = argv[0] if argv else "--help"
    if first in ("-h", "--help", "help"):
        print(describe_verbs(verbs))
        return 0
    if first in ("-V", "--version"):
        print(f"prunefield {prunefield.__version__}")
        return 0
    if first not in verbs:
        raise unknown("command", first, verbs)
    from prunefield.cli.options import make_parser, reserve_stdout

    verb = import_module(verbs[first])
    args = make_parser(first, verb).parse_intermixed_args(argv[1:])
    with reserve_stdout() if getattr(args, "json", False) else nullcontext():
        return verb.execute(args)


def describe_verbs(verbs: dict[str, str]) -> str:
    """What `prunefield --help` prints."""
    width = find_width() or 1000
    lines = [wrap_lines(read_summary("cli.verbs", name), width, first=f"  {name:<10} ") for name in verbs]
    return "\n".join(
        (
            f"prunefield {prunefield.__version__}",
            *wrap_lines("Which data, networks and pruning rules make local receptive fields, and why.", width),
            "",
            "usage: prunefield COMMAND [OPTIONS]",
            "",
            *(line for verb in lines for line in verb),
            "",
            *wrap_lines("`prunefield COMMAND --help` explains a command.", width),
            *wrap_lines("To begin, run: prunefield reproduce --scale smoke", width),
        )
    )
