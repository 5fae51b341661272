/*
 * health_stream - follows the device health that one instance of a DRA driver reports.
 *
 * Asks for the best dialect of those that the driver advertises; where it advertises none, for
 * all of them, one after the other. Unimplemented moves on to the next, and after the last it has
 * ended: on_no_health is told, and nobody asks again. Any other end of the stream opens it again,
 * with a delay that grows from health_retry_ms to 5 s and begins anew after a report. Only for
 * the files behind plugins.h.
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

/* The dialect that is asked for; NULL: none is implemented. */
const char *health_stream_service(const struct health_stream *s);

#endif
