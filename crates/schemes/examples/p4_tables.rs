//! Writes the tables of the integer arithmetic for P4: `cargo run -p fairlane-schemes --example p4_tables -- FOLDER`.

use fairlane_schemes::fixed::p4::files;
use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: p4_tables FOLDER"))?);
    fs::create_dir_all(&folder)?;
    for (name, text) in files() {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}
