//! Arrivals in one direction: packets at their edge nodes, or acknowledgements at their hosts.
//!
//! An arrival waits in the first of three queues that can take it:
//! - a [`SharedLine`], if the arrival is not earlier than the other arrivals in the line;
//! - the [`Calendar`], for hosts whose access links have individual delays;
//! - the line of its host.
//!
//! A shared line and the calendar have one event each, for their first arrival. The lines of a host share the event of
//! the host. Events are ordered by time and user. So the choice of a queue affects the cost but not the result.

use super::calendar::Calendar;
use super::delay_lines::DelayLines;
use super::shared_line::{OfUser, SharedLine};
use fairlane_schemes::base::units::Time;

/// A queue shared by hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// A shared line, by number.
    SharedLine(u32),
    /// The calendar.
    Calendar,
}

/// Event that a new arrival moves to an earlier time, because this arrival is now the first in its queue. Contains the
/// new time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// No event: another arrival is earlier, or the packet was dropped.
    Nothing,
    /// No event: the packet reaches the edge node at this time, before any other event, so it was not stored.
    AtEdge(Time),
    /// Event of this previously empty shared line.
    SharedLine(u32, Time),
    /// Event of the calendar.
    Calendar(Time),
    /// Event of the host; the time may be unchanged.
    Host(Time),
}

/// Arrivals in one direction, with the memory of their queues.
#[derive(Clone, Debug)]
pub struct Arrivals<T> {
    pub(super) shared: Vec<SharedLine<T>>,
    pub(super) calendar: Option<Box<Calendar<T>>>,
    /// Memory of the hosts' lines.
    pub(super) own: DelayLines<T>,
}

impl<T: Copy> Default for Arrivals<T> {
    fn default() -> Self {
        Self { shared: Vec::new(), calendar: None, own: DelayLines::default() }
    }
}

impl<T: OfUser + Copy> Arrivals<T> {
    /// Number of shared lines.
    #[must_use]
    pub fn shared_lines(&self) -> u32 {
        self.shared.len() as u32
    }

    /// Returns true if some hosts use the calendar.
    #[must_use]
    pub fn has_calendar(&self) -> bool {
        self.calendar.is_some()
    }

    /// Adds an arrival to this shared line if the line stays in order. Otherwise, if `CALENDAR`, adds it to the
    /// calendar if the arrival is in the calendar's range at `now`. Otherwise returns `None`, and the caller must add
    /// the arrival to the line of its host.
    // Always inlined, so that the caller knows the event.
    #[inline(always)]
    pub(super) fn enter<const CALENDAR: bool>(
        &mut self,
        line: Option<u32>,
        (time, user): (Time, u32),
        make: impl Fn() -> T,
        now: Time,
    ) -> Option<Earlier> {
        if let Some(number) = line {
            let line = &mut self.shared[number as usize];
            if line.keeps_order(time, user) {
                let is_first = line.push(time, user, make);
                return Some(if is_first { Earlier::SharedLine(number, time) } else { Earlier::Nothing });
            }
        }
        match &mut self.calendar {
            Some(calendar) if CALENDAR && calendar.reaches(time, now) => {
                let is_first = calendar.push(time, user, make());
                Some(if is_first { Earlier::Calendar(time) } else { Earlier::Nothing })
            }
            _ => None,
        }
    }

    /// Time and user of the first arrival of a queue; [`Time::NEVER`] if it is empty.
    #[must_use]
    #[inline(always)]
    pub fn first(&self, queue: Queue) -> (Time, u32) {
        match queue {
            Queue::SharedLine(number) => self.shared[number as usize].first(),
            Queue::Calendar => self.calendar.as_ref().map_or((Time::NEVER, 0), |calendar| calendar.first()),
        }
    }

    /// Takes the first arrival of a queue, which must not be empty. Also returns time and user of the next one, like
    /// [`Arrivals::first`].
    #[inline(always)]
    pub fn pop(&mut self, queue: Queue) -> (T, (Time, u32)) {
        match queue {
            Queue::SharedLine(number) => self.shared[number as usize].pop(),
            Queue::Calendar => {
                let calendar = self.calendar.as_mut().expect("an arrival was announced");
                (calendar.pop(), calendar.first())
            }
        }
    }

    /// Returns user and value of the arrival `ranks` positions after the first one of a queue, if known.
    #[must_use]
    #[inline(always)]
    pub fn upcoming(&self, queue: Queue, ranks: usize) -> Option<(u32, &T)> {
        match queue {
            Queue::SharedLine(number) => {
                self.shared[number as usize].upcoming(ranks).map(|value| (value.user(), value))
            }
            Queue::Calendar => self.calendar.as_ref()?.upcoming(ranks),
        }
    }

    pub(super) fn len_shared(&self) -> usize {
        let in_lines: usize = self.shared.iter().map(|line| line.iter().count()).sum();
        in_lines + self.calendar.as_ref().map_or(0, |calendar| calendar.entered())
    }
}
