/*
 * Claims and the devices that they hold. A claim is one block. Its holders are linked into the uses
 * of their devices. The pool finds a use by the device's name, whether or not a slice has the
 * device (yet).
 */
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "dra/inventory/store.h"

/* --- uses --------------------------------------------------------------------------- */

static struct inventory_use *use_need(struct inventory_pool *pool, struct str device)
{
	struct inventory_use *use = map_get(&pool->uses, device);
	char *text;

	if (use)
		return use;
	use = xcalloc(1, sizeof(*use) + device.n);
	text = (char *)(use + 1);
	str_put(text, device);
	use->name = str_of(text, device.n);
	use->pool = pool;
	list_init(&use->holders);
	list_init(&use->lost_link);
	map_put(&pool->uses, use->name, use);
	pool->nuses++;
	return use;
}

const struct inventory_use *inventory_use(const struct inventory_pool *pool, struct str device)
{
	return map_get(&pool->uses, device);
}

const struct inventory_use *inventory_next_use(const struct inventory_pool *pool, size_t *at)
{
	struct str name;
	void *use;

	return map_next(&pool->uses, at, &name, &use) ? use : NULL;
}

static void forget_sums(struct inventory_use *use)
{
	for (size_t i = 0; i < use->nconsumed; i++)
		free((char *)use->consumed[i].name.p);
	free(use->consumed);
	use->consumed = NULL;
	use->nconsumed = 0;
}

static bool use_held(const struct inventory_use *use)
{
	return use->whole || use->shares;
}

static void remove_sum(struct inventory_use *use, size_t at)
{
	free((char *)use->consumed[at].name.p);
	use->nconsumed--;
	memmove(&use->consumed[at], &use->consumed[at + 1],
		(use->nconsumed - at) * sizeof(*use->consumed));
}

static struct inventory_amount *insert_sum(struct inventory_use *use, size_t at,
					   const struct inventory_amount *amount)
{
	use->consumed = xrealloc(use->consumed, (use->nconsumed + 1) * sizeof(*use->consumed));
	memmove(&use->consumed[at + 1], &use->consumed[at],
		(use->nconsumed - at) * sizeof(*use->consumed));
	use->nconsumed++;
	use->consumed[at] = (struct inventory_amount){
		.name = { str_dup(amount->name), amount->name.n },
		.value = quantity_of(0, amount->value.format),
	};
	return &use->consumed[at];
}

/* Adds to (sign 1) or subtracts from (-1) the sums of a device. A sum of zero is removed. */
static void sum(struct inventory_use *use, const struct inventory_amount *amount, int sign)
{
	struct inventory_amount *to;
	size_t at = 0;

	if (amount->value.nano == 0)
		return;
	while (at < use->nconsumed && str_cmp(use->consumed[at].name, amount->name) < 0)
		at++;
	to = at < use->nconsumed && str_eq(use->consumed[at].name, amount->name)
		     ? &use->consumed[at]
		     : insert_sum(use, at, amount);
	to->value = sign > 0 ? quantity_add(to->value, amount->value)
			     : quantity_sub(to->value, amount->value);
	if (to->value.nano == 0)
		remove_sum(use, at);
}

static void sum_holder(struct inventory_use *use, const struct inventory_holder *h, int sign)
{
	for (size_t i = 0; i < h->nconsumed; i++)
		sum(use, &h->consumed[i], sign);
}

/* Subtracts a holder that left. If a sum is saturated, recomputes the sums instead. */
static void sum_without(struct inventory_use *use, const struct inventory_holder *left)
{
	bool full = false;

	for (size_t i = 0; i < use->nconsumed; i++)
		full |= inventory_full(use->consumed[i].value);
	if (!full && use->shares > 0) {
		sum_holder(use, left, -1);
		return;
	}
	forget_sums(use);
	LIST_FOREACH (it, &use->holders) {
		const struct inventory_holder *h = LIST_ENTRY(it, struct inventory_holder, link);

		if (!h->admin && h->share_id.n > 0)
			sum_holder(use, h, 1);
	}
}

/* Counts a holder that was linked (sign 1) or unlinked (-1). */
static void inventory_claim_count(struct inventory_use *use, const struct inventory_holder *h,
				  int sign)
{
	uint32_t *counter = &use->whole;

	if (h->admin)
		counter = &use->admins;
	else if (h->share_id.n > 0)
		counter = &use->shares;
	*counter += (uint32_t)sign;
	if (counter == &use->shares && sign > 0)
		sum_holder(use, h, 1);
	else if (counter == &use->shares)
		sum_without(use, h);
}

