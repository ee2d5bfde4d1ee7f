// SPDX-License-Identifier: MIT OR Apache-2.0
#include "mended.h"

#include "ns3/node.h"
#include "ns3/object-factory.h"
#include "ns3/object.h"
#include "ns3/rtt-estimator.h"
#include "ns3/simulator.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-option-sack.h"
#include "ns3/tcp-socket-state.h"

#include <algorithm>

using namespace ns3;

namespace fairlane
{

NS_OBJECT_ENSURE_REGISTERED(MendedBbr);
NS_OBJECT_ENSURE_REGISTERED(MendedDctcp);
NS_OBJECT_ENSURE_REGISTERED(MendedNewReno);
NS_OBJECT_ENSURE_REGISTERED(MendedVegas);
NS_OBJECT_ENSURE_REGISTERED(MendedLedbat);
NS_OBJECT_ENSURE_REGISTERED(MendedPrrRecovery);
NS_OBJECT_ENSURE_REGISTERED(MendedSocket);
NS_OBJECT_ENSURE_REGISTERED(MendedSocketFactory);

TypeId MendedBbr::GetTypeId()
{
    static TypeId id = TypeId("fairlane::MendedBbr").SetParent<TcpBbr>().AddConstructor<MendedBbr>();
    return id;
}

Ptr<TcpCongestionOps> MendedBbr::Fork() { return CopyObject<MendedBbr>(this); }

void MendedBbr::CongestionStateSet(Ptr<TcpSocketState> tcb, const TcpSocketState::TcpCongState_t newState)
{
    const bool repaired = newState == TcpSocketState::CA_OPEN && tcb->m_congState == TcpSocketState::CA_LOSS;
    if (newState == TcpSocketState::CA_RECOVERY)
    {
        m_windowBefore = tcb->m_cWnd;
        m_recoveryBegins = true;
    }
    TcpBbr::CongestionStateSet(tcb, newState);
    if (newState == TcpSocketState::CA_LOSS && m_buffer)
    {
        m_lost = m_buffer->GetLost(); // losses that a timeout assumes are not reported by an ACK
    }
    if (repaired)
    {
        RestoreCwnd(tcb);
    }
}

uint32_t MendedBbr::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t bytesInFlight)
{
    const uint32_t unmended = TcpBbr::GetSsThresh(tcb, bytesInFlight);
    return tcb->m_congState == TcpSocketState::CA_RECOVERY ? m_windowBefore : unmended;
}

void MendedBbr::CongControl(Ptr<TcpSocketState> tcb, const TcpRateOps::TcpRateConnection& rc,
                            const TcpRateOps::TcpRateSample& rs)
{
    TcpRateOps::TcpRateSample sample = rs;
    Mend(sample);
    if (m_recoveryBegins)
    {
        m_recoveryRound = rc.m_delivered;
        m_recoveryBegins = false;
    }
    if (tcb->m_congState == TcpSocketState::CA_RECOVERY && sample.m_priorDelivered < m_recoveryRound)
    {
        sample.m_priorDelivered = 0; // the round does not end
    }
    const uint32_t window = tcb->m_cWnd;
    const auto state = GetBbrState();
    TcpBbr::CongControl(tcb, rc, sample);
    SetQuantum(*tcb);
    if (state != BBR_PROBE_RTT || GetBbrState() == BBR_PROBE_RTT)
    {
        tcb->m_cWnd = window; // TcpBbr has set it with a quantum of one segment
        SetCwnd(tcb, sample);
    }
}

void MendedBbr::Mend(TcpRateOps::TcpRateSample& sample)
{
    if (!sample.m_priorTime.IsZero() && sample.m_interval.IsStrictlyPositive())
    {
        sample.m_ackElapsed = Simulator::Now() - sample.m_priorTime;
        sample.m_interval = std::max(sample.m_sendElapsed, sample.m_ackElapsed);
        sample.m_deliveryRate = DataRate(sample.m_delivered * 8.0 / sample.m_interval.GetSeconds());
    }
    else
    {
        sample.m_deliveryRate = DataRate(0);
    }
    const uint32_t before = m_lost;
    m_lost = m_buffer ? m_buffer->GetLost() : 0;
    sample.m_bytesLoss = m_lost > before ? m_lost - before : 0;
}

