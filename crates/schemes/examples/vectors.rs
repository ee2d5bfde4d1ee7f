//! Writes the golden vector of every scheme: `cargo run -p fairlane-schemes --example vectors -- vectors`.

use fairlane_schemes::registry::schemes::Scheme;
use fairlane_schemes::testing::vectors::vector;
use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder: PathBuf = env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: vectors FOLDER"))?.into();
    fs::create_dir_all(&folder)?;
    for &scheme in Scheme::ALL {
        fs::write(folder.join(scheme.name()).with_extension("txt"), vector(scheme))?;
    }
    Ok(())
}