/* --- order of holders ---------------------------------------------------------------- */

/* With this many holders or more, a map speeds up finding the position in the list. */
enum { MANY_HOLDERS = 64 };

static size_t nholders(const struct inventory_use *use)
{
	return (size_t)use->whole + use->shares + use->admins;
}

/*
 * Creates or frees the map from a claim's key to its last holder, depending on the number of
 * holders.
 */
static void index_holders(struct inventory_use *use)
{
	bool many = nholders(use) >= MANY_HOLDERS;

	if (many && !use->order) {
		use->order = XNEW(struct omap);
		omap_init(use->order);
		LIST_FOREACH (it, &use->holders) {
			struct inventory_holder *h = LIST_ENTRY(it, struct inventory_holder, link);

			(void)omap_put(use->order, h->claim->key, h);
		}
	}
	if (use->order && nholders(use) < MANY_HOLDERS / 2) {
		omap_release(use->order);
		free(use->order);
		use->order = NULL;
	}
}

/* Returns the list position after which a holder of that claim belongs. */
static struct list *claim_place_of(struct inventory_use *use, struct str key)
{
	struct list *after = use->holders.prev;
	struct omap_cursor c;

	if (use->order) {
		(void)omap_seek_after(use->order, &c, key);
		return omap_prev(&c) ? &((struct inventory_holder *)omap_value(&c))->link
				     : &use->holders;
	}
	while (after != &use->holders &&
	       str_cmp(LIST_ENTRY(after, struct inventory_holder, link)->claim->key, key) > 0)
		after = after->prev;
	return after;
}

static void insert_holder(struct inventory_use *use, struct inventory_holder *h)
{
	index_holders(use);
	list_insert_after(claim_place_of(use, h->claim->key), &h->link);
	if (use->order)
		(void)omap_put(use->order, h->claim->key, h);
}

static void remove_holder(struct inventory_use *use, struct inventory_holder *h)
{
	struct inventory_holder *before = LIST_ENTRY(h->link.prev, struct inventory_holder, link);

	if (use->order && omap_get(use->order, h->claim->key) == h) {
		if (h->link.prev != &use->holders && before->claim == h->claim)
			(void)omap_put(use->order, h->claim->key, before);
		else
			(void)omap_remove(use->order, h->claim->key);
	}
	list_remove(&h->link);
}

static void link_holder(struct inventory_holder *h)
{
	struct inventory_use *use = h->use;
	bool held = use_held(use);

	insert_holder(use, h);
	inventory_claim_count(use, h, 1);
	if (!use->pool->dirty)
		(void)inventory_pool_use(use->pool, use, true, use_held(use) - held);
}

static void unlink_holder(struct inventory *inv, struct inventory_holder *h)
{
	struct inventory_use *use = h->use;
	struct inventory_pool *pool = use->pool;
	bool held = use_held(use);

	remove_holder(use, h);
	inventory_claim_count(use, h, -1);
	index_holders(use);
	if (!pool->dirty &&
	    !inventory_pool_use(pool, use, !list_empty(&use->holders), use_held(use) - held))
		inventory_pool_dirty(inv, pool);
	if (!list_empty(&use->holders))
		return;
	map_remove(&pool->uses, use->name);
	pool->nuses--;
	forget_sums(use);
	list_remove(&use->lost_link);
	free(use);
	inventory_pool_drop(inv, pool);
}

/* Limit of namespace plus name; the API allows 63 and 253. */
enum { CLAIM_NAME_MAX = 500 };

/* --- claims ------------------------------------------------------------------------- */

/* The parts of a claim's object that are read. */
struct claim_source {
	const struct json *meta, *results, *reserved; /* status.reservedFor */
};

static int read_amounts(struct pack *p, const struct json *v, struct inventory_holder *h,
			struct error *err)
{
	struct inventory_amount *list;

	if (json_count(v) == 0)
		return 0;
	if (json_count(v) > DEVICE_ATTRIBUTES_MAX)
		return error_set(err, ERR_INVALID, "too many capacities are consumed");
	list = PACK_ARRAY(p, struct inventory_amount, json_count(v));
	h->consumed = list;
	JSON_FOREACH (amount, v) {
		struct inventory_amount *to = &list[h->nconsumed++];

		to->name = pack_text(p, json_key(amount));
		if (!quantity_read(amount, &to->value))
			return error_set(err, ERR_INVALID, "consumedCapacity %.*s: no quantity",
					 STR_ARG(to->name));
	}
	return 0;
}

