"""Names and comments of C from names of models, coordinates and settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from textwrap import fill

from sarrus.base.errors import ArgumentError
from sarrus.base.printable import printable

KEYWORDS = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    """.split()  # noqa: SIM905
)
_OF_ONE_KIND = frozenset(
    """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma fmax
    fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint
    nextafter nexttoward pow remainder remquo rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc
    """.split()  # noqa: SIM905
)
LIBM = frozenset(name + end for name in _OF_ONE_KIND for end in ("", "f", "l")) | frozenset(
    "gamma j0 j1 jn y0 y1 yn".split()  # noqa: SIM905
)
_HEADERS = frozenset(
    """
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdarg stdbool stddef stdint
    stdio stdlib string tgmath time wchar wctype
    """.split()  # noqa: SIM905
)
_LONGEST = 63  # significant characters of a C identifier


def identifier(name: str, fallback: str = "model") -> str:
    """Return a C identifier like ``name``: letters, digits and single underscores, not at its ends."""
    text = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    if not text:
        return fallback
    return f"{fallback}_{text}" if text[0].isdigit() else text


def prefix_of(model: str, given: str | None) -> str:
    """Return the prefix of all names of an export, made from ``given`` or else from the name of the model.

    A given prefix used by C, its libraries or the files of an export is an `ArgumentError`.
    """
    name = identifier(model if given is None else given)
    taken = _taken(name)
    if given is None:
        return (f"model_{name}" if taken else name)[:_LONGEST].rstrip("_")
    if taken:
        raise ArgumentError(
            f"name={given!r}: {name} is {taken}: give another prefix, such as model_{name}", element="name"
        )
    if len(name) > _LONGEST:
        raise ArgumentError(
            f"name={given[:20]!r}… has {len(name)} letters, of which C tells {_LONGEST} apart: give a shorter one",
            element="name",
        )
    return name


def _taken(name: str) -> str:
    """Return the owner of a name (compared without case, as file names may be), empty if it is free."""
    name = name.lower()
    if name in KEYWORDS:
        return "a keyword of C"
    if name in LIBM:
        return "a function of libm"
    if name in _HEADERS:
        return "a header of C"
    if name == "main":
        return "the example of the export, main.c"
    return "the prefix of the kernels in the source" if name == "k" else ""


def macros(prefix: str, names: Iterable[str]) -> list[str]:
    """Return a name in capitals for each of ``names``, all different."""
    found: list[str] = []
    for k, name in enumerate(names):
        macro = f"{prefix}_{identifier(name, str(k))}".upper()
        while macro in found:
            macro = f"{macro}_{k}"
        found.append(macro)
    return found


def comment(text: str) -> str:
    """Return text made safe for a C comment."""
    text = " ".join(printable(text).split()).replace("?", ".").replace("\\", "/")
    return text.replace("*/", "* /").replace("/*", "/ *")


def note(text: str) -> str:
    """Return text as a comment of C, in lines of 100 characters."""
    return f"/* {wrapped(comment(text), 99, ' * ')[3:]} */"


def wrapped(text: str, width: int, indent: str) -> str:
    """Return text in lines of at most ``width`` characters including indent, broken at spaces."""
    return fill(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def enumeration(title: str, prefix: str, names: Sequence[str], units: Sequence[str]) -> str:
    """Return an enumeration of C with a macro for each name, counting from zero."""
    said = (f"{comment(own)}{f' [{unit}]' if unit else ''}" for own, unit in zip(names, units))
    return listing(note(title), list(zip(macros(prefix, names), range(len(names)), said)))


def listing(heading: str, entries: Sequence[tuple[str, int, str]]) -> str:
    """Return an enumeration of C from name, value and comment of each entry."""
    lines = [
        f"    {name} = {value}{',' if k < len(entries) else ''}{f' /* {said} */' if said else ''}"
        for k, (name, value, said) in enumerate(entries, start=1)
    ]
    return "\n".join([heading, "enum {", *lines, "};\n"])
