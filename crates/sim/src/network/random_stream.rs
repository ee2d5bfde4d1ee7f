//! Random streams of a replication. Each component has a separate stream.

use fairlane_schemes::choices;

choices! {
    /// Kind of a random stream; streams of the same kind have an index.
    pub enum RandomStream {
        /// Start times of a group's connections and other sources; index: the user group.
        Start = "start",
        /// Round-trip times of a group's users, if they are spread; index: the user group.
        Rtt = "rtt",
        /// Unresponsive sources: gaps, phase, jitter, bursts and pauses; index: the source.
        Source = "source",
        /// Web sources: sessions, pages, objects, pauses; index: the source.
        Web = "web",
        /// Sources of transfers: start times and sizes; index: the source, numbered together with web sources.
        Transfers = "transfers",
        /// Tests of responsiveness: times of probes, and connections; index: the source, numbered together with web
        /// sources.
        Probes = "probes",
        /// Pauses between repeated transfers of TCP connections; one stream, or one per user if users have separate
        /// streams.
        Pause = "pause",
        /// Congestion controls of TCP connections: a seed for each connection; one stream, or, for short-lived
        /// connections, one per user if users have separate streams.
        Sender = "sender",
        /// Markers; one stream, or, if users have separate streams, one for each link through which packets enter.
        Marker = "marker",
        /// Scheme of a port; index: the link, 0 for the first bottleneck.
        Queue = "queue",
        /// Loss and jitter of a link; index: the link.
        LinkImpairment = "link_impairment",
        /// Loss and jitter of access links; index: the user group.
        AccessImpairment = "access_impairment",
    }
}
