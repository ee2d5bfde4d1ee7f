// SPDX-License-Identifier: MIT OR Apache-2.0
// Functions shared by queue disc and marker; not part of the module's interface.
#ifndef FAIRLANE_COMMON_H
#define FAIRLANE_COMMON_H

#include "ns3/fairlane.h"

#include "ns3/queue-item.h"
#include "ns3/random-variable-stream.h"

namespace ns3
{
namespace fairlane
{

/// Ends the simulation with the attribute's name if the library could not parse its text.
void CheckConfig(const char* attribute, fairlane_status status, const char* message);

/// Ends the simulation if a call failed. Only a packet that is impossible in ns-3 would cause that.
void CheckCall(fairlane_status status);

/// Length at the IP layer, flow, class and ECN field of a packet. DSCP EF (RFC 3246) is expedited, anything else best
/// effort.
fairlane_packet Describe(const QueueDiscItem& item);

/// 64 random bits to seed the library's generator.
uint64_t DrawSeed(UniformRandomVariable& random);

} // namespace fairlane
} // namespace ns3

#endif // FAIRLANE_COMMON_H
