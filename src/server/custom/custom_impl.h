/*
 * custom_impl - what the files of custom share.
 */
#ifndef SERVER_CUSTOM_CUSTOM_IMPL_H
#define SERVER_CUSTOM_CUSTOM_IMPL_H

#include "api/crd/crd.h"
#include "server/custom/custom.h"

struct removal;

/* One definition as it is committed. */
struct definition {
	struct custom *custom;
	struct str name; /* behind the struct */
	int64_t revision; /* of its last change */
	struct crd *crd; /* NULL: it does not compile */
	bool served; /* its resource is at the state */
	bool established;
	bool overlaps; /* a compiled kind has its place: it is never served */
	bool refused; /* not all of its names were accepted */
	bool terminating;
	bool cleaning; /* it has the finalizer that keeps it until its objects are gone */
	bool seen; /* since everything was read again */
	struct removal *removal; /* of its objects; or NULL (custom/work.c) */
};

struct custom {
	struct server *server;
	struct state *state;
	struct state_observer observer;
	struct omap definitions; /* by name */
	struct loop_task sweep; /* forgets what was not seen */
	struct catalogue *catalogue; /* the last; or NULL */
	bool stale; /* definitions changed since it was made */

	/* Writes of the server's own (custom/work.c). */
	struct loop_timer work;
	int64_t delay_ms; /* until it is looked again; grows while nothing changes */
	size_t writing; /* under way */
	bool started;
};

extern const struct str custom_group; /* "apiextensions.k8s.io" */

/* The kind of definitions. */
const struct schema_kind *custom_kind(void);

/* The resource of the definition's objects; NULL when it has none. */
struct resource *definition_resource(const struct definition *d);

/*
 * What the server itself says of a definition that came or changed: names, conditions,
 * versions. True when anything changed.
 */
bool custom_settle(struct custom *c, struct arena *a, struct json *definition, int64_t now_ns);

/* --- work (custom/work.c) ---------------------------------------------------------- */

void custom_work_init(struct custom *c);
void custom_work_release(struct custom *c);

/* Something changed: looks soon whether there is anything to write. */
void custom_work_soon(struct custom *c);
void removal_free(struct removal *r);

#endif
