//! Tests that the integer arithmetic in C (`planes/bpf/fixed.h`, for kernel programs) gives the same results as the
//! library, bit for bit.

use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::fixed::c_header::c_header;
use fairlane_schemes::fixed::csfq::{FixedCsfq, FixedCsfqParams, FixedRates, QueueState};
use fairlane_schemes::fixed::{
    Accounting, Activity, FixedAverager, FixedMeter, FixedMeterParams, FixedThreshold, PACKET_WEIGHT, exp2_neg_q32,
    log2_q31, scale_down,
};
use std::env;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Reads one operation with arguments per line and writes one result per line.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdint.h>
typedef int32_t __s32; typedef uint32_t __u32; typedef uint64_t __u64; typedef int64_t __s64;
#include "fixed.h"
int main(void)
{
	char operation;
	unsigned long long a, b;
	long long c, d, e;
	struct fair_decay decay = {0};
	struct fair_meter meter = {0};
	struct fair_averager averager = {0};
	struct fair_meter rate = {0};
	struct fair_csfq csfq = {0};
	struct fair_csfq_params params = {0};
	__u64 pending = 0;
	__s32 label;
	long long log2_memory = 0, offset = 0;

	while (scanf(" %c %llu %llu %lld %lld %lld", &operation, &a, &b, &c, &d, &e) == 6) {
		long long result = 0;

		switch (operation) {
		case 'l': result = fair_log2_q31(a); break;
		case 'e': result = fair_exp2_neg_q32(a); break;
		case 's': result = fair_scale_down(a, b); break;
		case 't': result = fair_drop_threshold(c, d, e, fair_unbiased(a), fair_unbiased(b)); break;
		case 'd': /* another memory: everything starts anew */
			decay = (struct fair_decay){ .step = a, .shift = b };
			log2_memory = c;
			offset = d;
			meter = (struct fair_meter){0};
			averager = (struct fair_averager){0};
			rate = (struct fair_meter){0};
			pending = 0;
			params = (struct fair_csfq_params){ .decay = decay, .log2_tick = e };
			csfq = (struct fair_csfq){ .log2_alpha = FAIR_LOG2_OF_ZERO_Q31, .largest_label = FAIR_LOG2_OF_ZERO_Q31,
						   .is_congested = 1, .cuts_left = FAIR_CUTS };
			break;
		case 'w':
			params.window_ns = a;
			params.log2_capacity = c;
			params.log2_full = d;
			break;
		case 'r':
			result = fair_rate_count(&rate, &pending, &decay, params.log2_tick, (__u64)c << FAIR_METER_SUM_BITS, a);
			break;
		case 'q': /* random bits in b, then bits for the queue; whether there is a label in e, which one in d */
			label = d;
			result = fair_csfq_admit(&csfq, &params, e, &label, c, b >> 32 & 1, b >> 33 & 1, b, a);
			result = result * (1LL << 40) + label;
			if (b >> 34 & 1)
				fair_csfq_overflow(&csfq);
			break;
		case 'm':
			result = fair_meter_activity(fair_meter_count(&meter, &decay, fair_meter_amount(c, d), a), &decay, log2_memory,
						     offset, a);
			break;
		case 'a':
			fair_averager_accept(&averager, &decay, fair_averager_sum_of(c, d), fair_averager_count_of(d), a);
			result = fair_averager_average(&averager);
			break;
		}
		printf("%lld\n", result);
	}
	return 0;
}
"#;

/// Operations for the C program, and the library's results.
#[derive(Default)]
struct Script {
    lines: String,
    expected: Vec<i64>,
}

impl Script {
    fn add(&mut self, operation: char, unsigned: [u64; 2], signed: [i64; 3], expected: i64) {
        let ([a, b], [c, d, e]) = (unsigned, signed);
        writeln!(self.lines, "{operation} {a} {b} {c} {d} {e}").unwrap();
        self.expected.push(expected);
    }

    /// A number of any magnitude.
    fn number(rng: &mut Rng) -> u64 {
        rng.bits() >> (rng.bits() % 64)
    }

    fn functions(&mut self, rng: &mut Rng) {
        for x in [0, 1, u64::MAX, 1 << 63] {
            self.add('l', [x, 0], [0; 3], log2_q31(x));
            self.add('s', [x, x], [0; 3], scale_down(x, x).cast_signed());
        }
        for _ in 0..20_000 {
            let (x, y) = (Self::number(rng), Self::number(rng));
            self.add('l', [x, 0], [0; 3], log2_q31(x));
            self.add('e', [y, 0], [0; 3], exp2_neg_q32(y).cast_signed());
            self.add('s', [x, y], [0; 3], scale_down(x, y).cast_signed());
            let thresholds = [0; 3].map(|_| (Self::number(rng) >> 24).cast_signed());
            let [q_min, q_base, gamma] = thresholds;
            let labels = [0; 2].map(|_| rng.bits() as u32);
            let [activity, average] = labels.map(Activity::from_biased);
            let threshold = FixedThreshold::new(q_min, q_base, gamma).unwrap().drop_threshold(activity, average);
            self.add('t', labels.map(u64::from), thresholds, threshold);
        }
    }

