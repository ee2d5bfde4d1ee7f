//! A node of a tournament tree: four entries in one cache line, used by [`super::event_set`] and
//! [`super::ranked_event_set`].

/// Entries in a node.
pub(crate) const FAN: usize = 4;

/// An entry that competes to be first.
pub(crate) trait Contender: Copy {
    /// Returns the earlier entry, or `self` if both are equal.
    fn or(self, other: Self) -> Self;
}

/// Four entries; at 16 bytes each, they fill a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct TournamentNode<E>(pub(crate) [E; FAN]);

impl<E: Contender> TournamentNode<E> {
    /// Stores an entry and returns the first of the four.
    #[inline]
    pub(crate) fn put(&mut self, place: usize, entry: E) -> E {
        self.0[place] = entry;
        self.winner()
    }

    #[inline]
    pub(crate) fn winner(&self) -> E {
        let [a, b, c, d] = self.0;
        a.or(b).or(c.or(d))
    }
}
