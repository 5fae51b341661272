/*
 * podres_json - messages of PodResources as JSON trees, in protobuf's own mapping.
 *
 * Names are lowerCamelCase, except for a NUMA node's ID, whose name upstream is that; integers of
 * 64 bits are strings; a field with its default value is left out. An enum, by its name, and that
 * ID are always written, which the mapping allows: an event without its action would be a riddle.
 */
#ifndef CLI_PODRESOURCES_JSON_H
#define CLI_PODRESOURCES_JSON_H

#include "base/json/json.h"
#include "grpc/message.h"

/* A tree in the arena; texts are the message's and must live as long. */
struct json *podres_json(struct arena *a, const ProtobufCMessage *message);

#endif
