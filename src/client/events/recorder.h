/*
 * recorder - tells people what happened to an object, as Events.
 *
 * Never blocks and never fails: an event is queued and written when its turn
 * comes; when too many wait, new ones are dropped and counted. As client-go's
 * correlator does it, repetition does not flood the server:
 *
 *	the same event again (object, reason, message) adds to the count of the one
 *	that was written, by PATCH;
 *	after ten different messages of one reason for an object within ten minutes
 *	further ones become one event, "(combined from similar events): ..";
 *	events of one type and object are written 25 at once, then one in 300 s.
 *
 * Events are core/v1 with the fields that kubelet and controllers write, or, by
 * choice, events.k8s.io/v1 with a series, as the scheduler writes them: what repeats
 * within six minutes about one version of an object, whatever its message, is one event; its
 * second time is written at once, further ones are counted and written every half hour and at
 * the end.
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
	const char *component; /* who says it: "kubelet", "devplane-controller" */
	const char *instance; /* which of them: its host; or NULL */
	bool series; /* events.k8s.io/v1 */
	size_t queue_max; /* events that wait; 1000 */
	size_t at_once; /* requests under way; 1 */
	size_t known_max; /* events that are remembered, to be counted when they come again; 4096 */
	struct metrics *metrics; /* or NULL */
	const struct log *log; /* debug only; or NULL */
};

/* Whom it is about. Borrowed for the call. */
struct recorder_object {
	struct str api_version, kind, ns, name, uid, resource_version, field_path;
};

struct recorder *recorder_new(const struct recorder_opts *opts);

/* What waits is dropped. NULL allowed. */
void recorder_free(struct recorder *r);

/*
 * `reason` is a word in CamelCase, `message` a sentence of at most 1 KiB (what is
 * longer is cut). Events about what has no namespace go into "default".
 */
void recorder_event(struct recorder *r, const struct recorder_object *about,
		    enum recorder_type type, const char *reason, struct str message);

/* The same with what was done or tried, and with whom: events.k8s.io only. */
struct recorder_detail {
	const char *action; /* "Binding"; or NULL */
	const struct recorder_object *related; /* or NULL */
};
void recorder_event_detailed(struct recorder *r, const struct recorder_object *about,
			     enum recorder_type type, const char *reason, struct str message,
			     const struct recorder_detail *detail);

/* Events that wait to be written, the one under way included. */
size_t recorder_pending(const struct recorder *r);

#endif
