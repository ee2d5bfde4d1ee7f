//! What can happen in a run.

/// What the earliest event is about, with its index among its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The warm-up is over, or a source stops.
    Control,
    /// A packet reaches the far end of a link.
    Link(u32),
    /// A packet that an impairment delays goes on.
    Impairment(u32),
    /// A packet of a shared line reaches the edge node.
    SharedUp(u32),
    /// A packet of the calendar reaches the edge node.
    Calendar,
    /// An acknowledgement of a shared line reaches its host.
    SharedDown(u32),
    /// An acknowledgement of the calendar reaches its host.
    AckCalendar,
    /// A packet reaches the edge node from this host, or an acknowledgement the host; in no shared line
    /// and no calendar.
    Host(u32),
    /// A source that does not react sends.
    Source(u32),
    /// A transfer of a web source starts; or, numbered after them, a video player acts.
    Web(u32),
    /// A TCP flow starts, or one of its timers may be due.
    Flow(u32),
}
