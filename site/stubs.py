"""Documents the extension's types with their stubs, which have types and sentences for all members."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import fairlane
from fairlane import _fairlane


def take() -> None:
    """Replaces the package's public types by their stubs."""
    path = Path(fairlane.__file__).with_name("_fairlane.pyi")
    # Annotations stay text, since stubs refer to later definitions.
    source = "from __future__ import annotations\n" + path.read_text(encoding="utf-8")
    stubs = ModuleType("fairlane")
    exec(compile(source, path, "exec"), stubs.__dict__)
    for name in fairlane.__all__:
        of_extension = getattr(_fairlane, name, None)
        if isinstance(of_extension, type) and of_extension is getattr(fairlane, name):
            setattr(fairlane, name, getattr(stubs, name))
