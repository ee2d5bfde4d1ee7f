//! The ranks of the last arrivals, and the quantile of a rank among them.
//!
//! Cost: a comparison for each rank in the window. State: 8 bytes per rank.

/// A sliding window of the ranks of all packets, or of every `period`-th packet.
#[derive(Clone, Debug)]
pub struct RankWindow {
    /// The last `length` ranks; the oldest is overwritten.
    ranks: Vec<f64>,
    length: usize,
    oldest: usize,
    period: u32,
    /// Packets until the next sample.
    skip: u32,
}

impl RankWindow {
    /// Creates an empty window for `length` ranks.
    #[must_use]
    pub fn new(length: u32, period: u32) -> Self {
        let length = length as usize;
        Self { ranks: Vec::with_capacity(length), length, oldest: 0, period, skip: 0 }
    }

    /// Fraction of the ranks in the window that are below `rank`; 0 if the window is empty.
    #[inline]
    #[must_use]
    pub fn quantile(&self, rank: f64) -> f64 {
        let below = self.ranks.iter().filter(|&&other| other < rank).count();
        below as f64 / self.ranks.len().max(1) as f64
    }

    /// Records the arrival of a packet of `rank`.
    #[inline]
    pub fn arrived(&mut self, rank: f64) {
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        self.skip = self.period - 1;
        if self.ranks.len() < self.length {
            self.ranks.push(rank);
        } else {
            self.ranks[self.oldest] = rank;
            self.oldest = (self.oldest + 1) % self.length;
        }
    }

    /// Bytes of the window.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.length * size_of::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_third_packet_is_sampled() {
        let mut window = RankWindow::new(2, 3);
        assert_eq!(window.quantile(0.0), 0.0);
        (0..9).for_each(|rank| window.arrived(f64::from(rank)));
        // Of 0, 3 and 6 the window contains the last two.
        assert_eq!([3.0, 4.0, 7.0].map(|rank| window.quantile(rank)), [0.0, 0.5, 1.0]);
    }

    proptest! {
        #[test]
        fn the_quantile_is_that_of_the_last_ranks(ranks in prop::collection::vec(0u8..10, 1..100), length in 1u32..20) {
            let mut window = RankWindow::new(length, 1);
            ranks.iter().for_each(|&rank| window.arrived(f64::from(rank)));
            let last = &ranks[ranks.len().saturating_sub(length as usize)..];
            for rank in 0..11 {
                let below = last.iter().filter(|&&other| other < rank).count();
                prop_assert_eq!(window.quantile(f64::from(rank)), below as f64 / last.len() as f64);
            }
        }
    }
}
