//! Schemes with labels: the edge writes a label, and every port uses it to decide.
//!
//! [`meter_bank`] has the meters of an edge, which the schemes share.

pub mod abc;
pub mod abc2016;
pub mod afpft;
pub mod csfq;
pub mod exchange;
pub mod hcsfq;
pub mod meter_bank;
pub mod ppv;
pub mod pvpie;
pub mod rfq;
