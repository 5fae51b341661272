/*
 * http_sources - private to http/server.c: counts connections of unauthenticated clients per source
 * address.
 *
 * A source is an IPv4 address or a /64 prefix of IPv6, since one machine has all of that.
 * Threads: any; a lock is held while counting.
 */
#ifndef NET_HTTP_SOURCES_H
#define NET_HTTP_SOURCES_H

#include "base/core/map.h"
#include "base/core/queue.h"
#include "net/loop/addr.h"

struct http_source;

struct http_sources {
	struct lock lock;
	struct map map;
	size_t max; /* connections per source; 0: not counted */
};

void http_sources_init(struct http_sources *s, size_t max);
void http_sources_release(struct http_sources *s); /* all must have left */

/*
 * Counts a connection in. Returns false if its source has reached the limit. *ret_source is NULL if
 * nothing is counted: without a limit, and for unix sockets.
 */
bool http_sources_enter(struct http_sources *s, const struct addr *from,
			struct http_source **ret_source);

/* Counts a connection out. NULL allowed. */
void http_sources_leave(struct http_sources *s, struct http_source *source);

#endif
