/*
 * recorder_text - Events as JSON. Pure.
 */
#ifndef CLIENT_EVENTS_RECORDER_TEXT_H
#define CLIENT_EVENTS_RECORDER_TEXT_H

#include "base/core/buf.h"
#include "client/events/recorder.h"

/* The members of an event that never change. */
struct recorder_fixed {
	const struct recorder_object *about;
	const struct recorder_detail *detail; /* or NULL */
	const char *component, *instance;
	const char *reason;
	enum recorder_type type;
	bool series; /* events.k8s.io/v1 */
};

/* The members that change with each repetition. */
struct recorder_varying {
	struct str name, ns; /* of the Event */
	struct str message;
	uint64_t count;
	int64_t first_ns, last_ns; /* wall clock */
	bool combined; /* the message represents several events */
};

/* Appends the members of recorder_fixed, each followed by a comma. */
void recorder_text_fixed(struct buf *out, const struct recorder_fixed *f);

/* Appends a whole Event from both. */
void recorder_text_event(struct buf *out, struct str fixed, const struct recorder_varying *v,
			 bool series);

/* Appends a merge patch that updates a written Event. */
void recorder_text_patch(struct buf *out, const struct recorder_varying *v, bool series);

/* The size of an Event's name, NUL included; it has the form "NAME.HEX". */
enum { RECORDER_NAME_SIZE = 254 };
struct str recorder_text_name(struct str object, int64_t now_ns, char out[RECORDER_NAME_SIZE]);

#endif
