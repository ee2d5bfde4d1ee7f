//! quinn's RTT estimator, fed with the RTT samples of a simulated sender.
//!
//! quinn passes an `RttEstimator` to its controllers. Other crates can neither create nor update an estimator. So each
//! simulated connection has a client connection of quinn, which does both. The handshake of the client never completes,
//! and its packets are unprotected and not sent. For each sample the client sends a PING, and receives the ACK one RTT
//! later on a separate clock. The client's controller keeps the estimator that quinn passes.

use bytes::{BufMut, BytesMut};
use quinn_proto::congestion::{Controller, ControllerFactory};
use quinn_proto::crypto::{
    self, CryptoError, ExportKeyingMaterialError, HeaderKey, HmacKey, KeyPair, Keys, PacketKey, Session,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{
    ClientConfig, ConnectError, Connection, ConnectionId, ConnectionIdGenerator, DatagramEvent, Endpoint,
    EndpointConfig, RttEstimator, Side, TransportConfig, TransportError,
};
use std::any::Any;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Connection ID of both sides.
const ID: [u8; 8] = *b"fairlane";
/// Unused address: TEST-NET-1 of RFC 5737.
const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 443);

/// An RTT estimator of quinn with the connection that updates it.
pub struct RttOracle {
    endpoint: Endpoint,
    connection: Connection,
    last: Arc<Mutex<Option<RttEstimator>>>,
    now: Instant,
    /// Number of packets sent, and of the next packet.
    sent: u32,
    datagram: Vec<u8>,
}

impl Default for RttOracle {
    fn default() -> Self {
        Self::new()
    }
}

impl RttOracle {
    /// Creates an estimator without a sample.
    #[must_use]
    pub fn new() -> Self {
        let now = Instant::now();
        let mut config = EndpointConfig::new(Arc::new(Open));
        config.cid_generator(|| Box::new(Open));
        let mut endpoint = Endpoint::new(Arc::new(config), None, false, Some([0; 32]));
        let last = Arc::new(Mutex::new(None));
        let mut transport = TransportConfig::default();
        transport.congestion_controller_factory(Arc::new(Tap(last.clone()))).mtu_discovery_config(None);
        let mut client = ClientConfig::new(Arc::new(Open));
        client.transport_config(Arc::new(transport)).initial_dst_cid_provider(Arc::new(|| ConnectionId::new(&ID)));
        let (_, connection) = endpoint.connect(now, client, PEER, "fairlane").expect("a client connection");
        Self { endpoint, connection, last, now, sent: 0, datagram: Vec::new() }
    }

    /// Returns the estimator of a connection without a sample.
    #[must_use]
    pub fn initial() -> RttEstimator {
        Self::new().sample(Duration::from_millis(1))
    }

    /// Adds a sample. Returns the estimator without it: quinn calls controllers at an ACK before it updates the
    /// estimator.
    pub fn sample(&mut self, rtt: Duration) -> RttEstimator {
        self.connection.ping();
        self.datagram.clear();
        let sent = self.connection.poll_transmit(self.now, 1, &mut self.datagram);
        assert!(sent.is_some(), "nothing keeps a PING back");
        self.now += rtt;
        let ack = initial_packet_with_ack(self.sent);
        self.sent += 1;
        self.datagram.clear();
        let event = self.endpoint.handle(self.now, PEER, None, None, ack, &mut self.datagram);
        let Some(DatagramEvent::ConnectionEvent(_, event)) = event else { unreachable!("the ID is known") };
        self.connection.handle_event(event);
        self.last.lock().expect("no panic").take().expect("the ACK of a PING reaches the controller")
    }
}

