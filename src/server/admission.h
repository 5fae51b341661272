/*
 * admission - rules on writes that depend on who writes, or on other objects.
 *
 * What an object alone must obey is validation's (src/api). Here are rows of
 * functions that are asked at the state for each write of their kind, dry runs
 * too, after the write was decided and validated and before it is committed. They
 * see the user (m->x->user), the stored object and the new one, which they may
 * change; committed state is at hand.
 */
#ifndef SERVER_ADMISSION_H
#define SERVER_ADMISSION_H

#include "base/error.h"

struct json;
struct mutation;
struct object;

/*
 * `base` is what is stored (NULL: creation), `object` what takes its place (NULL: deletion). Also
 * for writes that change nothing: they are answered with the object.
 */
int admission_check(struct mutation *m, struct object *base, struct json *object,
		    struct error *err);

/* The same where what is stored was parsed already. */
int admission_check_tree(struct mutation *m, const struct json *old, struct json *object,
			 struct error *err);

#endif