void MendedBbr::SetQuantum(const TcpSocketState& of)
{
    constexpr double single = 1.2e6;
    constexpr double two = 24e6;
    constexpr uint32_t most = 64 * 1024;
    const auto rate = static_cast<double>(of.m_pacingRate.Get().GetBitRate());
    const auto millisecond = static_cast<uint32_t>(rate / 8000);
    m_quantum = m_quantum ? m_quantum : CreateObject<TcpSocketState>();
    m_quantum->m_segmentSize =
        rate < single ? of.m_segmentSize : rate < two ? 2 * of.m_segmentSize : std::min(millisecond, most);
    SetSendQuantum(m_quantum);
}

TypeId MendedDctcp::GetTypeId()
{
    static TypeId id = TypeId("fairlane::MendedDctcp").SetParent<TcpDctcp>().AddConstructor<MendedDctcp>();
    return id;
}

Ptr<TcpCongestionOps> MendedDctcp::Fork() { return CopyObject<MendedDctcp>(this); }

uint32_t MendedDctcp::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t bytesInFlight)
{
    // With a window of one segment, the call uses up the counted acknowledgements.
    auto one = CreateObject<TcpSocketState>();
    one->m_segmentSize = 1;
    one->m_cWnd = 1;
    CongestionAvoidance(one, 0);
    const bool loss = tcb->m_congState == TcpSocketState::CA_RECOVERY;
    return loss ? TcpLinuxReno::GetSsThresh(tcb, bytesInFlight) : TcpDctcp::GetSsThresh(tcb, bytesInFlight);
}

void MendedDctcp::PktsAcked(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked, const Time& rtt)
{
    const auto acknowledged = tcb->m_lastAckedSeq;
    tcb->m_lastAckedSeq = acknowledged - 1;
    TcpDctcp::PktsAcked(tcb, segmentsAcked, rtt);
    tcb->m_lastAckedSeq = acknowledged;
}

void MendedDctcp::CwndEvent(Ptr<TcpSocketState> tcb, const TcpSocketState::TcpCAEvent_t event)
{
    switch (event)
    {
    case TcpSocketState::CA_EVENT_ECN_IS_CE:
        Arrived(tcb, true);
        break;
    case TcpSocketState::CA_EVENT_ECN_NO_CE:
        Arrived(tcb, false);
        break;
    case TcpSocketState::CA_EVENT_DELAYED_ACK:
        m_ackIsDelayed = true;
        break;
    case TcpSocketState::CA_EVENT_NON_DELAYED_ACK:
        m_ackIsDelayed = false;
        break;
    default:
        break;
    }
}

void MendedDctcp::Arrived(Ptr<TcpSocketState> tcb, bool marked)
{
    if (marked != m_marked && m_ackIsDelayed)
    {
        // The packet is not yet in the buffer, so this acknowledges only the packets before it.
        tcb->m_sendEmptyPacketCallback(m_marked ? TcpHeader::ACK | TcpHeader::ECE : TcpHeader::ACK);
        m_ackIsDelayed = false;
    }
    m_marked = marked;
    const auto state = tcb->m_ecnState.Get();
    if (marked)
    {
        tcb->m_ecnState = TcpSocketState::ECN_CE_RCVD;
    }
    else if (state == TcpSocketState::ECN_CE_RCVD || state == TcpSocketState::ECN_SENDING_ECE)
    {
        tcb->m_ecnState = TcpSocketState::ECN_IDLE;
    }
}

TypeId MendedNewReno::GetTypeId()
{
    static TypeId id = TypeId("fairlane::MendedNewReno").SetParent<TcpNewReno>().AddConstructor<MendedNewReno>();
    return id;
}

Ptr<TcpCongestionOps> MendedNewReno::Fork() { return CopyObject<MendedNewReno>(this); }

