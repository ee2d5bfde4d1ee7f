//! Temporary storage of traces that grow concurrently but must be consecutive in one file.
//!
//! Blocks of all traces are written to one temporary file; at the end the blocks are read trace by trace.

use super::text::{SEPARATOR, TRACE_END};
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Maximum number of bytes in memory for all traces.
pub(super) const MOST_BUFFERED: usize = 16 << 20;

#[derive(Clone, Copy, Debug)]
struct Block {
    trace: u32,
    start: u64,
    bytes: u64,
}

#[derive(Debug, Default)]
struct Trace {
    header: String,
    buffer: Vec<u8>,
}

/// Traces that are mostly stored on disk.
#[derive(Debug)]
pub(super) struct Spool<S> {
    storage: S,
    stored: u64,
    blocks: Vec<Block>,
    traces: Vec<Trace>,
    buffered: usize,
}

impl<S: Read + Write + Seek> Spool<S> {
    pub(super) fn new(storage: S) -> Self {
        Self { storage, stored: 0, blocks: Vec::new(), traces: Vec::new(), buffered: 0 }
    }

    pub(super) fn open(&mut self, header: String) -> u32 {
        self.traces.push(Trace { header, buffer: Vec::new() });
        (self.traces.len() - 1) as u32
    }

    /// Adds events to a trace, each after a separator.
    pub(super) fn add(&mut self, trace: u32, events: &[u8]) -> io::Result<()> {
        self.traces[trace as usize].buffer.extend_from_slice(events);
        self.buffered += events.len();
        if self.buffered < MOST_BUFFERED { Ok(()) } else { self.store() }
    }

    /// Writes the data in memory to the temporary file.
    fn store(&mut self) -> io::Result<()> {
        for (number, trace) in (0..).zip(&mut self.traces) {
            let bytes = std::mem::take(&mut trace.buffer);
            if !bytes.is_empty() {
                self.storage.write_all(&bytes)?;
                self.blocks.push(Block { trace: number, start: self.stored, bytes: bytes.len() as u64 });
                self.stored += bytes.len() as u64;
            }
        }
        self.buffered = 0;
        Ok(())
    }

    /// Writes all non-empty traces to `output`, one after the other.
    pub(super) fn pour(mut self, output: &mut impl Write) -> io::Result<()> {
        self.store()?;
        self.blocks.sort_by_key(|block| (block.trace, block.start));
        let of_traces = self.blocks.chunk_by(|before, after| before.trace == after.trace);
        for (place, blocks) in of_traces.enumerate() {
            if place > 0 {
                output.write_all(SEPARATOR.as_bytes())?;
            }
            output.write_all(self.traces[blocks[0].trace as usize].header.as_bytes())?;
            let mut skipped = SEPARATOR.len() as u64; // before the first event
            for block in blocks {
                self.storage.seek(SeekFrom::Start(block.start + skipped))?;
                io::copy(&mut (&mut self.storage).take(block.bytes - skipped), output)?;
                skipped = 0;
            }
            output.write_all(TRACE_END.as_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn traces_that_grow_by_turns_come_out_one_after_the_other_and_empty_ones_not_at_all() {
        let mut spool = Spool::new(Cursor::new(Vec::new()));
        let traces = ["a:", "none:", "b:"].map(|header| spool.open(header.into()));
        for (trace, text) in [(2, ",\nB"), (0, ",\nA"), (2, ",\nBB"), (0, ",\nAA")] {
            spool.add(traces[trace], text.as_bytes()).unwrap();
            spool.store().unwrap();
        }
        let mut output = Vec::new();
        spool.pour(&mut output).unwrap();
        assert_eq!(String::from_utf8(output).unwrap(), "a:A,\nAA\n]},\nb:B,\nBB\n]}");
    }

    #[test]
    fn memory_holds_a_bounded_part_of_the_traces() {
        let mut spool = Spool::new(Cursor::new(Vec::new()));
        let trace = spool.open(String::new());
        let event = vec![b' '; 1 << 20];
        for _ in 0..64 {
            spool.add(trace, &event).unwrap();
            assert!(spool.traces[0].buffer.len() < MOST_BUFFERED);
        }
        assert_eq!(spool.stored + spool.buffered as u64, 64 << 20);
    }
}
