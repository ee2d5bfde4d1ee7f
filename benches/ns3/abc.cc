// SPDX-License-Identifier: MIT OR Apache-2.0
#include "abc.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>

using namespace ns3;

namespace fairlane
{

ActivityMeter::ActivityMeter(double memorySeconds, double referenceRate)
    : m_memory(memorySeconds), m_referenceRate(referenceRate)
{
}

double ActivityMeter::Update(double accountedBytes)
{
    const double now = Simulator::Now().GetSeconds();
    m_sum = std::exp(-(now - m_last) / m_memory) * m_sum + 8.0 * accountedBytes; // eq. (1)
    m_last = now;
    // eq. (2). It is zero at t0 itself; there its limit, M, is used instead.
    const double measured = now > 0 ? m_memory * -std::expm1(-now / m_memory) : m_memory;
    return std::log2(m_sum / measured / m_referenceRate); // eq. (3), (5)
}

AbcQueue::AbcQueue(const AbcParams& params, double offsetSeconds) : ClassQueue(offsetSeconds), m_params(params) {}

TypeId AbcQueue::GetTypeId()
{
    static TypeId id = TypeId("fairlane::AbcQueue").SetParent<ClassQueue>();
    return id;
}

bool AbcQueue::Enqueue(Ptr<Packet> packet)
{
    EdgeTag tag;
    packet->PeekPacketTag(tag);
    const double average = m_count > 0 ? m_sum / m_count : 0.0; // eq. (8); 0 before the first packet
    const double threshold =
        std::max(m_params.qMin, m_params.qBase - m_params.gamma * (tag.Activity() - average)); // eq. (10)
    if (GetNPackets() >= threshold)
    {
        ++m_aqmDrops;
        DropBeforeEnqueue(packet);
        return false;
    }
    if (!DoEnqueue(GetContainer().end(), packet)) // the limit drops
    {
        return false;
    }
    const double now = Simulator::Now().GetSeconds();
    const double decay = std::exp(-(now - m_last) / m_params.averagerMemory);
    m_sum = decay * m_sum + tag.Activity(); // eq. (6)
    m_count = decay * m_count + 1.0;        // eq. (7)
    m_last = now;                           // eq. (9)
    return true;
}

} // namespace fairlane
