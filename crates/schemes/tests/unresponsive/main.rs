//! What sampling and counting schemes leave to unresponsive sources, beside the figures of an independent model of the
//! set-up of afc section 4. The model's figures are evidence for a reading of the paper, not the paper's.

mod black;
mod care;
mod choke;
mod link;
