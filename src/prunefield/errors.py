"""Errors that teach: one line that says what was got, what is allowed and how to go on.

The command line prints the line and leaves with the error's `status`; nobody sees a traceback.
"""

from collections.abc import Iterable


class Error(Exception):
    """Something that the user can mend; `str(error)` is one line."""

    status = 1


class UsageError(Error, ValueError):
    """A wrong name, value, key or file."""

    status = 2


class StoreError(Error):
    """A store that cannot be read or written."""


class RunError(Error):
    """A run that could not be carried to its end."""


def show_line(text: str, most: int = 2000) -> str:
    """One line of text that any terminal can show: no line breaks or control characters, and not endless.

    >>> show_line("two\\nlines\\x1b[31m")
    'two lines\\\\x1b[31m'
    """
    short = text if len(text) <= most else f"{text[: most - 40]} … ({len(text):,} characters)"
    return "".join(part if part.isprintable() else repr(part)[1:-1] for part in " ".join(short.split()))


class PruneWarning(UserWarning):
    """A mask that does not do what its density suggests: an emptied layer, an output that depends on nothing."""


def nearest(got: str, allowed: Iterable[str]) -> str | None:
    """The allowed name most like `got`, if any is alike.

    >>> nearest("isng", ["ising", "kur"])
    'ising'
    """
    from difflib import get_close_matches

    matches = get_close_matches(got, list(allowed), n=1, cutoff=0.5)
    return matches[0] if matches else None


def unknown(what: str, got: object, allowed: Iterable[str]) -> UsageError:
    """The error for a name that does not exist.

    >>> print(unknown("task", "isng", ["ising", "kur"]))
    unknown task 'isng'; did you mean 'ising'? (allowed: ising, kur)
    """
    names, text = list(allowed), str(got)[:200]
    match = nearest(text, names)
    hint = f"; did you mean {match!r}?" if match else ""
    return UsageError(f"unknown {what} {text!r}{hint} (allowed: {', '.join(names) or 'none'})")
