// SPDX-License-Identifier: MIT OR Apache-2.0
// ABC for ns-3: meters at the edge, AQM in a device's queue. Written from abc2018, eq. (1)-(10), independently of
// Fairlane's own: agreement of the two checks both.
#ifndef FAIRLANE_NS3_ABC_H
#define FAIRLANE_NS3_ABC_H

#include "ns3/nstime.h"
#include "ns3/packet.h"
#include "ns3/queue.h"
#include "ns3/tag.h"

namespace fairlane
{

/// What the edge writes into a packet: whose it is (for the probe), and how active that user is (for ABC).
class EdgeTag : public ns3::Tag
{
  public:
    EdgeTag() = default;
    EdgeTag(uint32_t user, double activity);

    uint32_t User() const { return m_user; }
    double Activity() const { return m_activity; }

    static ns3::TypeId GetTypeId();
    ns3::TypeId GetInstanceTypeId() const override;
    uint32_t GetSerializedSize() const override;
    void Serialize(ns3::TagBuffer buffer) const override;
    void Deserialize(ns3::TagBuffer buffer) override;
    void Print(std::ostream& out) const override;

  private:
    uint32_t m_user{0};
    double m_activity{0};
};

/// Activity meter of one user, eq. (1)-(5). The measurement starts with the simulation: t0 = 0.
class ActivityMeter
{
  public:
    ActivityMeter(double memorySeconds, double referenceRate);

    /// Counts a packet of `bytes` that arrives now, and returns the user's activity.
    double Update(uint32_t bytes);

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

/// A device queue that applies eq. (6)-(10). Its length, as that of any device's queue, leaves out the packet in
/// transmission.
class AbcQueue : public ns3::Queue<ns3::Packet>
{
  public:
    explicit AbcQueue(const AbcParams& params);

    static ns3::TypeId GetTypeId();
    bool Enqueue(ns3::Ptr<ns3::Packet> packet) override;
    ns3::Ptr<ns3::Packet> Dequeue() override;
    ns3::Ptr<ns3::Packet> Remove() override;
    ns3::Ptr<const ns3::Packet> Peek() const override;

    /// Drops by eq. (10); those at the limit are the queue's other drops.
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
