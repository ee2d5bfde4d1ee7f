"""Parameters of the markers of schemes, for `Scenario(marker=...)`: `markers.abc(memory="1 s")`."""

from fairlane.simulate.keywords import members

__getattr__, __dir__ = members(__name__, "marker")
