//! Ports and their treatment of arriving and departing packets.

use fairlane_schemes::base::config::{ConfigError, ParamSet, Table};
use fairlane_schemes::base::units::{BitRate, QueueLimit, QueueMeasure, Threshold, Time};
use fairlane_schemes::contract::buffer::{BufferParams, Scheduler};
use fairlane_schemes::label::abc::{AbcParams, check_opens};
use fairlane_schemes::label::csfq::{CsfqParams, CsfqVariant, CutBudget, OverflowBound};
use fairlane_schemes::queue::queue_length::DelayEstimate;
use fairlane_schemes::queue::queue_threshold::QueueThreshold;
use fairlane_schemes::{choices, params};

choices! {
    /// Treatment of packets that arrive at a port.
    pub enum Arrivals {
        /// None.
        None = "none",
        /// Edge of the domain: labels are stripped and users are metered.
        Meter = "meter",
        /// Link within the domain: labels are trusted.
        Trusted = "trusted",
    }
}

choices! {
    /// Address that identifies the user of an arriving packet.
    pub enum UserIs {
        /// Source address: a port towards users, upload.
        Source = "source",
        /// Destination address: a port towards the Internet, download.
        Destination = "destination",
    }
}

choices! {
    /// Scheme that decides on packets that leave a port.
    pub enum QueueScheme {
        /// Only the qdisc drops, when it is full.
        DropTail = "droptail",
        /// The activity AQM.
        Abc = "abc",
        /// CSFQ, if it is the scheme of the marker.
        Csfq = "csfq",
    }
}

choices! {
    /// Encoding of the label on the link of a port.
    pub enum Carrier {
        /// No encoding: the label stays in the node, in the packet mark.
        None = "none",
        /// An 802.1ad tag.
        Tag = "802.1ad",
        /// An IPv6 hop-by-hop option. Packets of other protocols have no label on the link.
        Ipv6Option = "ipv6_option",
        /// A shim of 8 bytes after the Ethernet header. All neighbours on the link must be nodes.
        Shim = "shim",
    }
}

choices! {
    /// Source of the assurance that the far end of a link strips labels.
    pub enum FarEnd {
        /// The far end announces on the link that it strips labels. Until then, no labels are written.
        Announced = "announced",
        /// The operator asserts that the far end strips labels, so they are always written.
        Reads = "reads",
    }
}

choices! {
    /// Queue that the AQM reads.
    pub enum BacklogSource {
        /// The root qdisc of the port.
        Qdisc = "qdisc",
        /// A virtual queue, drained at `rate`, for bottlenecks outside the kernel.
        Virtual = "virtual",
        /// The node's own qdisc, a BPF program that replaces the root qdisc.
        Bpf = "bpf",
    }
}

/// Doc comment of the key that names a port.
pub(super) const INTERFACE_DOC: &str = "Name of the network interface; required.";

params! {
    /// A port, except its queue.
    pub struct PortParams {
        /// Treatment of arriving packets.
        arrivals: Arrivals = "none", source "our choice";
        /// Address that identifies the user of arriving packets, if they are metered.
        user_is: UserIs = "source", source "our choice";
        /// Maximum number of meters for addresses that arrive at this port; default: an equal part of
        /// users_table.limit.
        address_limit: Option<u32> = null, in 1..=1048576, source "our choice";
        /// Encoding of the label on the link.
        carrier: Carrier = "none", source "our choice";
        /// Source of the assurance that the far end strips labels; has no effect with carrier "none" or "ipv6_option".
        far_end: FarEnd = "announced", source "our choice";
        /// Rate of the link; needed by thresholds in time and by the virtual queue.
        rate: Option<BitRate> = null, in "1 kbit/s"..="1 Tbit/s", symbol "C_b", source "our choice";
        /// Rate up to which control traffic bypasses the AQM; "0 bit/s": no traffic bypasses it.
        control_rate: BitRate = "1 Mbit/s", in "0 bit/s"..="1 Tbit/s", source "our choice";
        /// Qdisc class of best-effort packets, such as "1:20".
        qdisc_class_be: Option<String> = null, source "our choice";
        /// Qdisc class of expedited packets, such as "1:10".
        qdisc_class_ef: Option<String> = null, source "our choice";
    }
}

