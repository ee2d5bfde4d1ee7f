// SPDX-License-Identifier: MIT OR Apache-2.0
// ABC for ns-3: meters at the edge, AQM in a device's queue. Written from abc2018, eq. (1)-(10), independently of
// Fairlane's ABC, so that agreement of the two implementations checks both.
#ifndef FAIRLANE_NS3_ABC_H
#define FAIRLANE_NS3_ABC_H

#include "classes.h"

namespace fairlane
{

/// Activity meter of one user, eq. (1)-(5). The measurement starts with the simulation: t0 = 0.
class ActivityMeter
{
  public:
    ActivityMeter(double memorySeconds, double referenceRate);

    /// Counts a packet that arrives now, by its bytes times the accounting factor of its class. Returns the user's
    /// activity.
    double Update(double accountedBytes);

  private:
    double m_memory;
    double m_referenceRate;
    double m_sum{0};
    double m_last{0};
};

struct AbcParams
{
    double qMin{12};
    double qBase{20};
    double gamma{16};
    double averagerMemory{0.3};
};

/// Applies eq. (6)-(10). Its queue length includes both classes.
class AbcQueue : public ClassQueue
{
  public:
    AbcQueue(const AbcParams& params, double offsetSeconds);

    static ns3::TypeId GetTypeId();
    bool Enqueue(ns3::Ptr<ns3::Packet> packet) override;

    /// Drops by eq. (10). The other drops of the queue are those at the limit.
    uint64_t AqmDrops() const { return m_aqmDrops; }

  private:
    AbcParams m_params;
    double m_sum{0};
    double m_count{0};
    double m_last{0};
    uint64_t m_aqmDrops{0};
};

} // namespace fairlane

#endif
