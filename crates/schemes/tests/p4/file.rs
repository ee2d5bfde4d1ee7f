//! The file of golden vectors: packets and what the switch did with them, and the versions of switch and program.

use super::frame::Recipe;
use super::scheme::Scheme;
use super::switch::Outcome;
use std::fmt;

/// A packet, its time, and the queue at its arrival.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    pub now_ns: u64,
    pub ingress_port: u16,
    /// Last byte of the destination, 02:00:00:00:00:station.
    pub station: u8,
    /// Queue length in the unit of the AQM. The switch computes virtual queues itself.
    pub queue: u64,
    /// Random bits, for schemes that need them.
    pub random: u32,
    /// Length of the frame without tags.
    pub bytes: usize,
    pub recipe: Recipe,
}

impl Input {
    /// The frame.
    pub fn frame(&self) -> Vec<u8> {
        self.recipe.frame(self.station, self.bytes)
    }
}

/// The packets of one setup.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    pub name: String,
    /// Configuration commands of the switch.
    pub commands: String,
    pub packets: Vec<(Input, Outcome)>,
}

/// The file.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    pub scheme: Scheme,
    /// Version of the switch.
    pub bmv2: String,
    /// Version of the compiler.
    pub p4c: String,
    /// Hash of the program.
    pub program: String,
    pub sections: Vec<Section>,
}

/// Text common to all programs.
const HEAD: &str = "\
# A section has the commands of simple_switch_CLI that set the switch up, then packets:
#
#   gap port station queue bytes frame | verdict,flags egress.priority activity average threshold hash
#
# gap: ns since the packet before. port: of ingress. station: last byte of the destination 02:00:00:00:00:xx, hex.
# queue: in the unit of the AQM. bytes: of the frame without tags. frame: s802.1ad tag, q802.1Q tag, source, \
>destination,
# dDSCP, hTTL, vfirst byte of the IP header, nethertype, tcut off at, xall bytes.
# verdict: 0 accepted, 1 dropped by the AQM, 2 by the limit, 3 refused, 4 no route. flags: 1 labelled, 2 expedited,
";

impl fmt::Display for Vectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# Golden vectors of planes/p4/{}, recorded on BMv2 by `make p4-vectors`: do not edit.",
            self.scheme.program()
        )?;
        write!(f, "#\n{HEAD}{}", self.scheme.columns())?;
        writeln!(f, "bmv2 {}\np4c {}\nprogram {}", self.bmv2, self.p4c, self.program)?;
        for section in &self.sections {
            writeln!(f, "section {}", section.name)?;
            for command in section.commands.lines() {
                writeln!(f, "+ {command}")?;
            }
            let mut last = 0;
            for (input, outcome) in &section.packets {
                let gap = input.now_ns.wrapping_sub(last).cast_signed();
                last = input.now_ns;
                let Input { ingress_port, station, queue, random, bytes, recipe, .. } = input;
                let random = if *random == 0 { String::new() } else { format!("/{random:x}") };
                writeln!(f, "{gap} {ingress_port} {station:x} {queue}{random} {bytes} {recipe} | {outcome}")?;
            }
        }
        Ok(())
    }
}

impl Vectors {
    /// Reads the vectors of a scheme.
    ///
    /// # Errors
    ///
    /// If a line is not valid.
    pub fn read(scheme: Scheme, text: &str) -> Result<Self, String> {
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let mut head = |key: &str| {
            let line = lines.next().unwrap_or_default();
            let value = line.strip_prefix(key).and_then(|rest| rest.strip_prefix(' '));
            value.map(str::to_owned).ok_or_else(|| format!("\"{line}\" should begin with {key}"))
        };
        let (bmv2, p4c, program) = (head("bmv2")?, head("p4c")?, head("program")?);
        let mut vectors = Self { scheme, bmv2, p4c, program, sections: Vec::new() };
        let mut last = 0u64;
        for line in lines {
            if let Some(name) = line.strip_prefix("section ") {
                vectors.sections.push(Section { name: name.into(), commands: String::new(), packets: Vec::new() });
                last = 0;
                continue;
            }
            let section = vectors.sections.last_mut().ok_or("packets without a section")?;
            if let Some(command) = line.strip_prefix("+ ") {
                section.commands.push_str(command);
                section.commands.push('\n');
            } else {
                let packet = packet(line, last).ok_or_else(|| format!("\"{line}\" is no packet"))?;
                last = packet.0.now_ns;
                section.packets.push(packet);
            }
        }
        Ok(vectors)
    }
}

fn packet(line: &str, last: u64) -> Option<(Input, Outcome)> {
    let (input, outcome) = line.split_once(" | ")?;
    // The recipe of an empty frame is empty.
    let [gap, port, station, queue, bytes, recipe] = input.split(' ').collect::<Vec<_>>().try_into().ok()?;
    let (queue, random) = queue.split_once('/').unwrap_or((queue, "0"));
    let input = Input {
        now_ns: last.wrapping_add(gap.parse::<i64>().ok()?.cast_unsigned()),
        ingress_port: port.parse().ok()?,
        station: u8::from_str_radix(station, 16).ok()?,
        queue: queue.parse().ok()?,
        random: u32::from_str_radix(random, 16).ok()?,
        bytes: bytes.parse().ok()?,
        recipe: recipe.parse().ok()?,
    };
    let [verdict, egress, activity, average, threshold, frame] =
        outcome.split(' ').collect::<Vec<_>>().try_into().ok()?;
    let (verdict, flags) = verdict.split_at_checked(1)?;
    let (egress_port, priority) = egress.split_once('.')?;
    let outcome = Outcome {
        verdict: verdict.parse().ok()?,
        flags: u8::from_str_radix(flags, 16).ok()?,
        egress_port: egress_port.parse().ok()?,
        priority: priority.parse().ok()?,
        activity: u32::from_str_radix(activity, 16).ok()?,
        average: u64::from_str_radix(average, 16).ok()?,
        threshold: u64::from_str_radix(threshold, 16).ok()?,
        frame: u32::from_str_radix(frame, 16).ok()?,
    };
    Some((input, outcome))
}
