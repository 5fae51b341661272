/*
 * Claims: who uses which, and what drivers said. A claim is counted: the log has it until it is
 * unprepared and forgotten, and each pod that used it as long as the pod is known, so that a pod that
 * has ended still knows its devices. The index leads from (driver, pool, device) to the claims that
 * have it, those that are forgotten included; from there to pods.
 */
#include "base/mem.h"
#include "node/assign_impl.h"

/* --- claim records --------------------------------------------------------------------------- */

struct claim_rec *assign_claim_rec(const struct assign *s, struct str uid)
{
	return omap_get(&s->claims, uid);
}

static char *name_key(struct str ns, struct str name)
{
	char *key = xmalloc(ns.n + name.n + 2);

	if (ns.n > 0)
		memcpy(key, ns.p, ns.n);
	key[ns.n] = '/';
	if (name.n > 0)
		memcpy(key + ns.n + 1, name.p, name.n);
	key[ns.n + 1 + name.n] = '\0';
	return key;
}

struct claim_rec *assign_claim_new(struct str uid, struct str ns, struct str name)
{
	struct claim_rec *c = XNEW(struct claim_rec);

	c->refs = 1;
	c->uid = str_dup(uid);
	c->ns = str_dup(ns);
	c->name = str_dup(name);
	c->key = name_key(ns, name);
	vec_init(&c->drivers, SIZE_MAX);
	vec_init(&c->devices, SIZE_MAX);
	vec_init(&c->users, SIZE_MAX);
	return c;
}

bool assign_claim_add(struct assign *s, struct claim_rec *c)
{
	if (assign_claim_rec(s, str_from(c->uid)) || map_get(&s->claim_names, str_from(c->key)))
		return false;
	(void)omap_put(&s->claims, str_from(c->uid), c);
	(void)map_put(&s->claim_names, str_from(c->key), c);
	return true;
}

bool assign_claim_add_driver(struct claim_rec *c, struct str driver)
{
	size_t at = c->drivers.n;

	while (at > 0 && str_cmp(str_from(c->drivers.v[at - 1]), driver) > 0)
		at--;
	if (at > 0 && str_eqz(driver, c->drivers.v[at - 1]))
		return false;
	(void)vec_push(&c->drivers, NULL);
	memmove(&c->drivers.v[at + 1], &c->drivers.v[at], (c->drivers.n - 1 - at) * sizeof(char *));
	c->drivers.v[at] = str_dup(driver);
	return true;
}

/* --- devices and their index ----------------------------------------------------------------- */

/* NUL separates: the parts are text of API objects and of gRPC, which have none. */
static struct str device_key(struct str driver, struct str pool, struct str device, struct buf *b)
{
	(void)buf_add_str(b, driver);
	(void)buf_addc(b, '\0');
	(void)buf_add_str(b, pool);
	(void)buf_addc(b, '\0');
	(void)buf_add_str(b, device);
	return buf_str(b);
}

static int cmp_device(const struct assign_claim_device *a, const struct assign_claim_device *b)
{
	int r = str_cmp(a->driver, b->driver);

	if (r == 0)
		r = str_cmp(a->pool, b->pool);
	if (r == 0)
		r = str_cmp(a->device, b->device);
	return r != 0 ? r : str_cmp(a->share_id, b->share_id);
}

static void index_add(struct assign *s, struct claim_device_rec *d, struct claim_rec *c)
{
	struct device_index *x = map_get(&s->claim_devices, d->key);

	if (!x) {
		x = xcalloc(1, sizeof(*x) + d->key.n);
		memcpy(x->key, d->key.p, d->key.n);
		vec_init(&x->claims, SIZE_MAX);
		(void)map_put(&s->claim_devices, str_of(x->key, d->key.n), x);
	}
	(void)vec_push(&x->claims, c);
}

static void index_remove(struct assign *s, const struct claim_device_rec *d,
			 const struct claim_rec *c)
{
	struct device_index *x = map_get(&s->claim_devices, d->key);
	size_t at = 0;

	while (x->claims.v[at] != c)
		at++;
	vec_remove_swap(&x->claims, at);
	if (x->claims.n > 0)
		return;
	(void)map_remove(&s->claim_devices, d->key);
	vec_release(&x->claims);
	free(x);
}

static const struct str *copy_strs(struct arena *a, const struct str *v, size_t n)
{
	struct str *copy = ARENA_ARRAY(a, struct str, n);

	for (size_t i = 0; i < n; i++)
		copy[i] = arena_str(a, v[i]);
	return copy;
}

static struct claim_device_rec *copy_device(const struct assign_claim_device *d)
{
	struct claim_device_rec *rec = XNEW(struct claim_device_rec);
	struct buf key = BUF_INIT(SIZE_MAX);
	struct arena *a = &rec->arena;

