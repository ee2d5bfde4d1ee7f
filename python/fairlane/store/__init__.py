"""The result store keeps finished runs on disk, so that only missing runs are simulated. See docs/store.md."""

from fairlane.store.folder import Store, Writer
from fairlane.store.point import key

__all__ = ["Store", "Writer", "key"]
