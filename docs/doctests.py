"""Lets the documentation show the doctests of docstrings as code: Markdown takes `>>>` for a quotation."""

import re

import griffe

DOCTEST = re.compile(r"^( *)>>> .*(?:\n(?! *$).*)*", re.MULTILINE)


class Doctests(griffe.Extension):
    """Puts a fence of the language `pycon` around every doctest, up to the blank line after it."""

    def on_object(self, *, obj: griffe.Object, **kwargs: object) -> None:
        if obj.docstring is not None:
            obj.docstring.value = DOCTEST.sub(r"\1```pycon\n\g<0>\n\1```", obj.docstring.value)
