/*
 * recorder - reports what happened to an object, as Events.
 *
 * Recording never blocks and never fails. Events are queued and written in turn; if the queue is
 * full, new events are dropped and counted. Repeated events do not flood the server, by the rules
 * of client-go's correlator:
 *
 * - If the same event (object, reason, message) occurs again, a PATCH raises the count of the one
 *   that was written.
 * - From the tenth different message of one reason for an object on, events are combined into one:
 *   "(combined from similar events): ..". Ten minutes without such an event end that.
 * - For each type and object, 25 events are written at once, then one every 300 s.
 *
 * Events are core/v1 with the fields that kubelet and controllers write. With `series` they are
 * events.k8s.io/v1, as the scheduler writes them. In a series, repetitions within six minutes
 * about one version of an object are one event, whatever their messages. The second occurrence is
 * written at once; later ones are counted and written every half hour and when the series ends.
 * Threads: the client's loop.
 */
#ifndef CLIENT_EVENTS_RECORDER_H
#define CLIENT_EVENTS_RECORDER_H

#include "base/core/str.h"

struct client;
struct log;
struct metrics;
struct recorder;

enum recorder_type { RECORDER_NORMAL, RECORDER_WARNING };

/* Zero means the default. Texts are copied. */
struct recorder_opts {
	struct client *client;
	const char *component; /* the reporter: "kubelet", "devplane-controller" */
	const char *instance; /* the reporter's host; or NULL */
	bool series; /* write events.k8s.io/v1 */
	size_t queue_max; /* events that may wait; 1000 */
	size_t at_once; /* concurrent requests; 1 */
	size_t known_max; /* events remembered so that repetitions are counted; 4096 */
	struct metrics *metrics; /* or NULL */
	const struct log *log; /* debug only; or NULL */
};

/* The object that an event is about. Borrowed for the call. */
struct recorder_object {
	struct str api_version, kind, ns, name, uid, resource_version, field_path;
};

struct recorder *recorder_new(const struct recorder_opts *opts);

/* Drops the events that still wait. NULL allowed. */
void recorder_free(struct recorder *r);

/*
 * `reason` is a word in CamelCase. `message` is truncated at 1 KiB. Events about cluster-scoped
 * objects are written to the namespace "default". Without a recorder (NULL) nothing is written.
 */
void recorder_event(struct recorder *r, const struct recorder_object *about,
		    enum recorder_type type, const char *reason, struct str message);

/* The same with the action that was taken or tried, and a related object: events.k8s.io only. */
struct recorder_detail {
	const char *action; /* "Binding"; or NULL */
	const struct recorder_object *related; /* or NULL */
};
void recorder_event_detailed(struct recorder *r, const struct recorder_object *about,
			     enum recorder_type type, const char *reason, struct str message,
			     const struct recorder_detail *detail);

/* The number of events that wait to be written, including those being written. */
size_t recorder_pending(const struct recorder *r);

#endif
