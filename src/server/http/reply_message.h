/*
 * reply_message - answers in protobuf.
 *
 * An object's message is made once and kept with it (api/object/message.h); here it
 * is sent by reference, between a computed head and the tail. Partial objects are a
 * part of it. Only versions that are not stored are made anew, from the tree.
 */
#ifndef SERVER_HTTP_REPLY_MESSAGE_H
#define SERVER_HTTP_REPLY_MESSAGE_H

#include "api/codec/protobuf_frame.h"
#include "base/core/bytes.h"
#include "server/engine/state.h"
#include "server/http/reply_form.h"

struct exchange;

/* --- one object ------------------------------------------------------------------- */

/* Sends a committed object. */
void reply_message_object(struct exchange *x, int status, const struct reply_form *f,
			  const struct object *o);

/*
 * Sends a tree of any kind that the schema knows: what it is, it says itself. Partial when
 * the form is. -ERR_INTERNAL, and nothing sent, when it is unknown or does not fit.
 */
int reply_message_tree(struct exchange *x, int status, const struct reply_form *f,
		       const struct json *tree, struct error *err);

/* --- lists ------------------------------------------------------------------------ */

/*
 * A list's length stands before its items: so all are measured first, a few per turn,
 * and then sent. Zero it, then init.
 */
struct reply_messages {
	const struct reply_form *form;
	const struct list_result *list;
	struct protobuf_frame frame;
	unsigned meta_number, item_number; /* fields of the list */
	size_t measured; /* items */
	struct buf measuring; /* heads of those */
	struct bytes *heads; /* of all items, each a tag and a length, one after the other */
	size_t head_at; /* of the item that is next */
	bool head_sent;
	size_t size; /* of all items with their heads */
	struct buf meta; /* the list's metadata as a field */
};

/* `meta` is JSON text of a ListMeta. The form and the list must outlive it. */
void reply_messages_init(struct reply_messages *m, const struct reply_form *f,
			 const struct list_result *list, struct str meta);
void reply_messages_release(struct reply_messages *m);

/* Whether the messages are kept with the objects, so that items are sent by reference. */
bool reply_messages_are_kept(const struct reply_messages *m);

/* Measures some: 1 when all are; 0 when there is more to do; -ERR_INTERNAL. */
int reply_messages_measure(struct reply_messages *m, struct error *err);

/* Then: how long the whole answer is, and its parts. */
size_t reply_messages_length(const struct reply_messages *m);
void reply_messages_begin(const struct reply_messages *m, struct buf *out);

/*
 * The next piece: the head of item *at, or the item itself, which moves *at on. A piece of
 * n 0 is an empty item. -ERR_INTERNAL.
 */
int reply_messages_next(struct reply_messages *m, size_t *at, struct slice *ret_piece);

#endif
