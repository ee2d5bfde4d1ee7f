// SPDX-License-Identifier: MIT OR Apache-2.0
// Two traffic classes at a port, EF before BE (abc2018 III-D2), and the tag that the edge writes into a packet.
#ifndef FAIRLANE_NS3_CLASSES_H
#define FAIRLANE_NS3_CLASSES_H

#include "ns3/nstime.h"
#include "ns3/packet.h"
#include "ns3/queue.h"
#include "ns3/tag.h"

namespace fairlane
{

/// Tag that the edge writes into a packet when it offers it to the bottleneck: user and time (for the probe), class,
/// and activity of the user (for ABC).
class EdgeTag : public ns3::Tag
{
  public:
    EdgeTag() = default;
    EdgeTag(uint32_t user, bool expedited, double activity);

    uint32_t User() const { return m_user; }
    bool Expedited() const { return m_expedited; }
    double Activity() const { return m_activity; }
    double OfferedAt() const { return m_offeredAt; }

    static ns3::TypeId GetTypeId();
    ns3::TypeId GetInstanceTypeId() const override;
    uint32_t GetSerializedSize() const override;
    void Serialize(ns3::TagBuffer buffer) const override;
    void Deserialize(ns3::TagBuffer buffer) override;
    void Print(std::ostream& out) const override;

  private:
    uint32_t m_user{0};
    uint8_t m_expedited{0};
    double m_activity{0};
    double m_offeredAt{0};
};

/// A device queue with one limit for all packets. It serves packets in the order of arrival time plus an offset, which
/// is 0 for EF. This scheduler is called MEDF. An offset of 0 for BE gives a FIFO, an infinite offset gives strict
/// priority. As in any device queue, the packet in transmission is not counted.
class ClassQueue : public ns3::Queue<ns3::Packet>
{
  public:
    explicit ClassQueue(double offsetSeconds);

    static ns3::TypeId GetTypeId();
    bool Enqueue(ns3::Ptr<ns3::Packet> packet) override;
    ns3::Ptr<ns3::Packet> Dequeue() override;
    ns3::Ptr<ns3::Packet> Remove() override;
    ns3::Ptr<const ns3::Packet> Peek() const override;

  private:
    /// Next packet to serve; the end if there is none.
    ConstIterator Next() const;

    double m_offset;
};

} // namespace fairlane

#endif
