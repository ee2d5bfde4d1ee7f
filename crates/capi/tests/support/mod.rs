//! What the tests that compile programs share.

use std::path::PathBuf;

/// The static library, which cargo puts beside the tests that need it.
pub fn library() -> PathBuf {
    let deps = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let found = std::fs::read_dir(&deps).unwrap().map(|entry| entry.unwrap().path()).filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("libfairlane_capi") && name.ends_with(".a")
    });
    found.max_by_key(|path| path.metadata().unwrap().modified().unwrap()).expect("cargo has built the static library")
}
