// SPDX-License-Identifier: MIT OR Apache-2.0
// Congestion controls of ns-3 3.37 without faults that its source shows: each calls the class of ns-3, and changes from
// outside, by its public and protected interface, what departs from the document that the class cites.
#ifndef FAIRLANE_NS3_MENDED_H
#define FAIRLANE_NS3_MENDED_H

#include "ns3/socket-factory.h"
#include "ns3/tcp-bbr.h"
#include "ns3/tcp-dctcp.h"
#include "ns3/tcp-ledbat.h"
#include "ns3/tcp-prr-recovery.h"
#include "ns3/tcp-socket-base.h"
#include "ns3/tcp-tx-buffer.h"
#include "ns3/tcp-vegas.h"

#include <set>

namespace fairlane
{

/// BBR, after draft-cardwell-iccrg-bbr-congestion-control-00.
/// 1. When recovery ends, TcpSocketBase::ProcessAck sets cwnd = ssthresh for every control. TcpBbr leaves ssthresh at
///    its first value, 4 GiB, until Startup is over, and then at one bandwidth-delay product. Here ssthresh is the
///    window before recovery, to which section 4.2.3.4 returns.
/// 2. TcpRateLinux::SkbDelivered takes the ACK phase of a rate sample from the segment delivered before, so that the
///    interval is longer by the time between two ACKs (mended in ns-3 by 3.44). Here it is that of the sample's
///    segment.
/// 3. TcpBbr::SetSendQuantum takes a segment at any rate. Here the quantum, of which windows hold three more than the
///    bandwidth-delay product, is that of section 4.2.2. What leaves at once stays a segment.
/// 4. TcpSocketBase::ReceivedAck gives as newly lost by how much the count of lost segments has changed, in either
///    direction: each loss that is repaired counts as a further one, and takes from the window. Here only a rise does.
/// 5. The round for which recovery conserves packets (section 4.2.3.4) is here one that begins with recovery, in TcpBbr
///    what is left of the present one.
/// 6. TcpBbr does not restore the window when the loss state ends (section 4.2.3.4, "upon exiting loss recovery").
/// 7. TcpRateLinux::GenerateSample leaves the last rate in a sample that it takes for invalid. Here that has none.
class MendedBbr : public ns3::TcpBbr
{
  public:
    static ns3::TypeId GetTypeId();
    ns3::Ptr<ns3::TcpCongestionOps> Fork() override;
    void CongestionStateSet(ns3::Ptr<ns3::TcpSocketState> tcb,
                            const ns3::TcpSocketState::TcpCongState_t newState) override;
    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb, uint32_t bytesInFlight) override;
    void CongControl(ns3::Ptr<ns3::TcpSocketState> tcb, const ns3::TcpRateOps::TcpRateConnection& rc,
                     const ns3::TcpRateOps::TcpRateSample& rs) override;
    /// Tells where the socket counts what is lost.
    void Watch(ns3::Ptr<ns3::TcpTxBuffer> buffer) { m_buffer = buffer; }

  private:
    void Mend(ns3::TcpRateOps::TcpRateSample& sample);
    void SetQuantum(const ns3::TcpSocketState& of);

    ns3::Ptr<ns3::TcpTxBuffer> m_buffer;
    uint32_t m_lost{0};
    bool m_recoveryBegins{false};
    uint64_t m_recoveryRound{0}; ///< the first round of recovery ends with what is sent once so much is delivered
    uint32_t m_windowBefore{0};
    ns3::Ptr<ns3::TcpSocketState> m_quantum; ///< a state whose segment is the quantum, for SetSendQuantum
};

/// DCTCP, after RFC 8257.
/// 1. When a packet's mark differs from that of the one before, and an ACK is delayed, the receiver acknowledges first
///    what came before (section 3.2). TcpDctcp::CeState1to0 acknowledges up to where that packet began instead, which
///    is acknowledged already, so that the sender ignores the echo: a mark alone is lost if its ACK was delayed.
/// 2. A loss halves the window (section 3.5); TcpDctcp::GetSsThresh takes from it what a mark does.
/// 3. An observation window ends with an ACK beyond DCTCP.WindowEnd, SND.NXT as it began (section 3.3); in
///    TcpDctcp::PktsAcked with that of WindowEnd itself. The first one ends with the first ACK, as WindowEnd is SND.UNA
///    at first; TcpDctcp takes a window more. What that leaves of alpha is FirstAlpha.
/// 4. TcpLinuxReno, of which TcpDctcp is, follows Linux, but keeps what it has counted towards the next segment of
///    growth over a reduction, where Linux begins anew (tcp_input.c tcp_init_cwnd_reduction): half a segment more after
///    each mark.
class MendedDctcp : public ns3::TcpDctcp
{
  public:
    static ns3::TypeId GetTypeId();
    ns3::Ptr<ns3::TcpCongestionOps> Fork() override;
    /// The initial alpha, 1, after a first window without marks, with the default gain.
    static constexpr double FirstAlpha = 1.0 - 0.0625;

    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb, uint32_t bytesInFlight) override;
    void PktsAcked(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segmentsAcked, const ns3::Time& rtt) override;
    void CwndEvent(ns3::Ptr<ns3::TcpSocketState> tcb, const ns3::TcpSocketState::TcpCAEvent_t event) override;

  private:
    void Arrived(ns3::Ptr<ns3::TcpSocketState> tcb, bool marked);

    bool m_marked{false};
    bool m_ackIsDelayed{false};
};

