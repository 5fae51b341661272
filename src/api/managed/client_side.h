/*
 * client_side - finds managers that used client-side apply, and moves them to server-side apply.
 *
 * To the server, client-side apply is an Update, so its fields belong to an Update entry in
 * managedFields. Server-side apply by another manager would leave them there, and so would never
 * remove fields that were deleted from the manifest. Therefore the entries are handed over first,
 * as kubectl does.
 */
#ifndef API_MANAGED_CLIENT_SIDE_H
#define API_MANAGED_CLIENT_SIDE_H

#include "base/core/arena.h"
#include "base/core/str.h"

struct json;

/*
 * Whether the manager has an Update entry that owns the annotation of client-side apply. With an
 * empty name: whether any manager has.
 */
bool client_side_owns(const struct json *object, struct str manager);

/*
 * Merges the Update entries of client-side appliers into one Apply entry of `manager`, in the
 * object's metadata.managedFields. Returns false if nothing had to be done.
 */
bool client_side_hand_over(struct arena *a, struct json *object, struct str manager);

/*
 * Returns the fields of client-side appliers, as a set (managed/set.h) of the object's own version;
 * NULL if there are no such managers.
 */
struct json *client_side_fields(struct arena *a, const struct json *object);

/*
 * Finds the fields of the set that no other manager owns: handing over and applying would remove
 * them. Calls `found` for each (".data.b") until it returns false; not for the fields below it, nor
 * for the annotation. Changes the set.
 */
void client_side_lost(struct arena *a, const struct json *object, struct json *fields,
		      bool (*found)(void *arg, struct str path), void *arg);

#endif
