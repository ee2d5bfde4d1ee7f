"""Optimisers with ask and tell, the interface of the library pycma.

A search uses points of the unit cube, which `space.py` maps to values.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from fairlane.base.errors import UserError

Point: TypeAlias = Sequence[float]
"""Coordinates from 0 to 1."""


class Optimiser(Protocol):
    """Searches the point of the unit cube with the smallest value."""

    def ask(self) -> Sequence[Point]:
        """Returns the points to evaluate next, at least one."""

    def tell(self, points: Sequence[Point], values: Sequence[float]) -> None:
        """Receives the values of all points that `ask` returned."""


OptimiserFactory: TypeAlias = Callable[[int, int], Optimiser]
"""Creates an optimiser from the number of dimensions and a seed; equal seeds must give equal optimisers."""


class CmaOptimiser:
    """CMA-ES (Hansen and Ostermeier 2001) by pycma, restarted when it stagnates.

    Each start draws a Latin hypercube and begins the evolution at its best point. All random numbers come from one
    generator, so that equal seeds request equal points.
    """

    DESIGN, EACH = 96, 8
    """A Latin hypercube has `EACH` points per dimension, but at most `DESIGN` points."""
    GENERATION, LEAST = 24, 4
    """A generation has `LEAST` points plus two per dimension, but at most `GENERATION` points. Because values are
    noisy, `GENERATION` is twice the recommendation of Hansen's tutorial (4 + 3 ln n) for n = 16 dimensions."""
    STANDS_STILL = 15
    """Generations without improvement before a restart."""
    STEP = 0.25
    """Initial standard deviation: a quarter of each range, as pycma's manual recommends."""

    def __init__(self, dimensions: int, seed: int) -> None:
        import numpy as np  # here, since it takes a quarter of the start-up time of every command

        self._library, self._numpy = _pycma(), np
        self._dimensions = max(dimensions, 2)  # pycma needs two; the second has no effect
        self._design = min(self.DESIGN, self.EACH * self._dimensions)
        self._generation = min(self.GENERATION, self.LEAST + 2 * self._dimensions)
        self._random = np.random.default_rng(seed)
        self._evolution: Any = None
        self._best = float("inf")
        self._idle = 0

    def ask(self) -> Sequence[Point]:
        """Returns a Latin hypercube first, then generations."""
        points = self._latin_hypercube() if self._evolution is None else self._numpy.array(self._evolution.ask())
        return [[float(x) for x in point] for point in points]

    def tell(self, points: Sequence[Point], values: Sequence[float]) -> None:
        """Starts the evolution at the best point of the hypercube, or continues it."""
        best = min(values)
        if self._evolution is None:
            self._begin(points[list(values).index(best)])
            self._best, self._idle = best, 0
            return
        self._evolution.tell([self._numpy.array(point) for point in points], list(values))
        self._idle = 0 if best < self._best else self._idle + 1
        self._best = min(best, self._best)
        if self._idle >= self.STANDS_STILL or self._evolution.stop():
            self._evolution = None

    def _begin(self, start: Point) -> None:
        options = {
            "bounds": [0, 1],
            "popsize": self._generation,
            "randn": lambda *shape: self._random.standard_normal(shape),
            "seed": self._numpy.nan,  # do not use pycma's generator
            "verbose": -9,
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._evolution = self._library.CMAEvolutionStrategy(list(start), self.STEP, options)

    def _latin_hypercube(self) -> Any:
        """N points such that each dimension, divided into N slices, has one point in every slice."""
        slices = self._numpy.array([self._random.permutation(self._design) for _ in range(self._dimensions)])
        return ((slices + self._random.random(slices.shape)) / self._design).T


def _pycma() -> Any:
    try:
        return importlib.import_module("cma")
    except ImportError:
        raise UserError(
            "search needs the package cma, which is not installed: pip install 'fairlane[search]'"
        ) from None
