/*
 * For each claim, by key, it keeps the latest version from the watch, and the API server's reply to
 * our write if that is newer. The newer one is the view: lookups use it, and the inventory has its
 * allocation under the claim's name.
 *
 * A decision is a second entry of the inventory, under a name that no claim can have. So its
 * devices stay held whatever happens to the claim: someone else may allocate and deallocate it
 * during our write, which may still succeed. The reply that stores the decision ends it, and in the
 * same step the claim takes over the devices.
 */
#include "scheduler/dra/state.h"

#include "api/api_limits.h"
#include "api/schema/gates.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "client/informer/cached.h"
#include "dra/claims/pod_claims.h"
#include "dra/inventory/content.h"
#include "scheduler/cache/cluster_event.h"

enum { UID_MAX = 64 };

struct claim_entry {
	struct str key; /* of the heap */
	struct cached *seen; /* by the watch; or NULL */
	struct cached *ours; /* newer than that; or NULL */
	bool allocated;
	char owner[UID_MAX];
	size_t owner_n;
	char for_pod[UID_MAX]; /* of a claim for extended resources: in s->by_pod */
	size_t for_pod_n;
	unsigned decisions;
	uint64_t freed; /* the version with which it last gave devices back */
	struct list waiters;
	struct list unseen; /* in s->unseen: ours, which the watch never showed */
};

/* By uid of the claim. */
struct decision {
	struct str uid, ns, name; /* name: in the inventory */
	struct str key; /* of the claim */
	bool stored; /* its devices are the claim's */
	char text[];
};

struct dra_state {
	struct gates gates;
	const struct log *log;
	struct inventory *inventory;
	struct map claims; /* key -> struct claim_entry */
	struct map decisions; /* uid -> struct decision */
	struct map by_pod; /* uid of a pod -> struct claim_entry */
	struct list unseen; /* struct claim_entry */
	struct arena work; /* of one call */

	/* The last result of dra_state_change(), and its arguments. */
	const struct cached *asked_old, *asked;
	uint64_t asked_revision;
	struct dra_change answer;
	uint64_t removed; /* version of the last removed claim that held devices */
};

static struct inventory_features features(const struct gates *g)
{
	return (struct inventory_features){
		.admin_access = gates_on(g, GATE_DRAAdminAccess),
		.prioritized_list = gates_on(g, GATE_DRAPrioritizedList),
		.partitionable = gates_on(g, GATE_DRAPartitionableDevices),
		.taints = gates_on(g, GATE_DRADeviceTaints),
		.binding_conditions = gates_on(g, GATE_DRADeviceBindingConditions) &&
				      gates_on(g, GATE_DRAResourceClaimDeviceStatus),
		.consumable_capacity = gates_on(g, GATE_DRAConsumableCapacity),
		.fractional_range = gates_on(g, GATE_DRAFractionalCapacityRange),
		.list_attributes = gates_on(g, GATE_DRAListTypeAttributes),
		.derived_attributes = gates_on(g, GATE_DRADerivedAttributes),
		.compatibility_groups = gates_on(g, GATE_DRADeviceCompatibilityGroups),
	};
}

struct dra_state *dra_state_new(const struct gates *gates, const struct log *log)
{
	struct dra_state *s = XNEW(struct dra_state);

	if (gates)
		s->gates = *gates;
	else
		gates_init(&s->gates);
	s->log = log ? log : log_null();
	s->inventory = inventory_new(features(&s->gates));
	map_init(&s->claims);
	map_init(&s->decisions);
	map_init(&s->by_pod);
	list_init(&s->unseen);
	arena_init(&s->work, REQUEST_WORK_MAX);
	return s;
}

static void state_entry_free(struct claim_entry *e)
{
	list_remove(&e->unseen);
	cached_unref(e->seen);
	cached_unref(e->ours);
	free((char *)e->key.p);
	free(e);
}

void dra_state_free(struct dra_state *s)
{
	struct str key;
	size_t at = 0;
	void *value;

	if (!s)
		return;
	while (map_next(&s->claims, &at, &key, &value))
		state_entry_free(value);
	at = 0;
	while (map_next(&s->decisions, &at, &key, &value))
		free(value);
	map_release(&s->claims);
	map_release(&s->decisions);
	map_release(&s->by_pod);
	inventory_free(s->inventory);
	arena_release(&s->work);
	free(s);
}