	arena_init_in(a, SIZE_MAX, rec->first, sizeof(rec->first));
	rec->view = (struct assign_claim_device){
		.driver = arena_str(a, d->driver),
		.pool = arena_str(a, d->pool),
		.device = arena_str(a, d->device),
		.share_id = arena_str(a, d->share_id),
		.requests = copy_strs(a, d->requests, d->nrequests),
		.nrequests = d->nrequests,
		.cdi = copy_strs(a, d->cdi, d->ncdi),
		.ncdi = d->ncdi,
	};
	rec->key = arena_str(a, device_key(d->driver, d->pool, d->device, &key));
	buf_release(&key);
	return rec;
}

static void free_device(struct assign *s, const struct claim_rec *c, struct claim_device_rec *d)
{
	index_remove(s, d, c);
	arena_release(&d->arena);
	free(d);
}

static bool all_utf8(const struct str *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!str_is_utf8(v[i]))
			return false;
	}
	return true;
}

/* Whether the checkpoint could say it: a driver may send anything. */
static bool printable(const struct assign_claim_device *d)
{
	return str_is_utf8(d->driver) && str_is_utf8(d->pool) && str_is_utf8(d->device) &&
	       str_is_utf8(d->share_id) && all_utf8(d->requests, d->nrequests) &&
	       all_utf8(d->cdi, d->ncdi);
}

void assign_claim_add_device(struct assign *s, struct claim_rec *c,
			     const struct assign_claim_device *d)
{
	struct claim_device_rec *rec;
	size_t at = c->devices.n;

	if (!printable(d))
		return;
	while (at > 0 && cmp_device(&c->devices.v[at - 1]->view, d) > 0)
		at--;
	if (at > 0 && cmp_device(&c->devices.v[at - 1]->view, d) == 0)
		return; /* named twice: the first counts */
	rec = copy_device(d);
	(void)vec_push(&c->devices, NULL);
	memmove(&c->devices.v[at + 1], &c->devices.v[at],
		(c->devices.n - 1 - at) * sizeof(c->devices.v[0]));
	c->devices.v[at] = rec;
	index_add(s, rec, c);
}

static void free_claim(struct assign *s, struct claim_rec *c)
{
	for (size_t i = 0; i < c->devices.n; i++)
		free_device(s, c, c->devices.v[i]);
	for (size_t i = 0; i < c->drivers.n; i++)
		free(c->drivers.v[i]);
	for (size_t i = 0; i < c->users.n; i++)
		free(c->users.v[i].uid);
	vec_release(&c->devices);
	vec_release(&c->drivers);
	vec_release(&c->users);
	free(c->uid);
	free(c->ns);
	free(c->name);
	free(c->key);
	free(c);
}

void assign_claim_unref(struct assign *s, struct claim_rec *c)
{
	if (--c->refs == 0)
		free_claim(s, c);
}

void assign_free_claims(struct assign *s)
{
	struct omap_cursor c;

	for (bool ok = omap_first(&s->claims, &c); ok; ok = omap_next(&c))
		assign_claim_unref(s, omap_value(&c));
	omap_clear(&s->claims);
	map_clear(&s->claim_names);
}

/* --- users and links ------------------------------------------------------------------------- */

struct claim_user *assign_claim_user(const struct claim_rec *c, struct str pod_uid)
{
	for (size_t i = 0; i < c->users.n; i++) {
		if (str_eqz(pod_uid, c->users.v[i].uid))
			return &c->users.v[i];
	}
	return NULL;
}

struct claim_user *assign_claim_need_user(struct claim_rec *c, struct str pod_uid)
{
	struct claim_user *u = assign_claim_user(c, pod_uid);
	size_t at = c->users.n;

	if (u)
		return u;
	while (at > 0 && str_cmp(str_from(c->users.v[at - 1].uid), pod_uid) > 0)
		at--;
	(void)vec_push(&c->users, (struct claim_user){ 0 });
	memmove(&c->users.v[at + 1], &c->users.v[at],
		(c->users.n - 1 - at) * sizeof(c->users.v[0]));
	c->users.v[at] = (struct claim_user){ .uid = str_dup(pod_uid) };
	return &c->users.v[at];
}

static void drop_user(struct claim_rec *c, struct claim_user *u)
{
	free(u->uid);
	vec_remove(&c->users, (size_t)(u - c->users.v));
}

struct claim_link *assign_pod_claim(const struct pod_rec *p, struct str name)
{
	for (size_t i = 0; i < p->claims.n; i++) {
		if (str_eqz(name, p->claims.v[i].name))
			return &p->claims.v[i];
	}
	return NULL;
}

