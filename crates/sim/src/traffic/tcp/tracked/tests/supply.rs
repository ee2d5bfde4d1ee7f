//! Applications that limit their sender. The RTT is 100 ms: the SYN-ACK comes at 100 ms.

use super::path::{Lot, Path, plain};
use crate::traffic::tcp::TcpParams;
use fairlane_schemes::base::units::BitRate;

#[test]
fn an_application_writes_once_its_connection_is_open() {
    // A segment of 1000 bytes each 10 ms.
    let params = TcpParams { app_rate: Some(BitRate(800_000)), ..plain() };
    let mut path = Path::new(params, Some(3), |_, _| Lot::Arrives);
    path.run_to_completion();
    // A picosecond after the time at which each is written whole, which is rounded.
    let sent: Vec<_> = path.sent.iter().map(|&(at, seq, _)| (at.0 / 1_000_000_000, seq)).collect();
    assert_eq!(sent, [(110, 0), (120, 1), (130, 2)]);
}