struct inventory *dra_state_inventory(struct dra_state *s)
{
	return s->inventory;
}

const struct gates *dra_state_gates(const struct dra_state *s)
{
	return &s->gates;
}

/*
 * Returns the object's JSON tree, valid until the next call. If it cannot be parsed, logs it and
 * returns NULL.
 */
static struct json *state_tree_of(struct dra_state *s, const struct cached *o)
{
	struct json *tree = NULL;
	struct error err;

	arena_clear(&s->work);
	if (cached_tree(o, &s->work, &tree, &err) == 0)
		return tree;
	log_warn(s->log, "cannot read object", LOG_STR("key", o->key), LOG_ERR(&err));
	return NULL;
}

/* --- claims ------------------------------------------------------------------------------- */

static struct cached *view(const struct claim_entry *e)
{
	return e->ours ? e->ours : e->seen;
}

static struct claim_entry *state_find(const struct dra_state *s, struct str key)
{
	return map_get(&s->claims, key);
}

static struct claim_entry *state_need(struct dra_state *s, struct str key)
{
	struct claim_entry *e = state_find(s, key);

	if (e)
		return e;
	e = XNEW(struct claim_entry);
	e->key = str_of(str_dup(key), key.n);
	list_init(&e->waiters);
	list_init(&e->unseen);
	(void)map_put(&s->claims, e->key, e);
	return e;
}

/* Frees an entry without a claim, decisions or waiters. */
static void entry_drop(struct dra_state *s, struct claim_entry *e)
{
	if (view(e) || e->decisions || !list_empty(&e->waiters))
		return;
	(void)map_remove(&s->claims, e->key);
	state_entry_free(e);
}

/* `seen` or `ours` changed. */
static void note_unseen(struct dra_state *s, struct claim_entry *e)
{
	list_remove(&e->unseen);
	if (e->ours && !e->seen)
		list_push_back(&s->unseen, &e->unseen);
}

/* Invalidates the cached result of dra_state_change(). */
static void forget_answer(struct dra_state *s)
{
	s->asked = s->asked_old = NULL;
	s->asked_revision = 0;
}

static void dra_state_tell(struct claim_entry *e)
{
	struct list now;

	/* A waiter may remove itself, or start to wait again. */
	list_init(&now);
	list_splice_back(&now, &e->waiters);
	while (!list_empty(&now)) {
		struct dra_waiter *w = LIST_ENTRY(now.next, struct dra_waiter, link);

		list_remove(&w->link);
		list_push_back(&e->waiters, &w->link);
		w->fn(w);
	}
}

static size_t copy_uid(char *to, struct str uid)
{
	if (uid.n > UID_MAX)
		return 0;
	if (uid.n > 0)
		memcpy(to, uid.p, uid.n);
	return uid.n;
}

static void forget_pod(struct dra_state *s, struct claim_entry *e)
{
	struct str pod = str_of(e->for_pod, e->for_pod_n);

	if (pod.n > 0 && map_get(&s->by_pod, pod) == e)
		(void)map_remove(&s->by_pod, pod);
	e->for_pod_n = 0;
}

static void note_owner(struct dra_state *s, struct claim_entry *e, const struct json *meta)
{
	const struct json *notes = json_getz(meta, "annotations");
	struct str owner = STR_NULL;

	JSON_FOREACH (it, json_getz(meta, "ownerReferences"))
		if (json_true_at(it, "controller"))
			owner = json_text_at(it, "uid");
	e->owner_n = copy_uid(e->owner, owner);
	forget_pod(s, e);
	if (e->owner_n == 0 ||
	    !str_eqz(json_text_at(notes, POD_CLAIMS_EXTENDED_ANNOTATION), "true"))
		return;
	e->for_pod_n = copy_uid(e->for_pod, owner);
	(void)map_put(&s->by_pod, str_of(e->for_pod, e->for_pod_n), e);
}

