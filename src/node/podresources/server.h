/*
 * podres_server - the PodResources API on a unix socket: v1.PodResourcesLister and v1alpha1's List.
 *
 * Answers come out of a book (podres.h). A watch is a cursor that is read while its client has
 * room (podresources/watch.h): what is not read is not kept, so a client that never reads costs
 * its cursor and what its stream and socket hold.
 *
 * Clients are told apart by what the kernel says of their process (podresources/clients.h), and
 * each has limits of its own: calls per second, and open watches. Beyond them RESOURCE_EXHAUSTED,
 * as kubelet says it; others do not notice.
 *
 * The socket stays: when somebody removes or replaces it, it is made again.
 * Threads: the loop's.
 */
#ifndef NODE_PODRESOURCES_SERVER_H
#define NODE_PODRESOURCES_SERVER_H

#include "base/core/error.h"
#include "node/book/podres.h"
#include "node/podresources/clients.h"

struct log;
struct loop;
struct metrics;
struct podres_server;

struct podres_server_opts {
	struct loop *loop;
	struct podres *book; /* listened to; must outlive the server */
	const char *path; /* of the socket; its folder is made, 0750 */
	unsigned mode; /* of the socket; 0: 0600 */
	int64_t group; /* that owns it; -1: that of the process */
	bool waits; /* calls are answered from podres_server_begin() on */
	bool watch; /* gate KubeletPodResourcesWatch; off: the two calls are UNIMPLEMENTED */
	struct podres_limits limits;
	struct metrics *metrics; /* or NULL; shared by the servers of a process */
	const struct log *log;
};

int podres_server_new(const struct podres_server_opts *opts, struct podres_server **ret_server,
		      struct error *err);

/* The book has something to tell: calls that wait are answered, others at once. May be repeated. */
void podres_server_begin(struct podres_server *s);

/*
 * Ends watches with UNAVAILABLE, removes the socket; `done` comes once its connections are closed,
 * for which clients have a second. Frees it. The book is not touched any more. With NULL for the
 * server `done` comes at once.
 */
void podres_server_close(struct podres_server *s, void (*done)(void *arg), void *arg);

/* The same without waiting for clients; its memory goes in the loop's next turns. NULL allowed. */
void podres_server_free(struct podres_server *s);

#endif
