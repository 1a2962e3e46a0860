"""Errors in one line: what was given, what is allowed and what to do.

The command line prints the line and exits with the error's `status`; users see no traceback.
"""

from collections.abc import Iterable, Sequence

MOST = 12  # names in one line
FEW = 8  # names that an error lists although a command shows them all


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


def find_similar(got: str, allowed: Iterable[str], most: int = 3) -> list[str]:
    """The allowed names that were probably meant: those that begin like `got`, or else the most similar ones.

    What begins after a slash counts as a beginning too, since names of items have their paper in front; a paper that
    is found stands for its items. Of similar names, those that are clearly less similar than the best one are left out.

    >>> find_similar("repro", ["report", "reproduce"]), find_similar("isng", ["ising", "kur"])
    (['reproduce'], ['ising'])
    >>> find_similar("fig1", ["bar2023/fig1", "bar2023/fig2", "redman2025/fig1"])
    ['bar2023/fig1', 'redman2025/fig1']
    >>> find_similar("fg1", ["bar2023/fig1", "bar2023/table2"]), find_similar("bar", ["bar2023", "bar2023/fig1"])
    (['bar2023/fig1'], ['bar2023'])
    """
    from difflib import SequenceMatcher, get_close_matches

    names = list(dict.fromkeys(allowed))
    starts = [name for name in names if got and (name.startswith(got) or f"/{got}" in name)]
    if starts:
        exact = [name for name in starts if name.rpartition("/")[2] == got]
        whole = [name for name in starts if name.partition("/")[0] not in starts or "/" not in name]
        return (exact or whole)[:most]
    for keys in ({name: name for name in names}, {name: name.rpartition("/")[2] for name in names}):
        matches = get_close_matches(got, dict.fromkeys(keys.values()), n=most, cutoff=0.5)
        ratios = {key: SequenceMatcher(None, key, got).ratio() for key in matches}
        if best := [key for key in matches if ratios[key] > ratios[matches[0]] - 0.05]:
            return [name for key in best for name in names if keys[name] == key][:most]
    return []


def unknown(what: str, got: object, allowed: Iterable[str], see: str = "", few: int = FEW) -> UsageError:
    """The error for a name that does not exist; `see` is a command that lists the allowed names if they are not few.

    >>> print(unknown("task", "isng", ["ising", "kur"]))
    unknown task 'isng'; did you mean 'ising'? (allowed: ising, kur)
    >>> print(unknown("item", "xyz", [f"bar2023/fig{n}" for n in range(30, 60)], see="prunefield list items"))
    unknown item 'xyz' (30 are allowed; `prunefield list items` shows them)
    """
    names, text = list(allowed), str(got)[:200]
    quoted = [repr(name) for name in find_similar(text, names)]
    last = f"{', '.join(quoted[:-1])} or {quoted[-1]}" if len(quoted) > 1 else "".join(quoted)
    hint = f"; did you mean {last}?" if quoted else ""
    shown = f"allowed: {list_names(names) or 'none'}"
    if see and len(names) > few:
        shown = f"{len(names)} are allowed; `{see}` shows them"
    return UsageError(f"unknown {what} {text!r}{hint} ({shown})")


def list_names(names: Sequence[str], most: int = MOST) -> str:
    """Names with commas, of very many (the layers of a large network) only the first ones.

    >>> list_names([str(number) for number in range(100)])[-20:]
    '10, 11 … and 88 more'
    """
    more = f" … and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