static int read_result(const struct inventory *inv, struct pack *p, const struct json *v,
		       struct inventory_holder *h, struct error *err)
{
	h->request = pack_text(p, json_text_at(v, "request"));
	h->admin = json_true_at(v, "adminAccess");
	list_init(&h->link);
	if (!inventory_driver_valid(json_text_at(v, "driver")) || json_text_at(v, "pool").n == 0 ||
	    json_text_at(v, "device").n == 0)
		return error_set(err, ERR_INVALID, "a result needs driver, pool and device");
	if (inv->features.consumable_capacity)
		h->share_id = pack_text(p, json_text_at(v, "shareID"));
	return read_amounts(p, json_getz(v, "consumedCapacity"), h, err);
}

static void read_users(struct pack *p, const struct json *reserved, struct inventory_claim *c)
{
	struct str *users = PACK_ARRAY(p, struct str, json_count(reserved));

	c->users = users;
	JSON_FOREACH (user, reserved)
		users[c->nusers++] = pack_text(p, json_text_at(user, "uid"));
}

static int claim_read_claim(const struct inventory *inv, struct pack *p,
			    const struct claim_source *from, struct inventory_claim **ret_claim,
			    struct error *err)
{
	const struct json *meta = from->meta, *results = from->results;
	struct inventory_claim *c = PACK_NEW(p, struct inventory_claim);

	c->namespace = pack_text(p, json_text_at(meta, "namespace"));
	c->name = pack_text(p, json_text_at(meta, "name"));
	c->uid = pack_text(p, json_text_at(meta, "uid"));
	c->holders = PACK_ARRAY(p, struct inventory_holder, json_count(results));
	JSON_FOREACH (v, results) {
		struct inventory_holder *h = &c->holders[c->n];
		int r = read_result(inv, p, v, h, err);

		if (r < 0)
			return r;
		h->claim = c;
		c->n++;
	}
	if (inv->features.observer)
		read_users(p, from->reserved, c);
	c->key = pack_text(p, pack_joined(p, c->namespace, c->name));
	*ret_claim = c;
	return 0;
}

static int claim_new(const struct inventory *inv, const struct claim_source *from,
		     struct inventory_claim **ret_claim, struct error *err)
{
	struct inventory_claim *c;
	struct pack pack;
	int r;

	pack_init(&pack);
	r = claim_read_claim(inv, &pack, from, &c, err);
	if (r == 0) {
		pack_allocate(&pack);
		r = claim_read_claim(inv, &pack, from, ret_claim, err);
		(*ret_claim)->block = pack.split + pack.back;
	}
	pack_release(&pack);
	return r;
}

static void claim_free(struct inventory *inv, struct inventory_claim *c)
{
	for (size_t i = 0; i < c->n; i++)
		unlink_holder(inv, &c->holders[i]);
	inv->bytes -= c->block;
	free(c);
}

static void claim_drop(struct inventory *inv, struct inventory_claim *c)
{
	if (!c)
		return;
	map_remove(&inv->claims, c->key);
	claim_free(inv, c);
}

static void claim_link(struct inventory *inv, struct inventory_claim *c, const struct json *results)
{
	size_t n = 0;

	JSON_FOREACH (v, results) {
		struct inventory_holder *h = &c->holders[n++];
		struct inventory_pool *pool = inventory_pool_need(inv, json_text_at(v, "driver"),
								  json_text_at(v, "pool"));

		h->use = use_need(pool, json_text_at(v, "device"));
		link_holder(h);
	}
	map_put(&inv->claims, c->key, c);
	inv->bytes += c->block;
}

static struct inventory_claim *find_claim(const struct inventory *inv, struct str namespace,
					  struct str name)
{
	char key[CLAIM_NAME_MAX + 1];

	if (namespace.n + name.n > CLAIM_NAME_MAX)
		return NULL;
	str_put(key, namespace);
	key[namespace.n] = '/';
	str_put(key + namespace.n + 1, name);
	return map_get(&inv->claims, str_of(key, namespace.n + 1 + name.n));
}

const struct inventory_claim *inventory_claim(const struct inventory *inv, struct str namespace,
					      struct str name)
{
	return find_claim(inv, namespace, name);
}

