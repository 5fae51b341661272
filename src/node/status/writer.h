/*
 * status_writer - brings the status of pods to the API server: one write per pod under way, the
 * latest wins.
 *
 * status_writer_set() takes the whole status that a pod should have. What differs from what was
 * written or seen last is sent as a strategic merge patch of pods/status with the pod's uid,
 * top-level fields that differ only; conditions are merged by type, so others' stay. While a
 * patch is under way the next is made of the state then: rapid changes end in the latest, with
 * no queue between. No delay is added to the first. Failures are tried again with back-off (0.1
 * s to 5 s); a pod that is gone (404, or a conflict, and another pod has the name) is forgotten.
 * The writer reports a refusal (422) to its owner. If the server refused the pod-level field, the
 * writer sends the status again without it.
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
	 * The server has taken a status: `status` is what was sent, whole. Borrowed. Not told when
	 * it had all of it already. It may set, delete or forget the pod.
	 */
	void (*on_written)(void *arg, struct str pod_uid, const struct json *status);
	/* It could not be written, and will not be by trying again. */
	void (*on_refused)(void *arg, struct str pod_uid, const struct error *err);
	void *arg;
	struct metrics *metrics; /* or NULL */
};

struct status_writer *status_writer_new(const struct status_writer_opts *opts);
void status_writer_free(struct status_writer *w); /* NULL allowed */

/* `status` is copied. The pod's own status is what the server has, as far as we know. */
void status_writer_set(struct status_writer *w, const struct pod *pod, const struct json *status);
/* What the server has, from the watch: what others changed of our fields is written again. */
void status_writer_seen(struct status_writer *w, const struct pod *pod);
/* What was set last, as text; p is NULL when there is none. Borrowed until it is set again. */
struct str status_writer_wanted(const struct status_writer *w, struct str pod_uid);
/* All that was set has been taken. */
bool status_writer_settled(const struct status_writer *w, struct str pod_uid);
/* The object is gone. Until then a pod that the server does not have is remembered as such. */
void status_writer_forget(struct status_writer *w, struct str pod_uid);

/*
 * Deletes the pod from the API with grace 0 once its last status is written; repeated until it
 * is gone.
 */
void status_writer_delete(struct status_writer *w, const struct pod *pod);

size_t status_writer_pending(const struct status_writer *w);

#endif
