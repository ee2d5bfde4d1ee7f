//! Sends millions of frames for benchmarks, by the program of `planes/bpf/flood.bpf.c`. A sender that builds each
//! packet separately would be slower than the device under test.
//!
//! `BPF_PROG_TEST_RUN` with live frames (Linux 5.18) runs an XDP program on the kernel's own frames. The kernel then
//! forwards them as the program decides.
#![allow(unsafe_code)]

use super::programs::Aligned;
use super::{KernelError, messages};
use libbpf_rs::{Object, ObjectBuilder};
use libbpf_sys::{BPF_F_TEST_XDP_LIVE_FRAMES, bpf_prog_test_run_opts, bpf_test_run_opts};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use zerocopy::IntoBytes;

static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/flood.bpf.o")));

/// A sender of frames to one interface.
#[derive(Debug)]
pub struct Flood {
    object: Object,
}

impl Flood {
    /// Creates a sender to the interface with `index`. The other end of a veth must use NAPI, which an XDP program or
    /// GRO enables.
    ///
    /// # Errors
    /// The kernel rejects the program.
    pub fn new(index: u32) -> Result<Self, KernelError> {
        messages::keep();
        let doing = "loading the source of frames";
        let mut open = ObjectBuilder::default().open_memory(&OBJECT.0).map_err(KernelError::refused(doing))?;
        for mut map in open.maps_mut() {
            if map.name().to_string_lossy().ends_with(".rodata")
                && let Some(constants) = map.initial_value_mut()
            {
                constants.copy_from_slice(index.as_bytes());
            }
        }
        Ok(Self { object: open.load().map_err(KernelError::refused(doing))? })
    }

    /// Sends `times` copies of `frame`, in batches.
    ///
    /// # Errors
    /// A system call fails.
    pub fn send(&self, frame: &[u8], times: u32) -> Result<(), KernelError> {
        let program = self.object.progs().next().expect("the object has one program");
        let mut options = bpf_test_run_opts {
            sz: size_of::<bpf_test_run_opts>() as _,
            data_in: frame.as_ptr().cast(),
            data_size_in: frame.len() as u32,
            repeat: times.cast_signed(),
            flags: BPF_F_TEST_XDP_LIVE_FRAMES,
            batch_size: 64,
            ..Default::default()
        };
        // SAFETY: all options are set; the options and the frame outlive the call.
        let status = unsafe { bpf_prog_test_run_opts(program.as_fd().as_raw_fd(), &raw mut options) };
        if status < 0 {
            return Err(KernelError::system("sending frames")(io::Error::from_raw_os_error(-status)));
        }
        Ok(())
    }
}
