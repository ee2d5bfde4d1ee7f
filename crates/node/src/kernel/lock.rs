//! Serialises `attach` and `detach` by a lock on the folder of pins. The kernel releases the lock when the process
//! ends.

use super::KernelError;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Lock on the folder during a change.
#[derive(Debug)]
pub(super) struct Lock {
    _folder: File,
}

impl Lock {
    /// Locks the folder.
    ///
    /// # Errors
    /// Another process has the lock, or removed the folder.
    pub(super) fn take(folder: &Path) -> Result<Self, KernelError> {
        let busy = || KernelError::PinPath {
            path: folder.into(),
            problem: "another attach or detach is at work there; try again when it is done".into(),
        };
        let doing = || format!("locking {}", folder.display());
        let file = File::open(folder).map_err(KernelError::system(doing()))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(busy()),
            Err(error) => return Err(KernelError::system(doing())(error.into())),
        }
        // A detach may have removed the folder after it was opened and before it was locked. A lock on a removed folder
        // is useless.
        let inode = |data: fs::Metadata| (data.dev(), data.ino());
        let ours = file.metadata().map(inode).map_err(KernelError::system(doing()))?;
        match fs::metadata(folder).map(inode) {
            Ok(theirs) if theirs == ours => Ok(Self { _folder: file }),
            _ => Err(busy()),
        }
    }
}
