// SPDX-License-Identifier: Apache-2.0
#include "cli/client/message_json.h"

#include "google/protobuf/descriptor.h"

namespace copse::ctl {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Converts the field's value, or value number `i` if the field is repeated.
Json ValueOf(const Message& message, const FieldDescriptor* field, int i) {
  const google::protobuf::Reflection& get = *message.GetReflection();
  const bool repeated = field->is_repeated();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return repeated ? get.GetRepeatedBool(message, field, i) : get.GetBool(message, field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return repeated ? get.GetRepeatedUInt32(message, field, i) : get.GetUInt32(message, field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return repeated ? get.GetRepeatedUInt64(message, field, i) : get.GetUInt64(message, field);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return repeated ? get.GetRepeatedDouble(message, field, i) : get.GetDouble(message, field);
    case FieldDescriptor::CPPTYPE_STRING:
      return repeated ? get.GetRepeatedString(message, field, i) : get.GetString(message, field);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJson(repeated ? get.GetRepeatedMessage(message, field, i) : get.GetMessage(message, field));
    default:
      return nullptr;  // the services have no other types
  }
}

Json MapJson(const Message& message, const FieldDescriptor* field) {
  std::map<std::string, Json> entries;
  for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
    const Message& entry = message.GetReflection()->GetRepeatedMessage(message, field, i);
    const auto* type = entry.GetDescriptor();
    entries[ValueOf(entry, type->map_key(), 0)] = ValueOf(entry, type->map_value(), 0);
  }
  return entries;
}

}  // namespace

Json ToJson(const Message& message) {
  Json json = Json::object();
  for (int f = 0; f < message.GetDescriptor()->field_count(); ++f) {
    const FieldDescriptor* const field = message.GetDescriptor()->field(f);
    Json& value = json[field->name()];
    if (field->is_map()) {
      value = MapJson(message, field);
    } else if (field->is_repeated()) {
      value = Json::array();
      for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
        value.push_back(ValueOf(message, field, i));
      }
    } else if (!field->has_presence() || message.GetReflection()->HasField(message, field)) {
      value = ValueOf(message, field, 0);
    } else {
      json.erase(field->name());
    }
  }
  return json;
}

}  // namespace copse::ctl
