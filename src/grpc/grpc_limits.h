/*
 * grpc_limits - limits of gRPC; see base/core/limits.h.
 */
#ifndef GRPC_GRPC_LIMITS_H
#define GRPC_GRPC_LIMITS_H

#include "base/core/limits.h"

/* gRPC messages, unless a method has its own limit: the default of all implementations. */
#define GRPC_MESSAGE_MAX (4UL * MIB)
/* Memory for one unpacked message, as a multiple of its method's size limit. */
#define GRPC_UNPACK_FACTOR 8
/* Text of a status that we send, encoded; and metadata: together below HTTP_HEADERS_MAX. */
#define GRPC_STATUS_TEXT_MAX    (4UL * KIB)
#define GRPC_METADATA_MAX       (32UL * KIB)
#define GRPC_METADATA_COUNT_MAX 100

#endif
