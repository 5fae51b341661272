/*
 * podres_json - converts PodResources messages to JSON trees, by protobuf's JSON mapping.
 *
 * Names are lowerCamelCase, except for a NUMA node's ID, which is upstream's name for it. 64-bit
 * integers are strings. A field with its default value is left out. Enums (by name) and that ID
 * are always written, which the mapping allows: an event without its action would be hard to read.
 */
#ifndef CLI_PODRESOURCES_JSON_H
#define CLI_PODRESOURCES_JSON_H

#include "base/json/json.h"
#include "grpc/message.h"

/* A tree in the arena; it borrows the texts of the message. */
struct json *podres_json(struct arena *a, const ProtobufCMessage *message);

#endif