/// New Reno with ECN, after RFC 3168. Section 6.1.3: once CWR has come, ACKs of unmarked packets carry no echo.
/// TcpSocketBase::DoForwardUp ends the echo unless the state is that of a mark just received, to which the mark of an
/// earlier packet, whose ACK is delayed, leads as well as that of the one with CWR: such an echo goes on, and the
/// sender, which has reduced its window, reduces it again. Here an unmarked packet leaves the state of an echo that CWR
/// ends.
class MendedNewReno : public ns3::TcpNewReno
{
  public:
    static ns3::TypeId GetTypeId();
    ns3::Ptr<ns3::TcpCongestionOps> Fork() override;
    void CwndEvent(ns3::Ptr<ns3::TcpSocketState> tcb, const ns3::TcpSocketState::TcpCAEvent_t event) override;
};

/// Vegas, after Brakmo and Peterson (1995), and Linux. TcpVegas::GetSsThresh gives cwnd less a segment, for its own
/// reductions and for losses alike, so that Vegas never halves upon a loss. Here losses are those of New Reno.
class MendedVegas : public ns3::TcpVegas
{
  public:
    static ns3::TypeId GetTypeId();
    ns3::Ptr<ns3::TcpCongestionOps> Fork() override;
    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb, uint32_t bytesInFlight) override;
};

/// LEDBAT, after RFC 6817.
/// 1. TcpLedbat::CongestionAvoidance bounds cwnd by what was outstanding, without ALLOWED_INCREASE (section 2.4.2):
///    once slow start is over, the window can shrink only. Here it is a segment, the default of section 2.5.
/// 2. It rounds the window down to whole bytes after each ACK, where section 2.4.2 adds MSS^2 / cwnd times what may be
///    far below one: with 834 segments the window stops growing at 71 % of TARGET. Here it has sixteenths of a byte.
class MendedLedbat : public ns3::TcpLedbat
{
  public:
    static ns3::TypeId GetTypeId();
    ns3::Ptr<ns3::TcpCongestionOps> Fork() override;

  protected:
    void CongestionAvoidance(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segmentsAcked) override;

  private:
    ns3::Ptr<ns3::TcpSocketState> m_fine; ///< window and segment in parts of a byte
    uint32_t m_part{0};                   ///< of a byte, by which the window is more than its whole bytes
};

/// Proportional rate reduction, after RFC 9937, which replaces the RFC 6937 that TcpPrrRecovery follows.
/// 1. TcpPrrRecovery::DoRecovery multiplies prr_delivered by ssthresh in 32 bits, which wraps once their product is
///    4 GiB, at windows of 64 KiB and more: nothing is then sent until what is in flight has fallen to ssthresh. Here
///    it is exact.
/// 2. TcpSocketBase calls it twice for one ACK: for the one that enters CWR, and for a partial ACK with news in SACK
///    blocks. DeliveredData is what one ACK delivers; here it counts once.
/// 3. RecoverFS lacks what the ACK that enters CWR acknowledges, though prr_delivered has it (RFC 9937 6.1 adds it):
///    with windows below 40 segments nothing is reduced before the round trip is over.
/// 4. Up to ssthresh TcpPrrRecovery sends what an ACK delivers, where RFC 6937 has
///    max(prr_delivered - prr_out, DeliveredData) + MSS; here the segment is added as by RFC 9937, if the ACK is a
///    SafeACK: if it acknowledges a copy, as ns-3 tells progress, or nothing is lost.
class MendedPrrRecovery : public ns3::TcpPrrRecovery
{
  public:
    static ns3::TypeId GetTypeId();
    ns3::Ptr<ns3::TcpRecoveryOps> Fork() override;
    void EnterRecovery(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t dupAckCount, uint32_t unAckDataCount,
                       uint32_t deliveredBytes) override;
    void DoRecovery(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t deliveredBytes) override;
    void UpdateBytesSent(uint32_t bytesSent) override { m_out += bytesSent; }

  private:
    int64_t m_delivered{0};
    int64_t m_out{0};
    int64_t m_flight{1};
    ns3::Time m_last{-1}; ///< when the last ACK came
};

/// A sender that counts what is in flight after RFC 6675. TcpTxBuffer::BytesInFlight adds all that was sent again, and
/// Update leaves a copy that is SACKed among it until its number is acknowledged, where SetPipe (section 4) counts
/// nothing that is SACKed. While the copy of another segment is lost, those behind it that have arrived fill the window
/// in this way, and nothing is sent until the timeout.
class MendedSocket : public ns3::TcpSocketBase
{
  public:
    static ns3::TypeId GetTypeId();

  protected:
    uint32_t SendDataPacket(ns3::SequenceNumber32 seq, uint32_t maxSize, bool withAck) override;
    void ReceivedAck(ns3::Ptr<ns3::Packet> packet, const ns3::TcpHeader& header) override;
    void ReTxTimeout() override;
    uint32_t BytesInFlight() const override;

  private:
    /// What was sent again since the last timeout: without a SACK, and with one.
    mutable std::set<ns3::SequenceNumber32> m_copies;
    mutable std::set<ns3::SequenceNumber32> m_arrived;
    mutable bool m_timeout{false}; ///< the buffer is about to forget its copies
};

/// Makes such senders, with the control and the recovery of their node.
class MendedSocketFactory : public ns3::SocketFactory
{
  public:
    static ns3::TypeId GetTypeId();
    ns3::Ptr<ns3::Socket> CreateSocket() override;
};

} // namespace fairlane

#endif
