/*
 * Links are kept as text, "FROM\nTO", in an ordered map: from a rule or slice to the claims that
 * it evicts, and from a claim to its pods. So nothing points to a freed object. A change affects
 * what it links to now and what it linked to before.
 */
#include "controller/taint_eviction/book.h"

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/ordered/omap.h"
#include "controller/devices/devices_touch.h"
#include "controller/taint_eviction/judge.h"
#include "dra/claims/pod_claims.h"
#include "dra/inventory/content.h"

/* One link. */
struct lead {
	struct lead *next; /* of the same target */
	size_t from_n;
	struct str text; /* FROM\nTO */
};

struct tainted_claim {
	struct str key;
	struct eviction *eviction;
	struct lead *leads; /* links from its sources */
	char text[];
};

struct tainted_pod {
	struct taint_pod pod;
	struct lead *leads; /* links from its claims */
};

struct taint_book {
	struct taint_book_opts opts;
	struct map claims; /* key -> struct tainted_claim */
	struct omap pods; /* key -> struct tainted_pod */
	struct omap to_claims, to_pods; /* struct lead */
	struct devices_names changed_claims, changed_pods;
	struct arena scratch; /* for one object */
};

/* --- leads ----------------------------------------------------------------------------------- */

static void lead_add(struct omap *map, struct lead **leads, struct str from, struct str to)
{
	struct lead *l = xmalloc(sizeof(*l) + from.n + to.n + 1);
	char *text = (char *)(l + 1);

	str_put(text, from);
	text[from.n] = '\n';
	str_put(text + from.n + 1, to);
	*l = (struct lead){ *leads, from.n, str_of(text, from.n + 1 + to.n) };
	if (omap_get(map, l->text)) {
		free(l);
		return;
	}
	(void)omap_put(map, l->text, l);
	*leads = l;
}

static void leads_drop(struct omap *map, struct lead *l)
{
	while (l) {
		struct lead *next = l->next;

		(void)omap_remove(map, l->text);
		free(l);
		l = next;
	}
}

/* Marks everything that `from` links to. */
static void follow_leads(const struct omap *map, const char *kind, struct str from,
			 struct devices_names *to)
{
	struct buf prefix = BUF_INIT(4 * KIB);
	struct omap_cursor c;

	(void)buf_printf(&prefix, "%s%.*s\n", kind, STR_ARG(from));
	for (bool ok = omap_seek_prefix(map, &c, buf_str(&prefix)); ok;
	     ok = omap_next_prefix(&c, buf_str(&prefix))) {
		const struct lead *l = omap_value(&c);

		devices_names_add(to, str_skip(l->text, l->from_n + 1));
	}
	buf_release(&prefix);
}

/* --- marks ----------------------------------------------------------------------------------- */

static void mark_holders(void *arg, const struct inventory_use *use)
{
	struct taint_book *b = arg;

	LIST_FOREACH (it, &use->holders)
		devices_names_add(&b->changed_claims,
				  LIST_ENTRY(it, struct inventory_holder, link)->claim->key);
}

void taint_book_slice(struct taint_book *b, struct str name)
{
	const struct inventory_slice *s = inventory_slice(b->opts.inventory, name);

	follow_leads(&b->to_claims, EVICTION_SLICE, name, &b->changed_claims);
	for (size_t i = 0; s && s->current && i < s->ndevices; i++)
		if (s->devices[i].use && taint_judge_own(&s->devices[i]))
			mark_holders(b, s->devices[i].use);
}

void taint_book_rule(struct taint_book *b, struct str name)
{
	const struct inventory_rule *rule = inventory_rule(b->opts.inventory, name);

	follow_leads(&b->to_claims, EVICTION_RULE, name, &b->changed_claims);
	if (rule && rule->taint.effect == INVENTORY_EFFECT_NO_EXECUTE)
		taint_judge_select(b->opts.inventory, rule, mark_holders, b);
}

void taint_book_claim(struct taint_book *b, struct str key)
{
	devices_names_add(&b->changed_claims, key);
}

