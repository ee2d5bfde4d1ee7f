//! Tests of the complete sender on a path of fixed delay. Each test selects the losses.

mod path;
mod quic;
mod random;
mod recovery;
mod supply;

#[test]
fn state_is_as_small_as_documented() {
    assert!(size_of::<super::TrackedSender>() <= 1024, "{}", size_of::<super::TrackedSender>());
}
