//! Sets the build variable `FAIRLANE_ENGINE_FINGERPRINT` to a fingerprint of all sources that can change a run's
//! record.

mod fingerprint;

use fingerprint::Fingerprint;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let sim = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let crates = sim.parent().expect("the crate is in a folder");
    let (schemes, own) = (crates.join("schemes/src"), sim.join("src"));
    let mut fingerprint = Fingerprint::new();
    let (sources, lock) = if schemes.is_dir() {
        let root = crates.parent().expect("the folder is in the workspace");
        (vec![schemes, own], root.join("Cargo.lock"))
    } else {
        // If this crate comes from a registry, the version of `fairlane-schemes` determines the source of the schemes.
        fingerprint.text("fairlane-schemes", env!("CARGO_PKG_VERSION"));
        (vec![own], sim.join("Cargo.lock"))
    };
    for folder in &sources {
        println!("cargo::rerun-if-changed={}", folder.display());
        for file in rust_files(folder)? {
            let name = file.strip_prefix(crates).expect("the file is below the folder").display().to_string();
            fingerprint.source(&name, &fs::read_to_string(&file)?).map_err(io::Error::other)?;
        }
    }
    println!("cargo::rerun-if-changed={}", lock.display());
    fingerprint.text("Cargo.lock", &fs::read_to_string(&lock)?);
    println!("cargo::rustc-env=FAIRLANE_ENGINE_FINGERPRINT={}", fingerprint.hex());
    Ok(())
}

/// Returns all source files below a folder, in order of their paths, except files that contain only tests.
fn rust_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.file_stem().is_some_and(|stem| stem == "tests") {
            continue;
        }
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
