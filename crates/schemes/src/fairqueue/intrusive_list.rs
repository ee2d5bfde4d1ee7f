//! Doubly linked lists threaded through the elements of a vector: queues of packets, lists of active queues.
//!
//! An element is identified by its position and is in at most one list at a time. All operations are O(1) and none
//! allocates, so a thousand lists can share one block of memory.

/// Position that belongs to no element.
pub const NIL: u32 = u32::MAX;

/// Neighbours of an element in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    prev: u32,
    next: u32,
}

impl Link {
    /// Links of an element in no list.
    pub const NONE: Self = Self { prev: NIL, next: NIL };
}

/// An element that can be in a list.
pub trait Linked {
    /// Links of an element.
    fn link(&self) -> &Link;
    /// Mutable links of an element.
    fn link_mut(&mut self) -> &mut Link;
}

/// First and last element of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntrusiveList {
    head: u32,
    tail: u32,
}

impl Default for IntrusiveList {
    fn default() -> Self {
        Self { head: NIL, tail: NIL }
    }
}

impl IntrusiveList {
    /// The first element.
    #[inline]
    pub fn front(&self) -> Option<u32> {
        (self.head != NIL).then_some(self.head)
    }

    /// The last element.
    #[inline]
    pub fn back(&self) -> Option<u32> {
        (self.tail != NIL).then_some(self.tail)
    }

    /// Returns true if there is no element.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NIL
    }

    /// The element after `element`.
    #[inline]
    pub fn after<T: Linked>(elements: &[T], element: u32) -> Option<u32> {
        let next = elements[element as usize].link().next;
        (next != NIL).then_some(next)
    }

    /// Appends `element`, which must be in no list.
    #[inline]
    pub fn push_back<T: Linked>(&mut self, elements: &mut [T], element: u32) {
        *elements[element as usize].link_mut() = Link { prev: self.tail, next: NIL };
        if self.tail == NIL {
            self.head = element;
        } else {
            elements[self.tail as usize].link_mut().next = element;
        }
        self.tail = element;
    }

    /// Prepends `element`, which must be in no list.
    #[inline]
    pub fn push_front<T: Linked>(&mut self, elements: &mut [T], element: u32) {
        *elements[element as usize].link_mut() = Link { prev: NIL, next: self.head };
        if self.head == NIL {
            self.tail = element;
        } else {
            elements[self.head as usize].link_mut().prev = element;
        }
        self.head = element;
    }

    /// Removes `element`, which must be in this list.
    #[inline]
    pub fn remove<T: Linked>(&mut self, elements: &mut [T], element: u32) {
        let Link { prev, next } = *elements[element as usize].link();
        if prev == NIL {
            self.head = next;
        } else {
            elements[prev as usize].link_mut().next = next;
        }
        if next == NIL {
            self.tail = prev;
        } else {
            elements[next as usize].link_mut().prev = prev;
        }
        *elements[element as usize].link_mut() = Link::NONE;
    }

    /// Removes the first element.
    #[inline]
    pub fn pop_front<T: Linked>(&mut self, elements: &mut [T]) -> Option<u32> {
        let front = self.front()?;
        self.remove(elements, front);
        Some(front)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    struct Element(Link);

    impl Linked for Element {
        fn link(&self) -> &Link {
            &self.0
        }
        fn link_mut(&mut self) -> &mut Link {
            &mut self.0
        }
    }

    fn contents(list: &IntrusiveList, elements: &[Element]) -> Vec<u32> {
        std::iter::successors(list.front(), |&at| IntrusiveList::after(elements, at)).collect()
    }

    proptest! {
        /// Tests that two lists over the same elements behave like two deques.
        #[test]
        fn lists_behave_as_deques(operations in prop::collection::vec((0u32..8, 0usize..2, 0u8..3), 0..200)) {
            let mut elements: Vec<_> = (0..8).map(|_| Element(Link::NONE)).collect();
            let (mut lists, mut models) = ([IntrusiveList::default(); 2], [VecDeque::new(), VecDeque::new()]);
            for (element, which, operation) in operations {
                if operation == 0 {
                    prop_assert_eq!(lists[which].pop_front(&mut elements), models[which].pop_front());
                } else if let Some(home) = models.iter().position(|model| model.contains(&element)) {
                    lists[home].remove(&mut elements, element);
                    models[home].retain(|&other| other != element);
                } else if operation == 1 {
                    lists[which].push_front(&mut elements, element);
                    models[which].push_front(element);
                } else {
                    lists[which].push_back(&mut elements, element);
                    models[which].push_back(element);
                }
                for (list, model) in lists.iter().zip(&models) {
                    prop_assert_eq!(contents(list, &elements), model.iter().copied().collect::<Vec<_>>());
                    prop_assert_eq!(list.back(), model.back().copied());
                    prop_assert_eq!(list.is_empty(), model.is_empty());
                }
            }
        }
    }
}
