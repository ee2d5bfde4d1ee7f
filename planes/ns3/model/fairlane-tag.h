// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef FAIRLANE_TAG_H
#define FAIRLANE_TAG_H

#include "ns3/tag.h"

namespace ns3
{

/**
 * Data that a marker at the edge writes into a packet: its label, which a real network carries in a header field, and
 * the user, which matters only to schemes with per-user state.
 */
class FairlaneTag : public Tag
{
  public:
    FairlaneTag() = default;

    /**
     * \param label activity, rate or another value of the scheme
     * \param user number of the user at the marker, from 0
     */
    FairlaneTag(double label, uint32_t user);

    static TypeId GetTypeId();
    TypeId GetInstanceTypeId() const override;
    uint32_t GetSerializedSize() const override;
    void Serialize(TagBuffer buffer) const override;
    void Deserialize(TagBuffer buffer) override;
    void Print(std::ostream& os) const override;

    /// \return the label
    double GetLabel() const;

    /// \return number of the user
    uint32_t GetUser() const;

  private:
    double m_label{0};
    uint32_t m_user{0};
};

} // namespace ns3

#endif // FAIRLANE_TAG_H
