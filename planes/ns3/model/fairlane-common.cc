// SPDX-License-Identifier: MIT OR Apache-2.0
#include "fairlane-common.h"

#include "ns3/abort.h"

namespace ns3
{
namespace fairlane
{

void
CheckConfig(const char* attribute, fairlane_status status, const char* message)
{
    NS_ABORT_MSG_IF(status != FAIRLANE_OK,
                    attribute << ": " << (*message ? message : fairlane_status_message(status)));
}

void
CheckCall(fairlane_status status)
{
    NS_ABORT_MSG_IF(status != FAIRLANE_OK, "Fairlane: " << fairlane_status_message(status));
}

fairlane_packet
Describe(const QueueDiscItem& item)
{
    constexpr uint8_t EXPEDITED_FORWARDING = 46;
    uint8_t dsField = 0;
    item.GetUint8Value(QueueItem::IP_DSFIELD, dsField);
    fairlane_packet packet{};
    packet.flow = item.Hash(0);
    packet.bytes = item.GetSize();
    packet.traffic_class = dsField >> 2 == EXPEDITED_FORWARDING ? FAIRLANE_EXPEDITED : FAIRLANE_BEST_EFFORT;
    packet.ecn = dsField & 3;
    return packet;
}

uint64_t
DrawSeed(UniformRandomVariable& random)
{
    uint64_t high = random.GetInteger(0, UINT32_MAX);
    return high << 32 | random.GetInteger(0, UINT32_MAX);
}

} // namespace fairlane
} // namespace ns3
