// SPDX-License-Identifier: MIT OR Apache-2.0
#include "fairlane-queue-disc.h"

#include "fairlane-common.h"
#include "fairlane-tag.h"

#include "ns3/abort.h"
#include "ns3/hash.h"
#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/ipv6-queue-disc-item.h"
#include "ns3/log.h"
#include "ns3/net-device-queue-interface.h"
#include "ns3/net-device.h"
#include "ns3/queue.h"
#include "ns3/simulator.h"
#include "ns3/string.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("FairlaneQueueDisc");

NS_OBJECT_ENSURE_REGISTERED(FairlaneQueueDisc);

namespace
{

/// Reasons, indexed by their numbers in the C interface.
constexpr const char* REASONS[] = {FairlaneQueueDisc::AQM_DROP,
                                   FairlaneQueueDisc::OVERLIMIT_DROP,
                                   FairlaneQueueDisc::PUSHED_OUT_DROP,
                                   FairlaneQueueDisc::MARK};

/// User number of a packet that passed no marker: the source address, or a hash of it.
uint32_t
UserOf(const QueueDiscItem& item)
{
    if (auto ipv4 = dynamic_cast<const Ipv4QueueDiscItem*>(&item))
    {
        return ipv4->GetHeader().GetSource().Get();
    }
    if (auto ipv6 = dynamic_cast<const Ipv6QueueDiscItem*>(&item))
    {
        uint8_t source[16];
        ipv6->GetHeader().GetSource().GetBytes(source);
        return Hash32(reinterpret_cast<const char*>(source), sizeof(source));
    }
    return 0;
}

} // namespace

/**
 * The waiting packets, in numbered slots; the scheme identifies packets by these numbers. This is the queue disc's
 * internal queue, so that its length, statistics and trace sources work as in any other queue disc.
 */
class FairlaneQueueDisc::Store : public Queue<QueueDiscItem>
{
  public:
    Store()
    {
        SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, UINT32_MAX)); // the scheme enforces the limit
    }

    /// Reserves a slot for an arriving packet.
    uint64_t Reserve()
    {
        if (m_free.empty())
        {
            m_free.push_back(m_places.size());
            m_places.emplace_back();
        }
        uint64_t place = m_free.back();
        m_free.pop_back();
        return place;
    }

    /// Returns an unused slot.
    void Release(uint64_t place)
    {
        m_free.push_back(place);
    }

    void Put(uint64_t place, Ptr<QueueDiscItem> item)
    {
        DoEnqueue(GetContainer().end(), item, m_places[place]);
    }

    Ptr<QueueDiscItem> At(uint64_t place) const
    {
        return *m_places[place];
    }

    Ptr<QueueDiscItem> Take(uint64_t place)
    {
        m_free.push_back(place);
        return DoDequeue(m_places[place]);
    }

    bool Enqueue(Ptr<QueueDiscItem>) override
    {
        NS_FATAL_ERROR("packets come in through the queue disc");
    }

    Ptr<QueueDiscItem> Dequeue() override
    {
        NS_FATAL_ERROR("packets leave through the queue disc");
    }

    Ptr<QueueDiscItem> Remove() override
    {
        return DoRemove(GetContainer().begin());
    }

    Ptr<const QueueDiscItem> Peek() const override
    {
        return DoPeek(GetContainer().begin());
    }

  private:
    std::vector<Iterator> m_places;
    std::vector<uint64_t> m_free;
};

void
FairlaneQueueDisc::Delete::operator()(fairlane_queue* queue) const
{
    fairlane_queue_destroy(queue);
}

TypeId
FairlaneQueueDisc::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::FairlaneQueueDisc")
            .SetParent<QueueDisc>()
            .SetGroupName("TrafficControl")
            .AddConstructor<FairlaneQueueDisc>()
            .AddAttribute("Config",
                          "A [queue] table of Fairlane's scenarios, in TOML or JSON",
                          StringValue("scheme = \"abc\""),
                          MakeStringAccessor(&FairlaneQueueDisc::m_config),
                          MakeStringChecker())
            .AddAttribute("LinkRate",
                          "Rate of the link; 0: that of the device",
                          DataRateValue(DataRate(0)),
                          MakeDataRateAccessor(&FairlaneQueueDisc::m_linkRate),
                          MakeDataRateChecker());
    return tid;
}

FairlaneQueueDisc::FairlaneQueueDisc()
    : QueueDisc(QueueDiscSizePolicy::NO_LIMITS),
      m_random(CreateObject<UniformRandomVariable>())
{
}

FairlaneQueueDisc::~FairlaneQueueDisc() = default;