params! {
    /// The queue of a port, except the parameters of its scheme.
    pub struct QueueParams {
        /// Decision on packets that leave.
        scheme: QueueScheme = "droptail", source "our choice";
        /// Queue that the AQM reads.
        backlog: BacklogSource = "qdisc", source "our choice";
        /// Maximum queue, tested after the AQM. If absent, only the qdisc's own limit applies.
        limit: Option<QueueLimit> = null, in "1 packets"..="16777216 packets", symbol "Q_max", source "abc2018 Table 1";
        /// Scheduling between traffic classes, with backlog "bpf".
        scheduler: Scheduler = "fifo", source "abc2018 III-D2";
        /// Offset of BE with scheduler "medf", as a multiple of the time to send a full queue.
        be_offset: f64 = 2.0, in 0.0..=1000.0, symbol "delta_BE", source "abc2018 III-D2 (Table 1 prints 1.5)";
    }
}

/// One port.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Name of the network interface.
    pub interface: String,
    /// Settings of the port.
    pub params: PortParams,
    /// Queue of the port.
    pub queue: QueueParams,
    /// Parameters of the activity AQM.
    pub abc: AbcParams,
    /// Parameters of CSFQ.
    pub csfq: CsfqParams,
}

impl Port {
    pub(super) fn read(table: &mut Table<'_>) -> Result<Self, ConfigError> {
        let interface: String = table.required("interface")?;
        // IFNAMSIZ of Linux: 15 bytes and a terminating zero.
        let is_name = (1..=15).contains(&interface.len()) && !interface.contains(['/', ' ', '\0']);
        if !is_name {
            let problem = format!("\"{interface}\" is not a name of a network interface, 1 to 15 characters");
            return Err(ConfigError::new(table.key("interface"), problem));
        }
        let params = PortParams::read(table)?;
        let (queue, abc, csfq) = (QueueParams::default(), AbcParams::default(), CsfqParams::default());
        let mut port = Self { interface, params, queue, abc, csfq };
        port.check(table)?;
        if let Some(mut queue) = table.table("queue")? {
            port.read_queue(&mut queue)?;
            port.check_queue(&queue, &table.key("rate"))?;
        }
        table.finish()?;
        Ok(port)
    }

    fn read_queue(&mut self, table: &mut Table<'_>) -> Result<(), ConfigError> {
        table.required::<QueueScheme>("scheme")?;
        self.queue = QueueParams::read(table)?;
        match self.queue.scheme {
            QueueScheme::DropTail => {}
            QueueScheme::Abc => self.abc = AbcParams::read(table)?,
            QueueScheme::Csfq => self.csfq = CsfqParams::read(table)?,
        }
        table.finish()
    }

    /// Qdisc class (major and minor number) of each traffic class, best effort first; 0 leaves the choice to the qdisc.
    #[must_use]
    pub fn qdisc_classes(&self) -> [u32; 2] {
        [&self.params.qdisc_class_be, &self.params.qdisc_class_ef]
            .map(|class| class.as_deref().and_then(class_id).unwrap_or(0))
    }

    fn check(&self, table: &Table<'_>) -> Result<(), ConfigError> {
        let PortParams { qdisc_class_be, qdisc_class_ef, .. } = &self.params;
        for (name, class) in [("qdisc_class_be", qdisc_class_be), ("qdisc_class_ef", qdisc_class_ef)] {
            if let Some(class) = class
                && class_id(class).is_none()
            {
                let problem = format!("\"{class}\" is not a class of a qdisc such as \"1:10\" (hexadecimal)");
                return Err(ConfigError::new(table.key(name), problem));
            }
        }
        if self.params.arrivals == Arrivals::Trusted && self.params.carrier == Carrier::None {
            let problem = "\"none\" brings no labels to trust, it must be 802.1ad, ipv6_option or shim";
            return Err(ConfigError::new(table.key("carrier"), problem));
        }
        Ok(())
    }

