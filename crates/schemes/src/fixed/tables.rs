//! The two tables of the integer arithmetic, computed at compile time with integers only.
//!
//! Without floating point, every compiler and machine gets the same entries. The headers for eBPF and P4 are written
//! from these arrays. The tests compare each entry with `libm` and pin both tables by a checksum.

/// Number of cells in a table; each is 2^-8 wide.
pub const CELLS: usize = 256;

/// `log2(1 + i/256)` in Q31, for i = 0 to 256: both ends of each of the 256 cells.
///
/// Error: half a unit, 2^-32.
pub static LOG2: [u32; CELLS + 1] = log2_table();

/// `2^(-i/256)` in Q32, for i = 0 to 255. Entry 0 is 2^32, hence 64-bit entries.
///
/// Error: half a unit, 2^-33.
pub static EXP2: [u64; CELLS] = exp2_table();

/// The number 1 in the Q62 format in which the tables are computed.
const ONE_Q62: u128 = 1 << 62;

/// Computes binary digits of `log2(y)` for y in `[1, 2)`. Squaring doubles the logarithm, whose integer part is the
/// next digit.
const fn log2_table() -> [u32; CELLS + 1] {
    let mut table = [0; CELLS + 1];
    let mut i = 0;
    while i < CELLS {
        let mut y = ONE_Q62 + ((i as u128) << 54);
        let mut digits: u64 = 0;
        let mut digit = 0;
        // Computes 31 digits, and one more for rounding. The k-th squaring has an error of 2^-62, which is 2^-62-k of
        // the logarithm: 2^-61 in total.
        while digit < 32 {
            y = (y * y) >> 62;
            digits <<= 1;
            if y >= 2 * ONE_Q62 {
                digits |= 1;
                y >>= 1;
            }
            digit += 1;
        }
        table[i] = ((digits + 1) >> 1) as u32;
        i += 1;
    }
    table[CELLS] = 1 << 31;
    table
}

/// Computes powers of `2^(-1/256)`. This number is the result of eight successive square roots, starting from 1/2.
const fn exp2_table() -> [u64; CELLS] {
    let mut root = ONE_Q62 >> 1;
    let mut halvings = 0;
    while halvings < 8 {
        root = (root << 62).isqrt();
        halvings += 1;
    }
    let mut table = [0; CELLS];
    let mut power = ONE_Q62;
    let mut i = 0;
    while i < CELLS {
        // 255 products have an error of at most 2^-61 each. The total of 2^-53 is far below the half unit 2^-33.
        table[i] = ((power + (1 << 29)) >> 30) as u64;
        power = (power * root) >> 62;
        i += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FNV-1a over the entries as little-endian 64-bit words.
    fn checksum(entries: impl Iterator<Item = u64>) -> u64 {
        entries
            .flat_map(u64::to_le_bytes)
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
    }

    #[test]
    fn each_entry_is_the_real_value_rounded() {
        // The tolerance is half a unit, plus 2^-20 of a unit for the arithmetic on both sides.
        let half = 0.5 + 1e-6;
        for (i, entry) in LOG2.iter().enumerate() {
            let real = libm::log2(1.0 + i as f64 / 256.0) * libm::exp2(31.0);
            assert!((f64::from(*entry) - real).abs() <= half, "log2, entry {i}");
        }
        for (i, entry) in EXP2.iter().enumerate() {
            let real = libm::exp2(32.0 - i as f64 / 256.0);
            assert!((*entry as f64 - real).abs() <= half, "exp2, entry {i}");
        }
    }

    #[test]
    fn tables_rise_and_fall_strictly() {
        assert!(LOG2.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(EXP2.windows(2).all(|pair| pair[0] > pair[1]));
    }

    #[test]
    fn tables_are_the_ones_that_all_hosts_carry() {
        assert_eq!((LOG2[0], LOG2[256]), (0, 1 << 31));
        // log2(1.5) = 0.584962500721156..., 2^-0.5 = 0.707106781186547...
        assert_eq!((LOG2[128], EXP2[128]), (1_256_197_405, 3_037_000_500));
        assert_eq!(checksum(LOG2.iter().map(|entry| u64::from(*entry))), 16_780_093_327_236_002_427);
        assert_eq!(checksum(EXP2.iter().copied()), 13_909_192_632_662_095_797);
    }
}