/* Updates the inventory after the view has changed. */
static void state_look(struct dra_state *s, struct claim_entry *e)
{
	struct cached *o = view(e);
	struct json *tree = state_tree_of(s, o);
	const struct json *allocation = json_getz(json_getz(tree, "status"), "allocation");
	bool was = e->allocated;
	struct error err;

	forget_answer(s);
	if (!tree) {
		/* The claim cannot be read: it keeps its earlier devices. */
		dra_state_tell(e);
		return;
	}
	e->allocated = json_is(allocation, JSON_OBJECT);
	if (was && !e->allocated)
		e->freed = o->revision;
	note_owner(s, e, json_getz(tree, "metadata"));
	if (inventory_put_claim(s->inventory, tree, &err) < 0)
		log_warn(s->log, "ignoring the allocation of a claim", LOG_STR("claim", o->key),
			 LOG_ERR(&err));
	dra_state_tell(e);
}

static bool newer(const struct cached *a, const struct cached *b)
{
	return a->revision > b->revision;
}

void dra_state_put_claim(struct dra_state *s, struct cached *o)
{
	struct claim_entry *e = state_need(s, o->key);
	struct cached *old = e->seen;
	bool echo = e->ours && o->revision > 0 && e->ours->revision == o->revision &&
		    str_eq(e->ours->uid, o->uid);

	e->seen = cached_ref(o);
	cached_unref(old);
	note_unseen(s, e);
	/* The watch is behind the server's reply. This includes an older claim of the same name. */
	if (e->ours && newer(e->ours, o))
		return;
	cached_unref(e->ours);
	e->ours = NULL;
	forget_answer(s);
	/* An echo of our own write changes nothing. */
	if (!echo)
		state_look(s, e);
}

/* Removes a claim that no longer exists. */
static void vanish(struct dra_state *s, struct claim_entry *e)
{
	inventory_remove_claim(s->inventory, cached_ns(view(e)), cached_name(view(e)));
	cached_unref(e->seen);
	cached_unref(e->ours);
	e->seen = e->ours = NULL;
	note_unseen(s, e);
	e->allocated = false;
	e->owner_n = 0;
	forget_pod(s, e);
	/* Keep the entry alive during the callbacks. */
	e->decisions++;
	dra_state_tell(e);
	e->decisions--;
	entry_drop(s, e);
}

void dra_state_remove_claim(struct dra_state *s, struct cached *o)
{
	struct claim_entry *e = state_find(s, o->key);

	if (!e || !view(e))
		return;
	if (e->ours && newer(e->ours, o) && !str_eq(e->ours->uid, o->uid)) {
		/* We have created a new claim of the same name since. */
		cached_unref(e->seen);
		e->seen = NULL;
		note_unseen(s, e);
		return;
	}
	if (e->allocated)
		s->removed = o->revision;
	forget_answer(s);
	vanish(s, e);
}

bool dra_state_gone(struct dra_state *s, struct str key, struct str uid)
{
	struct claim_entry *e = state_find(s, key);

	if (!e || !e->ours || e->seen || !str_eq(e->ours->uid, uid))
		return false;
	forget_answer(s);
	vanish(s, e);
	return true;
}

struct cached *dra_state_take_lost(struct dra_state *s, uint64_t revision)
{
	LIST_FOREACH (it, &s->unseen) {
		struct claim_entry *e = LIST_ENTRY(it, struct claim_entry, unseen);
		struct cached *o = e->ours;

		if (o->revision == 0 || o->revision > revision)
			continue;
		o = cached_ref(o);
		forget_answer(s);
		vanish(s, e);
		return o;
	}
	return NULL;
}

struct cached *dra_state_claim(const struct dra_state *s, struct str key)
{
	const struct claim_entry *e = state_find(s, key);

	return e ? view(e) : NULL;
}

bool dra_state_find(const struct dra_state *s, struct str key, struct dra_claim *ret_claim)
{
	const struct claim_entry *e = state_find(s, key);
	struct cached *o = e ? view(e) : NULL;

	if (!o)
		return false;
	*ret_claim = (struct dra_claim){
		.object = o,
		.owner = str_of(e->owner, e->owner_n),
		.allocated = e->allocated,
		.decided = map_get(&s->decisions, o->uid) != NULL,
	};
	return true;
}

struct cached *dra_state_claim_of_pod(const struct dra_state *s, struct str pod_uid)
{
	const struct claim_entry *e = map_get(&s->by_pod, pod_uid);

	return e ? view(e) : NULL;
}

/* --- decisions ---------------------------------------------------------------------------- */

static struct decision *decision_new(struct str uid, struct str ns, struct str name)
{
	struct buf b = BUF_INIT(4096);
	struct decision *d;

