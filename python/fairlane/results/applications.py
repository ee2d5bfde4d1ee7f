"""What tables and pages show of the applications of a group: calls, videos, tests of responsiveness."""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    """A number of an application: what it is called, its name in a summary, and the factor to the unit."""

    words: str
    unit: str
    name: str
    factor: float = 1.0


FIGURES = {
    "voip": (
        Figure("MOS", "", "voip_mos"),
        Figure("worst MOS", "", "voip_worst_mos"),
        Figure("R", "", "voip_r_factor"),
        Figure("mouth to ear", "ms", "voip_mouth_to_ear_s", 1e3),
        Figure("jitter", "ms", "voip_jitter_s", 1e3),
        Figure("lost", "%", "voip_lost_share", 100),
        Figure("late", "%", "voip_late_share", 100),
    ),
    "responsiveness": (
        Figure("round trips per minute", "", "responsiveness_rpm"),
        Figure("of new connections", "", "responsiveness_foreign_rpm"),
        Figure("on load", "", "responsiveness_loaded_rpm"),
        Figure("probes", "", "responsiveness_probes"),
    ),
    "video": (
        Figure("bitrate", "Mbit/s", "video_bitrate_bps", 1e-6),
        Figure("stalls", "", "video_stalls"),
        Figure("stalled", "s", "video_stalled_s"),
        Figure("stalled", "%", "video_stalled_share", 100),
        Figure("switches", "", "video_switches"),
        Figure("start-up", "s", "video_startup_s"),
    ),
}
"""By record of a group."""
