/*
 * Records of claims. A claim is reference counted. The log holds it until it is unprepared and
 * forgotten. Each pod that used it holds it while the pod is known, so that a pod that has ended
 * still knows its devices. The index maps (driver, pool, device) to the claims that have it,
 * including forgotten ones, and so to pods.
 */
#include "base/core/mem.h"
#include "node/assign/assign_impl.h"

/* --- claim records --------------------------------------------------------------------------- */

struct claim_rec *assign_claim_rec(const struct assign *s, struct str uid)
{
	return omap_get(&s->claims, uid);
}

char *assign_claim_key(struct str ns, struct str name)
{
	char *key = xmalloc(ns.n + name.n + 2);

	str_put(key, ns);
	key[ns.n] = '/';
	str_put(key + ns.n + 1, name);
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
	c->key = assign_claim_key(ns, name);
	vec_init(&c->drivers, SIZE_MAX);
	vec_init(&c->devices, SIZE_MAX);
	vec_init(&c->users, SIZE_MAX);
	vec_init(&c->exclusive, SIZE_MAX);
	return c;
}

bool assign_claim_add(struct assign *s, struct claim_rec *c)
{
	if (assign_claim_rec(s, str_from(c->uid)) || map_get(&s->claim_names, str_from(c->key)))
		return false;
	for (size_t i = 0; i < c->exclusive.n; i++) {
		if (map_get(&s->exclusive, str_from(c->exclusive.v[i])))
			return false;
	}
	(void)omap_put(&s->claims, str_from(c->uid), c);
	(void)map_put(&s->claim_names, str_from(c->key), c);
	for (size_t i = 0; i < c->exclusive.n; i++)
		(void)map_put(&s->exclusive, str_from(c->exclusive.v[i]), c);
	return true;
}

bool assign_claim_add_exclusive(struct claim_rec *c, struct str device)
{
	for (size_t i = 0; i < c->exclusive.n; i++) {
		if (str_eqz(device, c->exclusive.v[i]))
			return false;
	}
	(void)vec_push(&c->exclusive, str_dup(device));
	return true;
}

void assign_claim_drop_exclusive(struct assign *s, struct claim_rec *c)
{
	for (size_t i = 0; i < c->exclusive.n; i++) {
		(void)map_remove(&s->exclusive, str_from(c->exclusive.v[i]));
		free(c->exclusive.v[i]);
	}
	c->exclusive.n = 0;
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

/* NUL separates the parts: text of API objects and gRPC contains none. */
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
		str_put(x->key, d->key);
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
		.requests = arena_strs(a, d->requests, d->nrequests),
		.nrequests = d->nrequests,
		.cdi = arena_strs(a, d->cdi, d->ncdi),
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

/* Whether the checkpoint can store it: a driver may send any bytes. */
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
		return; /* listed twice: the first counts */
	rec = copy_device(d);
	(void)vec_push(&c->devices, NULL);
	memmove(&c->devices.v[at + 1], &c->devices.v[at],
		(c->devices.n - 1 - at) * sizeof(c->devices.v[0]));
	c->devices.v[at] = rec;
	index_add(s, rec, c);
}

void assign_claim_drop_devices(struct assign *s, struct claim_rec *c, struct str driver)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->devices.n; i++) {
		struct claim_device_rec *d = c->devices.v[i];

		if (str_eq(d->view.driver, driver))
			free_device(s, c, d);
		else
			c->devices.v[kept++] = d;
	}
	c->devices.n = kept;
}

const struct device_index *assign_claims_of(const struct assign *s, struct str driver,
					    struct str pool, struct str device)
{
	struct buf key = BUF_INIT(SIZE_MAX);
	const struct device_index *x = map_get(&s->claim_devices,
					       device_key(driver, pool, device, &key));

	buf_release(&key);
	return x;
}

static void free_claim(struct assign *s, struct claim_rec *c)
{
	for (size_t i = 0; i < c->devices.n; i++)
		free_device(s, c, c->devices.v[i]);
	for (size_t i = 0; i < c->drivers.n; i++)
		free(c->drivers.v[i]);
	for (size_t i = 0; i < c->users.n; i++)
		free(c->users.v[i].uid);
	for (size_t i = 0; i < c->exclusive.n; i++)
		free(c->exclusive.v[i]);
	vec_release(&c->exclusive);
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
	map_clear(&s->exclusive);
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

void assign_claim_drop_user(struct claim_rec *c, struct claim_user *u)
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
			assign_claim_drop_user(c, u);
	}
	assign_claim_unref(s, c);
}
