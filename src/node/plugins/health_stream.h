/*
 * health_stream - follows the device health that one instance of a DRA driver reports (KEP-4680).
 *
 * Opens the best service version ("dialect") that the driver advertises. If the driver advertises
 * none, it tries all of them in turn. On Unimplemented it moves to the next one; after the last it
 * calls on_no_health and stops for good. If the stream ends for any other reason, it is opened
 * again, with a delay that grows from health_retry_ms to 5 s and is reset by a report. Only for the
 * files behind plugins.h.
 */
#ifndef NODE_PLUGINS_HEALTH_STREAM_H
#define NODE_PLUGINS_HEALTH_STREAM_H

#include "base/core/str.h"
#include "node/plugins/wire.h"

struct grpc_channel;
struct health_stream;
struct plugins;

/* `driver` and the channel must outlive it. */
struct health_stream *health_stream_new(struct plugins *p, struct str driver,
					struct grpc_channel *ch,
					const bool advertised[PLUGIN_WIRE_HEALTH]);
void health_stream_free(struct health_stream *s); /* NULL allowed */

/* The service in use; NULL if the driver implements none. */
const char *health_stream_service(const struct health_stream *s);

#endif
