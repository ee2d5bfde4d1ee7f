//! Return values of a call across the WASM boundary.

use serde::Serialize;

/// Parts of bytes, each for the host to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The parts.
    pub parts: Vec<Vec<u8>>,
}

/// Why there is no answer: one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed(pub String);

impl Answer {
    /// Without parts.
    pub const EMPTY: Self = Self { parts: Vec::new() };

    /// A line of text.
    #[must_use]
    pub fn line(text: &str) -> Self {
        Self { parts: vec![text.replace('\n', " ").into_bytes()] }
    }

    /// A part more: a value as JSON.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn json(mut self, value: &impl Serialize) -> Result<Self, Failed> {
        self.parts.push(serde_json::to_vec(value).map_err(|error| Failed(error.to_string()))?);
        Ok(self)
    }
}

/// Number types of columns, by the names of JavaScript's arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Dtype {
    /// Whole numbers of 8 bit.
    Uint8,
    /// Whole numbers of 32 bit.
    Uint32,
    /// Real numbers of 32 bit.
    Float32,
    /// Real numbers of 64 bit.
    Float64,
}

/// Numbers of one quantity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Name; its end is the unit.
    pub name: &'static str,
    /// Type of the numbers.
    pub dtype: Dtype,
    /// The numbers, little-endian.
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

impl Column {
    /// A column without numbers.
    #[must_use]
    pub const fn new(name: &'static str, dtype: Dtype) -> Self {
        Self { name, dtype, bytes: Vec::new() }
    }
}