int64_t
FairlaneQueueDisc::AssignStreams(int64_t stream)
{
    m_random->SetStream(stream);
    return 1;
}

fairlane_queue_stats_t
FairlaneQueueDisc::GetSchemeStats() const
{
    fairlane_queue_stats_t stats{};
    if (m_queue)
    {
        fairlane::CheckCall(fairlane_queue_stats(m_queue.get(), &stats));
    }
    return stats;
}

bool
FairlaneQueueDisc::CheckConfig()
{
    if (GetNQueueDiscClasses() > 0 || GetNPacketFilters() > 0 || GetNInternalQueues() > 0)
    {
        NS_LOG_ERROR("FairlaneQueueDisc has neither classes nor filters, and makes its queue itself");
        return false;
    }
    m_store = CreateObject<Store>();
    AddInternalQueue(m_store);
    return true;
}

void
FairlaneQueueDisc::InitializeParams()
{
    char message[500] = "";
    fairlane_queue* queue = nullptr;
    auto status = fairlane_queue_create(m_config.c_str(),
                                        Rate().GetBitRate(),
                                        fairlane::DrawSeed(*m_random),
                                        &queue,
                                        message,
                                        sizeof(message));
    fairlane::CheckConfig("FairlaneQueueDisc::Config", status, message);
    m_queue.reset(queue);
}

DataRate
FairlaneQueueDisc::Rate() const
{
    if (m_linkRate.GetBitRate() > 0)
    {
        return m_linkRate;
    }
    DataRateValue rate;
    auto interface = GetNetDeviceQueueInterface();
    auto device = interface ? interface->GetObject<NetDevice>() : nullptr;
    NS_ABORT_MSG_UNLESS(device && device->GetAttributeFailSafe("DataRate", rate),
                        "FairlaneQueueDisc::LinkRate: is 0, and the device has no attribute DataRate; give the rate");
    return rate.Get();
}

bool
FairlaneQueueDisc::DoEnqueue(Ptr<QueueDiscItem> item)
{
    NS_LOG_FUNCTION(this << item);
    FairlaneTag tag;
    bool isLabelled = item->GetPacket()->PeekPacketTag(tag);
    fairlane_packet packet = fairlane::Describe(*item);
    packet.id = m_store->Reserve();
    packet.label = tag.GetLabel();
    packet.user = isLabelled ? tag.GetUser() : UserOf(*item);
    m_arrival = item;
    m_arrivalPlace = packet.id;
    m_arrivalDropped = nullptr;
    auto now = Simulator::Now().GetNanoSeconds();
    fairlane::CheckCall(fairlane_queue_enqueue(m_queue.get(), &packet, now, OnDrop, this));
    m_arrival = nullptr;
    if (m_arrivalDropped)
    {
        m_store->Release(packet.id);
        DropBeforeEnqueue(item, m_arrivalDropped);
        return false;
    }
    m_store->Put(packet.id, item);
    return true;
}

Ptr<QueueDiscItem>
FairlaneQueueDisc::DoDequeue()
{
    NS_LOG_FUNCTION(this);
    fairlane_packet packet;
    uint8_t found = 0;
    auto now = Simulator::Now().GetNanoSeconds();
    fairlane::CheckCall(fairlane_queue_dequeue(m_queue.get(), now, OnDrop, this, &packet, &found));
    if (!found)
    {
        return nullptr;
    }
    auto item = m_store->Take(packet.id);
    FairlaneTag tag;
    if (item->GetPacket()->PeekPacketTag(tag) && tag.GetLabel() != packet.label) // CSFQ relabels packets
    {
        tag = FairlaneTag(packet.label, packet.user);
        item->GetPacket()->ReplacePacketTag(tag);
    }
    return item;
}

void
FairlaneQueueDisc::OnDrop(void* self, const fairlane_packet* packet, uint8_t reason)
{
    static_cast<FairlaneQueueDisc*>(self)->Drop(packet->id, reason);
}

void
FairlaneQueueDisc::Drop(uint64_t id, uint8_t reason)
{
    bool isArrival = m_arrival && id == m_arrivalPlace;
    if (reason == FAIRLANE_MARKED)
    {
        Mark(isArrival ? m_arrival : m_store->At(id), REASONS[reason]);
    }
    else if (isArrival)
    {
        m_arrivalDropped = REASONS[reason]; // counted after the scheme has returned
    }
    else
    {
        DropAfterDequeue(m_store->Take(id), REASONS[reason]);
    }
}

void
FairlaneQueueDisc::DoDispose()
{
    m_queue.reset();
    m_store = nullptr;
    QueueDisc::DoDispose();
}

} // namespace ns3
