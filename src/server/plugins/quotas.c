/*
 * A namespace with writes to charge has a desk, which works in rounds. In a round, all waiting
 * writes are checked one by one against running copies of the quotas; then the changed copies are
 * written; then the charged writes proceed. If a quota could not be written because another
 * writer was first, only that quota is checked and written again: the others are charged. Refunds
 * have rounds of their own. If one write both refunded and charged the same amount, nobody could
 * see that there is a new charge, and the controller would take it for an old one.
 */
#include "server/plugins/quotas.h"

#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "server/core/ensure.h"
#include "server/core/parts.h"
#include "server/engine/in_namespace.h"

enum { TRIES_MAX = 10 }; /* upstream has four */

struct quotas {
	struct server *server;
	struct map desks; /* by namespace */
	struct loop_timer soon;
};

/* State beside each quota of a round. */
struct charged {
	struct desk *desk;
	bool outrun; /* another writer changed it first */
};

/* Debits to refund. */
struct refund {
	struct list link;
	struct arena arena;
	struct quota_debit *debits;
	int64_t begun_ms; /* of their charge */
};

struct desk {
	struct quotas *owner;
	struct list waiting; /* for the next round */
	struct list served; /* in this round: not rejected so far, charged if the round succeeds */
	struct list refunds; /* for the next round */
	struct list refunding; /* in this one */
	struct arena arena; /* for the round */
	struct quota *quotas;
	struct charged *charged;
	size_t n;
	bool unsure; /* a quota that was read is not committed yet */
	size_t open; /* writes under way, plus one while they are being started */
	int tries;
	bool busy; /* a round is under way */
	struct error err; /* of a write */
	struct str ns; /* stored after the struct */
};

static const struct schema_kind *core_kind(const char *resource)
{
	return schema_find_resource(STR(""), STR("v1"), str_from(resource));
}

static struct resource *resource_at(struct quotas *q, const struct schema_kind *kind)
{
	return state_resource(q->server->state, kind);
}

/* --- callbacks of evaluators -------------------------------------------------------------- */

static const struct schema_kind *class_kind(void)
{
	return schema_find_resource(STR("resource.k8s.io"), STR("v1"), STR("deviceclasses"));
}

static struct str extended_name(struct object *class, struct arena *a)
{
	static const struct str key = STR("\"extendedResourceName\"");
	struct json *tree;

	/* Most have none, which a text search shows without parsing. */
	if (str_find(str_of(class->json->data, class->json->n), key) < 0 ||
	    object_tree(class, a, &tree, NULL) < 0)
		return STR("");
	return json_text_at(json_getz(tree, "spec"), "extendedResourceName");
}

static struct str resource_of(const struct quota_context *ctx, struct str device_class)
{
	struct object *o = resource_get(resource_at(ctx->arg, class_kind()), STR(""), device_class);

	return o ? extended_name(o, ctx->arena) : STR("");
}

struct search {
	struct arena *arena;
	struct str name;
	bool found;
};

static void look_for(void *arg, const struct list_result *classes, const struct error *err UNUSED)
{
	struct search *s = arg;

	for (size_t i = 0; classes && i < classes->n && !s->found; i++)
		s->found = str_eq(extended_name(classes->items[i], s->arena), s->name);
}

/*
 * A list of committed objects is immediate. There are few classes, and only device claims use
 * this.
 */
static bool is_device(const struct quota_context *ctx, struct str extended_resource)
{
	struct search s = { ctx->arena, extended_resource, false };
	struct list_query query = { 0 };

	resource_list(resource_at(ctx->arg, class_kind()), &query, ctx->arena, look_for, &s);
	return s.found;
}

static const struct json *find_pod(const struct quota_context *ctx, struct str ns, struct str name)
{
	struct object *o = resource_tip(resource_at(ctx->arg, core_kind("pods")), ns, name);
	struct json *tree;

	return o && object_tree(o, ctx->arena, &tree, NULL) == 0 ? tree : NULL;
}

struct quota_context quotas_context(struct quotas *q, struct arena *a)
{
	return (struct quota_context){ .now_ns = clock_wall(q->server->clock),
				       .arena = a,
				       .resource_of = resource_of,
				       .is_device = is_device,
				       .pod = find_pod,
				       .arg = q };
}

