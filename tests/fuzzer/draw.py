"""Random choices, and values that programs often mishandle."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


class Draw(random.Random):
    """The random choices of one case.

    Attributes:
        calm: True if the case should succeed. Without such cases, checks would reject nearly every case, so few cases
            would reach the code after the checks.
    """

    calm = False

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self.random() < probability

    def pick(self, choices: Sequence[T]) -> T:
        """One of them."""
        return choices[self.randrange(len(choices))]

    def few(self, most: int) -> int:
        """A number from 0 to `most`; smaller numbers are more likely."""
        return min(int(self.expovariate(1.0)), most)


@dataclass(frozen=True)
class Raw:
    """TOML text of a value that Python cannot represent."""

    text: str


TEXTS = (
    *("", " ", "a", "x.y", "a b", "0", "nan", "None", "all", "-", "--", "-x", "=", "groups[0]", "bottleneck", "users"),
    *("[/x]", "[bold]", "[heavy]", "[link=x]y[/link]", "[[", "]", "\\[x]", ":smile:", "$\\frac$", "$x_{", "$$", "a$b"),
    *("\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "bell\x07", "a\nb", "a\r\nb", "a\tb", "\x00", "\x7f", "\x85", "\x9b1m"),
    *("\u202eright to left", "zero\u200bwidth", "e\u0301", "\u00e9", "\u540d\u524d", "\U0001f642", "\u0130", "\ufeff"),
    *("<script>alert(1)</script>", "<b>", "&amp;", '"', "'", "`", "\\", "%s%n", "{0}", "{{ x }}", "=1+1", "a,b", ";"),
    *("../up", "a/b", "/", ".", "..", "~", "*", "name" * 100, "\u540d" * 100, "x" * 5000, "point", "metric", "mean"),
)
_DIGITS = (
    *("0", "1", "2", "10", "100", "0.1", "0.5", "1.5", "1000000", "0.000000001", "0.1234567890123456789", "78.125"),
    *("-1", "-0", "+5", ".5", "5.", "1,5", "1_000", "0x10", "1e3", "1E-3", "1e400", "1e-400", "inf", "NaN", ""),
    *("18446744073709551615", "18446744073709551616", "9223372036854775808", "9" * 40, "9" * 5000, "1." + "3" * 5000),
    *("\u00b2", "\u0663", "\u00bd", "\u2167", "1 000", "--1", "1.2.3", "e5", "1e", "\uff11"),
)
_UNITS = (
    *("ps", "ns", "us", "ms", "s", "min", "h", "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "B", "kB", "MB", "GB"),
    *("KiB", "MiB", "packets", "packet", "bit", "bytes"),
)
_ODD_UNITS = ("", "\u00b5s", "S", "mbit/s", "B/s", "seconds", "m s", "packets packets", "%", "\x00", "d", "s\n", "/s")
NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, 2, 3, 7, 10, 64, 1000, 65_535, 65_536, 100_000, 1_000_000, 2**31 - 1, 2**31, 2**32, 2**53 + 1),
    *(2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30, -(2**63), -(2**63) - 1, 0.5, 1.0, 2.0, 1e-9, 1e-300, 5e-324, 1e300),
    *(-0.0, 0.1, 0.999999999999, 1.7976931348623157e308, float("inf"), float("-inf"), float("nan"), True, False),
    *(Raw("1" * 400), Raw("7" * 5000), Raw("0x" + "f" * 5000), Raw("1e5000"), Raw("1" * 5000 + ".5"), Raw("1_000")),
)
_OTHERS = (
    *(Raw("1979-05-27"), Raw("1979-05-27T07:32:00Z"), Raw("07:32:00"), Raw("{}"), Raw("[]"), Raw("[[]]"), Raw("''")),
    *(Raw("[" * 40 + "]" * 40), Raw("[" * 5000 + "]" * 5000), Raw("{a=" * 300 + "1" + "}" * 300), Raw("[1, 'a', {}]")),
)


def text(draw: Draw) -> str:
    """A text, possibly two concatenated, rarely random characters."""
    if draw.chance(0.1):
        return "".join(chr(draw.choice((draw.randrange(1, 256), draw.randrange(0x100, 0xD800)))) for _ in range(8))
    return draw.pick(TEXTS) + (draw.pick(TEXTS) if draw.chance(0.15) else "")


def quantity(draw: Draw) -> str:
    """A number and a unit, or something similar."""
    unit = draw.pick(_UNITS) if draw.chance(0.8) else draw.pick(_ODD_UNITS)
    return f"{draw.pick(_DIGITS)}{draw.pick((' ', ' ', '', '  ', chr(160)))}{unit}"


def junk(draw: Draw) -> Any:
    """A value of any kind."""
    kind = draw.random()
    if kind < 0.3:
        return quantity(draw)
    if kind < 0.5:
        return text(draw)
    if kind < 0.8:
        return draw.pick(NUMBERS)
    return draw.pick(_OTHERS)


_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)( ?)(\S+)")


def scaled(draw: Draw, like: str) -> str:
    """The quantity `like` in its unit, multiplied by a random factor from 0.1 to 10."""
    found = _QUANTITY.fullmatch(like)
    if found is None:
        return like
    number = float(found[1]) * draw.pick((0.1, 0.25, 0.5, 1.0, 1.0, 2.0, 3.0, 10.0))
    return f"{number:.12g}{found[2]}{found[3]}"


def toml(value: Any) -> str:
    """A value as TOML, with inline tables."""
    match value:
        case Raw(text=written):
            return written
        case bool():
            return "true" if value else "false"
        case dict():
            return "{" + ", ".join(f"{_key(str(name))} = {toml(inner)}" for name, inner in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(toml, value)) + "]"
        case int() | float():
            return repr(value)
        case _:
            return _quoted(str(value))


def document(table: dict[str, Any]) -> str:
    """A table as a TOML file."""
    return "".join(f"{_key(str(name))} = {toml(value)}\n" for name, value in table.items())


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name, re.ASCII) else _quoted(name)


def _quoted(value: str) -> str:
    return '"' + "".join(map(_escaped, value)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    is_surrogate = 0xD800 <= ord(character) < 0xE000  # a byte that is not UTF-8
    return character if character.isprintable() or is_surrogate else f"\\U{ord(character):08x}"
