//! Tells when pins go away, as with a `detach` by another process.

use super::KernelError;
use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Watches a folder of pins. There is something to read from it when one of them is gone.
#[derive(Debug)]
pub struct PinWatch {
    folder: PathBuf,
    inotify: OwnedFd,
}

impl PinWatch {
    /// Watches.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn of(folder: &Path) -> Result<Self, KernelError> {
        let refused = |error: rustix::io::Errno| KernelError::system("watching pins")(error.into());
        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(refused)?;
        let watch = Self { folder: folder.into(), inotify };
        watch.renew();
        Ok(watch)
    }

    /// Whether anything went away since it was asked last.
    #[must_use]
    pub fn has_news(&self) -> bool {
        let mut is_news = false;
        // An event, or many, with the name of a file.
        let mut events = [0u8; 4096];
        while rustix::io::read(&self.inotify, &mut events[..]).is_ok_and(|bytes| bytes > 0) {
            is_news = true;
        }
        if is_news {
            self.renew();
        }
        is_news
    }

    /// The folder may be another one of the same name now; one that is gone is for `is_attached` to tell.
    fn renew(&self) {
        let _ = add_watch(&self.inotify, &self.folder, WatchFlags::DELETE | WatchFlags::DELETE_SELF);
    }
}

impl AsFd for PinWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}
