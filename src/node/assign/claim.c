/*
 * Claims: which pods use them, and the devices that drivers returned.
 */
#include "base/core/mem.h"
#include "node/assign/assign_impl.h"

/* Notifies watchers for every pod that has or had the claim. */
static void tell_pods(struct assign *s, const struct claim_rec *c)
{
	for (size_t i = 0; i < c->users.n; i++) {
		if (c->users.v[i].pod)
			assign_tell(s, ASSIGN_POD, c->users.v[i].pod, STR_NULL, STR_NULL);
	}
}

/* --- verbs ----------------------------------------------------------------------------------- */

/*
 * A force-deleted pod keeps its devices until its claim is unprepared. The scheduler does not know
 * that and may give them to another claim at once.
 */
static int check_exclusive(const struct assign *s, const struct assign_claim *claim,
			   struct error *err)
{
	for (size_t i = 0; i < claim->nexclusive; i++) {
		const struct claim_rec *c = map_get(&s->exclusive, claim->exclusive[i]);

		if (c && !str_eqz(claim->uid, c->uid))
			return error_set(err, ERR_CONFLICT,
					 "device %.*s is held by ResourceClaim %s, which is not "
					 "unprepared yet (previous pod force-deleted?!)",
					 STR_ARG(claim->exclusive[i]), c->key);
	}
	return 0;
}

static bool hold_exclusive(struct assign *s, struct claim_rec *c, struct str device)
{
	if (!assign_claim_add_exclusive(c, device))
		return false;
	(void)map_put(&s->exclusive, str_from(c->exclusive.v[c->exclusive.n - 1]), c);
	return true;
}

static int find_or_make(struct assign *s, const struct assign_claim *claim,
			struct claim_rec **ret_claim, struct error *err)
{
	CLEANUP(free) char *key = assign_claim_key(claim->ns, claim->name);
	struct claim_rec *c = map_get(&s->claim_names, str_from(key));

	if (c && !str_eqz(claim->uid, c->uid))
		return error_set(err, ERR_CONFLICT,
				 "old ResourceClaim with same name %.*s and different UID %s still "
				 "exists (previous pod force-deleted?!)",
				 STR_ARG(claim->name), c->uid);
	if (!c && assign_claim_rec(s, claim->uid))
		return error_set(err, ERR_CONFLICT, "ResourceClaim %.*s has the UID of %s",
				 STR_ARG(claim->name), assign_claim_rec(s, claim->uid)->key);
	if (c && c->state == ASSIGN_CLAIM_UNPREPARING)
		return error_set(err, ERR_CONFLICT, "ResourceClaim %.*s is being unprepared",
				 STR_ARG(claim->name));
	if (check_exclusive(s, claim, err) < 0)
		return -ERR_CONFLICT;
	if (!c) {
		c = assign_claim_new(claim->uid, claim->ns, claim->name);
		(void)assign_claim_add(s, c);
	}
	*ret_claim = c;
	return 0;
}

/* Makes this claim the pod's entry `name`; a past claim of that name is unlinked. */
static bool link_claim(struct assign *s, struct pod_rec *p, struct str name, struct claim_rec *c)
{
	struct claim_link *l = assign_pod_claim(p, name);

	if (l && l->claim == c)
		return false;
	if (l)
		assign_pod_unlink(s, p, (size_t)(l - p->claims.v));
	assign_pod_link(p, name, c);
	return true;
}

int assign_claim_use(struct assign *s, const struct pod *pod, struct str pod_claim,
		     const struct assign_claim *claim, struct error *err)
{
	struct pod_rec *p = assign_pod(s, pod->uid);
	struct claim_rec *c = NULL;
	struct claim_user *u;
	bool changed = false;
	int r;

	if (p && p->ended)
		return error_set(err, ERR_CONFLICT, "pod %s has ended", p->name);
	r = find_or_make(s, claim, &c, err);
	if (r < 0)
		return r;
	if (!p) {
		p = assign_pod_new(pod->uid, pod->ns, pod->name);
		assign_pod_add(s, p);
	}
	for (size_t i = 0; i < claim->ndrivers; i++)
		changed |= assign_claim_add_driver(c, claim->drivers[i]);
	for (size_t i = 0; i < claim->nexclusive; i++)
		changed |= hold_exclusive(s, c, claim->exclusive[i]);
	changed |= link_claim(s, p, pod_claim, c);
	u = assign_claim_need_user(c, pod->uid);
	if (!u->uses || changed) {
		u->uses = true;
		assign_tell(s, ASSIGN_POD, p, STR_NULL, STR_NULL);
	}
	return 0;
}

void assign_claim_set_devices(struct assign *s, struct str claim_uid, struct str driver,
			      const struct assign_claim_device *v, size_t n)
{
	struct claim_rec *c = assign_claim_rec(s, claim_uid);

	if (!c)
		return;
	assign_claim_drop_devices(s, c, driver);
	(void)assign_claim_add_driver(c, driver);
	for (size_t i = 0; i < n; i++) {
		struct assign_claim_device d = v[i];

		d.driver = driver;
		assign_claim_add_device(s, c, &d);
	}
	tell_pods(s, c);
}

