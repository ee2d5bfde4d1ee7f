//! Mutations of bytes, for tests of parsers.

use fairlane_schemes::base::rng::Rng;

/// Changes, inserts, removes or duplicates a few bytes, or truncates the text. Half of the new bytes are from
/// `alphabet`.
pub fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>, alphabet: &[u8]) {
    for _ in 0..=rng.bits() % 4 {
        let at = rng.bits() as usize % (bytes.len() + 1);
        let byte = match alphabet.get(rng.bits() as usize % (2 * alphabet.len())) {
            Some(byte) => *byte,
            None => rng.bits() as u8,
        };
        match rng.bits() % 5 {
            0 => bytes.insert(at, byte),
            1 if at < bytes.len() => drop(bytes.remove(at)),
            2 => bytes.truncate(at),
            3 if at < bytes.len() => bytes.extend_from_within(at..(at + 8).min(bytes.len())),
            _ if at < bytes.len() => bytes[at] = byte,
            _ => {}
        }
    }
}
