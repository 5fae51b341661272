/*
 * status_writer - writes Pod status to the API server: one request at a time per pod, latest wins.
 *
 * status_writer_set() takes the whole status that a pod should have. The writer compares it with
 * the status written or seen last, and sends the top-level fields that differ as a strategic merge
 * patch of pods/status with the pod's uid. Conditions are merged by type, so conditions of other
 * writers stay. While a patch is in flight, newer statuses replace each other; the next patch is
 * computed from the latest one. There is no queue, and the first patch is not delayed. Failed
 * writes are retried with back-off (0.1 s to 5 s). A pod that is gone (404, or a conflict because
 * another pod has the name) is forgotten. The writer reports a rejected status (422) to its owner.
 * If the server rejected the pod-level field, the writer sends the status again without it.
 * Threads: the loop's.
 */
#ifndef NODE_STATUS_WRITER_H
#define NODE_STATUS_WRITER_H

#include "base/core/error.h"
#include "base/json/json.h"
#include "node/pod/pod.h"

struct client;
struct loop;
struct metrics;
struct status_writer;

struct status_writer_opts {
	struct loop *loop;
	struct client *client;
	/*
	 * Another agent writes the pods' status: only this condition is compared, sent and deleted.
	 * NULL: the whole status.
	 */
	const char *condition;
	/*
	 * The server accepted a status: `status` is the whole status that was sent. Borrowed. Not
	 * called if the server had all of it already. The callback may set, delete or forget the
	 * pod.
	 */
	void (*on_written)(void *arg, struct str pod_uid, const struct json *status);
	/* The server rejected the status; retrying would not help. */
	void (*on_refused)(void *arg, struct str pod_uid, const struct error *err);
	/* A patch failed and will be tried again. For the log; may be NULL. */
	void (*on_failed)(void *arg, const struct error *err);
	void *arg;
	struct metrics *metrics; /* or NULL */
};

struct status_writer *status_writer_new(const struct status_writer_opts *opts);
void status_writer_free(struct status_writer *w); /* NULL allowed */

/* `status` is copied. The pod's own status is taken as the server's current one. */
void status_writer_set(struct status_writer *w, const struct pod *pod, const struct json *status);
/* The pod as the watch shows it. If another client changed our fields, they are written again. */
void status_writer_seen(struct status_writer *w, const struct pod *pod);
/* The status set last, as text; p is NULL if none was set. Borrowed until the next set. */
struct str status_writer_wanted(const struct status_writer *w, struct str pod_uid);
/* True if the server has accepted everything that was set. */
bool status_writer_settled(const struct status_writer *w, struct str pod_uid);
/*
 * The pod object is deleted. Until this call, a pod that the server does not have is remembered as
 * gone.
 */
void status_writer_forget(struct status_writer *w, struct str pod_uid);

/*
 * Deletes the pod from the API with grace 0 once its last status is written. Retries until it is
 * gone.
 */
void status_writer_delete(struct status_writer *w, const struct pod *pod);

size_t status_writer_pending(const struct status_writer *w);

#endif
