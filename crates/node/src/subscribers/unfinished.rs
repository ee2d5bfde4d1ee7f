//! A marker file next to the file of subscribers. It exists while a change is in progress: the maps may lack all or a
//! part of the change. A process that finds the marker and gets exclusive access refills the maps from the file of
//! subscribers.
//!
//! The marker need not survive a reboot, since the maps are lost then, too.

use super::StoreError;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

const FILE: &str = "subscribers.unfinished";

fn at(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

/// Returns true if a change was not completed. All functions of this module require that the caller holds the lock.
#[must_use]
pub fn is_there(folder: &Path) -> bool {
    at(folder).exists()
}

/// Records that a change begins.
///
/// # Errors
/// A system call fails.
pub fn begin(folder: &Path) -> Result<(), StoreError> {
    let path = at(folder);
    File::create(&path).map(drop).map_err(|source| StoreError::System { path, source })
}

/// Records that file and maps are equal.
///
/// # Errors
/// A system call fails.
pub fn finish(folder: &Path) -> Result<(), StoreError> {
    let path = at(folder);
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(StoreError::System { path, source }),
        _ => Ok(()),
    }
}
