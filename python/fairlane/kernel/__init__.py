"""The kernel of the plane `linux`, built from the distribution's source and kept in a cache."""

from fairlane.kernel.cache import Built, find

__all__ = ["Built", "find"]