	/* One block: uid, namespace, the name of the inventory's entry, the claim's key. */
	(void)buf_printf(&b, "%.*s%.*s<decided>%.*s%.*s/%.*s", STR_ARG(uid), STR_ARG(ns),
			 STR_ARG(uid), STR_ARG(ns), STR_ARG(name));
	d = xcalloc(1, sizeof(*d) + b.n);
	memcpy(d->text, b.p, b.n);
	d->uid = str_of(d->text, uid.n);
	d->ns = str_of(d->text + uid.n, ns.n);
	d->name = str_of(d->ns.p + ns.n, sizeof("<decided>") - 1 + uid.n);
	d->key = str_of(d->name.p + d->name.n, ns.n + 1 + name.n);
	buf_release(&b);
	return d;
}

int dra_state_decide(struct dra_state *s, const struct json *claim, const struct json *allocation,
		     struct error *err)
{
	const struct json *meta = json_getz(claim, "metadata");
	struct str uid = json_text_at(meta, "uid");
	struct json *name, *object;
	struct claim_entry *e;
	struct decision *d;
	int r;

	d = decision_new(uid, json_text_at(meta, "namespace"), json_text_at(meta, "name"));
	e = state_find(s, d->key);
	if (map_get(&s->decisions, uid) ||
	    (e && view(e) && e->allocated && str_eq(view(e)->uid, uid))) {
		r = error_set(err, ERR_CONFLICT, "claim %.*s has an allocation already",
			      STR_ARG(d->key));
		free(d);
		return r;
	}
	arena_clear(&s->work);
	object = json_make_object(&s->work);
	name = json_need_object(&s->work, object, "metadata");
	json_put_str(&s->work, name, "namespace", d->ns);
	json_put_str(&s->work, name, "name", d->name);
	json_put_str(&s->work, name, "uid", uid);
	r = inventory_assume(s->inventory, object, allocation, err);
	if (r < 0) {
		free(d);
		return r;
	}
	(void)map_put(&s->decisions, d->uid, d);
	state_need(s, d->key)->decisions++;
	return 0;
}

/* Ends a decision. Returns true if this frees devices that only the decision held. */
static bool decision_end(struct dra_state *s, struct decision *d)
{
	struct claim_entry *e = state_find(s, d->key);
	bool freed = !d->stored;

	if (freed)
		inventory_forget(s->inventory, d->ns, d->name);
	e->decisions--;
	entry_drop(s, e);
	free(d);
	return freed;
}

void dra_state_settle(struct dra_state *s, struct str uid)
{
	struct decision *d = map_remove(&s->decisions, uid);

	if (d)
		(void)decision_end(s, d);
}

bool dra_state_drop(struct dra_state *s, struct str uid)
{
	struct decision *d = map_remove(&s->decisions, uid);
	struct claim_entry *e = d ? state_find(s, d->key) : NULL;

	/* For hints: devices are free again, although the claim did not change. */
	if (e && !d->stored && view(e))
		e->freed = view(e)->revision;
	forget_answer(s);
	return d && decision_end(s, d);
}

/* Whether the claim in our view holds the allocation of `o`. */
static bool holds(const struct claim_entry *e, const struct cached *o)
{
	const struct cached *v = e ? view(e) : NULL;

	if (!v || !e->allocated || !str_eq(v->uid, o->uid))
		return false;
	return v == o || v->revision == o->revision ||
	       str_eq(cached_field(v, "status.allocation", NULL),
		      cached_field(o, "status.allocation", NULL));
}

/* Unless it is known already, or is about a claim that is gone. */
static void take_answer(struct dra_state *s, struct cached *o, bool is_new)
{
	struct claim_entry *e = is_new ? state_need(s, o->key) : state_find(s, o->key);

	if (!e || (!is_new && (!view(e) || !str_eq(view(e)->uid, o->uid))))
		return;
	if (view(e) && !newer(o, view(e)))
		return;
	cached_unref(e->ours);
	e->ours = cached_ref(o);
	note_unseen(s, e);
	state_look(s, e);
}

