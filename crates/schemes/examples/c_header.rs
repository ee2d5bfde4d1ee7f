//! Writes the tables of the integer arithmetic for C: `cargo run -p fairlane-schemes --example c_header -- FILE`.

use fairlane_schemes::fixed::c_header::c_header;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let file = env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: c_header FILE"))?;
    fs::write(file, c_header())
}
