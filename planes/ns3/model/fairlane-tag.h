// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef FAIRLANE_TAG_H
#define FAIRLANE_TAG_H

#include "ns3/tag.h"

namespace ns3
{

/**
 * What a marker at the edge wrote on a packet: its label, in place of a header field of a real network, and whose
 * packet it is, which matters only to schemes that keep state for each user.
 */
class FairlaneTag : public Tag
{
  public:
    FairlaneTag() = default;

    /**
     * \param label activity, rate or whatever else the scheme writes
     * \param user number of the user at the marker, from 0
     */
    FairlaneTag(double label, uint32_t user);

    static TypeId GetTypeId();
    TypeId GetInstanceTypeId() const override;
    uint32_t GetSerializedSize() const override;
    void Serialize(TagBuffer buffer) const override;
    void Deserialize(TagBuffer buffer) override;
    void Print(std::ostream& os) const override;

    /// \return what the marker wrote
    double GetLabel() const;

    /// \return number of the user
    uint32_t GetUser() const;

  private:
    double m_label{0};
    uint32_t m_user{0};
};

} // namespace ns3

#endif // FAIRLANE_TAG_H
