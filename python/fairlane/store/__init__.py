"""The result store: finished runs on disk, so that only missing ones are simulated. docs/store.md describes it."""

from fairlane.store.folder import Store, Writer
from fairlane.store.point import key

__all__ = ["Store", "Writer", "key"]
