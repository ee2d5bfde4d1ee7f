//! Sends UDP packets of one size as fast as the kernel generates them, for `benches/forwarder.py`: `flood INTERFACE
//! IP-BYTES SECONDS`. Prints the number of packets as JSON.

use fairlane_node::io::index_of;
use fairlane_node::kernel::Flood;
use std::time::{Duration, Instant};

/// Number of frames per call. A call takes about a second. Between two calls no frame is sent for some tens of
/// milliseconds, and the receiver sleeps.
const AT_A_TIME: u32 = 1 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [interface, bytes, seconds] = &arguments[..] else { return Err("flood INTERFACE IP-BYTES SECONDS".into()) };
    let flood = Flood::new(index_of(interface)?)?;
    let frame = frame(bytes.parse()?);
    let (start, time) = (Instant::now(), Duration::from_secs_f64(seconds.parse()?));
    let mut sent = 0u64;
    while start.elapsed() < time {
        flood.send(&frame, AT_A_TIME)?;
        sent += u64::from(AT_A_TIME);
    }
    println!("{}", serde_json::json!({"packets": sent, "time_s": start.elapsed().as_secs_f64()}));
    Ok(())
}

/// Builds a frame from 10.9.0.1 to 10.9.0.9 with an unused Ethernet address, so the receiver's host drops it
/// immediately.
fn frame(ip_bytes: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 0x99, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
    frame.extend(ip_bytes.to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 9, 0, 1, 10, 9, 0, 9]);
    let words = frame[14..34].chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum = words.fold(0, |sum, word| {
        let sum = sum + word;
        (sum & 0xffff) + (sum >> 16)
    });
    frame[24..26].copy_from_slice(&(!sum as u16).to_be_bytes());
    frame.extend([0, 9, 0, 9]);
    frame.extend((ip_bytes - 20).to_be_bytes());
    frame.resize(14 + usize::from(ip_bytes), 0);
    frame
}
