// SPDX-License-Identifier: MIT OR Apache-2.0
#include "disc.h"

#include "ns3/abort.h"
#include "ns3/fq-codel-queue-disc.h"
#include "ns3/fq-pie-queue-disc.h"
#include "ns3/hash.h"
#include "ns3/ipv4-header.h"
#include "ns3/ppp-header.h"
#include "ns3/queue-item.h"

using namespace ns3;

namespace fairlane
{

namespace
{

/// A packet in a queue disc. It already has its headers.
class Item : public QueueDiscItem
{
  public:
    explicit Item(Ptr<Packet> packet) : QueueDiscItem(packet, Address(), 0) {}

    void AddHeader() override {}
    bool Mark() override
    {
        PppHeader link;
        Ipv4Header network;
        GetPacket()->RemoveHeader(link);
        GetPacket()->RemoveHeader(network);
        const bool capable = network.GetEcn() != Ipv4Header::ECN_NotECT;
        if (capable)
        {
            network.SetEcn(Ipv4Header::ECN_CE);
        }
        GetPacket()->AddHeader(network);
        GetPacket()->AddHeader(link);
        return capable;
    }

    /// Hash of addresses, protocol and ports, as in Ipv4QueueDiscItem.
    uint32_t Hash(uint32_t perturbation) const override
    {
        auto packet = GetPacket()->Copy();
        PppHeader link;
        Ipv4Header network;
        packet->RemoveHeader(link);
        packet->RemoveHeader(network);
        uint8_t key[17] = {};
        network.GetSource().Serialize(key);
        network.GetDestination().Serialize(key + 4);
        key[8] = network.GetProtocol();
        packet->CopyData(key + 9, 4); // TCP and UDP headers start with the ports
        for (int byte = 0; byte < 4; ++byte)
        {
            key[13 + byte] = perturbation >> (8 * byte);
        }
        return Hash32(reinterpret_cast<char*>(key), sizeof key);
    }
};

/// Bytes that each queue of a multi-queue disc may send per round; a device would use its MTU.
constexpr uint32_t QUANTUM = 1514;

} // namespace

DiscQueue::DiscQueue(Ptr<QueueDisc> disc) : m_disc(disc)
{
    SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, UINT32_MAX)); // the disc enforces the limit
    if (auto flows = DynamicCast<FqPieQueueDisc>(disc))
    {
        flows->SetQuantum(QUANTUM);
    }
    if (auto flows = DynamicCast<FqCoDelQueueDisc>(disc))
    {
        flows->SetQuantum(QUANTUM);
    }
    m_disc->Initialize();
    m_disc->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&DiscQueue::Refused, this));
    m_disc->TraceConnectWithoutContext("DropAfterDequeue", MakeCallback(&DiscQueue::Dropped, this));
}

void DiscQueue::Refused(Ptr<const QueueDiscItem>, const char*) { m_refused = true; }

void DiscQueue::Dropped(Ptr<const QueueDiscItem> item, const char*) { m_dropped.push_back(item->GetPacket()); }

DiscQueue::Place DiscQueue::Find(Ptr<const Packet> packet) const
{
    auto at = GetContainer().begin();
    while (at != GetContainer().end() && *at != packet)
    {
        ++at;
    }
    NS_ABORT_MSG_IF(at == GetContainer().end(), "the queue disc has a packet that was never stored");
    return at;
}

void DiscQueue::RemoveDropped()
{
    for (const auto& packet : m_dropped)
    {
        DoRemove(Find(packet)); // counts it as dropped
    }
    m_dropped.clear();
}

bool DiscQueue::Enqueue(Ptr<Packet> packet)
{
    // A disc with inner discs also returns true if an inner disc refused the packet.
    m_refused = false;
    if (!m_disc->Enqueue(Create<Item>(packet)) || m_refused)
    {
        DropBeforeEnqueue(packet);
        RemoveDropped();
        return false;
    }
    DoEnqueue(GetContainer().end(), packet);
    RemoveDropped();
    if (m_idle)
    {
        // PointToPointNetDevice::Send dequeues right after storing a packet, and sends the result without a check.
        m_next = Take();
        return static_cast<bool>(m_next);
    }
    return true;
}

Ptr<Packet> DiscQueue::Take()
{
    auto item = m_disc->Dequeue();
    RemoveDropped();
    return item ? DoDequeue(Find(item->GetPacket())) : nullptr;
}

Ptr<Packet> DiscQueue::Dequeue()
{
    auto packet = m_next ? m_next : Take();
    m_next = nullptr;
    m_idle = !packet;
    return packet;
}

Ptr<Packet> DiscQueue::Remove() { return Dequeue(); }

Ptr<const Packet> DiscQueue::Peek() const { return DoPeek(GetContainer().begin()); }

} // namespace fairlane
