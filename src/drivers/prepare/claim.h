/*
 * claim - a ResourceClaim as a driver sees it: its devices of this driver, what was written for
 * them, and what a container gets.
 *
 * It is filled from the API server's object when it is prepared and from the checkpoint when it was
 * prepared before; the latter has no configs. The ABI's struct dp_claim is this.
 */
#ifndef DRIVERS_PREPARE_CLAIM_H
#define DRIVERS_PREPARE_CLAIM_H

#include "base/core/list.h"
#include "base/json/json.h"
#include "client/api/client.h"
#include "devplane/driver.h"

struct prepare;
struct prepare_op;

struct claim_result {
	struct dp_result result;
	struct json *cdi; /* names of CDI devices, a list of strings */
	struct json *edits; /* for the claim's own file; NULL: none */
};

/* What the driver has done about it. */
enum claim_state {
	CLAIM_NEW, /* nothing */
	CLAIM_STARTED, /* told the vendor; how it ended is not known, or it failed */
	CLAIM_PREPARED,
};

struct dp_claim {
	struct arena arena; /* all but what stands below */
	struct claim_result *results;
	size_t nresults;
	struct dp_consumer *consumers; /* as long as the claim is as it was read */
	size_t nconsumers;
	char *uid, *ns, *name; /* heap */
	enum claim_state state;
	bool own_file; /* it has a CDI file of its own */
	char failure[512]; /* what the vendor said; "" nothing */

	/* prepare.c's */
	struct prepare *owner;
	struct list ops; /* of struct prepare_op; the first one is at work */
	bool busy;
	struct dp_claim *again; /* owned: the same as it is now, which the vendor judges; or NULL */
	struct dp_claim *of; /* whose `again` it is; or NULL */
	struct client_request get;
	struct loop_msg done; /* dp_claim_done() */
	int result;
};

struct dp_claim *claim_new(struct str uid, struct str ns, struct str name);
void claim_free(struct dp_claim *c);

/*
 * Takes the results of `driver` and the consumers from the object. -ERR_NOT_FOUND when it is not
 * allocated, -ERR_CONFLICT when it is another of the same name.
 */
int claim_read(struct dp_claim *c, const struct json *object, struct str driver, struct error *err);

/* Takes over what `from` knows, and frees that. */
void claim_adopt(struct dp_claim *c, struct dp_claim *from);

/* Writes the claim's own CDI file, when it has edits, and adds the names of its devices. */
int claim_write_cdi(struct dp_claim *c, const char *dir, const char *driver, struct error *err);

/* The checkpoint's form. */
struct json *claim_tree(const struct dp_claim *c, struct arena *a);
int claim_from_tree(const struct json *tree, struct dp_claim **ret_claim, struct error *err);

#endif
