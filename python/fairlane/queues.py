"""Schemes with their parameters, for `Scenario(queue=...)` and `compare`: `queues.abc(gamma="8 packets")`."""

from fairlane.simulate.keywords import members

__getattr__, __dir__ = members(__name__, "queue")
