//! Return values of a call across the WASM boundary.

use serde::Serialize;

/// Return values as byte arrays that the host reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Byte arrays.
    pub parts: Vec<Vec<u8>>,
}

/// Error of a call, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed(pub String);

impl Answer {
    /// An answer without parts.
    pub const EMPTY: Self = Self { parts: Vec::new() };

    /// Creates an answer with one line of text.
    #[must_use]
    pub fn line(text: &str) -> Self {
        Self { parts: vec![text.replace('\n', " ").into_bytes()] }
    }

    /// Adds a part with a value as JSON.
    ///
    /// # Errors
    /// The value cannot be written as JSON.
    pub fn json(mut self, value: &impl Serialize) -> Result<Self, Failed> {
        self.parts.push(serde_json::to_vec(value).map_err(|error| Failed(error.to_string()))?);
        Ok(self)
    }
}

/// Number types of columns, named like JavaScript's typed arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Dtype {
    /// 8-bit integers.
    Uint8,
    /// 32-bit integers.
    Uint32,
    /// 32-bit floating-point numbers.
    Float32,
    /// 64-bit floating-point numbers.
    Float64,
}

/// Values of one quantity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Name, which ends with the unit.
    pub name: &'static str,
    /// Type of the numbers.
    pub dtype: Dtype,
    /// Values as little-endian bytes.
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

impl Column {
    /// Creates an empty column.
    #[must_use]
    pub const fn new(name: &'static str, dtype: Dtype) -> Self {
        Self { name, dtype, bytes: Vec::new() }
    }
}
