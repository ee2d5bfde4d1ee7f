// SPDX-License-Identifier: MIT OR Apache-2.0
#include "classes.h"

#include "ns3/simulator.h"

using namespace ns3;

namespace fairlane
{

EdgeTag::EdgeTag(uint32_t user, bool expedited, double activity)
    : m_user(user), m_expedited(expedited), m_activity(activity), m_offeredAt(Simulator::Now().GetSeconds())
{
}

TypeId EdgeTag::GetTypeId()
{
    static TypeId id = TypeId("fairlane::EdgeTag").SetParent<Tag>().AddConstructor<EdgeTag>();
    return id;
}

TypeId EdgeTag::GetInstanceTypeId() const { return GetTypeId(); }

uint32_t EdgeTag::GetSerializedSize() const { return sizeof(m_user) + sizeof(m_expedited) + 2 * sizeof(double); }

void EdgeTag::Serialize(TagBuffer buffer) const
{
    buffer.WriteU32(m_user);
    buffer.WriteU8(m_expedited);
    buffer.WriteDouble(m_activity);
    buffer.WriteDouble(m_offeredAt);
}

void EdgeTag::Deserialize(TagBuffer buffer)
{
    m_user = buffer.ReadU32();
    m_expedited = buffer.ReadU8();
    m_activity = buffer.ReadDouble();
    m_offeredAt = buffer.ReadDouble();
}

void EdgeTag::Print(std::ostream& out) const { out << "user " << m_user << " activity " << m_activity; }

ClassQueue::ClassQueue(double offsetSeconds) : m_offset(offsetSeconds) {}

TypeId ClassQueue::GetTypeId()
{
    static TypeId id = TypeId("fairlane::ClassQueue").SetParent<Queue<Packet>>();
    return id;
}

bool ClassQueue::Enqueue(Ptr<Packet> packet) { return DoEnqueue(GetContainer().end(), packet); }

Ptr<Packet> ClassQueue::Dequeue() { return DoDequeue(Next()); }

Ptr<Packet> ClassQueue::Remove() { return DoRemove(Next()); }

Ptr<const Packet> ClassQueue::Peek() const { return DoPeek(Next()); }

ClassQueue::ConstIterator ClassQueue::Next() const
{
    const auto& packets = GetContainer();
    auto best = packets.end();
    double earliest = 0;
    for (auto packet = packets.begin(); packet != packets.end(); ++packet)
    {
        EdgeTag tag;
        (*packet)->PeekPacketTag(tag);
        const double due = tag.OfferedAt() + (tag.Expedited() ? 0.0 : m_offset);
        // EF wins a tie; within a class the first packet in the queue is the earliest.
        if (best == packets.end() || due < earliest || (due == earliest && tag.Expedited() && m_offset > 0))
        {
            best = packet;
            earliest = due;
        }
    }
    return best;
}

} // namespace fairlane
