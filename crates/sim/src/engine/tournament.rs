//! Four entries of a tournament in one cache line: the nodes of the trees in [`super::event_set`] and
//! [`super::ranked_event_set`].

/// Entries in a node.
pub(crate) const FAN: usize = 4;

/// Entries that compete to be first.
pub(crate) trait Contender: Copy {
    /// The earlier of two, `self` if they are equal.
    fn or(self, other: Self) -> Self;
}

/// Four entries: with 16 bytes each, they fill a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct TournamentNode<E>(pub(crate) [E; FAN]);

impl<E: Contender> TournamentNode<E> {
    /// Stores an entry; returns the first of the four.
    #[inline]
    pub(crate) fn put(&mut self, place: usize, entry: E) -> E {
        self.0[place] = entry;
        self.winner()
    }

    /// The first of the four.
    #[inline]
    pub(crate) fn winner(&self) -> E {
        let [a, b, c, d] = self.0;
        a.or(b).or(c.or(d))
    }
}
