/*
 * claim - struct dp_claim of the SDK: a ResourceClaim's devices of this driver, their configs, and
 * the edits for containers.
 *
 * It is filled from the API server's object while it is being prepared, and from the checkpoint if
 * it was prepared earlier. Claims from the checkpoint have no configs.
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
	struct json *edits; /* for the claim's own CDI file; or NULL */
};

/* The progress of preparing it. */
enum claim_state {
	CLAIM_NEW, /* nothing */
	CLAIM_STARTED, /* the vendor was called, and failed or has not finished */
	CLAIM_PREPARED,
};

struct dp_claim {
	struct arena arena; /* everything except the heap fields below */
	struct claim_result *results;
	size_t nresults;
	struct dp_consumer *consumers; /* valid only while the claim is being prepared */
	size_t nconsumers;
	char *uid, *ns, *name; /* heap */
	enum claim_state state;
	bool own_file; /* the claim has its own CDI file */
	char failure[512]; /* the vendor's error message, or "" */

	/* Internal to prepare.c. */
	struct prepare *owner;
	struct list ops; /* of struct prepare_op; the first one is running */
	bool busy;
	struct dp_claim *again; /* owned: the current version, for another prepare(); or NULL */
	struct dp_claim *of; /* the claim whose `again` this is; or NULL */
	struct client_request get;
	struct loop_msg done; /* dp_claim_done() */
	int result;
};

struct dp_claim *claim_new(struct str uid, struct str ns, struct str name);
void claim_free(struct dp_claim *c);

/*
 * Reads the results of `driver` and the consumers from the object. Returns -ERR_NOT_FOUND if it is
 * not allocated, -ERR_CONFLICT if it is a different claim of the same name.
 */
int claim_read(struct dp_claim *c, const struct json *object, struct str driver, struct error *err);

/* Moves the content of `from` into `c`, and frees `from`. */
void claim_adopt(struct dp_claim *c, struct dp_claim *from);

/* If the claim has edits, writes its own CDI file and adds the CDI names of its devices. */
int claim_write_cdi(struct dp_claim *c, const char *dir, const char *driver, struct error *err);

/* Conversion to and from the form in the checkpoint. */
struct json *claim_tree(const struct dp_claim *c, struct arena *a);
int claim_from_tree(const struct json *tree, struct dp_claim **ret_claim, struct error *err);

#endif
