//! Measures the cost per packet of meters, averagers and schemes: `cargo bench --bench per_packet`.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::contract::buffer::BufferParams;
use fairlane_schemes::contract::discipline::QueueDiscipline;
use fairlane_schemes::contract::marker::MeterSpec;
use fairlane_schemes::contract::weights::Weights;
use fairlane_schemes::fixed::{Accounting, FixedMeter, FixedMeterParams};
use fairlane_schemes::label::abc::{AbcMarker, AbcMarkerParams};
use fairlane_schemes::label::meter_bank::MeterBank;
use fairlane_schemes::registry::queue_config::QueueConfig;
use fairlane_schemes::registry::schemes::{AnyDiscipline, Scheme};
use fairlane_schemes::testing::TestPacket;
use std::hint::black_box;

/// Time between packets: 1500 bytes at 10 Gbit/s.
const GAP: Time = Time::from_nanos(1200);

/// One arrival and one departure at a queue whose length stays near its threshold.
fn disciplines(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("enqueue_and_dequeue");
    group.throughput(Throughput::Elements(1));
    for &scheme in Scheme::ALL {
        let mut queue: AnyDiscipline<TestPacket> =
            QueueConfig::of(scheme, BufferParams::default()).build(BitRate(10_000_000_000), &Weights::equal());
        let (mut rng, mut now) = (Rng::stream(1, 0, "bench", 0), Time::ZERO);
        for _ in 0..15 {
            queue.enqueue(TestPacket { label: 7.0, ..Default::default() }, now, &mut rng, &mut ());
        }
        group.bench_function(BenchmarkId::from_parameter(scheme.name()), |bencher| {
            bencher.iter(|| {
                now += GAP;
                let packet = TestPacket { label: black_box(7.0), ..Default::default() };
                queue.enqueue(packet, now, &mut rng, &mut ());
                queue.dequeue(now, &mut rng, &mut ())
            });
        });
    }
    group.finish();
}

/// One packet through the activity meter, in floating-point and in integer arithmetic.
fn meters(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("activity_meter");
    group.throughput(Throughput::Elements(1));
    let params = AbcMarkerParams::default();
    let spec = MeterSpec { reference_rate: BitRate(10_000), weight: 1.0, start: Time::ZERO };
    let mut meters = MeterBank::<AbcMarker>::new(&params, &[spec]);
    let mut rng = Rng::stream(1, 0, "bench", 0);
    let mut now = Time::from_secs(1000);
    group.bench_function("real", |bencher| {
        bencher.iter(|| {
            now += GAP;
            let mut packet = TestPacket::default();
            meters.label(0, &mut packet, now, &mut rng);
            packet.label
        });
    });
    let fixed_params = FixedMeterParams::new(params.memory, BitRate(10_000)).expect("defaults are in range");
    let factor = Accounting::new(params.accounting_be).expect("defaults are in range");
    let mut fixed = FixedMeter::new(0);
    let mut now_ns = 1_000_000_000_000u64;
    group.bench_function("integer", |bencher| {
        bencher.iter(|| {
            now_ns += 1200;
            fixed.label(&fixed_params, black_box(1500), factor, now_ns)
        });
    });
    group.finish();
}

criterion_group!(benches, disciplines, meters);
criterion_main!(benches);
