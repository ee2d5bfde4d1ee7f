// SPDX-License-Identifier: MIT OR Apache-2.0
#include "poisson.h"

#include "ns3/double.h"
#include "ns3/packet.h"
#include "ns3/simulator.h"
#include "ns3/udp-socket-factory.h"

using namespace ns3;

namespace fairlane
{

PoissonSource::PoissonSource(const Address& peer, double rate, uint32_t payload, uint32_t wireBytes)
    : m_peer(peer), m_gap(CreateObject<ExponentialRandomVariable>()), m_payload(payload)
{
    m_gap->SetAttribute("Mean", DoubleValue(8.0 * wireBytes / rate));
}

TypeId PoissonSource::GetTypeId()
{
    static TypeId id = TypeId("fairlane::PoissonSource").SetParent<Application>();
    return id;
}

void PoissonSource::StartApplication()
{
    m_socket = Socket::CreateSocket(GetNode(), UdpSocketFactory::GetTypeId());
    m_socket->Bind();
    m_socket->Connect(m_peer);
    m_socket->ShutdownRecv();
    Schedule();
}

void PoissonSource::StopApplication() {}

void PoissonSource::Schedule() { Simulator::Schedule(Seconds(m_gap->GetValue()), &PoissonSource::Send, this); }

void PoissonSource::Send()
{
    m_socket->Send(Create<Packet>(m_payload));
    Schedule();
}

} // namespace fairlane
