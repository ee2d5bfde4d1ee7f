//! Writes the headers of the records for the kernel programs: `cargo run -p fairlane-node --example record_headers --
//! FOLDER`.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: record_headers FOLDER"))?;
    fairlane_node::records::headers().iter().try_for_each(|(name, text)| fs::write(Path::new(&folder).join(name), text))
}
