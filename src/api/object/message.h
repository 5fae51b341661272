/*
 * object_message - an object's protobuf message, made on first use and kept with the object.
 *
 * It is the bare message, of the storage version, with its resourceVersion. It begins with the
 * metadata, which is the first field of every kind. So that beginning is also the message of the
 * object's PartialObjectMetadata, in every version. For a kind without protobuf (a custom resource)
 * the message is only this beginning.
 *
 * An object that is never read as protobuf costs only a pointer.
 * Threads: any, concurrently. If two threads make the message at once, the second drops its own.
 */
#ifndef API_OBJECT_MESSAGE_H
#define API_OBJECT_MESSAGE_H

#include "api/object/object.h"

/*
 * Borrowed: lives as long as the object. `kind` may be any version. Fields that do not fit their
 * type are left out; only another schema could have stored them. Returns NULL if the object's text
 * is damaged. The first call parses the text.
 */
struct bytes *object_message(const struct object *o, const struct schema_kind *kind);

/* Returns the message if it was made already; else NULL. */
struct bytes *object_message_made(const struct object *o);

/* Returns the size of the metadata at the beginning of a message, in bytes. */
size_t object_message_meta_size(const struct bytes *message);

#endif