void taint_book_pod(struct taint_book *b, struct str key)
{
	if (b->claims.n > 0 || b->changed_claims.v.n > 0 || omap_get(&b->pods, key))
		devices_names_add(&b->changed_pods, key);
}

/* --- claims ---------------------------------------------------------------------------------- */

static void drop_claim(struct taint_book *b, struct tainted_claim *c)
{
	leads_drop(&b->to_claims, c->leads);
	free(c->eviction);
	free(c);
}

static void put_claim(struct taint_book *b, struct str key, struct eviction *e)
{
	struct tainted_claim *c = xcalloc(1, sizeof(*c) + key.n);

	str_put(c->text, key);
	c->key = str_of(c->text, key.n);
	c->eviction = e;
	for (size_t i = 0; i < e->n; i++)
		lead_add(&b->to_claims, &c->leads, e->sources[i], c->key);
	(void)map_put(&b->claims, c->key, c);
}

static void mark_users(struct taint_book *b, struct str ns, const struct json *claim)
{
	JSON_FOREACH (it, json_getz(json_getz(claim, "status"), "reservedFor")) {
		char key[512];
		struct str name = json_text_at(it, "name");
		int n = snprintf(key, sizeof(key), "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));

		if (str_eqz(json_text_at(it, "resource"), "pods") &&
		    json_text_at(it, "apiGroup").n == 0 && n > 0 && (size_t)n < sizeof(key))
			devices_names_add(&b->changed_pods, str_of(key, (size_t)n));
	}
}

static void look_at_claim(struct taint_book *b, struct str key)
{
	struct tainted_claim *known = map_get(&b->claims, key);
	struct str name = key, ns = STR_NULL;
	const struct json *claim = NULL;
	struct eviction *made = NULL;

	(void)str_split(&name, '/', &ns);
	if (taint_judge_concerned(inventory_claim(b->opts.inventory, ns, name))) {
		struct eviction_draft draft = { .arena = &b->scratch };

		claim = b->opts.claim(b->opts.arg, key, &b->scratch);
		taint_judge_claim(b->opts.inventory, claim, NULL, &draft);
		made = eviction_new(&draft);
	}
	if (known || made)
		follow_leads(&b->to_pods, "", key, &b->changed_pods);
	if (known) {
		(void)map_remove(&b->claims, known->key);
		drop_claim(b, known);
	}
	if (made) {
		put_claim(b, key, made);
		mark_users(b, ns, claim);
	}
	arena_clear(&b->scratch);
}

/* --- pods ------------------------------------------------------------------------------------ */

static void free_pod(struct taint_book *b, struct tainted_pod *p)
{
	leads_drop(&b->to_pods, p->leads);
	free(p->pod.eviction);
	free(p);
}

static void drop_pod(struct taint_book *b, struct tainted_pod *p, enum taint_change why)
{
	(void)omap_remove(&b->pods, p->pod.key);
	if (!p->pod.evicted)
		b->opts.told(b->opts.arg, &p->pod, why);
	free_pod(b, p);
}

static struct tainted_pod *make_pod(struct taint_book *b, struct str key, struct str uid)
{
	struct tainted_pod *p = xcalloc(1, sizeof(*p) + key.n + uid.n);
	char *text = (char *)(p + 1);

	str_put(text, key);
	str_put(text + key.n, uid);
	p->pod.key = str_of(text, key.n);
	p->pod.uid = str_of(text + key.n, uid.n);
	(void)omap_put(&b->pods, p->pod.key, p);
	return p;
}

/* Adds what one claim of a pod demands, and the link from the claim to the pod. */
static void join_claim(struct taint_book *b, struct tainted_pod *p, const struct json *pod,
		       struct str claim, bool owned, struct eviction_draft *draft)
{
	struct str key = p->pod.key, ns = STR_NULL;
	const struct tainted_claim *c;
	const struct json *tree;

	(void)str_split(&key, '/', &ns);
	key = str_from(arena_printf(&b->scratch, "%.*s/%.*s", STR_ARG(ns), STR_ARG(claim)));
	c = map_get(&b->claims, key);
	if (!c)
		return;
	tree = b->opts.claim(b->opts.arg, key, &b->scratch);
	if (!taint_judge_uses(pod, tree, owned))
		return;
	eviction_join(draft, c->eviction);
	lead_add(&b->to_pods, &p->leads, key, p->pod.key);
}

static struct eviction *judge_pod(struct taint_book *b, struct tainted_pod *p,
				  const struct json *pod)
{
	struct eviction_draft draft = { .arena = &b->scratch };
	struct str extended = pod_claims_extended(pod);

	leads_drop(&b->to_pods, p->leads);
	p->leads = NULL;
	JSON_FOREACH (it, json_getz(json_getz(pod, "spec"), "resourceClaims")) {
		struct pod_claims_ref ref = pod_claims_ref_of(pod, it);

		if (ref.state == POD_CLAIMS_REF_NAMED)
			join_claim(b, p, pod, ref.claim, ref.template.n > 0, &draft);
	}
	if (extended.n > 0)
		join_claim(b, p, pod, extended, true, &draft);
	return eviction_new(&draft);
}

static void look_at_pod(struct taint_book *b, struct str key)
{
	struct tainted_pod *known = omap_get(&b->pods, key);
	const struct json *pod = b->opts.pod(b->opts.arg, key, &b->scratch);
	struct str uid = json_text_at(json_getz(pod, "metadata"), "uid");
	struct eviction *made;

	if (known && !str_eq(known->pod.uid, uid)) {
		drop_pod(b, known, TAINT_POD_LEFT);
		known = NULL;
	}
	if (!taint_judge_runs(pod)) {
		if (known)
			drop_pod(b, known, TAINT_POD_LEFT);
		return;
	}
	if (!known)
		known = make_pod(b, key, uid);
	made = judge_pod(b, known, pod);
	if (made && eviction_equal(made, known->pod.eviction)) {
		free(made);
	} else if (made) {
		free(known->pod.eviction);
		known->pod.eviction = made;
		if (!known->pod.evicted)
			b->opts.told(b->opts.arg, &known->pod, TAINT_POD_DUE);
	} else if (known->pod.eviction) {
		drop_pod(b, known, TAINT_POD_SPARED);
	} else {
		(void)omap_remove(&b->pods, known->pod.key);
		free_pod(b, known);
	}
}

/* --- settling -------------------------------------------------------------------------------- */

void taint_book_settle(struct taint_book *b)
{
	inventory_settle(b->opts.inventory);
	for (size_t i = 0; i < b->changed_claims.v.n; i++)
		look_at_claim(b, b->changed_claims.v.v[i]);
	devices_names_clear(&b->changed_claims);
	for (size_t i = 0; i < b->changed_pods.v.n; i++) {
		look_at_pod(b, b->changed_pods.v.v[i]);
		arena_clear(&b->scratch);
	}
	devices_names_clear(&b->changed_pods);
}

const struct taint_pod *taint_book_find(const struct taint_book *b, struct str key)
{
	const struct tainted_pod *p = omap_get(&b->pods, key);

	return p ? &p->pod : NULL;
}

void taint_book_evicted(struct taint_book *b, struct str key, struct str uid)
{
	struct tainted_pod *p = omap_get(&b->pods, key);

	if (p && str_eq(p->pod.uid, uid))
		p->pod.evicted = true;
}

/* --- counting -------------------------------------------------------------------------------- */

/* Pods of a namespace are adjacent. */
static void count_pod(struct taint_counts *counts, struct str *last_ns, struct str key)
{
	struct str ns = STR_NULL;

	(void)str_split(&key, '/', &ns);
	counts->pods++;
	if (!str_eq(ns, *last_ns))
		counts->namespaces++;
	*last_ns = ns;
}

void taint_book_pending(const struct taint_book *b, struct str rule, struct taint_counts *ret)
{
	struct str last_ns = STR_NULL;
	struct buf source = BUF_INIT(4 * KIB);
	struct omap_cursor c;

	*ret = (struct taint_counts){ 0 };
	(void)buf_printf(&source, EVICTION_RULE "%.*s", STR_ARG(rule));
	for (bool ok = omap_first(&b->pods, &c); ok; ok = omap_next(&c)) {
		const struct tainted_pod *p = omap_value(&c);

		if (!p->pod.evicted && eviction_has(p->pod.eviction, buf_str(&source)))
			count_pod(ret, &last_ns, p->pod.key);
	}
	buf_release(&source);
}

struct foreseen {
	struct taint_book *book;
	int64_t allocated;
	struct devices_names claims;
	struct omap pods; /* keys are text in the arena */
	struct arena arena;
};

static void foresee_use(void *arg, const struct inventory_use *use)
{
	struct foreseen *f = arg;

	LIST_FOREACH (it, &use->holders) {
		f->allocated++;
		devices_names_add(&f->claims,
				  LIST_ENTRY(it, struct inventory_holder, link)->claim->key);
	}
}

static void foresee_pod(struct foreseen *f, struct str ns, struct str claim,
			const struct json *tree, const struct json *user)
{
	struct taint_book *b = f->book;
	struct str name = json_text_at(user, "name");
	char *key = arena_printf(&f->arena, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));
	const struct json *pod = b->opts.pod(b->opts.arg, str_from(key), &b->scratch);

	if (taint_judge_runs(pod) && taint_judge_names(pod, claim, tree))
		(void)omap_put(&f->pods, str_from(key), key);
}

