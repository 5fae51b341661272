/*
 * api_world - for tests: an API server of one collection, in a simulated world.
 *
 * It keeps objects by name, a history of changes that can be compacted, and the open watches. It
 * lists in pages and supports WatchList (unless disabled), bookmarks, 410 and ERROR events, and
 * repeats events on request. The test answers other paths. The server can crash and come back with
 * its objects. The client is on another host. Failures are cmocka's.
 */
#ifndef CLIENT_TESTING_API_WORLD_H
#define CLIENT_TESTING_API_WORLD_H

#include "base/core/list.h"
#include "base/core/random.h"
#include "base/core/vec.h"
#include "base/ordered/omap.h"
#include "client/api/client.h"
#include "client/kubeconfig/kubeconfig.h"
#include "net/http/server.h"
#include "net/sim/sim.h"

struct api_object {
	uint64_t rv;
	char *text; /* JSON */
	unsigned uid;
	char name[32];
};

struct api_event {
	uint64_t rv;
	char *line; /* as watches get it, with its newline */
};

struct api_watch {
	struct list link;
	struct http_stream *stream;
	bool bookmarks;
};

struct api_world {
	struct sim *sim;
	struct prng prng;
	struct loop *loop; /* the server's; NULL while it is down */
	struct loop *outside; /* the client's */
	struct http_server *server;
	struct client *client;
	struct omap objects; /* of struct api_object */
	VEC(struct api_event) history;
	struct list watches;
	uint64_t rv, compacted; /* versions below or at `compacted` are gone */
	unsigned uids;
	/* Settings of its behaviour. */
	bool no_watch_list; /* answers 422 */
	bool broken_watch_list; /* replies 200, and then the event of an internal error */
	bool slow_initial; /* the end of the initial state is only sent by api_world_bookmark() */
	size_t page_max; /* objects in a page, whatever the request's limit; 0: use that limit */
	bool repeats; /* sends some events twice */
	int fail_status; /* the status of the next `fail_count` replies */
	unsigned fail_count;
	int fail_retry_after; /* seconds; -1: no Retry-After */
	/* Answers paths that are not the collection's; NULL: 404. */
	void (*handler)(struct api_world *w, struct http_stream *s, struct str body);
	void *data; /* the test's */
	/* Counts and content of the requests received. */
	unsigned lists, watch_requests, streams, other;
	char last_query[512], last_authorization[128], last_agent[128], last_acting[128];
};

/* The collection: /api/v1/things, not namespaced. */
extern const struct resource api_world_things;

void api_world_init(struct api_world *w, const struct sim_opts *opts, enum http_protocol protocol);
/* The client must have no pending request that the test waits for. */
void api_world_release(struct api_world *w);

/* Creates or changes an object; returns its version. */
uint64_t api_world_put(struct api_world *w, const char *name);
void api_world_delete(struct api_world *w, const char *name);
/* Deletes and creates an object in one step: the same name, another uid. */
void api_world_replace(struct api_world *w, const char *name);
/* Drops all history. */
void api_world_compact(struct api_world *w);
/* Sends a bookmark to all watches that requested them. */
void api_world_bookmark(struct api_world *w);
/* Ends all watches: normally, or after an ERROR event of this reason. */
void api_world_end_watches(struct api_world *w, const char *reason, int code);
/* Sends arbitrary bytes to all watches. */
void api_world_send_raw(struct api_world *w, const char *text);

/* The process dies; its data stay. */
void api_world_crash(struct api_world *w);
void api_world_begin(struct api_world *w);

/* For handlers. */
void api_world_reply(struct http_stream *s, int status, const char *content_type, const char *body);

#endif
