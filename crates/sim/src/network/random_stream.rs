//! Random streams of a replication. Each component has a separate stream.

use fairlane_schemes::choices;

choices! {
    /// Kind of a random stream. An index distinguishes several streams of a kind.
    pub enum RandomStream {
        /// Start times of a group's connections and other sources; index: the user group.
        Start = "start",
        /// Round-trip times of a group's users, if they are spread; index: the user group.
        Rtt = "rtt",
        /// Gaps, phases, jitter, bursts and pauses of unresponsive sources; index: the source.
        Source = "source",
        /// Web sources: sessions, pages, objects, pauses; index: the source.
        Web = "web",
        /// Start times and sizes of transfers; index: the source, numbered together with web sources.
        Transfers = "transfers",
        /// Times of probes and connections in tests of responsiveness; index: the source, numbered together with web
        /// sources.
        Probes = "probes",
        /// Pauses between repeated transfers of TCP connections; one stream, or one per user if users have separate
        /// streams.
        Pause = "pause",
        /// Seeds of the congestion controls of TCP connections; one stream or, for short-lived connections, one per
        /// user if users have separate streams.
        Sender = "sender",
        /// Random numbers of markers; one stream or, if users have separate streams, one for each link through which
        /// packets enter.
        Marker = "marker",
        /// Lost messages of the exchange between ingress nodes; index: the user.
        Exchange = "exchange",
        /// Scheme of a port; index: the link, 0 for the first bottleneck.
        Queue = "queue",
        /// Impairments of a link; index: the link.
        LinkImpairment = "link_impairment",
        /// Impairments of access links; index: the user group.
        AccessImpairment = "access_impairment",
    }
}
