//! Kinds of events. The docs of [`crate::network::hosts`] explain shared lines and the calendar.

/// Kind of the earliest event, with an index within the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The warm-up ends, or some sources stop.
    Control,
    /// A packet reaches the far end of a link.
    Link(u32),
    /// A packet delayed by an impairment continues.
    Impairment(u32),
    /// A packet in a shared line reaches the edge node.
    SharedUp(u32),
    /// A packet in the calendar reaches the edge node.
    Calendar,
    /// An acknowledgement in a shared line reaches its host.
    SharedDown(u32),
    /// An acknowledgement in the calendar reaches its host.
    AckCalendar,
    /// An arrival that is stored for its host alone, neither in a shared line nor in the calendar: a packet reaches the
    /// edge node, or an acknowledgement reaches the host.
    Host(u32),
    /// An unresponsive source sends.
    Source(u32),
    /// A transfer of a web source starts, or a video player (numbered after the web sources) acts.
    Web(u32),
    /// A TCP flow starts, or one of its timers may have expired.
    Flow(u32),
}