void MendedNewReno::CwndEvent(Ptr<TcpSocketState> tcb, const TcpSocketState::TcpCAEvent_t event)
{
    TcpNewReno::CwndEvent(tcb, event);
    if (event == TcpSocketState::CA_EVENT_ECN_NO_CE && tcb->m_ecnState == TcpSocketState::ECN_CE_RCVD)
    {
        tcb->m_ecnState = TcpSocketState::ECN_SENDING_ECE;
    }
}

TypeId MendedVegas::GetTypeId()
{
    static TypeId id = TypeId("fairlane::MendedVegas").SetParent<TcpVegas>().AddConstructor<MendedVegas>();
    return id;
}

Ptr<TcpCongestionOps> MendedVegas::Fork() { return CopyObject<MendedVegas>(this); }

uint32_t MendedVegas::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t bytesInFlight)
{
    // Vegas calls this with 0 bytes in flight for its own reductions.
    return bytesInFlight > 0 ? TcpNewReno::GetSsThresh(tcb, bytesInFlight) : TcpVegas::GetSsThresh(tcb, 0);
}

TypeId MendedLedbat::GetTypeId()
{
    static TypeId id = TypeId("fairlane::MendedLedbat").SetParent<TcpLedbat>().AddConstructor<MendedLedbat>();
    return id;
}

Ptr<TcpCongestionOps> MendedLedbat::Fork() { return CopyObject<MendedLedbat>(this); }

void MendedLedbat::CongestionAvoidance(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked)
{
    // The 32-bit product limits how much one ACK may cover; for larger ACKs, fractions of bytes are dropped.
    const uint32_t parts = segmentsAcked <= 16 ? 16 : 1;
    m_fine = m_fine ? m_fine : CreateObject<TcpSocketState>();
    const uint32_t outstanding = tcb->m_highTxMark.Get() - tcb->m_lastAckedSeq;
    m_fine->m_segmentSize = parts * tcb->m_segmentSize;
    m_fine->m_cWnd = parts * tcb->m_cWnd + (parts > 1 ? m_part : 0);
    m_fine->m_ssThresh = 0;
    m_fine->m_lastAckedSeq = SequenceNumber32(0);
    m_fine->m_highTxMark = SequenceNumber32(parts * (outstanding + tcb->m_segmentSize));
    TcpLedbat::CongestionAvoidance(m_fine, segmentsAcked);
    tcb->m_cWnd = m_fine->m_cWnd / parts;
    m_part = m_fine->m_cWnd % parts;
    if (tcb->m_cWnd <= tcb->m_ssThresh)
    {
        tcb->m_ssThresh = tcb->m_cWnd - 1;
    }
}

TypeId MendedPrrRecovery::GetTypeId()
{
    static TypeId id =
        TypeId("fairlane::MendedPrrRecovery").SetParent<TcpPrrRecovery>().AddConstructor<MendedPrrRecovery>();
    return id;
}

Ptr<TcpRecoveryOps> MendedPrrRecovery::Fork() { return CopyObject<MendedPrrRecovery>(this); }

void MendedPrrRecovery::EnterRecovery(Ptr<TcpSocketState> tcb, uint32_t, uint32_t unAckDataCount,
                                      uint32_t deliveredBytes)
{
    m_delivered = 0;
    m_out = 0;
    const uint32_t acknowledged = tcb->m_congState == TcpSocketState::CA_CWR ? deliveredBytes : 0;
    m_flight = std::max<int64_t>(unAckDataCount + acknowledged, 1);
    m_last = Time(-1);
    DoRecovery(tcb, deliveredBytes);
}

