//! Who draws random numbers in a replication: each component from a stream of its own.

use fairlane_schemes::choices;

choices! {
    /// A kind of stream; those of one kind are told apart by an index.
    pub enum RandomStream {
        /// Start times of a group's connections and other sources; index: the user group.
        Start = "start",
        /// The round-trip times of a group's users, if they are spread; index: as that of `start`.
        Rtt = "rtt",
        /// What an unresponsive source draws: gaps, phase, jitter, bursts and pauses; index: the source.
        Source = "source",
        /// What a web source draws: sessions, pages, objects, pauses; index: the source.
        Web = "web",
        /// What a source of transfers draws: their starts and sizes; index: the source, counted with web sources.
        Transfers = "transfers",
        /// What a test of responsiveness draws: the times of its probes, and connections; index: the source, counted
        /// with web sources.
        Probes = "probes",
        /// Pauses between the repeated transfers of TCP connections; one stream, or one for each if users have own
        /// streams.
        Pause = "pause",
        /// What the congestion controls of TCP connections draw: a seed for each connection; one stream, or, of
        /// connections that do not last, one for each if users have own streams.
        Sender = "sender",
        /// What markers draw; one stream, or, if users have own streams, one for each link that packets enter through.
        Marker = "marker",
        /// What a port's discipline draws; index: the link, 0 for the first bottleneck.
        Queue = "queue",
        /// Loss and jitter of a link; index: the link.
        LinkImpairment = "link_impairment",
        /// Loss and jitter of access links; index: the user group.
        AccessImpairment = "access_impairment",
    }
}