/* --- desks -------------------------------------------------------------------------------- */

static void refunds_free(struct list *refunds)
{
	struct list *node;

	while ((node = list_pop_front(refunds))) {
		struct refund *r = LIST_ENTRY(node, struct refund, link);

		arena_release(&r->arena);
		free(r);
	}
}

static void desk_free(struct desk *d)
{
	refunds_free(&d->refunds);
	refunds_free(&d->refunding);
	arena_release(&d->arena);
	free(d);
}

static struct desk *desk_of(struct quotas *q, struct str ns)
{
	struct desk *d = map_get(&q->desks, ns);
	char *name;

	if (d)
		return d;
	d = xcalloc(1, sizeof(*d) + ns.n);
	name = (char *)(d + 1);
	str_put(name, ns);
	d->ns = str_of(name, ns.n);
	d->owner = q;
	list_init(&d->waiting);
	list_init(&d->served);
	list_init(&d->refunds);
	list_init(&d->refunding);
	arena_init(&d->arena, SIZE_MAX);
	(void)map_put(&q->desks, d->ns, d);
	return d;
}

/* done() may queue it again at this desk before this function returns. */
static void dismiss(struct desk *d, struct quota_wait *w, const struct error *err)
{
	list_remove(&w->link);
	w->done(w, err, d->unsure);
}

/* With `err`, some quota was not written, or its outcome is unknown: no charge is refunded. */
static void dismiss_all(struct desk *d, const struct error *err)
{
	LIST_FOREACH_SAFE (l, &d->served) {
		struct quota_wait *w = LIST_ENTRY(l, struct quota_wait, link);

		if (err)
			w->debits = NULL;
		dismiss(d, w, err);
	}
}

/* --- a round ------------------------------------------------------------------------------ */

/* `again`: the quotas of the previous try; NULL: this is the first. */
static bool quotas_is_wanted(const struct quota *again, size_t n, const struct charged *charged,
			     struct str name)
{
	if (!again)
		return true;
	for (size_t i = 0; i < n; i++)
		if (charged[i].outrun && str_eq(again[i].name, name))
			return true;
	return false;
}

/* Reads the current quotas: all, or in a further try those that were not written. */
static void read_quotas(struct desk *d)
{
	struct quota *before = d->tries ? d->quotas : NULL;
	struct charged *charged = d->charged;
	size_t nbefore = d->n, n;
	struct object **objects = NULL;
	struct json *tree;

	n = in_namespace(resource_at(d->owner, core_kind("resourcequotas")), d->ns, &d->arena,
			 &objects);
	d->quotas = ARENA_ARRAY(&d->arena, struct quota, n + 1);
	d->charged = ARENA_ARRAY(&d->arena, struct charged, n + 1);
	d->n = 0;
	d->unsure = false;
	for (size_t i = 0; i < n; i++) {
		if (!quotas_is_wanted(before, nbefore, charged, in_namespace_name(objects[i])) ||
		    object_tree(objects[i], &d->arena, &tree, NULL) < 0)
			continue;
		quota_read(tree, &d->arena, &d->quotas[d->n]);
		d->charged[d->n++].desk = d;
		d->unsure |= !objects[i]->revision;
	}
}

/* Drops what the previous try charged to quotas that it could not write. */
static void drop_debits(const struct desk *d, struct quota_wait *w)
{
	struct quota_debit **at = &w->debits;

	while (*at) {
		size_t i = 0;

		while (i < d->n && !str_eq(d->quotas[i].name, (*at)->name))
			i++;
		if (i < d->n)
			*at = (*at)->next;
		else
			at = &(*at)->next;
	}
}

static struct quota_debit *debit_new(struct arena *a, const struct quota_debit *like)
{
	struct quota_debit *debit = ARENA_NEW(a, struct quota_debit);

	debit->name = arena_str(a, like->name);
	debit->uid = arena_str(a, like->uid);
	debit->amounts = amount_list_copy(&like->amounts, a);
	return debit;
}

static void add_debit(struct quota_wait *w, const struct quota *q, const struct amount_list *before)
{
	struct quota_debit *debit, now = { .name = q->name, .uid = q->uid, .amounts = q->used };

	amount_list_sub(&now.amounts, before);
	debit = debit_new(w->arena, &now);
	debit->next = w->debits;
	w->debits = debit;
}