    fn trains(&mut self, rng: &mut Rng) {
        for by_bytes in [false, true].repeat(20) {
            let memory_ns = libm::exp10(6.0 + 6.55 * rng.open01()) as u64;
            let rate = BitRate(libm::exp10(3.0 + 9.0 * rng.open01()) as u64);
            let params = FixedMeterParams::new(Time::from_nanos(memory_ns), rate).unwrap();
            let decay = params.decay();
            let (memory, window) = (Time::from_nanos(memory_ns), Time::from_nanos(memory_ns / 2));
            let capacity = BitRate(libm::exp10(5.0 + 4.0 * rng.open01()) as u64);
            let csfq_params = FixedCsfqParams::new(memory, window, capacity, BitRate(10_000)).unwrap();
            let rates = csfq_params.rates();
            let constants = [params.log2_memory_q31(), params.offset_q31(), rates.log2_tick_q31()];
            self.add('d', [decay.step_q56(), decay.shift().into()], constants, 0);
            let logarithms = [csfq_params.log2_capacity_q31(), csfq_params.log2_full_q31(), 0];
            self.add('w', [csfq_params.window_ns(), 0], logarithms, 0);
            let (mut rate, mut csfq) = (FixedRates::<1>::default(), FixedCsfq::default());
            let (mut meter, mut averager) = (FixedMeter::new(0), FixedAverager::default());
            let factor = Accounting::new(0.001 + 10.0 * rng.open01()).unwrap();
            let mut now = 0u64;
            for i in 0..500 {
                // Gaps have any magnitude. Sometimes the clock runs backwards.
                now = if i % 50 == 49 { now - now / 8 } else { now.saturating_add(Self::number(rng) >> 24) };
                let bytes = rng.bits() as u32 >> (rng.bits() % 32);
                let label = meter.label(&params, bytes, factor, now);
                self.add('m', [now, 0], [bytes.into(), factor.q20().into(), 0], label.units().into());
                rate.update(&rates, [bytes], now);
                self.add('r', [now, 0], [bytes.into(), 0, 0], rate.log2_sums_q31()[0]);
                // Labels are close to log2(C/unit). A large part of them exceeds alpha.
                let label_of_csfq = Activity::from_biased((1 << 21) + (rng.bits() as u32 & 0x0f_ffff));
                let bits = rng.bits() & 0x7_ffff_ffff;
                let queue = QueueState { spares: bits >> 32 & 1 == 1, is_short: bits >> 33 & 1 == 1 };
                let sent = (i % 8 > 0).then_some(label_of_csfq);
                let (drop, after) = csfq.admit(&csfq_params, sent, bytes, queue, bits as u32, now);
                let result = (i64::from(drop) << 40) + i64::from(after.unwrap_or(label_of_csfq).units());
                let arguments = [bytes.into(), label_of_csfq.units().into(), sent.is_some().into()];
                self.add('q', [now, bits], arguments, result);
                if bits >> 34 & 1 == 1 {
                    csfq.overflow();
                }
                let weight = if by_bytes { 20 + (rng.bits() % 65_516) as u32 } else { PACKET_WEIGHT };
                averager.accept(&decay, label, weight, now);
                let arguments = [label.units().into(), weight.into(), 0];
                self.add('a', [now, 0], arguments, averager.average().units().into());
            }
        }
    }
}

fn bpf_folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../planes/bpf"))
}

#[test]
fn written_tables_are_those_of_the_library() {
    let written = std::fs::read_to_string(bpf_folder().join("generated/fixed_tables.h")).unwrap();
    assert!(written == c_header(), "bpf/generated/fixed_tables.h is out of date: make bpf-headers");
}

#[test]
fn c_gives_the_results_of_the_library_bit_for_bit() {
    let folder = env::temp_dir().join(format!("fairlane-fixed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, binary) = (folder.join("fixed.c"), folder.join("fixed"));
    std::fs::write(&source, PROGRAM).unwrap();
    let mut compiler = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compiler.args(["-O2", "-std=gnu11", "-Wall", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover"]);
    compiler.arg("-I").arg(bpf_folder()).arg(&source).arg("-o").arg(&binary);
    assert!(compiler.status().expect("a C compiler, as Rust needs one to link").success());
    let mut script = Script::default();
    let mut rng = Rng::stream(1, 0, "fixed in C", 0);
    script.functions(&mut rng);
    script.trains(&mut rng);
    let mut child = Command::new(&binary).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines = script.lines;
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(output.status.success(), "undefined behaviour in C");
    let results: Vec<i64> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(results.len(), script.expected.len());
    for (i, (result, expected)) in results.iter().zip(&script.expected).enumerate() {
        assert_eq!(result, expected, "operation {i}");
    }
}
