//! Detects that pins are removed, for example by a `detach` in another process.

use super::KernelError;
use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Watches a folder of pins. Its file descriptor becomes readable when a pin is removed.
#[derive(Debug)]
pub struct PinWatch {
    folder: PathBuf,
    inotify: OwnedFd,
}

impl PinWatch {
    /// Starts watching.
    ///
    /// # Errors
    /// A system call fails.
    pub fn of(folder: &Path) -> Result<Self, KernelError> {
        let refused = |error: rustix::io::Errno| KernelError::system("watching pins")(error.into());
        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(refused)?;
        let watch = Self { folder: folder.into(), inotify };
        watch.renew();
        Ok(watch)
    }

    /// Returns true if a pin was removed since the last call.
    #[must_use]
    pub fn has_news(&self) -> bool {
        let mut is_news = false;
        // Has room for several events with file names.
        let mut events = [0u8; 4096];
        while rustix::io::read(&self.inotify, &mut events[..]).is_ok_and(|bytes| bytes > 0) {
            is_news = true;
        }
        if is_news {
            self.renew();
        }
        is_news
    }

    /// Starts a new watch, since a recreated folder needs one. Ignores errors: `is_attached` detects a missing folder.
    fn renew(&self) {
        let _ = add_watch(&self.inotify, &self.folder, WatchFlags::DELETE | WatchFlags::DELETE_SELF);
    }
}

impl AsFd for PinWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}