static int charge(struct desk *d, struct quota_wait *w, const struct quota_context *ctx,
		  bool *ret_changed, struct error *err)
{
	struct amount_list *before = ARENA_ARRAY(&d->arena, struct amount_list, d->n + 1);
	int r;

	drop_debits(d, w);
	for (size_t i = 0; i < d->n; i++)
		before[i] = d->quotas[i].used;
	r = quota_charge(d->quotas, d->n, &w->request, ctx, ret_changed, err);
	for (size_t i = 0; i < d->n && r == 0; i++)
		if (d->quotas[i].used.v != before[i].v)
			add_debit(w, &d->quotas[i], &before[i]);
	return r;
}

static void quotas_judge(struct desk *d)
{
	struct quota_context ctx = quotas_context(d->owner, &d->arena);

	LIST_FOREACH_SAFE (l, &d->served) {
		struct quota_wait *w = LIST_ENTRY(l, struct quota_wait, link);
		struct error err = { 0 };
		bool changed;

		if (charge(d, w, &ctx, &changed, &err) < 0)
			dismiss(d, w, &err);
		else if (!changed && !d->tries)
			dismiss(d, w, NULL);
	}
}

static int64_t quotas_now_ms(const struct desk *d)
{
	return loop_now(d->owner->server->opts.loops[0]);
}

/* Only existing names: an unknown sum must not become known by a refund. */
static void give_back(struct quota *q, const struct quota_debit *debit)
{
	static const struct quantity zero;

	if (!str_eq(q->name, debit->name) || !str_eq(q->uid, debit->uid))
		return;
	for (size_t i = 0; i < debit->amounts.n; i++) {
		const struct amount *a = &debit->amounts.v[i];
		const struct quantity *used = amount_list_get(&q->used, a->name);
		struct quantity left = used ? quantity_sub(*used, a->q) : zero;

		if (!used || quantity_sign(a->q) <= 0)
			continue;
		amount_list_set(&q->used, a->name, quantity_sign(left) > 0 ? left : zero);
		q->changed = true;
	}
}

/* An older charge is left to the controller, which may have released it already. */
static void refund(struct desk *d)
{
	LIST_FOREACH_SAFE (l, &d->refunding) {
		struct refund *r = LIST_ENTRY(l, struct refund, link);

		if (quotas_now_ms(d) - r->begun_ms >= QUOTA_CHARGE_MS)
			continue;
		for (struct quota_debit *debit = r->debits; debit; debit = debit->next)
			for (size_t i = 0; i < d->n; i++)
				give_back(&d->quotas[i], debit);
	}
}

static void end_writes(struct desk *d);

static void quotas_on_written(void *arg, const struct error *err, bool outrun)
{
	struct charged *c = arg;

	c->outrun = outrun;
	if (err && c->desk->err.code == ERR_OK)
		c->desk->err = *err;
	end_writes(c->desk);
}

static void write_quota(struct desk *d, size_t i)
{
	const struct schema_kind *kind = core_kind("resourcequotas");
	struct ensure *e = ensure_new(d->owner->server, quotas_on_written, &d->charged[i]);
	struct arena *a = ensure_arena(e);
	struct json *old = ensure_tree(e, kind, d->ns, d->quotas[i].name);
	struct json *patch = json_make_object(a), *status = json_make_object(a);

	d->open++;
	json_setz(patch, "status", status);
	json_setz(status, "used", amount_list_tree(&d->quotas[i].used, a));
	if (old)
		ensure_patch_status(e, kind, old, patch, ENSURE_MANAGER);
	ensure_end(e);
}

static void write_quotas(struct desk *d)
{
	d->open = 1;
	d->err = (struct error){ 0 };
	for (size_t i = 0; i < d->n; i++)
		if (d->quotas[i].changed)
			write_quota(d, i);
	end_writes(d);
}

static void run_round(struct desk *d)
{
	read_quotas(d);
	refund(d);
	quotas_judge(d);
	write_quotas(d);
}

static bool has_work(const struct desk *d)
{
	return !list_empty(&d->waiting) || !list_empty(&d->refunds);
}

