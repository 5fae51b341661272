/*
 * podres_wire - messages of PodResources around pods that are packed already. Pure.
 *
 * A pod is packed once, when it changes; events and lists are then put together of bytes.
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
	struct str pod; /* a packed PodResources; NULL text: without one */
	int64_t revision;
	bool initial_end;
};

/* With the prefix of gRPC. *ret_uid and *ret_pod, NULL allowed, are where its parts came to lie. */
struct bytes *podres_pack_event(const struct podres_event *e, struct str *ret_uid,
				struct str *ret_pod);

/* A packed PodResources, in `a`; and one with nothing but the two names. */
struct str podres_pack_pod(const Podresources__PodResources *pod, struct arena *a);
struct str podres_pack_names(struct str ns, struct str name, struct arena *a);

/* The packed form, which is ours and therefore right, as a message of its own in `a`. */
Podresources__PodResources *podres_unpack_pod(struct str packed, struct arena *a);

/*
 * A field that is a message or text: how much room it takes, and into such a room; returns the
 * place behind it. The same of an integer, which takes no room when it is 0.
 */
size_t podres_bytes_size(uint32_t number, struct str s);
char *podres_put_bytes(char *p, uint32_t number, struct str s);
size_t podres_int_size(uint32_t number, int64_t v);
char *podres_put_int(char *p, uint32_t number, int64_t v);

/* Numbers of fields in podresources.proto. */
enum {
	PODRES_FIELD_POD = 1, /* of ListResponse and GetResponse */
	PODRES_FIELD_ACTION = 1, /* of events */
	PODRES_FIELD_REVISION = 100, /* of all that have one */
};

#endif