void MendedPrrRecovery::DoRecovery(Ptr<TcpSocketState> tcb, uint32_t deliveredBytes)
{
    if (m_last == Simulator::Now())
    {
        return;
    }
    m_last = Simulator::Now();
    m_delivered += deliveredBytes;
    const int64_t inFlight = tcb->m_bytesInFlight.Get();
    const int64_t threshold = tcb->m_ssThresh.Get();
    int64_t count = 0;
    if (inFlight > threshold)
    {
        count = (m_delivered * threshold + m_flight - 1) / m_flight - m_out;
    }
    else
    {
        const bool safe = tcb->m_isRetransDataAcked || tcb->m_congState == TcpSocketState::CA_CWR;
        const int64_t limit =
            std::max<int64_t>(m_delivered - m_out, deliveredBytes) + (safe ? tcb->m_segmentSize : 0);
        count = std::min(limit, threshold - inFlight);
    }
    const int64_t least = m_out > 0 ? 0 : tcb->m_segmentSize;
    tcb->m_cWnd = static_cast<uint32_t>(inFlight + std::max(count, least));
    tcb->m_cWndInfl = tcb->m_cWnd;
}

TypeId MendedSocket::GetTypeId()
{
    static TypeId id = TypeId("fairlane::MendedSocket").SetParent<TcpSocketBase>().AddConstructor<MendedSocket>();
    return id;
}

uint32_t MendedSocket::SendDataPacket(SequenceNumber32 seq, uint32_t maxSize, bool withAck)
{
    const bool again = seq < m_tcb->m_highTxMark.Get();
    const uint32_t size = TcpSocketBase::SendDataPacket(seq, maxSize, withAck);
    if (again)
    {
        m_copies.insert(seq);
    }
    return size;
}

void MendedSocket::ReceivedAck(Ptr<Packet> packet, const TcpHeader& header)
{
    const auto acknowledged = header.GetAckNumber();
    m_copies.erase(m_copies.begin(), m_copies.lower_bound(acknowledged));
    m_arrived.erase(m_arrived.begin(), m_arrived.lower_bound(acknowledged));
    if (header.HasOption(TcpOption::SACK))
    {
        for (const auto& block : DynamicCast<const TcpOptionSack>(header.GetOption(TcpOption::SACK))->GetSackList())
        {
            auto begin = m_copies.lower_bound(block.first);
            auto end = m_copies.lower_bound(block.second);
            m_arrived.insert(begin, end);
            m_copies.erase(begin, end);
        }
    }
    TcpSocketBase::ReceivedAck(packet, header);
}

void MendedSocket::ReTxTimeout()
{
    m_timeout = true;
    TcpSocketBase::ReTxTimeout();
}

uint32_t MendedSocket::BytesInFlight() const
{
    if (m_timeout && m_txBuffer->GetRetransmitsCount() == 0)
    {
        m_copies.clear();
        m_arrived.clear();
        m_timeout = false;
    }
    const auto arrived = static_cast<uint32_t>(m_arrived.size()) * m_tcb->m_segmentSize;
    const uint32_t inFlight = TcpSocketBase::BytesInFlight() - arrived;
    m_tcb->m_bytesInFlight = inFlight;
    return inFlight;
}

TypeId MendedSocketFactory::GetTypeId()
{
    static TypeId id =
        TypeId("fairlane::MendedSocketFactory").SetParent<SocketFactory>().AddConstructor<MendedSocketFactory>();
    return id;
}

Ptr<Socket> MendedSocketFactory::CreateSocket()
{
    auto tcp = GetObject<TcpL4Protocol>();
    auto make = [&](const char* attribute) {
        TypeIdValue type;
        tcp->GetAttribute(attribute, type);
        ObjectFactory factory;
        factory.SetTypeId(type.Get());
        return factory.Create();
    };
    auto socket = CreateObject<MendedSocket>();
    socket->SetNode(GetObject<Node>());
    socket->SetTcp(tcp);
    socket->SetRtt(DynamicCast<RttEstimator>(make("RttEstimatorType")));
    socket->SetCongestionControlAlgorithm(DynamicCast<TcpCongestionOps>(make("SocketType")));
    socket->SetRecoveryAlgorithm(DynamicCast<TcpRecoveryOps>(make("RecoveryType")));
    tcp->AddSocket(socket);
    return socket;
}

} // namespace fairlane
