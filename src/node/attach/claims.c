/*
 * A use is "DRIVER\0POOL\0DEVICE\0SHARE\0NAMESPACE\0CLAIM", so the uses of a device are adjacent.
 * No text of a message contains a NUL, so uses of different devices differ.
 */
#include "node/attach/claims.h"

#include "base/core/buf.h"
#include "node/book/methods.h"

void attach_claims_init(struct attach_claims *c)
{
	omap_init(&c->uses);
	arena_init(&c->arena, SIZE_MAX);
}

void attach_claims_release(struct attach_claims *c)
{
	omap_release(&c->uses);
	arena_release(&c->arena);
}

void attach_claims_clear(struct attach_claims *c)
{
	omap_clear(&c->uses);
	arena_clear(&c->arena);
}

/* --- uses ----------------------------------------------------------------------------- */

static void claims_add_text(struct buf *out, const char *text)
{
	(void)buf_add(out, text, strlen(text) + 1);
}

static void put_device(struct buf *out, const Podresources__ClaimResource *r)
{
	bool shared = r->share_case == PODRESOURCES__CLAIM_RESOURCE__SHARE_SHARE_ID;

	buf_clear(out);
	claims_add_text(out, r->driver_name);
	claims_add_text(out, r->pool_name);
	claims_add_text(out, r->device_name);
	claims_add_text(out, shared ? r->share_id : "");
}

static void put_use(struct buf *out, const Podresources__DynamicResource *d,
		    const Podresources__ClaimResource *r)
{
	put_device(out, r);
	claims_add_text(out, d->claim_namespace);
	claims_add_text(out, d->claim_name);
}

static void claims_add(struct attach_claims *c, const Podresources__DynamicResource *d)
{
	CLEANUP(buf_release) struct buf use = BUF_INIT(PODRES_LIST_MAX);

	for (size_t i = 0; i < d->n_claim_resources; i++) {
		put_use(&use, d, d->claim_resources[i]);
		if (!omap_get(&c->uses, buf_str(&use)))
			(void)omap_put(&c->uses, arena_str(&c->arena, buf_str(&use)), c);
	}
}

void attach_claims_add(struct attach_claims *c, const Podresources__PodResources *pod)
{
	for (size_t i = 0; i < pod->n_containers; i++) {
		const Podresources__ContainerResources *r = pod->containers[i];

		for (size_t j = 0; j < r->n_dynamic_resources; j++)
			claims_add(c, r->dynamic_resources[j]);
	}
}

/* --- doubts --------------------------------------------------------------------------- */

static size_t attach_claims_count(const struct attach_claims *c, struct str device)
{
	struct omap_cursor at;
	size_t n = 0;

	for (bool ok = omap_seek_prefix(&c->uses, &at, device); ok;
	     ok = omap_next_prefix(&at, device))
		n++;
	return n;
}

/* Whether all claims that have the device in `c` also have it in `before`. */
static bool within(const struct attach_claims *c, const struct attach_claims *before,
		   struct str device)
{
	struct omap_cursor at;

	for (bool ok = omap_seek_prefix(&c->uses, &at, device); ok;
	     ok = omap_next_prefix(&at, device)) {
		if (!omap_get(&before->uses, omap_key(&at)))
			return false;
	}
	return true;
}

static const char *doubt(const struct attach_claims *c, const Podresources__DynamicResource *d,
			 const struct attach_claims *seen, const struct attach_claims *book)
{
	CLEANUP(buf_release) struct buf device = BUF_INIT(PODRES_LIST_MAX);

	for (size_t i = 0; i < d->n_claim_resources; i++) {
		put_device(&device, d->claim_resources[i]);
		if (attach_claims_count(c, buf_str(&device)) > 1 &&
		    !within(c, seen, buf_str(&device)) && !within(c, book, buf_str(&device)))
			return d->claim_resources[i]->device_name;
	}
	return NULL;
}

const char *attach_claims_doubt(const struct attach_claims *c,
				const Podresources__PodResources *pod,
				const struct attach_claims *seen, const struct attach_claims *book)
{
	const char *name = NULL;

	for (size_t i = 0; i < pod->n_containers; i++) {
		const Podresources__ContainerResources *r = pod->containers[i];

		for (size_t j = 0; j < r->n_dynamic_resources && !name; j++)
			name = doubt(c, r->dynamic_resources[j], seen, book);
	}
	return name;
}

/* --- removing devices ----------------------------------------------------------------- */

static void strip(const struct attach_claims *c, Podresources__DynamicResource *d,
		  const struct attach_claims *book)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT(PODRES_LIST_MAX);
	size_t kept = 0;

	for (size_t i = 0; i < d->n_claim_resources; i++) {
		Podresources__ClaimResource *r = d->claim_resources[i];
		size_t others;

		put_device(&name, r);
		others = within(c, book, buf_str(&name)) ? 0
							 : attach_claims_count(c, buf_str(&name));
		put_use(&name, d, r);
		if (others == 0 || omap_get(&c->uses, buf_str(&name)))
			d->claim_resources[kept++] = r;
	}
	d->n_claim_resources = kept;
}

static void strip_container(const struct attach_claims *c, Podresources__ContainerResources *r,
			    const struct attach_claims *book)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->n_dynamic_resources; i++) {
		Podresources__DynamicResource *d = r->dynamic_resources[i];
		bool had = d->n_claim_resources > 0;

		strip(c, d, book);
		if (!had || d->n_claim_resources > 0)
			r->dynamic_resources[kept++] = d;
	}
	r->n_dynamic_resources = kept;
}

void attach_claims_strip(const struct attach_claims *c, Podresources__PodResources *pod,
			 const struct attach_claims *book)
{
	for (size_t i = 0; i < pod->n_containers; i++)
		strip_container(c, pod->containers[i], book);
}
