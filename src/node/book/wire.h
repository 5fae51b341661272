/*
 * podres_wire - builds PodResources messages around pods that are already packed. Pure.
 *
 * A pod is packed once, when it changes. Events and lists are then assembled from bytes.
 */
#ifndef NODE_BOOK_WIRE_H
#define NODE_BOOK_WIRE_H

#include "base/core/arena.h"
#include "base/core/bytes.h"
#include "podresources.pb-c.h"

/* A PodEvent. */
struct podres_event {
	Podresources__Action action;
	struct str uid;
	struct str pod; /* a packed PodResources; p is NULL: none */
	int64_t revision;
	bool initial_end;
};

/* With gRPC's length prefix. *ret_uid and *ret_pod (NULL allowed) get the places of its parts. */
struct bytes *podres_pack_event(const struct podres_event *e, struct str *ret_uid,
				struct str *ret_pod);

/* Packs a pod, in `a`; podres_pack_names() packs one with only its two names. */
struct str podres_pack_pod(const Podresources__PodResources *pod, struct arena *a);
struct str podres_pack_names(struct str ns, struct str name, struct arena *a);

/* Unpacks our own packed form, which is always valid; in `a`. */
Podresources__PodResources *podres_unpack_pod(struct str packed, struct arena *a);

/*
 * The encoded size of a field that is a message or text, and the function that encodes it and
 * returns the end. The same for an integer; 0 is not encoded and has size 0.
 */
size_t podres_bytes_size(uint32_t number, struct str s);
char *podres_put_bytes(char *p, uint32_t number, struct str s);
size_t podres_int_size(uint32_t number, int64_t v);
char *podres_put_int(char *p, uint32_t number, int64_t v);

/* Field numbers in podresources.proto. */
enum {
	PODRES_FIELD_POD = 1, /* in ListResponse and GetResponse */
	PODRES_FIELD_ACTION = 1, /* in events */
	PODRES_FIELD_REVISION = 100, /* in all messages that have one */
};

#endif
