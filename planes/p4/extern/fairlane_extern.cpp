// SPDX-License-Identifier: MIT OR Apache-2.0
// Floating point for planes/p4/abc_extern.p4: a module that BMv2 loads at its start, backed by the C interface of the
// library.
//
// Parameters come as the integers of abc.p4's tables and are turned back to real numbers (schemes::fixed says what they
// are); state comes and goes as bit strings of doubles. All-zero registers are a meter or an averager that has seen
// nothing.

#include <bm/bm_sim/data.h>
#include <bm/bm_sim/extern.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#include "fairlane.h"

namespace {

// Verdict of planes/p4/headers.p4.
constexpr unsigned ACCEPTED = 0, DROPPED = 1, OVERLIMIT = 2;
constexpr double LOG2_E = 1.4426950408889634;
constexpr double PACKET = 16;               // unit of lengths: 1/16 packets
constexpr double ACCOUNTING_ONE = 1048576;  // Q20
constexpr int METER_SUM_BITS = 16;         // as in planes/p4/generated/constants.p4
constexpr int EXPONENT_BITS = 56;

uint64_t whole(const bm::Data &data) { return data.get<uint64_t>(); }

double real(const bm::Data &data) {
  const uint64_t bits = whole(data);
  double number;
  std::memcpy(&number, &bits, sizeof(number));
  return number;
}

void keep(bm::Data &data, double number) {
  uint64_t bits;
  std::memcpy(&bits, &number, sizeof(bits));
  data.set(bits);
}

// Inverse of Decay::new: step = log2(e) * 2^(56 + shift) / memory.
uint64_t memory_ns(const bm::Data &step, const bm::Data &shift) {
  const double scaled = std::ldexp(LOG2_E, EXPONENT_BITS + static_cast<int>(whole(shift)));
  return static_cast<uint64_t>(std::llround(scaled / static_cast<double>(whole(step))));
}

// Inverse of FixedMeterParams::offset_q31: log2(8e9 / R_r) less the fraction bits of S.
uint64_t reference_rate_bps(const bm::Data &offset) {
  const double exponent = std::ldexp(static_cast<double>(static_cast<int64_t>(whole(offset))), -31);
  return static_cast<uint64_t>(std::llround(8e9 / std::exp2(exponent + METER_SUM_BITS)));
}

}  // namespace

// The names are P4's; parameters as in planes/p4/extern/meter.p4.
void fairlane_abc_meter(const bm::Data &step, const bm::Data &shift, const bm::Data &offset, const bm::Data &factor_be,
                        const bm::Data &factor_ef, const bm::Data &start_us, const bm::Data &now_ns,
                        const bm::Data &bytes, const bm::Data &is_expedited, bm::Data &sum, bm::Data &measured,
                        bm::Data &last_ns, bm::Data &activity) {
  fairlane_abc_meter_config config;
  config.memory_ns = memory_ns(step, shift);
  config.reference_rate_bps = reference_rate_bps(offset);
  config.accounting_be = static_cast<double>(whole(factor_be)) / ACCOUNTING_ONE;
  config.accounting_ef = static_cast<double>(whole(factor_ef)) / ACCOUNTING_ONE;
  fairlane_abc_meter_state state = {real(sum), real(measured), whole(last_ns)};
  const uint64_t start_ns = whole(start_us) * 1000;
  if (state.last_ns < start_ns) fairlane_abc_meter_reset(&state, start_ns);
  double result = 0;
  const auto status =
      fairlane_abc_meter_label(&config, &state, whole(now_ns), static_cast<uint32_t>(whole(bytes)),
                              static_cast<uint8_t>(whole(is_expedited)), &result);
  // A packet that cannot be metered keeps activity 0, and the meter its state.
  if (status == FAIRLANE_OK) {
    keep(sum, state.weighted_sum_bits);
    keep(measured, state.measured);
    last_ns.set(state.last_ns);
  }
  keep(activity, result);
}
BM_REGISTER_EXTERN_FUNCTION(fairlane_abc_meter, const bm::Data &, const bm::Data &, const bm::Data &, const bm::Data &,
                            const bm::Data &, const bm::Data &, const bm::Data &, const bm::Data &, const bm::Data &,
                            bm::Data &, bm::Data &, bm::Data &, bm::Data &);

// Parameters as in planes/p4/extern/aqm.p4. A packet without a label is judged by the limit alone and moves no average.
void fairlane_abc_aqm(const bm::Data &step, const bm::Data &shift, const bm::Data &q_min, const bm::Data &q_base,
                      const bm::Data &gamma, const bm::Data &limit, const bm::Data &queue, const bm::Data &is_labelled,
                      const bm::Data &activity, const bm::Data &now_ns, bm::Data &sum, bm::Data &count,
                      bm::Data &last_ns, bm::Data &verdict) {
  const auto packets = [](const bm::Data &units) { return static_cast<double>(whole(units)) / PACKET; };
  const fairlane_abc_aqm_config config = {packets(q_min), packets(q_base), packets(gamma)};
  fairlane_abc_averager_state state = {real(sum), real(count), whole(last_ns)};
  const double waiting = static_cast<double>(whole(queue));
  double average, threshold;
  uint8_t drop = 0;
  const bool has_label = whole(is_labelled) != 0;
  const bool is_judged = has_label && !fairlane_abc_averager_average(&state, &average) &&
                         !fairlane_abc_aqm_threshold(&config, real(activity), average, &threshold) &&
                         !fairlane_abc_aqm_verdict(waiting, threshold, &drop);
  if (is_judged && drop) {
    verdict.set(DROPPED);
    return;
  }
  if (waiting >= packets(limit)) {
    verdict.set(OVERLIMIT);
    return;
  }
  verdict.set(ACCEPTED);
  if (has_label && !fairlane_abc_averager_accept(memory_ns(step, shift), &state, real(activity), whole(now_ns))) {
    keep(sum, state.weighted_sum);
    keep(count, state.weighted_count);
    last_ns.set(state.last_ns);
  }
}
BM_REGISTER_EXTERN_FUNCTION(fairlane_abc_aqm, const bm::Data &, const bm::Data &, const bm::Data &, const bm::Data &,
                            const bm::Data &, const bm::Data &, const bm::Data &, const bm::Data &, const bm::Data &,
                            const bm::Data &, bm::Data &, bm::Data &, bm::Data &, bm::Data &);
