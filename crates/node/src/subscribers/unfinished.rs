//! A marker file next to the file of subscribers: a change is in progress, and the maps may lack it, or have a part of
//! it. A process that finds the marker and gets exclusive access refills the maps from the file.
//!
//! It need not survive a reboot, since the maps do not.

use super::StoreError;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Name of the marker file.
const FILE: &str = "subscribers.unfinished";

fn at(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

/// Returns true if a change was not completed. The caller must hold the lock, as for all functions here.
#[must_use]
pub fn is_there(folder: &Path) -> bool {
    at(folder).exists()
}

/// Records that a change begins.
///
/// # Errors
/// The system refuses.
pub fn begin(folder: &Path) -> Result<(), StoreError> {
    let path = at(folder);
    File::create(&path).map(drop).map_err(|source| StoreError::System { path, source })
}

/// Records that file and maps are equal.
///
/// # Errors
/// The system refuses.
pub fn finish(folder: &Path) -> Result<(), StoreError> {
    let path = at(folder);
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(StoreError::System { path, source }),
        _ => Ok(()),
    }
}
