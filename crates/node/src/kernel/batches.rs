//! Batched access to map entries, with a bounded buffer.
#![allow(unsafe_code)]

use super::KernelError;
use crate::records::Record;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use libbpf_sys::{bpf_map_batch_opts, bpf_map_lookup_batch};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

/// Entries per system call.
const BATCH: usize = 8192;

/// Calls `each` with every entry of the map `name`, until `each` breaks. Entries of an array come in key order.
pub(super) fn read_all<K: Record, V: Record>(
    map: &MapHandle,
    name: &str,
    mut each: impl FnMut(K, V) -> ControlFlow<()>,
) -> Result<(), KernelError> {
    if map.key_size() as usize != size_of::<K>() || map.value_size() as usize != size_of::<V>() {
        return Err(KernelError::OtherVersion(name.into()));
    }
    let most = BATCH.min(map.max_entries() as usize);
    let (mut keys, mut values) = (vec![0u8; most * size_of::<K>()], vec![0u8; most * size_of::<V>()]);
    // Position in the map at which the next batch starts, written by the kernel: a key, or four opaque bytes.
    let mut at = vec![0u8; size_of::<K>().max(size_of::<u32>())];
    let mut is_first = true;
    loop {
        let options = bpf_map_batch_opts { sz: size_of::<bpf_map_batch_opts>() as _, ..Default::default() };
        let mut count = most as u32;
        let after = if is_first { ptr::null_mut() } else { at.as_mut_ptr().cast() };
        // SAFETY: keys and values have room for `most` entries of the checked sizes, and `at` has room for a position.
        // All outlive the call. The kernel reads the position before writing it.
        let status = unsafe {
            let (keys, values) = (keys.as_mut_ptr().cast(), values.as_mut_ptr().cast());
            let fd = map.as_fd().as_raw_fd();
            bpf_map_lookup_batch(fd, after, at.as_mut_ptr().cast(), keys, values, &raw mut count, &raw const options)
        };
        let error = io::Error::from_raw_os_error(-status);
        let is_last = status < 0 && error.raw_os_error() == Some(libc::ENOENT);
        if status < 0 && error.kind() == io::ErrorKind::Interrupted {
            continue;
        }
        if status < 0 && !is_last {
            return Err(KernelError::system(format!("reading map {name}"))(error));
        }
        is_first = false;
        let entries = keys.chunks_exact(size_of::<K>()).zip(values.chunks_exact(size_of::<V>()));
        for (key, value) in entries.take(count as usize) {
            let of_size = "a chunk has the size of the record";
            if each(K::read_from_bytes(key).expect(of_size), V::read_from_bytes(value).expect(of_size)).is_break() {
                return Ok(());
            }
        }
        if is_last {
            return Ok(());
        }
    }
}

/// Writes entries into the map `name`.
pub(super) fn write_all<K: Record, V: Record>(
    map: &MapHandle,
    name: &str,
    entries: &[(K, V)],
) -> Result<(), KernelError> {
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    for batch in entries.chunks(BATCH) {
        keys.clear();
        values.clear();
        for (key, value) in batch {
            keys.extend_from_slice(key.as_bytes());
            values.extend_from_slice(value.as_bytes());
        }
        let written = map.update_batch(&keys, &values, batch.len() as u32, MapFlags::ANY, MapFlags::ANY);
        written.map_err(KernelError::refused(format!("writing map {name}")))?;
    }
    Ok(())
}
