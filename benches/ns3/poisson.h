// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef FAIRLANE_NS3_POISSON_H
#define FAIRLANE_NS3_POISSON_H

#include "ns3/address.h"
#include "ns3/application.h"
#include "ns3/random-variable-stream.h"
#include "ns3/socket.h"

namespace fairlane
{

/// Sends UDP packets of one size with exponential gaps. The first packet follows one gap after the start.
class PoissonSource : public ns3::Application
{
  public:
    /// `rate` is in bit/s on the wire, where a packet of `payload` bytes is `wireBytes` long.
    PoissonSource(const ns3::Address& peer, double rate, uint32_t payload, uint32_t wireBytes);

    static ns3::TypeId GetTypeId();

  private:
    void StartApplication() override;
    void StopApplication() override;
    void Schedule();
    void Send();

    ns3::Address m_peer;
    ns3::Ptr<ns3::Socket> m_socket;
    ns3::Ptr<ns3::ExponentialRandomVariable> m_gap;
    uint32_t m_payload{0};
};

} // namespace fairlane

#endif
