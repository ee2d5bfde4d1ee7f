//! Tests of the whole sender, with a path of fixed delay and losses chosen by a test.

mod path;
mod quic;
mod random;
mod recovery;
mod supply;

#[test]
fn state_is_as_small_as_documented() {
    assert!(size_of::<super::TrackedSender>() <= 1024, "{}", size_of::<super::TrackedSender>());
}
