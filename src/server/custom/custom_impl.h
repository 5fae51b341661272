/*
 * custom_impl - shared by the files of custom.
 */
#ifndef SERVER_CUSTOM_CUSTOM_IMPL_H
#define SERVER_CUSTOM_CUSTOM_IMPL_H

#include "api/crd/crd.h"
#include "server/custom/custom.h"

struct removal;

/* One committed definition. */
struct definition {
	struct custom *custom;
	struct str name; /* stored after the struct */
	int64_t revision; /* of its last change */
	struct crd *crd; /* NULL: does not compile */
	bool served; /* its resource has been added to the state */
	bool established;
	bool overlaps; /* a compiled-in kind has the same name: it is never served */
	bool refused; /* some of its names were not accepted */
	bool terminating;
	bool cleaning; /* it has the finalizer that keeps it until its objects are deleted */
	bool seen; /* since the last complete read */
	struct removal *removal; /* deletes its objects; or NULL (custom/work.c) */
};

struct custom {
	struct server *server;
	struct state *state;
	struct state_observer observer;
	struct omap definitions; /* by name */
	struct loop_task sweep; /* removes definitions that were not seen */
	struct catalogue *catalogue; /* the most recent one; or NULL */
	bool stale; /* definitions have changed since the catalogue was made */

	/* The server's own writes (custom/work.c). */
	struct loop_timer work;
	int64_t delay_ms; /* until the next check; grows while nothing changes */
	size_t writing; /* writes under way */
	bool started;
};

extern const struct str custom_group; /* "apiextensions.k8s.io" */

/* The kind CustomResourceDefinition. */
const struct schema_kind *custom_kind(void);

/* The resource of the definition's objects; NULL if not found. */
struct resource *definition_resource(const struct definition *d);

/*
 * Updates the parts of a new or changed definition that the server sets: names, conditions,
 * versions. Returns true if anything changed.
 */
bool custom_settle(struct custom *c, struct arena *a, struct json *definition, int64_t now_ns);

/* --- work (custom/work.c) ---------------------------------------------------------- */

void custom_work_init(struct custom *c);
void custom_work_release(struct custom *c);

/* Something changed: soon checks whether anything must be written. */
void custom_work_soon(struct custom *c);
void removal_free(struct removal *r);

#endif
