//! A row or a feed of HTB: its classes are served in turn, in the order of their numbers.
//!
//! Source: Linux sch_htb.c, `htb_add_to_id_tree`, `htb_id_find_next_upper`.

use std::collections::BTreeSet;

/// Larger than any class number.
const END: u32 = u32::MAX;

/// Class numbers and the current turn, which belongs to the first class from `next` on. If that class leaves, the turn
/// passes to the next class.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    members: BTreeSet<u32>,
    next: u32,
}

impl Turns {
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Adds or removes a class. Returns true if the first class was added or the last one removed.
    pub(super) fn set(&mut self, class: u32, is_member: bool) -> bool {
        let was_empty = self.is_empty();
        if is_member {
            self.members.insert(class)
        } else {
            self.members.remove(&class)
        };
        was_empty != self.is_empty()
    }

    /// Class whose turn it is; `None` after the last.
    pub(super) fn at(&mut self) -> Option<u32> {
        self.next = self.members.range(self.next..).next().copied().unwrap_or(END);
        (self.next != END).then_some(self.next)
    }

    /// Ends the turn of `class` and begins the turn of the next class.
    pub(super) fn pass(&mut self, class: u32) {
        self.next = class.checked_add(1).and_then(|after| self.members.range(after..).next()).copied().unwrap_or(END);
    }

    /// Starts again with the first class.
    pub(super) fn rewind(&mut self) {
        self.next = 0;
    }
}
