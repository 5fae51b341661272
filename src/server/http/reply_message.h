/*
 * reply_message - replies in protobuf.
 *
 * An object's message is made once and kept with it (api/object/message.h). It is sent by
 * reference, between a computed head and the tail. Partial objects are a part of it. Only
 * versions other than the stored one are encoded from the tree.
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
 * Sends a tree of any kind in the schema; the tree names its own kind. Sends
 * PartialObjectMetadata if the form says so. Returns -ERR_INTERNAL, and sends nothing, if the
 * kind is unknown or the tree does not fit it.
 */
int reply_message_tree(struct exchange *x, int status, const struct reply_form *f,
		       const struct json *tree, struct error *err);

/* --- lists ------------------------------------------------------------------------ */

/*
 * The list's length comes before its items. So all items are measured first, a few per turn, and
 * then sent. Zero it, then init.
 */
struct reply_messages {
	const struct reply_form *form;
	const struct list_result *list;
	struct protobuf_frame frame;
	unsigned meta_number, item_number; /* field numbers in the list */
	size_t measured; /* number of items measured */
	struct buf measuring; /* heads of the measured items */
	struct bytes *heads; /* of all items: a tag and a length for each */
	size_t head_at; /* offset of the next item's head */
	bool head_sent;
	size_t size; /* of all items, heads included */
	struct buf meta; /* the list's metadata, encoded as a field */
};

/* `meta` is the ListMeta as JSON text. The form and the list must outlive it. */
void reply_messages_init(struct reply_messages *m, const struct reply_form *f,
			 const struct list_result *list, struct str meta);
void reply_messages_release(struct reply_messages *m);

/* Whether the messages are kept with the objects, so that items are sent by reference. */
bool reply_messages_are_kept(const struct reply_messages *m);

/* Measures some items. Returns 1 if all are measured, 0 if not yet, or -ERR_INTERNAL. */
int reply_messages_measure(struct reply_messages *m, struct error *err);

/* After measuring: the length of the whole reply; and the text before the items. */
size_t reply_messages_length(const struct reply_messages *m);
void reply_messages_begin(const struct reply_messages *m, struct buf *out);

/*
 * The next piece: the head of item *at, or the item itself, which increments *at. A piece with n
 * 0 is an empty item. -ERR_INTERNAL.
 */
int reply_messages_next(struct reply_messages *m, size_t *at, struct slice *ret_piece);

#endif
