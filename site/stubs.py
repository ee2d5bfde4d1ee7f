"""Documents the types of the extension by their stubs, which have types and sentences for all of their members."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import fairlane
from fairlane import _fairlane


def take() -> None:
    """Puts what the stubs say of the package's public types in their place."""
    path = Path(fairlane.__file__).with_name("_fairlane.pyi")
    # Annotations stay text, as in this file: stubs name what comes later.
    source = "from __future__ import annotations\n" + path.read_text(encoding="utf-8")
    stubs = ModuleType("fairlane")
    exec(compile(source, path, "exec"), stubs.__dict__)
    for name in fairlane.__all__:
        of_extension = getattr(_fairlane, name, None)
        if isinstance(of_extension, type) and of_extension is getattr(fairlane, name):
            setattr(fairlane, name, getattr(stubs, name))
