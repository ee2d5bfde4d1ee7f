//! What a scheme adds to the switch: parameters in its tables, a model of its arithmetic, the packets that test it.

use super::file::Input;
use super::setup::Setup;
use super::train::Dice;
use super::{abc, csfq};
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::fixed::Activity;

/// A scheme with a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scheme {
    Abc,
    Csfq,
}

impl Scheme {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Abc, Self::Csfq];

    pub fn name(self) -> &'static str {
        match self {
            Self::Abc => "abc",
            Self::Csfq => "csfq",
        }
    }

    /// The program in `planes/p4/`.
    pub fn program(self) -> String {
        format!("{}.p4", self.name())
    }

    /// The golden vectors, a path in the project.
    pub fn vectors(self) -> String {
        format!("tests/vectors/p4/{}.txt", self.name())
    }

    /// Setups of its switch.
    pub fn setups(self) -> Vec<Setup> {
        match self {
            Self::Abc => abc::setups(),
            Self::Csfq => csfq::setups(),
        }
    }

    /// What the columns of its vectors are that other schemes do not have, or have in another sense.
    pub fn columns(self) -> &'static str {
        match self {
            Self::Abc => abc::COLUMNS,
            Self::Csfq => csfq::COLUMNS,
        }
    }
}

/// The parameters of a scheme in a setup.
pub trait Parameters: Sync {
    /// Arguments of `set_domain`.
    fn domain(&self) -> String;

    /// What turns log2(S) of a meter into the label of a user, Q31.
    fn offset(&self, reference_rate: BitRate) -> i64;

    /// Arguments of `set_aqm` of a port, those of the queue not included.
    fn aqm(&self, port: u16) -> String;

    /// Registers that do not begin with zero: name, index, value.
    fn registers(&self) -> Vec<(&'static str, u32, u64)>;

    /// The arithmetic.
    fn model(&self) -> Box<dyn Model>;

    /// The time constant of the meters.
    fn memory(&self) -> Time;

    /// A mean gap between packets, in nanoseconds.
    fn gap_ns(&self, dice: &mut Dice) -> f64;

    /// The queue that packet `number` finds, in the unit of the AQM.
    fn queue(&self, dice: &mut Dice, number: usize) -> u64;

    /// Packets in place of the usual ones.
    fn train(&self, _: &Setup) -> Option<Vec<Input>> {
        None
    }

    /// 32 random bits, if the scheme needs any.
    fn random(&self, dice: &mut Dice) -> u32;
}

/// A packet at a meter.
pub struct Metered {
    /// Of the registers.
    pub index: u32,
    pub reference_rate: BitRate,
    pub bytes: u32,
    pub is_expedited: bool,
    pub now_ns: u64,
}

/// A packet at a port.
pub struct Arrival {
    pub port: u16,
    pub label: Option<Activity>,
    pub bytes: u32,
    pub queue: u64,
    /// The packet does not fit into the limit.
    pub is_over: bool,
    pub random: u32,
    pub now_ns: u64,
}

/// What the AQM makes of a packet.
pub struct Judgement {
    pub is_dropped: bool,
    pub label: Option<Activity>,
    /// See [`Scheme::columns`].
    pub average: u64,
    pub threshold: u64,
}

/// The arithmetic of a scheme and its state, by the library.
pub trait Model {
    /// Counts a packet at the edge.
    fn meter(&mut self, packet: &Metered) -> Activity;

    /// Judges a packet in front of a queue. What is not dropped and does not fit is lost afterwards.
    fn judge(&mut self, packet: &Arrival) -> Judgement;
}