    /// Checks conditions that involve several keys of the queue. `rate` is the full name of the rate's key, for errors.
    fn check_queue(&self, table: &Table<'_>, rate: &str) -> Result<(), ConfigError> {
        let QueueParams { scheme, backlog, limit, .. } = self.queue;
        self.check_own_qdisc(table, rate)?;
        let thresholds = self.thresholds();
        let q_min = thresholds[0].1;
        let measure = q_min.measure();
        let all = if scheme == QueueScheme::Csfq { "q_min and q_threshold" } else { "q_min, q_base and gamma" };
        for (name, threshold) in thresholds {
            if threshold.measure() != measure {
                let problem = format!(
                    "\"{threshold}\" is in {}, but q_min \"{}\" is in {measure}: give {all} in one unit",
                    threshold.measure(),
                    q_min
                );
                return Err(ConfigError::new(table.key(name), problem));
            }
            let most = most(measure);
            if threshold.magnitude() > most.magnitude() {
                let problem = format!("\"{threshold}\" is out of range, it must be from 0 to {most}");
                return Err(ConfigError::new(table.key(name), problem));
            }
        }
        let wanted = if measure == QueueMeasure::Packets { "packets" } else { "bytes" };
        if let Some(limit) = limit {
            if matches!(limit, QueueLimit::Packets(_)) != (measure == QueueMeasure::Packets) {
                let problem = format!("\"{limit}\" is not in {wanted}, which q_min \"{q_min}\" asks for");
                return Err(ConfigError::new(table.key("limit"), problem));
            }
            QueueThreshold::check("q_min", q_min, limit, table)?;
        }
        match scheme {
            QueueScheme::DropTail => {}
            QueueScheme::Abc => check_opens(self.abc.q_min, table)?,
            QueueScheme::Csfq => self.check_csfq(table, rate)?,
        }
        let needs_rate = measure == QueueMeasure::Delay || backlog == BacklogSource::Virtual;
        if scheme != QueueScheme::DropTail && needs_rate && self.params.rate.is_none() {
            let why = if backlog == BacklogSource::Virtual { "a virtual queue" } else { "thresholds in time" };
            return Err(ConfigError::new(rate, format!("missing, {why} cannot do without")));
        }
        if backlog == BacklogSource::Virtual && measure == QueueMeasure::Packets {
            let problem = "\"virtual\" counts no packets: give q_min, q_base, gamma and limit in bytes or time";
            return Err(ConfigError::new(table.key("backlog"), problem));
        }
        if self.abc.delay_estimate != DelayEstimate::LinkRate {
            let problem = "is not possible here, the only one is \"link_rate\"";
            return Err(ConfigError::new(table.key("delay_estimate"), problem));
        }
        Ok(())
    }

    /// Returns true if the node's own qdisc is the queue of the port.
    #[must_use]
    pub fn has_own_qdisc(&self) -> bool {
        self.queue.backlog == BacklogSource::Bpf
    }

    /// Offset of BE in MEDF, abc2018 III-D2; `None` if the scheduler is another one.
    #[must_use]
    pub fn be_offset(&self) -> Option<Time> {
        let QueueParams { scheduler, limit, be_offset, .. } = self.queue;
        let (limit, rate) = (limit?, self.params.rate?);
        let buffer = BufferParams { limit, scheduler, be_offset, ..BufferParams::default() };
        (scheduler == Scheduler::Medf).then(|| buffer.be_offset_at(rate))
    }

