/* The steps of attaching and detaching; each one happens completely or not at all. */
#include <inttypes.h>

#include "base/core/map.h"
#include "base/core/mem.h"
#include "drivers/nic_attach/attach_impl.h"

static int nic_attach_step(struct nic_attach *t, struct error *err)
{
	return t->on_step ? t->on_step(t->arg, err) : 0;
}

int nic_step_change(struct nic_attach *t, struct rtnl *r, int index, const struct rtnl_change *c,
		    struct error *err)
{
	int failed = nic_attach_step(t, err);

	return failed < 0 ? failed : rtnl_link_change(r, index, c, err);
}

int nic_step_add(struct nic_attach *t, const struct rtnl_new_link *l, struct error *err)
{
	int failed = nic_attach_step(t, err);

	return failed < 0 ? failed : rtnl_link_add(t->here, l, err);
}

/* A link that is already gone is not an error. */
int nic_step_delete(struct nic_attach *t, struct rtnl *r, int index, struct error *err)
{
	int failed = nic_attach_step(t, err);

	if (failed == 0)
		failed = rtnl_link_delete(r, index, err);
	return failed == -ERR_NOT_FOUND ? 0 : failed;
}

int nic_step_address(struct nic_attach *t, struct rtnl *r, const struct rtnl_address *a,
		     struct error *err)
{
	int failed = nic_attach_step(t, err);

	return failed < 0 ? failed : rtnl_address_add(r, a, err);
}

int nic_step_route(struct nic_attach *t, struct rtnl *r, const struct rtnl_route *to,
		   struct error *err)
{
	int failed = nic_attach_step(t, err);

	return failed < 0 ? failed : rtnl_route_add(r, to, err);
}

int nic_step_save(struct nic_attach *t, struct nic_use *u, enum nic_state state, struct error *err)
{
	enum nic_state before = u->state;
	int failed = nic_attach_step(t, err);

	u->state = state;
	if (failed == 0 && state == NIC_ATTACHING)
		failed = nic_use_check(u, err);
	if (failed == 0)
		failed = nic_book_save(t->book, err);
	if (failed < 0)
		u->state = before;
	return failed;
}

int nic_step_altname(struct nic_attach *t, struct rtnl *r, int index, const char *name, bool add,
		     struct error *err)
{
	int failed = nic_attach_step(t, err);

	if (failed < 0)
		return failed;
	failed = add ? rtnl_altname_add(r, index, name, err)
		     : rtnl_altname_delete(r, index, name, err);
	return !add && failed == -ERR_NOT_FOUND ? 0 : failed;
}

int nic_link_named(struct rtnl *r, const char *name, struct rtnl_link *ret_link, struct error *err)
{
	int found = rtnl_link_by_name(r, name, ret_link, err);

	if (found == -ERR_NOT_FOUND)
		return 0;
	return found < 0 ? found : 1;
}

void nic_own_name(const struct nic_use *u, const char *prefix, char out[static RTNL_NAME])
{
	uint64_t hash = hash_bytes(str_from(u->claim_uid), 0);

	hash = hash_bytes(str_from(u->nic.device), hash);
	hash = hash_bytes(str_from(u->share_id), hash);
	(void)snprintf(out, RTNL_NAME, "%.3s%012" PRIx64, prefix, hash >> 16);
}

void nic_use_clear(struct nic_use *u)
{
	u->netns_id = 0;
	u->index = u->parent = 0;
	u->interface[0] = u->peer[0] = u->master[0] = u->cni_ifname[0] = 0;
	u->naltnames = 0;
	u->stuck = 0;
	u->before = (struct rtnl_link){ 0 };
}