static void end_round(struct desk *d)
{
	struct quotas *q = d->owner;

	d->busy = false;
	d->tries = 0;
	d->quotas = NULL;
	d->charged = NULL;
	d->n = 0;
	arena_clear(&d->arena);
	refunds_free(&d->refunding);
	if (!has_work(d)) {
		(void)map_remove(&q->desks, d->ns);
		desk_free(d);
	} else {
		loop_timer_start(&q->soon, 0);
	}
}

static bool any_outrun(const struct desk *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->charged[i].outrun)
			return true;
	return false;
}

static void end_writes(struct desk *d)
{
	if (--d->open > 0)
		return;
	d->unsure = false; /* the charges are committed */
	if (d->err.code == ERR_OK && any_outrun(d)) {
		if (++d->tries < TRIES_MAX) {
			run_round(d);
			return;
		}
		(void)error_set(&d->err, ERR_CONFLICT,
				"the quotas of namespace %.*s are being changed too often; please "
				"try again",
				STR_ARG(d->ns));
	}
	dismiss_all(d, d->err.code == ERR_OK ? NULL : &d->err);
	end_round(d);
}

static void begin_round(struct desk *d)
{
	if (d->busy)
		return;
	d->busy = true;
	if (!list_empty(&d->refunds)) {
		list_splice_back(&d->refunding, &d->refunds);
		run_round(d);
		return;
	}
	LIST_FOREACH_SAFE (l, &d->waiting) {
		LIST_ENTRY(l, struct quota_wait, link)->begun_ms = quotas_now_ms(d);
		list_remove(l);
		list_push_back(&d->served, l);
	}
	run_round(d);
}

/* A desk is freed when its round ends, so the map is searched from the start each time. */
static struct desk *next_idle(struct quotas *q)
{
	struct str key;
	void *d;

	for (size_t at = 0; map_next(&q->desks, &at, &key, &d);)
		if (!((struct desk *)d)->busy && has_work(d))
			return d;
	return NULL;
}

static void on_soon(struct loop_timer *t)
{
	struct quotas *q = CONTAINER_OF(t, struct quotas, soon);
	struct desk *d;

	while ((d = next_idle(q)))
		begin_round(d);
}

/* --- lifecycle ---------------------------------------------------------------------------- */

struct quotas *quotas_new(struct server *s)
{
	struct quotas *q = XNEW(struct quotas);

	q->server = s;
	map_init(&q->desks);
	loop_timer_init(&q->soon, s->opts.loops[0], on_soon);
	return q;
}

void quotas_free(struct quotas *q)
{
	struct str key;
	void *d;

	if (!q)
		return;
	loop_timer_stop(&q->soon);
	for (size_t at = 0; map_next(&q->desks, &at, &key, &d);)
		desk_free(d);
	map_release(&q->desks);
	free(q);
}

bool quotas_limit(struct quotas *q, struct str ns, const struct quota_kind *k, struct arena *a)
{
	struct quota_context ctx = quotas_context(q, a);
	struct object **v = NULL;
	size_t n = in_namespace(resource_at(q, core_kind("resourcequotas")), ns, a, &v);
	struct json *tree;

	for (size_t i = 0; i < n; i++) {
		if (object_tree(v[i], a, &tree, NULL) < 0)
			continue;
		JSON_FOREACH (it, json_getz(json_getz(tree, "status"), "hard"))
			if (quota_kind_has(k, &ctx, json_key(it)))
				return true;
	}
	return false;
}

void quotas_charge(struct quotas *q, struct quota_wait *w)
{
	struct desk *d = desk_of(q, w->ns);

	w->debits = NULL;
	list_push_back(&d->waiting, &w->link);
	if (!d->busy)
		loop_timer_start(&q->soon, 0);
}

void quotas_give_back(struct quotas *q, struct quota_wait *w)
{
	struct desk *d;
	struct refund *r;

	if (!w->debits)
		return;
	d = desk_of(q, w->ns);
	r = XNEW(struct refund);
	arena_init(&r->arena, SIZE_MAX);
	r->begun_ms = w->begun_ms;
	for (struct quota_debit *from = w->debits; from; from = from->next) {
		struct quota_debit *debit = debit_new(&r->arena, from);

		debit->next = r->debits;
		r->debits = debit;
	}
	w->debits = NULL;
	list_push_back(&d->refunds, &r->link);
	if (!d->busy)
		loop_timer_start(&q->soon, 0);
}
