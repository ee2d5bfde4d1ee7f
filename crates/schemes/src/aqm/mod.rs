//! Active queue management without labels: what a port can do that sees packets, and perhaps flows, but no edge.
