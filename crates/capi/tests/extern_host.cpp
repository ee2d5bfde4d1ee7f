// Drives the externs of planes/p4/abc_extern.p4 as the program does: state in registers, copied in and out as bit
// strings. In: a line of parameters, then "now_ns bytes class queue is_labelled" a packet; out: activity and
// threshold's mean as bits, verdict.
#include <cinttypes>
#include <cstdio>

#include "../../../planes/p4/extern/fairlane_extern.cpp"

int main() {
  uint64_t p[11];  // meter: step shift offset be ef; averager: step shift; q_min q_base gamma limit
  for (auto &value : p) {
    if (std::scanf("%" SCNu64, &value) != 1) return 1;
  }
  bm::Data meter[3], averager[3], activity, verdict;
  uint64_t now_ns, bytes, is_expedited, queue, is_labelled;
  while (std::scanf("%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &now_ns, &bytes, &is_expedited, &queue,
                    &is_labelled) == 5) {
    fairlane_abc_meter(p[0], p[1], p[2], p[3], p[4], bm::Data(), now_ns, bytes, is_expedited, meter[0], meter[1],
                       meter[2], activity);
    fairlane_abc_aqm(p[5], p[6], p[7], p[8], p[9], p[10], queue, is_labelled, activity, now_ns, averager[0],
                     averager[1], averager[2], verdict);
    std::printf("%" PRIx64 " %" PRIu64 " %" PRIx64 "\n", activity.get<uint64_t>(), verdict.get<uint64_t>(),
                averager[0].get<uint64_t>());
  }
  return 0;
}
