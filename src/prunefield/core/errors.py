"""Errors in one line: what was given, what is allowed and what to do.

The command line prints the line and exits with the error's `status`; users see no traceback.
"""

from collections.abc import Iterable, Sequence

MOST = 60  # names in one line


class Error(Exception):
    """Something that the user can fix; `str(error)` is one line."""

    status = 1


class UsageError(Error, ValueError):
    """A wrong name, value, key or file."""

    status = 2


class StoreError(Error):
    """A store that cannot be read or written."""


class RunError(Error):
    """A run that could not be completed."""


def show_line(text: str, most: int = 2000) -> str:
    """One line of text that any terminal can show: without line breaks and control characters, and of limited length.

    >>> show_line("two\\nlines\\x1b[31m")
    'two lines\\\\x1b[31m'
    """
    short = text if len(text) <= most else f"{text[: most - 40]} … ({len(text):,} characters)"
    return "".join(part if part.isprintable() else repr(part)[1:-1] for part in " ".join(short.split()))


class PruneWarning(UserWarning):
    """A mask that does not do what its density suggests: an emptied layer, or a constant output."""


def find_nearest(got: str, allowed: Iterable[str]) -> str | None:
    """The allowed name most similar to `got`, if there is one.

    >>> find_nearest("isng", ["ising", "kur"])
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
    match = find_nearest(text, names)
    hint = f"; did you mean {match!r}?" if match else ""
    return UsageError(f"unknown {what} {text!r}{hint} (allowed: {list_names(names) or 'none'})")


def list_names(names: Sequence[str]) -> str:
    """Names with commas, of very many (the layers of a large network) only the first ones.

    >>> list_names([str(number) for number in range(100)])[-20:]
    '58, 59 … and 40 more'
    """
    more = f" … and {len(names) - MOST} more" if len(names) > MOST else ""
    return f"{', '.join(names[:MOST])}{more}"