size_t inventory_claims(const struct inventory *inv)
{
	return inv->claims.n;
}

static const struct json *results_of(const struct json *allocation)
{
	return json_getz(json_getz(allocation, "devices"), "results");
}

/*
 * Replaces the claim `old` by one with these results. If they cannot be read, the claim keeps its
 * earlier devices, since these are the better guess. An observer drops them, because its state must
 * not depend on earlier objects.
 */
static int claim_put(struct inventory *inv, struct inventory_claim *old,
		     const struct claim_source *from, bool assumed, struct error *err)
{
	const struct json *meta = from->meta;
	struct inventory_claim *c;
	int r;

	if (json_text_at(meta, "name").n == 0 ||
	    json_text_at(meta, "namespace").n + json_text_at(meta, "name").n > CLAIM_NAME_MAX)
		return error_set(err, ERR_INVALID, "a ResourceClaim needs a name");
	r = claim_new(inv, from, &c, err);
	if (r == 0 || inv->features.observer ||
	    (old && !str_eq(old->uid, json_text_at(meta, "uid"))))
		claim_drop(inv, old);
	if (r < 0)
		return r;
	c->assumed = assumed;
	claim_link(inv, c, from->results);
	return 0;
}

int inventory_put_claim(struct inventory *inv, const struct json *claim, struct error *err)
{
	const struct json *meta = json_getz(claim, "metadata");
	const struct json *status = json_getz(claim, "status");
	const struct json *allocation = json_getz(status, "allocation");
	struct claim_source from = { meta, results_of(allocation),
				     json_getz(status, "reservedFor") };
	struct inventory_claim *old = find_claim(inv, json_text_at(meta, "namespace"),
						 json_text_at(meta, "name"));

	if (json_count(from.results) > 0)
		return claim_put(inv, old, &from, false, err);
	/* The allocation is assumed, and the stored claim does not have it yet: keep it. */
	if (old && old->assumed && !json_is(allocation, JSON_OBJECT) &&
	    str_eq(old->uid, json_text_at(meta, "uid")))
		return 0;
	claim_drop(inv, old);
	return 0;
}

void inventory_remove_claim(struct inventory *inv, struct str namespace, struct str name)
{
	claim_drop(inv, find_claim(inv, namespace, name));
}

int inventory_assume(struct inventory *inv, const struct json *claim, const struct json *allocation,
		     struct error *err)
{
	const struct json *meta = json_getz(claim, "metadata");
	struct claim_source from = { meta, results_of(allocation), NULL };
	struct inventory_claim *old = find_claim(inv, json_text_at(meta, "namespace"),
						 json_text_at(meta, "name"));

	if (old && !old->assumed && str_eq(old->uid, json_text_at(meta, "uid")))
		return error_set(err, ERR_CONFLICT, "claim %.*s has an allocation already",
				 STR_ARG(old->key));
	return claim_put(inv, old, &from, true, err);
}

void inventory_forget(struct inventory *inv, struct str namespace, struct str name)
{
	struct inventory_claim *c = find_claim(inv, namespace, name);

	if (c && c->assumed)
		claim_drop(inv, c);
}

bool inventory_next_claim(const struct inventory *inv, size_t *at,
			  const struct inventory_claim **ret_claim)
{
	struct str key;
	void *value;

	if (!map_next(&inv->claims, at, &key, &value))
		return false;
	*ret_claim = value;
	return true;
}

void inventory_remove_claims(struct inventory *inv)
{
	struct str key;
	size_t at = 0;
	void *value;

	while (map_next(&inv->claims, &at, &key, &value))
		claim_free(inv, value);
	map_clear(&inv->claims);
}

void inventory_claims_release(struct inventory *inv)
{
	inventory_remove_claims(inv);
	map_release(&inv->claims);
}

/* --- amounts ------------------------------------------------------------------------ */

struct quantity inventory_consumed(const struct inventory_device *d,
				   const struct inventory_capacity *c)
{
	struct quantity q = quantity_of(0, c->value->format);

	for (size_t i = 0; d->use && i < d->use->nconsumed; i++)
		if (str_eq(d->use->consumed[i].name, c->name))
			q = quantity_add(q, d->use->consumed[i].value);
	q.format = c->value->format;
	return q;
}

struct quantity inventory_remaining(const struct inventory_device *d,
				    const struct inventory_capacity *c)
{
	return quantity_sub(*c->value, inventory_consumed(d, c));
}
