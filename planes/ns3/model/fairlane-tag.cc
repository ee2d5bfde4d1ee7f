// SPDX-License-Identifier: MIT OR Apache-2.0
#include "fairlane-tag.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(FairlaneTag);

FairlaneTag::FairlaneTag(double label, uint32_t user)
    : m_label(label),
      m_user(user)
{
}

TypeId
FairlaneTag::GetTypeId()
{
    static TypeId tid = TypeId("ns3::FairlaneTag")
                            .SetParent<Tag>()
                            .SetGroupName("TrafficControl")
                            .AddConstructor<FairlaneTag>();
    return tid;
}

TypeId
FairlaneTag::GetInstanceTypeId() const
{
    return GetTypeId();
}

uint32_t
FairlaneTag::GetSerializedSize() const
{
    return sizeof(m_label) + sizeof(m_user);
}

void
FairlaneTag::Serialize(TagBuffer buffer) const
{
    buffer.WriteDouble(m_label);
    buffer.WriteU32(m_user);
}

void
FairlaneTag::Deserialize(TagBuffer buffer)
{
    m_label = buffer.ReadDouble();
    m_user = buffer.ReadU32();
}

void
FairlaneTag::Print(std::ostream& os) const
{
    os << "label=" << m_label << " user=" << m_user;
}

double
FairlaneTag::GetLabel() const
{
    return m_label;
}

uint32_t
FairlaneTag::GetUser() const
{
    return m_user;
}

} // namespace ns3
