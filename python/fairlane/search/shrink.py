"""Shrinks a scenario while it still shows its effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from fairlane.search.space import Choice, Range, Space, Value

Shows: TypeAlias = Callable[[Sequence[Mapping[str, Value]]], Sequence[bool]]
"""Returns for each set of choices true if the set still shows the effect."""

MOST_PASSES = 4


def shrunk(
    space: Space,
    plain: Mapping[str, Value],
    values: Mapping[str, Value],
    unused: Callable[[Mapping[str, Value]], set[str]],
    shows: Shows,
) -> dict[str, Value]:
    """The simplest choices that still show the effect, found key by key until no key changes.

    Each key gets the simplest sufficient value: fewer users and flows first, then simple values, then round values.
    """
    now = dict(values)
    for _ in range(MOST_PASSES):
        before = dict(now)
        for key, choice in space.choices.items():
            if key in unused(now):
                now[key] = plainest(choice, plain.get(key))
                continue
            plainer = list(_plainer(choice, plain.get(key), now[key]))
            tries = [{**now, key: value} for value in plainer]
            for tried, still in zip(tries, shows(tries) if tries else [], strict=True):
                if still:
                    now = tried
                    break
        if now == before:
            break
    return now


def plainest(choice: Range | Choice, plain: Value | None) -> Value:
    """Value for a key that has no effect."""
    if plain is not None:
        return plain
    return choice.values[0] if isinstance(choice, Choice) else choice.written(choice.low)


def _plainer(choice: Range | Choice, plain: Value | None, value: Value) -> Iterator[Value]:
    """Values that are simpler than `value`, simplest first."""
    if value == plain:
        return
    seen: set[Value] = {value}
    for tried in _candidates(choice, plain, value):
        if tried not in seen:
            seen.add(tried)
            yield tried


def _candidates(choice: Range | Choice, plain: Value | None, value: Value) -> Iterator[Value]:
    if plain is not None:
        yield plain
    if isinstance(choice, Choice):
        yield from choice.values[: list(choice.values).index(value)] if value in choice.values else ()
        return
    number = choice.number(value)
    if choice.is_whole and not choice.unit:
        # Counts become as small as possible. In a large range not every count is tried.
        yield from (choice.written(count) for count in sorted(_counts(choice, number)))
    elif value != plain:
        # 1, 2 and 5 are rounder than other digits; one digit is rounder than two.
        yield from (choice.written(near) for near in _round_numbers(number) if choice.low <= near <= choice.high)


def _counts(choice: Range, number: float) -> set[int]:
    few = {count for count in (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64) if choice.low <= count < number}
    return few | {int(choice.low)} - {int(number)}


def _round_numbers(number: float) -> list[float]:
    """The two nearest (in ratio) of 1, 2, 5, 10, 20 ..., and the number rounded to one digit; none if already round."""
    if number <= 0:
        return []
    decades = [digit * 10.0**power for power in range(-6, 7) for digit in (1, 2, 5)]
    nearest = sorted(decades, key=lambda decade: max(decade / number, number / decade))[:2]
    if any(abs(decade - number) < 1e-9 * number for decade in nearest):
        return []
    return [float(f"{decade:.6g}") for decade in nearest] + [float(f"{number:.1g}")]