bool dra_state_stored(struct dra_state *s, struct cached *o, struct str decision, bool is_new)
{
	struct decision *d = map_get(&s->decisions, decision);
	bool ends = d && !d->stored;
	struct claim_entry *e;

	/* The claim takes over the devices now, or has done so already if the watch was faster. */
	if (ends) {
		inventory_forget(s->inventory, d->ns, d->name);
		d->stored = true;
	}
	take_answer(s, o, is_new);
	e = state_find(s, o->key);
	if (!ends || holds(e, o))
		return false;
	/* For hints: when the watch reported the release, the decision still held the devices. */
	if (e && view(e))
		e->freed = view(e)->revision;
	forget_answer(s);
	return true;
}

void dra_state_wait(struct dra_state *s, struct str key, struct dra_waiter *w)
{
	list_push_back(&state_need(s, key)->waiters, &w->link);
}

void dra_state_unwait(struct dra_waiter *w)
{
	list_remove(&w->link);
}

/* --- slices, classes, rules --------------------------------------------------------------- */

static void state_put(struct dra_state *s, struct cached *o, const char *kind,
		      int (*fn)(struct inventory *inv, const struct json *tree, struct error *err))
{
	struct json *tree = state_tree_of(s, o);
	struct error err;

	if (tree && fn(s->inventory, tree, &err) < 0)
		log_warn(s->log, "ignoring an object that cannot be used", LOG_Z("kind", kind),
			 LOG_STR("name", o->key), LOG_ERR(&err));
}

void dra_state_put_slice(struct dra_state *s, struct cached *o)
{
	state_put(s, o, "ResourceSlice", inventory_put_slice);
}

void dra_state_remove_slice(struct dra_state *s, struct cached *o)
{
	inventory_remove_slice(s->inventory, cached_name(o));
}

void dra_state_put_class(struct dra_state *s, struct cached *o)
{
	state_put(s, o, "DeviceClass", inventory_put_class);
}

void dra_state_remove_class(struct dra_state *s, struct cached *o)
{
	inventory_remove_class(s->inventory, cached_name(o));
}

void dra_state_put_taint_rule(struct dra_state *s, struct cached *o)
{
	if (gates_on(&s->gates, GATE_DRADeviceTaintRules))
		state_put(s, o, "DeviceTaintRule", inventory_put_taint_rule);
}

void dra_state_remove_taint_rule(struct dra_state *s, struct cached *o)
{
	inventory_remove_taint_rule(s->inventory, cached_name(o));
}

bool dra_state_backs_resource(const struct dra_state *s, struct str name)
{
	return gates_on(&s->gates, GATE_DRAExtendedResource) &&
	       inventory_class_of_resource(s->inventory, name);
}

/* --- changes ------------------------------------------------------------------------------ */

static bool has_allocation(const struct cached *o)
{
	struct str text = o ? cached_field(o, "status.allocation", NULL) : STR_NULL;

	return text.p && !str_eqz(text, "null");
}

/*
 * Whether the claim released devices between the two versions. A restarted watch may have skipped
 * that.
 */
static bool freed_within(const struct claim_entry *e, const struct cached *old,
			 const struct cached *o)
{
	if (e->freed == o->revision)
		return true;
	return old && e->freed > old->revision && e->freed < o->revision;
}

static struct dra_change find_change(const struct dra_state *s, const struct cached *old,
				     const struct cached *o)
{
	const struct claim_entry *e = o ? state_find(s, o->key) : NULL;
	struct dra_change c = { 0 };

	if (!o) {
		c.freed = has_allocation(old) || (old && s->removed == old->revision);
		return c;
	}
	/*
	 * If a claim was replaced by another of the same name, the watch may report it as an
	 * update.
	 */
	c.created = !old || !str_eq(old->uid, o->uid);
	c.freed = (has_allocation(old) && (c.created || !has_allocation(o))) ||
		  (e && freed_within(e, old, o));
	c.status = c.created ||
		   !str_eq(cached_field(old, "status", NULL), cached_field(o, "status", NULL));
	return c;
}

struct dra_change dra_state_change(struct dra_state *s, const struct cluster_event *e)
{
	const struct cached *newest = e->object ? e->object : e->old_object;
	uint64_t revision = newest ? newest->revision : 0;

	if (s->asked_old == e->old_object && s->asked == e->object && s->asked_revision == revision)
		return s->answer;
	s->answer = find_change(s, e->old_object, e->object);
	s->asked_old = e->old_object;
	s->asked = e->object;
	s->asked_revision = revision;
	return s->answer;
}
