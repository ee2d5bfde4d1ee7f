//! Tests of the access links of hosts.

use super::access::Host;
use super::*;
use crate::measure::port_probe::PortProbe;
use crate::network::link::Link;
use crate::network::way_back::WayBack;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::QueueLimit;
use fairlane_schemes::contract::buffer::BufferParams;
use fairlane_schemes::contract::weights::Weights;
use fairlane_schemes::port::LinkRate;
use fairlane_schemes::registry::queue_config::QueueConfig;
use fairlane_schemes::registry::schemes::Scheme;
use proptest::prelude::*;

fn packet(seq: u32, wire_bytes: u16) -> SimPacket {
    SimPacket { seq, wire_bytes, ..SimPacket::BLANK }
}

/// Takes the next packet that reaches the edge node by `until`. There must be only one host.
fn take_next(hosts: &mut Hosts, until: Time) -> Option<(Time, SimPacket)> {
    let queues = (0..hosts.up.shared_lines()).map(Queue::SharedLine).chain([Queue::Calendar]);
    let firsts = queues.map(|queue| (hosts.up.first(queue).0, Some(queue)));
    let (time, queue) = firsts.chain([(hosts.next_event(0), None)]).min_by_key(|(time, _)| *time)?;
    let packet = |hosts: &mut Hosts| match queue {
        Some(queue) => hosts.up.pop(queue).0,
        None => hosts.packet_at_edge(0, time).unwrap(),
    };
    (time <= until && time < Time::NEVER).then(|| (time, packet(hosts)))
}

fn params(rate: BitRate, delay: Time, limit: QueueLimit) -> HostParams {
    HostParams { rate, delay_up: delay, delay_down: delay, limit, way_back: None, are_longer: false }
}

fn one_host(params: HostParams) -> Hosts {
    let mut hosts = Hosts::new(BitRate(10_000_000), Time::from_millis(5));
    hosts.add(1, params);
    hosts
}

/// Like [`one_host`], but a third of the delay is the host's additional delay.
fn longer_host(rate: BitRate, delay: Time, limit: QueueLimit) -> Hosts {
    let mut hosts = Hosts::new(BitRate(10_000_000), Time::from_millis(5));
    let longer = Time(delay.0 / 3);
    hosts.add_longer(&[longer], params(rate, delay - longer, limit));
    hosts
}

proptest! {
    #[test]
    fn an_access_link_behaves_as_a_link_with_droptail_does(
        arrivals in prop::collection::vec((0u64..2500, prop_oneof![40u16..1500, Just(1500), Just(1500)]), 1..120),
        limit in prop_oneof![(1u32..6).prop_map(QueueLimit::Packets), (500u64..6000).prop_map(QueueLimit::Bytes)],
        delay in 0u64..5000,
    ) {
        let (rate, delay) = (BitRate(10_000_000), Time::from_micros(delay));
        let params = params(rate, delay, limit);
        let mut hosts = one_host(params);
        let mut with_calendar = one_host(HostParams { way_back: Some(WayBack::default()), ..params });
        let mut longer = longer_host(rate, delay, limit);
        let mut longer_elsewhere = longer_host(rate, delay, limit);
        let (mut with_edge_elsewhere, mut sent_over) = (one_host(params), Vec::new());
        let (mut forwarded_at_once, mut at_edge) = (one_host(params), Vec::new());
        let config = QueueConfig::of(Scheme::DropTail, BufferParams { limit, ..Default::default() });
        let rng = Rng::stream(1, 0, "test", 0);
        let mut link = Link::new(&config, &Weights::equal(), LinkRate::new(rate, &[]), delay, rng);
        link.attach(PortProbe::new(std::sync::Arc::new([0]), 0..1, None));
        let (mut now, mut from_hosts, mut from_link) = (Time::ZERO, [const { Vec::new() }; 3], Vec::new());
        let mut drain = |hosts: [&mut Hosts; 3], link: &mut Link, until: Time| {
            for (hosts, from) in hosts.into_iter().zip(&mut from_hosts) {
                while let Some((time, packet)) = take_next(hosts, until) {
                    from.push((time, packet.seq));
                }
            }
            while link.wire().next_arrival() <= until && link.wire().next_arrival() < Time::NEVER {
                let time = link.wire().next_arrival();
                from_link.push((time, link.arrive(time, &mut ()).seq));
            }
        };
        for (seq, (gap, wire_bytes)) in (0..).zip(arrivals) {
            now += Time::from_micros(gap);
            drain([&mut hosts, &mut with_calendar, &mut longer], &mut link, now);
            hosts.send(|| packet(seq, wire_bytes), now, || now);
            with_calendar.send(|| packet(seq, wire_bytes), now, || now);
            longer.send(|| packet(seq, wire_bytes), now, || now);
            if let Earlier::AtEdge(arrival) =
                forwarded_at_once.send(|| packet(seq, wire_bytes), now, || Time::NEVER)
            {
                at_edge.push((arrival, seq));
            }
            let over = with_edge_elsewhere.send_over(&packet(seq, wire_bytes), now);
            sent_over.extend(over.map(|arrival| (arrival, seq)));
            prop_assert_eq!(longer_elsewhere.send_over(&packet(seq, wire_bytes), now), over);
            prop_assert_eq!(with_edge_elsewhere.next_event(0), Time::NEVER);
            link.enqueue(|| packet(seq, wire_bytes), now, &mut ());
        }
        drain([&mut hosts, &mut with_calendar, &mut longer], &mut link, Time::NEVER);
        at_edge.extend(std::iter::from_fn(|| take_next(&mut forwarded_at_once, Time::NEVER)).map(|(t, p)| (t, p.seq)));
        at_edge.sort();
        prop_assert_eq!(&at_edge, &from_link);
        prop_assert_eq!(&sent_over, &from_link);
        prop_assert!(from_hosts.iter().all(|from| *from == from_link), "{:?} {:?}", from_hosts, from_link);
        prop_assert_eq!(with_calendar.accounting(), hosts.accounting());
        prop_assert_eq!(longer.accounting(), hosts.accounting());
        let account = link.accounting();
        prop_assert_eq!(hosts.accounting(), (account.arrived, account.dropped, 0));
    }
}