void assign_pod_link(struct pod_rec *p, struct str name, struct claim_rec *c)
{
	size_t at = p->claims.n;

	while (at > 0 && str_cmp(str_from(p->claims.v[at - 1].name), name) > 0)
		at--;
	(void)vec_push(&p->claims, (struct claim_link){ 0 });
	memmove(&p->claims.v[at + 1], &p->claims.v[at],
		(p->claims.n - 1 - at) * sizeof(p->claims.v[0]));
	p->claims.v[at] = (struct claim_link){ .name = str_dup(name), .claim = c };
	c->refs++;
	assign_claim_need_user(c, str_from(p->uid))->pod = p;
}

static bool linked(const struct pod_rec *p, const struct claim_rec *c)
{
	for (size_t i = 0; i < p->claims.n; i++) {
		if (p->claims.v[i].claim == c)
			return true;
	}
	return false;
}

void assign_pod_unlink(struct assign *s, struct pod_rec *p, size_t at)
{
	struct claim_rec *c = p->claims.v[at].claim;
	struct claim_user *u;

	free(p->claims.v[at].name);
	vec_remove(&p->claims, at);
	if (!linked(p, c)) {
		u = assign_claim_user(c, str_from(p->uid));
		u->pod = NULL;
		if (!u->uses)
			drop_user(c, u);
	}
	assign_claim_unref(s, c);
}

/* Every pod that has or had it. */
static void tell_pods(struct assign *s, const struct claim_rec *c)
{
	for (size_t i = 0; i < c->users.n; i++) {
		if (c->users.v[i].pod)
			assign_tell(s, ASSIGN_POD, c->users.v[i].pod, STR_NULL, STR_NULL);
	}
}

/* --- verbs ----------------------------------------------------------------------------------- */

static int find_or_make(struct assign *s, const struct assign_claim *claim,
			struct claim_rec **ret_claim, struct error *err)
{
	CLEANUP(free) char *key = name_key(claim->ns, claim->name);
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
	if (!c) {
		c = assign_claim_new(claim->uid, claim->ns, claim->name);
		(void)assign_claim_add(s, c);
	}
	*ret_claim = c;
	return 0;
}

/* The pod's entry is this claim from now on; a past one of the same name makes room. */
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
	size_t kept = 0;

	if (!c)
		return;
	for (size_t i = 0; i < c->devices.n; i++) {
		struct claim_device_rec *d = c->devices.v[i];

		if (str_eq(d->view.driver, driver))
			free_device(s, c, d);
		else
			c->devices.v[kept++] = d;
	}
	c->devices.n = kept;
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
			drop_user(c, u);
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
	c->forgotten = true;
	for (size_t i = c->users.n; i-- > 0;) {
		c->users.v[i].uses = false;
		if (!c->users.v[i].pod)
			drop_user(c, &c->users.v[i]);
	}
	tell_pods(s, c);
	assign_tell(s, ASSIGN_CLAIM, NULL, STR_NULL, STR_NULL);
	assign_claim_unref(s, c);
}

/* --- views ----------------------------------------------------------------------------------- */

static void view_claim(const struct claim_rec *c, struct arena *a, struct assign_claim *ret)
{
	struct str *drivers = ARENA_ARRAY(a, struct str, c->drivers.n);
	struct str *pods = ARENA_ARRAY(a, struct str, c->users.n);
	struct assign_claim_device *devices = ARENA_ARRAY(a, struct assign_claim_device,
							  c->devices.n);
	size_t npods = 0;

	for (size_t i = 0; i < c->drivers.n; i++)
		drivers[i] = str_from(c->drivers.v[i]);
	for (size_t i = 0; i < c->devices.n; i++)
		devices[i] = c->devices.v[i]->view;
	for (size_t i = 0; i < c->users.n; i++) {
		if (c->users.v[i].uses)
			pods[npods++] = str_from(c->users.v[i].uid);
	}
	*ret = (struct assign_claim){ .uid = str_from(c->uid),
				      .ns = str_from(c->ns),
				      .name = str_from(c->name),
				      .state = c->state,
				      .drivers = drivers,
				      .ndrivers = c->drivers.n,
				      .devices = devices,
				      .ndevices = c->devices.n,
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

static int cmp_strs(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

size_t assign_pods_of_device(const struct assign *s, struct str driver, struct str pool,
			     struct str device, struct arena *a, const struct str **ret_uids)
{
	struct buf key = BUF_INIT(SIZE_MAX);
	const struct device_index *x = map_get(&s->claim_devices,
					       device_key(driver, pool, device, &key));
	size_t n = 0, kept = 0;
	struct str *v;

	buf_release(&key);
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
	qsort(v, n, sizeof(*v), cmp_strs);
	for (size_t i = 0; i < n; i++) {
		if (kept == 0 || !str_eq(v[kept - 1], v[i]))
			v[kept++] = v[i];
	}
	return kept;
}
