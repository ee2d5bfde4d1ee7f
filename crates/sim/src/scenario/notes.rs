//! What to know about a scenario that is valid.

use super::{GroupConfig, Scenario, SourceConfig};
use fairlane_schemes::note::{Note, Notes};

impl Scenario {
    /// What a reader of the results ought to know, each thing once: of the queues, then of the groups.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        for (index, link) in self.topology.links.iter().enumerate() {
            let of_link = match &link.queue {
                Some(queue) => queue.notes(&format!("topology.links[{index}].queue"), link.params.rate),
                None => self.queue.notes("queue", link.params.rate),
            };
            for note in of_link {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
        notes.extend(self.late_starts());
        notes
    }

    /// Flows that start while it is measured make means smaller than what they get once all of them send.
    fn late_starts(&self) -> Vec<Note> {
        let warmup = self.run.warmup;
        let is_late = |group: &GroupConfig| {
            group.params.start_until > warmup && group.sources.iter().any(SourceConfig::sends_to_the_end)
        };
        let late: Vec<usize> = (0..self.groups.len()).filter(|&index| is_late(&self.groups[index])).collect();
        let Some((&first, others)) = late.split_first() else { return Vec::new() };
        let until = self.groups[first].params.start_until;
        let others = match others.len() {
            0 => String::new(),
            1 => " (and so in 1 other group)".into(),
            count => format!(" (and so in {count} other groups)"),
        };
        let text = format!(
            "\"{until}\" is after the warm-up of {warmup}{others}: flows start while it is measured, and means include \
             the time before; a longer run.warmup or an earlier start_until avoids that"
        );
        let mut notes = Notes::about(format!("groups[{first}]"));
        notes.add("start_until", text);
        notes.into_vec()
    }
}
