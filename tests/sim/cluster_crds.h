/*
 * cluster_crds - what the two files of custom resources share: cluster_crds.c has the definition,
 * cluster_berths.c its objects.
 */
#ifndef SIM_CLUSTER_CRDS_H
#define SIM_CLUSTER_CRDS_H

#include "cluster_world.h"

#define CRDS_GROUP    "sim.devplane.dev"
#define CRDS_RESOURCE "berths"
#define CRDS_NAME     CRDS_RESOURCE "." CRDS_GROUP

enum { CRDS_NARROW = 6 }; /* the largest value of a Berth in a narrow schema */

struct berth;

enum crds_phase {
	CRDS_PLAY, /* the definition changes, goes and comes back */
	CRDS_SETTLE, /* it becomes as it is in the end */
	CRDS_DELETE,
	CRDS_AGAIN, /* it is made again, and must have no objects */
};

struct crds {
	struct cluster *w;
	enum crds_phase phase;
	bool reached; /* what the phase is for */

	/* The definition, as far as the user knows. */
	struct client_request request; /* about it: one at a time */
	char uid[40];
	bool doomed; /* its deletion was sent, so it may go at any time */
	unsigned made; /* definitions that were seen */
	int64_t born; /* the revision that made it; 0: not known */
	VEC(char *) doomed_uids;
	bool narrow; /* surely: that was acknowledged, and nothing else was sent since */
	unsigned sent; /* the variant that was sent last */
	bool creating; /* and that it was a create */

	struct list asks; /* about Berths */
	VEC(struct berth *) berths;
	char scheduler[1024]; /* the configuration */
};

/* Of one version of the custom kind. */
struct resource crds_resource(const char *version);

/* Something about Berths is done or asked. */
void berths_step(struct crds *c);
void berths_rush(struct crds *c); /* creates some at once, at any server */
void berths_free(struct crds *c, bool all); /* takes finalizers away */
void berths_check(struct crds *c);
bool berths_idle(const struct crds *c);
void berths_release(struct crds *c);

#endif