static void foresee_claim(struct foreseen *f, const struct inventory_rule *rule, struct str key)
{
	struct taint_book *b = f->book;
	struct eviction_draft draft = { .arena = &b->scratch };
	const struct json *tree = b->opts.claim(b->opts.arg, key, &b->scratch);
	struct str name = key, ns = STR_NULL;

	(void)str_split(&name, '/', &ns);
	taint_judge_claim(b->opts.inventory, tree, rule, &draft);
	if (draft.n > 0)
		JSON_FOREACH (it, json_getz(json_getz(tree, "status"), "reservedFor"))
			foresee_pod(f, ns, name, tree, it);
	arena_clear(&b->scratch);
}

void taint_book_foresee(struct taint_book *b, struct str name, struct taint_counts *ret)
{
	const struct inventory_rule *rule = inventory_rule(b->opts.inventory, name);
	struct foreseen f = { .book = b };
	struct str last_ns = STR_NULL;
	struct omap_cursor c;

	*ret = (struct taint_counts){ 0 };
	if (!rule)
		return;
	devices_names_init(&f.claims);
	omap_init(&f.pods);
	arena_init(&f.arena, SIZE_MAX);
	ret->published = taint_judge_select(b->opts.inventory, rule, foresee_use, &f);
	for (size_t i = 0; i < f.claims.v.n; i++)
		foresee_claim(&f, rule, f.claims.v.v[i]);
	ret->allocated = f.allocated;
	for (bool ok = omap_first(&f.pods, &c); ok; ok = omap_next(&c))
		count_pod(ret, &last_ns, omap_key(&c));
	devices_names_release(&f.claims);
	omap_release(&f.pods);
	arena_release(&f.arena);
}

/* --- life ------------------------------------------------------------------------------------ */

struct taint_book *taint_book_new(const struct taint_book_opts *opts)
{
	struct taint_book *b = XNEW(struct taint_book);

	b->opts = *opts;
	map_init(&b->claims);
	omap_init(&b->pods);
	omap_init(&b->to_claims);
	omap_init(&b->to_pods);
	devices_names_init(&b->changed_claims);
	devices_names_init(&b->changed_pods);
	arena_init(&b->scratch, REQUEST_WORK_MAX);
	return b;
}

void taint_book_free(struct taint_book *b)
{
	struct omap_cursor c;
	struct str key;
	size_t at = 0;
	void *claim;

	if (!b)
		return;
	while (map_next(&b->claims, &at, &key, &claim))
		drop_claim(b, claim);
	for (bool ok = omap_first(&b->pods, &c); ok; ok = omap_next(&c))
		free_pod(b, omap_value(&c));
	map_release(&b->claims);
	omap_release(&b->pods);
	omap_release(&b->to_claims);
	omap_release(&b->to_pods);
	devices_names_release(&b->changed_claims);
	devices_names_release(&b->changed_pods);
	arena_release(&b->scratch);
	free(b);
}
