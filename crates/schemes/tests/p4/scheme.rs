//! Parts of a switch that depend on the scheme: table parameters, a model of the arithmetic, and test packets.

use super::file::Input;
use super::setup::Setup;
use super::train::Dice;
use super::{abc, csfq};
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::fixed::Activity;

/// A scheme with a P4 program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scheme {
    Abc,
    Csfq,
}

impl Scheme {
    /// All schemes with a P4 program.
    pub const ALL: [Self; 2] = [Self::Abc, Self::Csfq];

    pub fn name(self) -> &'static str {
        match self {
            Self::Abc => "abc",
            Self::Csfq => "csfq",
        }
    }

    /// Path of the program in `planes/p4/`.
    pub fn program(self) -> String {
        format!("{}.p4", self.name())
    }

    /// Path of the golden vectors in the project.
    pub fn vectors(self) -> String {
        format!("tests/vectors/p4/{}.txt", self.name())
    }

    /// Setups of the scheme's switch.
    pub fn setups(self) -> Vec<Setup> {
        match self {
            Self::Abc => abc::setups(),
            Self::Csfq => csfq::setups(),
        }
    }

    /// Describes the columns of the vectors whose meaning depends on the scheme.
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

    /// Term that converts log2(S) of a meter into a user's label, Q31.
    fn offset(&self, reference_rate: BitRate) -> i64;

    /// Arguments of the table action `set_aqm` for a port, except those for the queue.
    fn aqm(&self, port: u16) -> String;

    /// Registers with a non-zero initial value: name, index, value.
    fn registers(&self) -> Vec<(&'static str, u32, u64)>;

    /// The arithmetic.
    fn model(&self) -> Box<dyn Model>;

    /// Time constant of the meters.
    fn memory(&self) -> Time;

    /// Draws a mean gap between packets, in nanoseconds.
    fn gap_ns(&self, dice: &mut Dice) -> f64;

    /// Length of the queue when packet `number` arrives, in the unit of the AQM.
    fn queue(&self, dice: &mut Dice, number: usize) -> u64;

    /// Packets that replace the usual ones.
    fn train(&self, _: &Setup) -> Option<Vec<Input>> {
        None
    }

    /// Draws 32 random bits, if the scheme needs any.
    fn random(&self, dice: &mut Dice) -> u32;
}

/// A packet at a meter.
pub struct Metered {
    /// Index of the meter's registers.
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
    /// True if the packet would exceed the limit.
    pub is_over: bool,
    pub random: u32,
    pub now_ns: u64,
}

/// Decision of the AQM on a packet.
pub struct Judgement {
    pub is_dropped: bool,
    pub label: Option<Activity>,
    /// See [`Scheme::columns`].
    pub average: u64,
    pub threshold: u64,
}

/// Arithmetic and state of a scheme, computed by the library.
pub trait Model {
    /// Counts a packet at the edge and returns its label.
    fn meter(&mut self, packet: &Metered) -> Activity;

    /// Decides on a packet before it is queued. An accepted packet that exceeds the limit is dropped afterwards.
    fn judge(&mut self, packet: &Arrival) -> Judgement;
}
