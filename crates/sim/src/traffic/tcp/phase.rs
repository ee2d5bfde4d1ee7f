//! Phase of a connection.

/// Phase of a connection. After the handshake these are the congestion states of ns-3 and Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not started.
    Closed,
    /// The SYN is not answered yet.
    SynSent,
    /// No congestion.
    Open,
    /// Duplicate ACKs, fewer than the threshold.
    Disorder,
    /// Fast recovery.
    Recovery,
    /// After a timeout, until all that was sent before it is acknowledged, and a segment more.
    Loss,
}

impl Phase {
    /// Names in traces, by `phase as usize`.
    pub const NAMES: [&str; 6] = ["closed", "syn_sent", "open", "disorder", "recovery", "loss"];
}
