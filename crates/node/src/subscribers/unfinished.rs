//! A mark beside the file of subscribers: a change is being made, and the file may have what the maps do not have, or
//! in part. It is there only meanwhile. Whoever finds it while nobody else changes the file fills the maps anew from
//! the file.
//!
//! It need not outlive the machine, since the maps do not.

use super::StoreError;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Name of the mark.
const FILE: &str = "subscribers.unfinished";

fn at(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

/// Whether a change was not made to its end. To be called while the folder is held, as all here.
#[must_use]
pub fn is_there(folder: &Path) -> bool {
    at(folder).exists()
}

/// A change begins.
///
/// # Errors
/// The system refuses.
pub fn begin(folder: &Path) -> Result<(), StoreError> {
    let path = at(folder);
    File::create(&path).map(drop).map_err(|source| StoreError::System { path, source })
}

/// File and maps say the same.
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
