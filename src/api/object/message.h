/*
 * object_message - an object's protobuf: made when first wanted, kept with it.
 *
 * The bare message, of the storage version and with its resourceVersion. It begins
 * with the metadata, which is the first field of every kind: so that beginning is
 * the message of its PartialObjectMetadata, in every version. Of a kind that has
 * no protobuf (a custom resource) that is all there is.
 *
 * Objects that nobody reads as protobuf pay a pointer.
 * Threads: any, at once; who is second drops what it made.
 */
#ifndef API_OBJECT_MESSAGE_H
#define API_OBJECT_MESSAGE_H

#include "api/object/object.h"

/*
 * Borrowed: lives as long as the object. `kind` may be any version. Fields that do not
 * fit their type, which could only have been stored by another schema, are left
 * out. NULL when the object's text is damaged. Costs a parse the first time.
 */
struct bytes *object_message(const struct object *o, const struct schema_kind *kind);

/* The same where it was made already; else NULL. */
struct bytes *object_message_made(const struct object *o);

/* How many bytes of a message its metadata is, from its beginning. */
size_t object_message_meta_size(const struct bytes *message);

#endif
