/*
 * daemon_history - the ControllerRevisions of a DaemonSet, as kubectl's rollout commands use them.
 *
 * A revision holds a template, as a strategic merge patch of the DaemonSet. One equals the current
 * template: the current revision, which has the highest number. Its label controller-revision-hash
 * is the label of the pods made from it. Pure.
 */
#ifndef CONTROLLER_DAEMON_SET_HISTORY_H
#define CONTROLLER_DAEMON_SET_HISTORY_H

#include "base/json/json.h"

struct owner;

struct daemon_revision {
	struct json *tree;
	struct str name, uid, hash; /* hash: the label; or empty */
	int64_t number;
	bool current; /* it has the current template */
};

struct daemon_history {
	struct daemon_revision *v; /* by number, then by name */
	size_t n;
	struct daemon_revision *current; /* the one to keep; or NULL */
	int64_t number; /* the number that the current one should have at least */
};

/* `trees` are the DaemonSet's revisions. Borrows from all; the rest lives in the arena. */
void daemon_history_read(struct arena *a, const struct json *set, struct json *const *trees,
			 size_t n, struct daemon_history *ret);

/* Whether the revision has the DaemonSet's template. */
bool daemon_history_matches(struct arena *a, const struct json *set, const struct json *revision);

/*
 * The revision to create, with name and label made from the template and the collision count. The
 * members of its data are sorted: upstream's controller compares them as text.
 */
struct json *daemon_history_snapshot(struct arena *a, const struct json *set,
				     const struct owner *owner, int64_t number);

/* A copy with another number, or with its name as the label; to update. */
struct json *daemon_history_renumber(struct arena *a, const struct json *revision, int64_t number);
struct json *daemon_history_label(struct arena *a, const struct json *revision);

/*
 * Lists the revisions to delete, oldest first, so that at most `limit` old ones remain. `used` says
 * whether pods have this label; such a revision stays. Returns their number.
 */
size_t daemon_history_excess(struct arena *a, const struct daemon_history *h, int64_t limit,
			     bool (*used)(void *arg, struct str hash), void *arg,
			     const struct daemon_revision ***ret_list);

#endif
