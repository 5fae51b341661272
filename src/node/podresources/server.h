/*
 * podres_server - the PodResources API on a unix socket: v1.PodResourcesLister and v1alpha1's List.
 *
 * Replies come from a book (podres.h), including the two watches of the KEP "Enabling Watch support
 * in Kubelet endpoint for pod resource assignment". A watch is a cursor that is read while its
 * client has room (podresources/watch.h). Unread messages are not stored, so a client that never
 * reads costs only its cursor and the buffers of its stream and socket.
 *
 * The kernel's information about their process identifies clients (podresources/clients.h). Each
 * client has its own limits for calls per second and open watches. Calls above them get
 * RESOURCE_EXHAUSTED with kubelet's message; other clients are not affected.
 *
 * If the socket is removed or replaced, the server creates it again.
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
	struct podres *book; /* the server listens to it; must outlive the server */
	const char *path; /* of the socket; its folder is created with mode 0750 */
	unsigned mode; /* of the socket; 0: 0600 */
	int64_t group; /* owner group of the socket; -1: the process's */
	bool waits; /* calls wait until podres_server_begin() */
	bool watch; /* gate KubeletPodResourcesWatch; false: watch calls get UNIMPLEMENTED */
	struct podres_limits limits;
	struct metrics *metrics; /* or NULL; shared by the servers of a process */
	const struct log *log;
};

int podres_server_new(const struct podres_server_opts *opts, struct podres_server **ret_server,
		      struct error *err);

/* The book is complete: waiting calls get their reply, later ones at once. May be called again. */
void podres_server_begin(struct podres_server *s);

/*
 * Ends watches with UNAVAILABLE, removes the socket, and frees the server. `done` is called once
 * its connections are closed; clients have one second for that. The book is not used any more. If
 * the server is NULL, `done` is called at once.
 */
void podres_server_close(struct podres_server *s, void (*done)(void *arg), void *arg);

/* The same without waiting for clients; memory is freed in the loop's next turns. NULL allowed. */
void podres_server_free(struct podres_server *s);

#endif
