/*
 * client_limits - limits of API clients; see base/core/limits.h.
 */
#ifndef CLIENT_CLIENT_LIMITS_H
#define CLIENT_CLIENT_LIMITS_H

#include "base/core/limits.h"

/* Output of a credential plugin, per stream. */
#define EXEC_OUTPUT_MAX (1UL * MIB)

/* Limits of an API client: one reply, one watch event, one kubeconfig. */
#define CLIENT_ANSWER_MAX    (1024UL * MIB) /* an unpaged list of a large cluster */
#define CLIENT_EVENT_MAX     (64UL * MIB)
#define KUBECONFIG_FILE_MAX  (16UL * MIB)
#define KUBECONFIG_PATHS_MAX 64 /* in $KUBECONFIG */
/* Connections of one client; and including those that carry one watch each (HTTP/1.1). */
#define CLIENT_LINKS_MAX       64
#define CLIENT_WATCH_LINKS_MAX 1024
/* Resources, in all versions, that a client learns by discovery. */
#define DISCOVERY_RESOURCES_MAX 100000
/* Indexes of one cache, and values of one object in one of them. */
#define CACHE_INDEXES_MAX      16
#define CACHE_INDEX_VALUES_MAX 100000

#endif
