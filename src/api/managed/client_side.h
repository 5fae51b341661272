/*
 * client_side - who applied an object on the client's side, and the change to the server's side.
 *
 * Client-side apply is an Update to the server: its fields are of an Update entry in managedFields.
 * Server-side apply by another manager would leave them there, and so never remove what a manifest
 * says no more. Before that the entries are handed over, as kubectl does.
 */
#ifndef API_MANAGED_CLIENT_SIDE_H
#define API_MANAGED_CLIENT_SIDE_H

#include "base/core/arena.h"
#include "base/core/str.h"

struct json;

/*
 * Whether the manager has an Update entry that owns the annotation of client-side apply; with an
 * empty name: whether anybody has.
 */
bool client_side_owns(const struct json *object, struct str manager);

/*
 * Makes the Update entries of those who applied on the client's side one Apply entry of `manager`,
 * in the object's metadata.managedFields. False when there is nothing to do.
 */
bool client_side_hand_over(struct arena *a, struct json *object, struct str manager);

/*
 * The fields that they have, a set (managed/set.h) of the object's own version; NULL when nobody
 * applied on the client's side.
 */
struct json *client_side_fields(struct arena *a, const struct json *object);

/*
 * Which of those fields nobody else has in the object: what goes when they are handed over to who
 * applied it. Calls `found` for each (".data.b"), not for what is below it, nor for the annotation,
 * until it returns false. Changes the set.
 */
void client_side_lost(struct arena *a, const struct json *object, struct json *fields,
		      bool (*found)(void *arg, struct str path), void *arg);

#endif
