//! Phase of a connection.

/// Phase of a connection. After the handshake, phases are the congestion states of ns-3 and Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not started.
    Closed,
    /// The SYN has not been answered yet.
    SynSent,
    /// No congestion.
    Open,
    /// Fewer duplicate ACKs than the threshold.
    Disorder,
    /// Fast recovery.
    Recovery,
    /// Recovery from a retransmission timeout. Ends when all segments sent before the timeout are acknowledged. Without
    /// SACK, one further segment must be acknowledged.
    Loss,
}

impl Phase {
    /// Names in traces, by `phase as usize`.
    pub const NAMES: [&str; 6] = ["closed", "syn_sent", "open", "disorder", "recovery", "loss"];
}