/// Sends an acknowledgement of 54 B at time 0. Returns its times and the event that moved to an earlier time.
fn acknowledge(hosts: &mut Hosts, ack: FlowAck) -> (AckTimes, Earlier) {
    let mut moved = Earlier::Nothing;
    let times = hosts.acknowledge(ack, (54, 1500), Time::ZERO, |earlier| moved = earlier);
    (times, moved)
}

#[test]
fn an_ack_takes_both_transmissions_and_both_delays() {
    // An ACK of 54 B takes 43.2 us at 10 Mbit/s and 4.32 us at 100 Mbit/s. The propagation delay is 5 ms + 0.1 ms.
    let mut hosts = one_host(params(BitRate(100_000_000), Time::from_micros(100), QueueLimit::Packets(50)));
    let ack = Ack { ack: 1, ..Default::default() };
    let mut send = |flow| acknowledge(&mut hosts, FlowAck { flow, user: 0, ack }).1;
    let first = Time::from_nanos(43_200 + 5_000_000 + 4_320 + 100_000);
    assert_eq!((send(7), send(8)), (Earlier::SharedLine(0, first), Earlier::Nothing));
    assert_eq!(hosts.down.first(Queue::SharedLine(0)), (first, 0));
    assert_eq!(hosts.down.pop(Queue::SharedLine(0)).0.flow, 7);
    // The second ACK waits for the first only at the bottleneck, since the access link is ten times faster.
    assert_eq!(hosts.down.first(Queue::SharedLine(0)), (first + Time::from_nanos(43_200), 0));
}

#[test]
fn an_ack_overtakes_one_whose_host_has_a_longer_access_link() {
    // An ACK of 54 B takes 43.2 us at 10 Mbit/s, on both links. The bottleneck's delay is 5 ms. The additional delays
    // of the access links are 2 ms, 0 and 1.2 s.
    let mut hosts = Hosts::new(BitRate(10_000_000), Time::from_millis(5));
    let params = params(BitRate(10_000_000), Time::ZERO, QueueLimit::Packets(50));
    hosts.add_longer(&[2, 0, 1200].map(Time::from_millis), params);
    let ack = Ack { ack: 1, ..Default::default() };
    let mut send = |user| acknowledge(&mut hosts, FlowAck { flow: 0, user, ack });
    let (at_first, at_second, at_third) = (send(0), send(1), send(2));
    // The arrival at host 2 is outside the calendar's range, so it is in the line of the host.
    let arrival =
        |position: u64, longer| Time::from_nanos(5_000_000 + 43_200 * (position + 1)) + Time::from_millis(longer);
    let earlier = [Earlier::Calendar(arrival(1, 2)), Earlier::Calendar(arrival(2, 0)), Earlier::Host(arrival(3, 1200))];
    assert_eq!([at_first.1, at_second.1, at_third.1], earlier);
    assert_eq!(at_first.0.at_host, arrival(1, 2));
    assert_eq!(hosts.down.first(Queue::Calendar), (arrival(2, 0), 1));
    assert_eq!([hosts.down.pop(Queue::Calendar).0.user, hosts.down.pop(Queue::Calendar).0.user], [1, 0]);
    assert_eq!(hosts.down.first(Queue::Calendar).0, Time::NEVER);
    assert_eq!(hosts.next_event(2), arrival(3, 1200));
}

#[test]
fn an_ack_that_others_overtake_keeps_to_the_line_of_its_host() {
    // The access link is ten times slower than the bottleneck. The second ACK of host 0 waits 432 us for the first one.
    // The ACK of host 1 is sent 4.32 us after both.
    let mut hosts = Hosts::new(BitRate(10_000_000), Time::from_millis(5));
    hosts.add(2, params(BitRate(1_000_000), Time::ZERO, QueueLimit::Packets(50)));
    let ack = Ack { ack: 1, ..Default::default() };
    let mut send = |user| acknowledge(&mut hosts, FlowAck { flow: 0, user, ack }).1;
    let first = Time::from_nanos(43_200 + 5_000_000 + 432_000);
    assert_eq!((send(0), send(0)), (Earlier::SharedLine(0, first), Earlier::Nothing));
    assert_eq!(send(1), Earlier::Host(first + Time::from_nanos(2 * 43_200)));
    assert_eq!(hosts.down.first(Queue::SharedLine(0)), (first, 0));
    assert_eq!(hosts.next_event(1), first + Time::from_nanos(2 * 43_200));
    assert!(hosts.packet_at_edge(1, hosts.next_event(1)).is_none());
    assert_eq!(hosts.ack_at_host(1).user, 1);
}

#[test]
fn a_host_takes_a_cache_line() {
    assert_eq!((size_of::<Host>(), align_of::<Host>()), (64, 64));
}