    /// Checks the keys of the node's own qdisc. A BPF qdisc cannot write packets (net/sched/bpf_qdisc.c).
    fn check_own_qdisc(&self, table: &Table<'_>, rate: &str) -> Result<(), ConfigError> {
        let QueueParams { scheme, limit, scheduler, be_offset, .. } = self.queue;
        let wrong = |name, problem: &str| Err(ConfigError::new(table.key(name), problem));
        if scheduler != Scheduler::Medf && be_offset != QueueParams::default().be_offset {
            return wrong("be_offset", "only scheduler \"medf\" has one");
        }
        if !self.has_own_qdisc() {
            let problem = "only backlog \"bpf\" has one; other qdiscs have qdisc_class_be and qdisc_class_ef";
            return if scheduler == Scheduler::Fifo { Ok(()) } else { wrong("scheduler", problem) };
        }
        match scheme {
            QueueScheme::DropTail => wrong("backlog", "\"bpf\" is a queue for scheme \"abc\" only"),
            QueueScheme::Csfq => {
                wrong("backlog", "\"bpf\" cannot write the new labels of csfq into packets, use \"qdisc\"")
            }
            QueueScheme::Abc if self.abc.ecn == Some(true) => {
                wrong("ecn", "backlog \"bpf\" cannot mark packets, use \"qdisc\"")
            }
            QueueScheme::Abc if limit.is_none() => wrong("limit", "missing, backlog \"bpf\" has no other limit"),
            QueueScheme::Abc if self.qdisc_classes() != [0, 0] => {
                wrong("backlog", "\"bpf\" has no qdisc_class_be and qdisc_class_ef, use scheduler")
            }
            QueueScheme::Abc if scheduler == Scheduler::Medf && self.params.rate.is_none() => {
                Err(ConfigError::new(rate, "missing, scheduler \"medf\" cannot do without"))
            }
            QueueScheme::Abc => Ok(()),
        }
    }

    /// Thresholds of the scheme, Q_min first.
    #[must_use]
    pub fn thresholds(&self) -> Vec<(&'static str, Threshold)> {
        if self.queue.scheme == QueueScheme::Csfq {
            vec![("q_min", self.csfq.q_min), ("q_threshold", self.csfq.q_threshold)]
        } else {
            vec![("q_min", self.abc.q_min), ("q_base", self.abc.q_base), ("gamma", self.abc.gamma)]
        }
    }

    /// Returns true if Q_min is above 0. Q_min then stays above 0 when it is rounded to whole units, so an empty queue
    /// accepts packets. The rounding changes no decision, since a non-empty queue has at least one unit.
    #[must_use]
    pub fn has_q_min(&self) -> bool {
        self.thresholds()[0].1.magnitude() > 0.0
    }

    fn check_csfq(&self, table: &Table<'_>, rate: &str) -> Result<(), ConfigError> {
        let only = |name, value: &str| {
            Err(ConfigError::new(table.key(name), format!("is not possible here, the only one is \"{value}\"")))
        };
        if self.params.rate.is_none() {
            return Err(ConfigError::new(rate, "missing, csfq cannot do without"));
        }
        if self.csfq.variant != CsfqVariant::Amended {
            return only("variant", "amended");
        }
        if self.csfq.cut_budget != CutBudget::OnEntry {
            return only("cut_budget", "on_entry");
        }
        if self.csfq.overflow_bound != OverflowBound::Cuts {
            return only("overflow_bound", "cuts");
        }
        Ok(())
    }
}

/// Returns the maximum threshold in the unit `measure`: at most 2^40 units of the integer arithmetic.
fn most(measure: QueueMeasure) -> Threshold {
    match measure {
        QueueMeasure::Packets => Threshold::Packets(16_777_216.0),
        QueueMeasure::Bytes => Threshold::Bytes(1e12),
        QueueMeasure::Delay => Threshold::Delay(Time::from_secs(8)),
    }
}

/// Parses `"1:10"`; both numbers are hexadecimal, as in `tc`.
fn class_id(text: &str) -> Option<u32> {
    let (major, minor) = text.split_once(':')?;
    let number = |digits: &str| u16::from_str_radix(digits, 16).ok().map(u32::from);

    let id = number(major)? << 16 | number(minor)?;
    (id >> 16 != 0).then_some(id)
}
