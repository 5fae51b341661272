/*
 * daemon_book - the nodes, and the pods of DaemonSets, in a form that is cheap to walk.
 *
 * Informers hold texts. Here each node and each pod of a DaemonSet is read once per change, and a
 * sync walks the results and parses none of them. A pod costs about 700 bytes, a node 4 KiB.
 * Threads: one loop's.
 */
#ifndef CONTROLLER_DAEMON_SET_BOOK_H
#define CONTROLLER_DAEMON_SET_BOOK_H

#include "base/core/map.h"
#include "base/ordered/omap.h"
#include "controller/daemon_set/plan.h"

struct cached;

struct daemon_book {
	struct omap nodes; /* name to struct daemon_book_node */
	struct map pods; /* key to struct daemon_book_pod */
	struct map sets; /* uid of a DaemonSet to struct daemon_book_set */
};

struct daemon_book_node {
	struct arena arena;
	struct daemon_node node;
};

void daemon_book_init(struct daemon_book *b);
void daemon_book_release(struct daemon_book *b);

/* --- nodes --------------------------------------------------------------------------------- */

/* Reads a node; labels and taints that are malformed count as absent. The caller's. */
struct daemon_book_node *daemon_book_node_read(const struct cached *o);
void daemon_book_node_free(struct daemon_book_node *n); /* NULL allowed */

/* Replaces the node of that name, and returns the old one or NULL. `n` becomes the book's. */
struct daemon_book_node *daemon_book_node_put(struct daemon_book *b, struct daemon_book_node *n);
struct daemon_book_node *daemon_book_node_remove(struct daemon_book *b, struct str name);

/* --- pods ---------------------------------------------------------------------------------- */

/*
 * Notes the pod, if a DaemonSet controls it, and forgets it otherwise. Returns whether something
 * that counts has changed.
 */
bool daemon_book_pod_put(struct daemon_book *b, const struct cached *o);
void daemon_book_pod_remove(struct daemon_book *b, struct str key);

/* Whether the DaemonSet has a pod on the node that is not being deleted. */
bool daemon_book_has_pod(const struct daemon_book *b, struct str set_uid, struct str node);

/* Whether one of the DaemonSet's pods has this revision's label. */
bool daemon_book_uses(const struct daemon_book *b, struct str set_uid, struct str revision);

/*
 * All nodes, in the order of their names, and then other places where the DaemonSet has pods. They
 * live in the arena, and borrow from the book until its next change.
 */
size_t daemon_book_places(const struct daemon_book *b, struct arena *a, struct str set_uid,
			  const struct daemon_rules *rules, struct daemon_place **ret_places);

#endif
