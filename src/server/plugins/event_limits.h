/*
 * event_limits - EventRateLimit: how many events per second the server takes.
 *
 * Each limit of the configuration has buckets: one for the server, or one for each namespace, user,
 * or source and object of events. A bucket holds `burst` writes, and refills with `qps` per second.
 * A write of a core Event takes one from a bucket of every limit, and is rejected with 429 if one
 * is empty. Dry runs are not limited, nor are events of events.k8s.io, as upstream.
 *
 * Threads: the state's loop.
 */
#ifndef SERVER_PLUGINS_EVENT_LIMITS_H
#define SERVER_PLUGINS_EVENT_LIMITS_H

#include "base/core/arena.h"
#include "base/core/error.h"

struct admission_request;
struct clock;
struct event_limits;
struct json;

/*
 * Reads the section EventRateLimit of upstream's configuration of admission. *ret_limits is NULL if
 * there is no file (path NULL) or section; -ERR_INVALID if it is `needed` then. The clock is
 * borrowed.
 */
int event_limits_new(const char *path, bool needed, const struct clock *clock,
		     struct event_limits **ret_limits, struct error *err);
void event_limits_free(struct event_limits *l); /* NULL allowed */

/* The same from the section's tree. */
int event_limits_of(const struct json *section, const struct clock *clock,
		    struct event_limits **ret_limits, struct error *err);

bool admit_events_concerns(const struct admission_request *req);
int admit_events(struct admission_request *req, const struct json *old, struct json *event,
		 struct error *err);

#endif
