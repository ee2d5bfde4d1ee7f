//! Stores warnings of libbpf and the verifier for error messages.

use libbpf_rs::PrintLevel;
use std::sync::Mutex;

/// Messages of libbpf since the last error.
static LOG: Mutex<String> = Mutex::new(String::new());

fn note(level: PrintLevel, text: String) {
    if matches!(level, PrintLevel::Warn)
        && let Ok(mut log) = LOG.lock()
    {
        log.push('\n');
        log.push_str(text.trim_end());
    }
}

/// Redirects libbpf's messages from the terminal to this buffer.
pub(super) fn keep() {
    libbpf_rs::set_print(Some((PrintLevel::Warn, note)));
}

pub(super) fn take() -> String {
    LOG.lock().map(|mut log| std::mem::take(&mut *log)).unwrap_or_default()
}
