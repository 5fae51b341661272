/*
 * Device status set by the vendor (KEP-4817): validated on the vendor's thread, then posted to the
 * loop's thread.
 */
#include "api/schema/names.h"
#include "base/core/mem.h"
#include "drivers/prepare/abi.h"
#include "drivers/sdk/claim_status.h"
#include "drivers/sdk/driver.h"

struct word {
	struct loop_msg msg;
	struct dp_driver *driver;
	struct status_entry *entry; /* NULL: remove all entries */
	char *ns, *name, *uid;
};

static void on_word(struct loop_msg *m)
{
	struct word *w = CONTAINER_OF(m, struct word, msg);
	struct claim_status_id id = { str_from(w->ns), str_from(w->name), str_from(w->uid) };
	struct claim_status *status = w->driver->status;

	/* NULL: the driver has ended, or never started. */
	if (status && w->entry)
		claim_status_set(status, id, TAKE(w->entry));
	else if (status)
		claim_status_clear(status, id);
	status_entry_free(w->entry);
	free(w->ns);
	free(w->name);
	free(w->uid);
	free(w);
}

static int check_id(const struct dp_claim_id *claim, struct dp_claim_id *ret_id, struct error *err)
{
	if (!ABI_READ(ret_id, claim, 0))
		return error_set(err, ERR_INVALID, "struct dp_claim_id has no size");
	if (names_dns_label(str_from(ret_id->ns)) || names_dns_subdomain(str_from(ret_id->name)) ||
	    names_path_segment(str_from(ret_id->uid)) || str_from(ret_id->uid).n == 0)
		return error_set(err, ERR_INVALID, "the claim needs a namespace, a name and a uid");
	return 0;
}

static void driver_status_say(struct dp_driver *d, const struct dp_claim_id *id,
			      struct status_entry *e)
{
	struct word *w = XNEW(struct word);

	w->msg.fn = on_word;
	w->driver = d;
	w->entry = e;
	w->ns = xstrdup(id->ns);
	w->name = xstrdup(id->name);
	w->uid = xstrdup(id->uid);
	loop_post(d->loop, &w->msg);
}

int dp_driver_set_status(struct dp_driver *d, const struct dp_claim_id *claim,
			 const struct dp_device_status *s, char *message, size_t message_size)
{
	struct status_entry *e = NULL;
	struct dp_claim_id id;
	struct error err;
	int r = check_id(claim, &id, &err);

	if (r == 0 && d->config.mode != DP_MODE_DRA)
		r = error_set(&err, ERR_INVALID, "a device plugin has no claims");
	if (r == 0)
		r = status_entry_new(s, d->config.name, d->config.node_name, &e, &err);
	if (r < 0) {
		if (message && message_size > 0)
			(void)snprintf(message, message_size, "%s", err.msg);
		return -1;
	}
	driver_status_say(d, &id, e);
	return 0;
}

void dp_driver_clear_status(struct dp_driver *d, const struct dp_claim_id *claim)
{
	struct dp_claim_id id;

	if (check_id(claim, &id, NULL) == 0)
		driver_status_say(d, &id, NULL);
}

void dp_driver_each_claim(struct dp_driver *d, void (*fn)(void *arg, const struct dp_claim *c),
			  void *arg)
{
	if (d->prepare)
		prepare_each(d->prepare, fn, arg);
}
