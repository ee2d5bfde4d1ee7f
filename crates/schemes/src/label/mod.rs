//! Schemes with labels: the edge writes a label, every port decides by it.
//!
//! Below the schemes: [`meter_bank`], the meters of an edge.

pub mod abc;
pub mod abc2016;
pub mod afpft;
pub mod csfq;
pub mod hcsfq;
pub mod meter_bank;
pub mod ppv;
pub mod pvpie;
pub mod rfq;