void assign_claim_set_state(struct assign *s, struct str claim_uid, enum assign_claim_state st)
{
	struct claim_rec *c = assign_claim_rec(s, claim_uid);

	if (!c || c->state == st)
		return;
	c->state = st;
	assign_tell(s, ASSIGN_CLAIM, NULL, STR_NULL, STR_NULL);
}

static bool used(const struct claim_rec *c)
{
	for (size_t i = 0; i < c->users.n; i++) {
		if (c->users.v[i].uses)
			return true;
	}
	return false;
}

bool assign_claim_unuse(struct assign *s, struct str claim_uid, struct str pod_uid)
{
	struct claim_rec *c = assign_claim_rec(s, claim_uid);
	struct claim_user *u = c ? assign_claim_user(c, pod_uid) : NULL;
	struct pod_rec *p = u ? u->pod : NULL;

	if (u && u->uses) {
		u->uses = false;
		if (!p)
			assign_claim_drop_user(c, u);
		assign_tell(s, p ? ASSIGN_POD : ASSIGN_CLAIM, p, STR_NULL, STR_NULL);
	}
	return c && !used(c);
}

void assign_claim_forget(struct assign *s, struct str claim_uid)
{
	struct claim_rec *c = assign_claim_rec(s, claim_uid);

	if (!c)
		return;
	(void)omap_remove(&s->claims, str_from(c->uid));
	(void)map_remove(&s->claim_names, str_from(c->key));
	assign_claim_drop_exclusive(s, c);
	c->forgotten = true;
	for (size_t i = c->users.n; i-- > 0;) {
		c->users.v[i].uses = false;
		if (!c->users.v[i].pod)
			assign_claim_drop_user(c, &c->users.v[i]);
	}
	tell_pods(s, c);
	assign_tell(s, ASSIGN_CLAIM, NULL, STR_NULL, STR_NULL);
	assign_claim_unref(s, c);
}

/* --- views ----------------------------------------------------------------------------------- */

static void view_claim(const struct claim_rec *c, struct arena *a, struct assign_claim *ret)
{
	struct str *drivers = ARENA_ARRAY(a, struct str, c->drivers.n);
	struct str *exclusive = ARENA_ARRAY(a, struct str, c->exclusive.n);
	struct str *pods = ARENA_ARRAY(a, struct str, c->users.n);
	struct assign_claim_device *devices = ARENA_ARRAY(a, struct assign_claim_device,
							  c->devices.n);
	size_t npods = 0;

	for (size_t i = 0; i < c->drivers.n; i++)
		drivers[i] = arena_str(a, str_from(c->drivers.v[i]));
	for (size_t i = 0; i < c->devices.n; i++)
		devices[i] = c->devices.v[i]->view;
	for (size_t i = 0; i < c->exclusive.n; i++)
		exclusive[i] = arena_str(a, str_from(c->exclusive.v[i]));
	for (size_t i = 0; i < c->users.n; i++) {
		if (c->users.v[i].uses)
			pods[npods++] = arena_str(a, str_from(c->users.v[i].uid));
	}
	*ret = (struct assign_claim){ .uid = arena_str(a, str_from(c->uid)),
				      .ns = arena_str(a, str_from(c->ns)),
				      .name = arena_str(a, str_from(c->name)),
				      .state = c->state,
				      .drivers = drivers,
				      .ndrivers = c->drivers.n,
				      .devices = devices,
				      .ndevices = c->devices.n,
				      .exclusive = exclusive,
				      .nexclusive = c->exclusive.n,
				      .pods = pods,
				      .npods = npods };
}

bool assign_claim_get(const struct assign *s, struct str claim_uid, struct arena *a,
		      struct assign_claim *ret_claim)
{
	const struct claim_rec *c = assign_claim_rec(s, claim_uid);

	if (c)
		view_claim(c, a, ret_claim);
	return c != NULL;
}

bool assign_claim_next(const struct assign *s, struct str *at_uid, struct arena *a,
		       struct assign_claim *ret_claim)
{
	struct omap_cursor c;

	if (!omap_seek_after(&s->claims, &c, *at_uid))
		return false;
	view_claim(omap_value(&c), a, ret_claim);
	*at_uid = ret_claim->uid;
	return true;
}

size_t assign_pods_of_device(const struct assign *s, struct str driver, struct str pool,
			     struct str device, struct arena *a, const struct str **ret_uids)
{
	const struct device_index *x = assign_claims_of(s, driver, pool, device);
	size_t n = 0, kept = 0;
	struct str *v;

	*ret_uids = NULL;
	for (size_t i = 0; x && i < x->claims.n; i++)
		n += x->claims.v[i]->users.n;
	if (n == 0)
		return 0;
	*ret_uids = v = ARENA_ARRAY(a, struct str, n);
	n = 0;
	for (size_t i = 0; i < x->claims.n; i++) {
		const struct claim_rec *c = x->claims.v[i];

		for (size_t u = 0; u < c->users.n; u++) {
			if (c->users.v[u].pod)
				v[n++] = str_from(c->users.v[u].uid);
		}
	}
	qsort(v, n, sizeof(*v), str_order);
	for (size_t i = 0; i < n; i++) {
		if (kept == 0 || !str_eq(v[kept - 1], v[i]))
			v[kept++] = v[i];
	}
	return kept;
}