/// Returns a server's Initial packet with only the ACK of packet `number` (RFC 9000 17.2.2, 19.3).
fn initial_packet_with_ack(number: u32) -> BytesMut {
    let mut packet = BytesMut::with_capacity(64);
    // Long header, Initial, packet number of four bytes; version 1.
    packet.put_u8(0b1100_0011);
    packet.put_u32(1);
    for _ in 0..2 {
        packet.put_u8(ID.len() as u8);
        packet.put_slice(&ID);
    }
    // No token. The length covers packet number, type, 4 bytes of largest, delay, count, first range.
    packet.put_u8(0);
    packet.put_u16(0x4000 | (4 + 1 + 4 + 3));
    packet.put_u32(number);
    packet.put_u8(0x02);
    packet.put_u32(0x8000_0000 | number);
    packet.put_slice(&[0; 3]);
    packet
}

/// A controller without limits that keeps the estimator that it is passed.
struct Tap(Arc<Mutex<Option<RttEstimator>>>);

impl Controller for Tap {
    fn on_ack(&mut self, _: Instant, _: Instant, _: u64, _: bool, rtt: &RttEstimator) {
        *self.0.lock().expect("no panic") = Some(*rtt);
    }
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}
    fn on_mtu_update(&mut self, _: u16) {}
    fn window(&self) -> u64 {
        // quinn does not pace windows of 2^32 and more.
        1 << 40
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self(self.0.clone()))
    }
    fn initial_window(&self) -> u64 {
        self.window()
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl ControllerFactory for Tap {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
        self.clone_box()
    }
}

/// Cryptography without protection, for a connection whose packets are not sent.
struct Open;

impl ConnectionIdGenerator for Open {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&ID)
    }
    fn cid_len(&self) -> usize {
        ID.len()
    }
    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

impl crypto::ClientConfig for Open {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        _: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(Self))
    }
}

impl Session for Open {
    fn initial_keys(&self, _: &ConnectionId, _: Side) -> Keys {
        Keys {
            header: KeyPair { local: Box::new(Self), remote: Box::new(Self) },
            packet: KeyPair { local: Box::new(Self), remote: Box::new(Self) },
        }
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }
    fn early_data_accepted(&self) -> Option<bool> {
        None
    }
    fn is_handshaking(&self) -> bool {
        true
    }
    fn read_handshake(&mut self, _: &[u8]) -> Result<bool, TransportError> {
        Ok(false)
    }
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(None)
    }
    fn write_handshake(&mut self, _: &mut Vec<u8>) -> Option<Keys> {
        None
    }
    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        None
    }
    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        false
    }
    fn export_keying_material(&self, _: &mut [u8], _: &[u8], _: &[u8]) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

impl PacketKey for Open {
    fn encrypt(&self, _: u64, _: &mut [u8], _: usize) {}
    fn decrypt(&self, _: u64, _: &[u8], _: &mut BytesMut) -> Result<(), CryptoError> {
        Ok(())
    }
    fn tag_len(&self) -> usize {
        0
    }
    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }
    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for Open {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}
    fn encrypt(&self, _: usize, _: &mut [u8]) {}
    fn sample_size(&self) -> usize {
        0
    }
}

impl HmacKey for Open {
    fn sign(&self, _: &[u8], out: &mut [u8]) {
        out.fill(0);
    }
    fn signature_len(&self) -> usize {
        32
    }
    fn verify(&self, _: &[u8], _: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimator_is_that_of_rfc_9002_one_sample_late() {
        let mut oracle = RttOracle::new();
        let ms = Duration::from_millis;
        // Before any sample: kInitialRtt of RFC 9002 6.2.2.
        assert_eq!(oracle.sample(ms(100)).get(), ms(333));
        // After the first sample: the sample itself.
        assert_eq!(oracle.sample(ms(180)).get(), ms(100));
        // RFC 9002 5.3: 7/8 100 + 1/8 180.
        let third = oracle.sample(ms(60));
        assert_eq!((third.get(), third.min()), (ms(110), ms(100)));
        assert_eq!(oracle.sample(ms(60)).min(), ms(60));
    }

    #[test]
    fn a_hundred_thousand_samples_are_taken_in() {
        let mut oracle = RttOracle::new();
        for sample in 0..100_000 {
            oracle.sample(Duration::from_millis(1 + sample % 50));
        }
        assert_eq!(oracle.sample(Duration::from_millis(1)).min(), Duration::from_millis(1));
    }
}
