/*
 * pre_bind: writes the decision, claim by claim, before the pod is bound:
 *
 *	[create]     create a claim for extended resources
 *	finalizer    an update, if it is missing; the API server ignores the status in it
 *	status       an update of the status: allocation, and the pod in reservedFor
 *	[pod]        write the claim for extended resources into the pod's status
 *
 * A conflict means that someone changed the claim: it is read and written again, up to five times
 * in all. If the conflict is that another claim holds a device, the decision used stale data, and
 * the attempt fails. Before that the holder is read, so that the next attempt sees it even if the
 * watch does not. If the reply to the status write is lost, nobody knows whether it was written,
 * and its devices must not be allocated twice. So the claim is read until the server answers or the
 * binding timeout ends, even if the pod is deleted meanwhile. At the end it waits for the binding
 * conditions that drivers set, using the watch.
 */
#include "api/schema/gates.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "base/time/timestamp.h"
#include "client/api/client.h"
#include "client/events/recorder.h"
#include "client/informer/cached.h"
#include "client/work/leader.h"
#include "net/loop/loop.h"
#include "scheduler/dra/plugin.h"
#include "scheduler/framework/common.h"

enum { TRIES_MAX = 5, RETRY_MS = 10 };
enum { VERIFY_MS = 100, VERIFY_MAX_MS = 10000 }; /* doubled each time */

enum step {
	STEP_CREATE,
	STEP_FINALIZER,
	STEP_STATUS,
	STEP_REFRESH, /* after a conflict */
	STEP_VERIFY, /* was the status written */
	STEP_POD,
	STEP_HOLDER, /* of a device that another claim holds */
};

struct bind_waiter {
	struct dra_waiter waiter;
	struct dra_bind *bind;
};

struct dra_bind {
	struct plugin *plugin;
	struct binding *binding;
	struct dra_cycle *cycle;
	struct arena *arena; /* the cycle's */
	const struct podinfo *pod;
	struct client_request request;
	struct loop_timer timer; /* before a retry, or of waiting for conditions */
	enum step step;
	size_t at; /* claim */
	unsigned tries;
	struct cached *current; /* the claim as it is written on; reference */
	struct error why; /* of the status that is verified */
	bool doubted; /* a status was sent, and may be stored later: go on until that is known */
	int64_t verify_ms; /* until it is asked again */
	int64_t deadline; /* of verifying: of the loop, ms; of waiting for conditions: wall ns */
	struct bind_waiter *waiters; /* NULL: not waiting */
};

static void next_claim(struct dra_bind *b);
static void written(struct dra_bind *b);

/* --- the end ---------------------------------------------------------------------------------- */

static void bind_free(struct dra_bind *b)
{
	client_cancel(&b->request);
	loop_timer_stop(&b->timer);
	for (size_t i = 0; b->waiters && i < b->cycle->n; i++)
		dra_state_unwait(&b->waiters[i].waiter);
	cached_unref(b->current);
	b->cycle->bind = NULL;
	free(b);
}

void dra_bind_cancel(struct dra_bind *b)
{
	if (b)
		bind_free(b);
}

static void bind_fail(struct dra_bind *b, const struct error *why)
{
	struct binding *binding = b->binding;
	struct error copy = *why;

	bind_free(b);
	binding_failed(binding, &copy);
}

static void fail_text(struct dra_bind *b, const char *before, const char *after)
{
	struct error err;

	(void)error_set(&err, ERR_CONFLICT, "%s%.*s%s", before,
			STR_ARG(b->cycle->claims[b->at].key), after);
	bind_fail(b, &err);
}

static void bind_succeed(struct dra_bind *b)
{
	struct binding *binding = b->binding;

	/* Should the pod fail later, there may be another decision about the claim: not ours. */
	for (size_t i = 0; i < b->cycle->n; i++)
		if (TAKE(b->cycle->claims[i].allocation))
			dra_state_settle(b->plugin->services->dra, b->cycle->claims[i].uid);
	bind_free(b);
	binding_done(binding, VERDICT_OK);
}

/* True: there is no use in going on; it has ended. */
static bool given_up(struct dra_bind *b)
{
	struct error err;

	if (!binding_cancelled(b->binding))
		return false;
	(void)error_set(&err, ERR_CANCELED, "the pod was deleted");
	bind_fail(b, &err);
	return true;
}

static void on_cancel(void *arg, struct binding *binding)
{
	struct dra_bind *b = arg;

	(void)binding;
	/* A write that is (or may be) in progress ends first, because its result counts. */
	if (client_busy(&b->request))
		return;
	if (b->step == STEP_VERIFY && !b->waiters)
		loop_timer_start(&b->timer, 0);
	else
		(void)given_up(b);
}

/* --- conditions ----------------------------------------------------------------------------- */

/* The claim as it is now: 1, 0 as dra_ready(); -ERR_*: there is no use in waiting. */
static int bind_look_at(struct dra_bind *b, struct dra_pod_claim *c, struct error *err)
{
	struct cached *o = dra_state_claim(b->plugin->services->dra, c->object->key);

	if (!o)
		return error_set(err, ERR_NOT_FOUND, "could not find ResourceClaim \"%.*s\"",
				 STR_ARG(c->object->key));
	if (!str_eq(o->uid, c->object->uid))
		return error_set(err, ERR_CONFLICT, "claim %.*s got deleted in the meantime",
				 STR_ARG(c->object->key));
	if (o != c->object && cached_tree_held(o, b->arena, &c->tree, err) == 0)
		c->object = o;
	if (!json_is(json_getz(json_getz(c->tree, "status"), "allocation"), JSON_OBJECT))
		return error_set(err, ERR_CONFLICT,
				 "claim %.*s got deallocated elsewhere in the meantime",
				 STR_ARG(c->object->key));
	return dra_ready(c->tree, err);
}

/* Looks at the claims as they are now. True: it has ended, well or not. */
static bool bind_look(struct dra_bind *b)
{
	const struct dra_plugin *own = b->plugin->state;
	int64_t until = b->deadline, now = dra_wall_ns(b->plugin->services);
	struct str late = STR_NULL;
	struct error err;

	for (size_t i = 0; i < b->cycle->n; i++) {
		struct dra_pod_claim *c = &b->cycle->claims[i];
		int r;

		if (!c->object)
			continue;
		r = bind_look_at(b, c, &err);
		if (r < 0) {
			bind_fail(b, &err);
			return true;
		}
		if (r == 0 && dra_ready_until(c->tree, own->binding_timeout_ns) < until) {
			until = dra_ready_until(c->tree, own->binding_timeout_ns);
			late = cached_name(c->object);
		}
		if (r == 0 && !late.p)
			late = cached_name(c->object);
	}
	if (!late.p) {
		bind_succeed(b);
		return true;
	}
	if (until < now) {
		(void)error_set(&err, ERR_TIMEOUT, "device binding timeout: claim=%.*s",
				STR_ARG(late));
		bind_fail(b, &err);
		return true;
	}
	loop_timer_start(&b->timer, (until - now) / CLOCK_MS + 1);
	return false;
}

static void bind_on_claim(struct dra_waiter *w)
{
	struct bind_waiter *bw = CONTAINER_OF(w, struct bind_waiter, waiter);

	(void)bind_look(bw->bind);
}

static void tell_of_waiting(const struct dra_bind *b)
{
	struct recorder *r = b->plugin->services->recorder;
	const struct podinfo *pod = b->pod;
	struct recorder_object about = pod_about(pod);
	const char *text = arena_printf(b->arena,
					"waiting for binding conditions for device on node %.*s",
					STR_ARG(binding_node(b->binding)));

	if (r)
		recorder_event_detailed(r, &about, RECORDER_NORMAL, "BindingConditionsPending",
					str_from(text),
					&(struct recorder_detail){ .action = "Scheduling" });
}

/* All is written. */
static void await_conditions(struct dra_bind *b)
{
	const struct gates *g = dra_state_gates(b->plugin->services->dra);
	const struct dra_plugin *own = b->plugin->state;
	bool any = false;
	int64_t now;

	for (size_t i = 0; i < b->cycle->n; i++)
		any |= b->cycle->claims[i].object && dra_has_conditions(b->cycle->claims[i].tree);
	if (!any || !gates_on(g, GATE_DRADeviceBindingConditions) ||
	    !gates_on(g, GATE_DRAResourceClaimDeviceStatus)) {
		bind_succeed(b);
		return;
	}
	tell_of_waiting(b);
	/* An upper limit, independent of the allocation times in the claims. */
	now = dra_wall_ns(b->plugin->services);
	b->deadline = now + MIN(own->binding_timeout_ns, INT64_MAX - now);
	b->waiters = ARENA_ARRAY(b->arena, struct bind_waiter, b->cycle->n);
	for (size_t i = 0; i < b->cycle->n; i++) {
		struct dra_waiter *w = &b->waiters[i].waiter;

		b->waiters[i].bind = b;
		w->fn = bind_on_claim;
		list_init(&w->link);
		if (b->cycle->claims[i].object)
			dra_state_wait(b->plugin->services->dra, b->cycle->claims[i].object->key,
				       w);
	}
	(void)bind_look(b);
}

/* --- one claim ------------------------------------------------------------------------------ */

static struct dra_pod_claim *claim_of(struct dra_bind *b)
{
	return &b->cycle->claims[b->at];
}

static bool is_special(struct dra_bind *b)
{
	return claim_of(b) == b->cycle->special;
}

static void put_reservation(struct dra_bind *b, struct json *status)
{
	struct json *entry = json_make_object(b->arena);

	json_put_str(b->arena, entry, "resource", STR("pods"));
	json_put_str(b->arena, entry, "name", b->pod->name);
	json_put_str(b->arena, entry, "uid", b->pod->uid);
	json_append(json_need_array(b->arena, status, "reservedFor"), entry);
}

static void bind_put_time(struct dra_bind *b, struct json *allocation)
{
	char text[TIMESTAMP_SIZE];

	if (json_text_at(allocation, "allocationTimestamp").p)
		return;
	json_put_str(b->arena, allocation, "allocationTimestamp",
		     arena_str(b->arena, timestamp_print(dra_wall_ns(b->plugin->services),
							 TIMESTAMP_SECONDS, text)));
}

static void bind_write_status(struct dra_bind *b, struct json *tree)
{
	const struct gates *g = dra_state_gates(b->plugin->services->dra);
	const struct leader *leader = b->plugin->services->leader;
	struct dra_pod_claim *c = claim_of(b);
	struct json *status = json_need_object(b->arena, tree, "status");
	struct json *allocation = c->allocation;

	if (allocation)
		json_setz(status, "allocation", allocation);
	else
		allocation = json_getz(status, "allocation");
	put_reservation(b, status);
	if (gates_on(g, GATE_DRADeviceBindingConditions) &&
	    gates_on(g, GATE_DRAResourceClaimDeviceStatus)) {
		if (!json_is(allocation, JSON_OBJECT)) {
			fail_text(b, "claim ", " got deallocated elsewhere in the meantime");
			return;
		}
		bind_put_time(b, allocation);
	}
	/* Another may be giving the same devices away. */
	if (leader && !leader_is_leader(leader)) {
		fail_text(b, "claim ", " is left to another scheduler");
		return;
	}
	b->step = STEP_STATUS;
	client_update_status(b->plugin->services->client, &b->request, &dra_claims_resource,
			     cached_ns(b->current), cached_name(b->current), tree);
}

static void write_finalizer(struct dra_bind *b, struct json *tree)
{
	struct json *meta = json_need_object(b->arena, tree, "metadata");

	json_append(json_need_array(b->arena, meta, "finalizers"),
		    json_make_str(b->arena, STR(POD_CLAIMS_FINALIZER)));
	b->step = STEP_FINALIZER;
	client_update(b->plugin->services->client, &b->request, &dra_claims_resource,
		      cached_ns(b->current), cached_name(b->current), tree);
}

/* Starts the next step with b->current. */
static void attempt(struct dra_bind *b)
{
	struct dra_pod_claim *c = claim_of(b);
	const struct json *finalizers;
	struct json *tree;
	struct error err;

	if (!b->doubted && given_up(b))
		return;
	if (cached_tree_held(b->current, b->arena, &tree, &err) < 0) {
		bind_fail(b, &err);
		return;
	}
	if (b->current->deleting || (c->object && !str_eq(c->object->uid, b->current->uid))) {
		fail_text(b, "claim ", " got deleted in the meantime");
		return;
	}
	if (!c->allocation) {
		bind_write_status(b, tree);
		return;
	}
	if (json_is(json_getz(json_getz(tree, "status"), "allocation"), JSON_OBJECT)) {
		/* Ours, if it came through after all. */
		if (b->doubted && dra_reserved_for(tree, b->pod->uid)) {
			written(b);
			return;
		}
		/*
		 * Put the other allocation into the state before the watch shows it, so that its
		 * devices are taken.
		 */
		(void)dra_state_stored(b->plugin->services->dra, b->current, STR_NULL, false);
		fail_text(b, "claim ", " got allocated elsewhere in the meantime");
		return;
	}
	finalizers = json_getz(json_getz(tree, "metadata"), "finalizers");
	if (json_has_text(finalizers, STR(POD_CLAIMS_FINALIZER)))
		bind_write_status(b, tree);
	else
		write_finalizer(b, tree);
}

static void refresh(struct dra_bind *b, enum step step)
{
	b->step = step;
	client_get(b->plugin->services->client, &b->request, &dra_claims_resource,
		   cached_ns(b->current), cached_name(b->current));
}

static void bind_on_timer(struct loop_timer *t)
{
	struct dra_bind *b = CONTAINER_OF(t, struct dra_bind, timer);

	if (b->waiters)
		(void)bind_look(b);
	else if (b->step == STEP_VERIFY)
		refresh(b, STEP_VERIFY);
	else if (b->doubted || !given_up(b))
		refresh(b, STEP_REFRESH);
}

/* --- answers -------------------------------------------------------------------------------- */

/* Tells the pod of the claim for its extended resources. */
static void write_pod(struct dra_bind *b)
{
	static const struct resource pods = { .version = { "v1", 2 },
					      .resource = { "pods", 4 },
					      .kind = { "Pod", 3 },
					      .namespaced = true };
	struct json *patch = json_make_object(b->arena), *status;

	json_put_str(b->arena, json_need_object(b->arena, patch, "metadata"), "uid", b->pod->uid);
	status = json_need_object(b->arena, json_need_object(b->arena, patch, "status"),
				  "extendedResourceClaimStatus");
	json_setz(status, "requestMappings", b->cycle->chosen->mappings);
	json_put_str(b->arena, status, "resourceClaimName", cached_name(b->current));
	b->step = STEP_POD;
	client_patch(b->plugin->services->client, &b->request, &pods,
		     (struct resource_name){ b->pod->ns, b->pod->name, STR("status") },
		     CLIENT_PATCH_STRATEGIC, patch);
}

static void bind_go_on(struct dra_bind *b)
{
	if (given_up(b))
		return;
	if (is_special(b) && b->step != STEP_POD) {
		write_pod(b);
		return;
	}
	b->at++;
	next_claim(b);
}

/* The claim is written: the reply becomes our current version. */
static void written(struct dra_bind *b)
{
	struct dra_pod_claim *c = claim_of(b);
	struct error err;

	if (cached_tree_held(b->current, b->arena, &c->tree, &err) < 0) {
		bind_fail(b, &err);
		return;
	}
	c->object = b->current;
	b->doubted = false;
	if (dra_state_stored(b->plugin->services->dra, b->current,
			     c->allocation ? c->uid : STR_NULL, false))
		dra_tell_freed(b->plugin, c->key);
	bind_go_on(b);
}

/* Words the error of a failed request, by step: the text before and after the claim's name. */
static struct error bind_explain(struct dra_bind *b, const struct error *err)
{
	static const char *const before[] = {
		[STEP_CREATE] = "create claim for extended resources ",
		[STEP_FINALIZER] = "add finalizer to claim ",
		[STEP_STATUS] = "add reservation to claim ",
		[STEP_REFRESH] = "get updated claim ",
		[STEP_VERIFY] = "get updated claim ",
		[STEP_POD] = "update pod ",
	};
	const char *first = before[b->step], *after = "";
	struct str name = b->step == STEP_POD ? b->pod->key : claim_of(b)->key;
	struct error out = *err;

	if (b->step == STEP_STATUS && claim_of(b)->allocation)
		first = "add allocation and reservation to claim ";
	if (b->step == STEP_REFRESH)
		after = " after conflict";
	else if (b->step == STEP_POD)
		after = " ExtendedResourceClaimStatus";
	(void)error_wrap(&out, -(int)err->code, "%s%.*s%s", first, STR_ARG(name), after);
	return out;
}

static void begin_verify(struct dra_bind *b, const struct error *why)
{
	const struct dra_plugin *own = b->plugin->state;

	b->why = *why;
	b->doubted = true;
	b->verify_ms = VERIFY_MS;
	b->deadline = loop_now(b->plugin->services->loop) + own->binding_timeout_ns / CLOCK_MS;
	refresh(b, STEP_VERIFY);
}

/* A failed read does not decide, unless the claim is gone. */
static void on_verify_failure(struct dra_bind *b, const struct error *err)
{
	struct error why = b->why;

	if (err->code == ERR_NOT_FOUND || err->code == ERR_CANCELED ||
	    loop_now(b->plugin->services->loop) >= b->deadline) {
		bind_fail(b, &why);
		return;
	}
	loop_timer_start(&b->timer, b->verify_ms);
	b->verify_ms = MIN(2 * b->verify_ms, VERIFY_MAX_MS);
}

/* Returns the cause of a conflict about a device; NULL for other conflicts. */
static const struct json *device_cause(struct dra_bind *b, const struct client_answer *a)
{
	struct json *status;

	if (b->step != STEP_STATUS || !a || a->status != 409 ||
	    client_answer_tree(a, b->arena, &status, NULL) < 0)
		return NULL;
	JSON_FOREACH (cause, json_getz(json_getz(status, "details"), "causes")) {
		struct str reason = json_text_at(cause, "reason");

		if (str_eqz(reason, "DeviceHeld") || str_eqz(reason, "DeviceCapacityExceeded") ||
		    str_eqz(reason, "DeviceCountersExceeded"))
			return cause;
	}
	return NULL;
}

/* The view of devices was outdated. If the server names one holder, that claim is read at once. */
static void on_device_conflict(struct dra_bind *b, const struct json *cause,
			       const struct error *why)
{
	const struct dra_plugin *own = b->plugin->state;
	struct str name = json_text_at(cause, "message"), ns;

	if (own->conflicts)
		metrics_counter_add(own->conflicts, 1);
	if (!str_eqz(json_text_at(cause, "reason"), "DeviceHeld") || !str_split(&name, '/', &ns)) {
		bind_fail(b, why);
		return;
	}
	b->why = *why;
	b->step = STEP_HOLDER;
	client_get(b->plugin->services->client, &b->request, &dra_claims_resource, ns, name);
}

/* Puts the holder, if it could be read, into the state before the watch shows it. */
static void on_holder(struct dra_bind *b, const struct client_answer *a, const struct error *err)
{
	CLEANUP(cached_unref) struct cached *holder = NULL;
	struct dra_state *s = b->plugin->services->dra;
	struct error why = b->why;

	if (!err && cached_new(a->body, NULL, &holder, NULL) == 0)
		(void)dra_state_stored(s, holder, STR_NULL, !dra_state_claim(s, holder->key));
	bind_fail(b, &why);
}

static void on_failure(struct dra_bind *b, const struct client_answer *a, const struct error *err)
{
	const struct json *cause = device_cause(b, a);
	struct error why = bind_explain(b, err);

	if (b->step == STEP_VERIFY) {
		on_verify_failure(b, err);
		return;
	}
	if (cause) {
		on_device_conflict(b, cause, &why);
		return;
	}
	if (err->code == ERR_CONFLICT && b->step != STEP_POD && b->step != STEP_CREATE &&
	    ++b->tries < TRIES_MAX) {
		loop_timer_start(&b->timer, RETRY_MS);
	} else if (b->step == STEP_STATUS && client_answer_doubtful(a) &&
		   err->code != ERR_CANCELED) {
		begin_verify(b, &why);
	} else {
		bind_fail(b, &why);
	}
}

/* Takes the answer's claim. */
static int take_answer(struct dra_bind *b, const struct client_answer *a, struct error *err)
{
	struct cached *o;
	int r = b->step == STEP_POD ? 0 : cached_new(a->body, NULL, &o, err);

	if (r < 0 || b->step == STEP_POD)
		return r;
	cached_unref(b->current);
	b->current = o;
	return 0;
}

/* The write succeeded, although the reply could not be read. */
static void answer_unread(struct dra_bind *b, const struct error *err)
{
	struct error why = bind_explain(b, err);

	if (b->step == STEP_VERIFY)
		on_verify_failure(b, err);
	else if (b->step == STEP_STATUS)
		begin_verify(b, &why);
	else
		bind_fail(b, &why);
}

static void on_verified(struct dra_bind *b)
{
	struct json *tree;
	struct error err;

	if (cached_tree_held(b->current, b->arena, &tree, &err) < 0) {
		err = b->why;
		bind_fail(b, &err);
	} else if (dra_reserved_for(tree, b->pod->uid)) {
		written(b);
	} else if (b->tries++ < TRIES_MAX) {
		/*
		 * The server may still be processing the first write. It rejects one of two writes
		 * of the same version.
		 */
		attempt(b);
	} else {
		(void)dra_state_stored(b->plugin->services->dra, b->current, STR_NULL, false);
		err = b->why;
		bind_fail(b, &err);
	}
}

static void bind_on_done(struct client_request *r, const struct client_answer *a,
			 const struct error *err)
{
	struct dra_bind *b = r->arg;
	struct error why;

	if (b->step == STEP_HOLDER) {
		on_holder(b, a, err);
		return;
	}
	if (err) {
		on_failure(b, a, err);
		return;
	}
	if (take_answer(b, a, &why) < 0) {
		answer_unread(b, &why);
		return;
	}
	switch (b->step) {
	case STEP_CREATE:
		/* From now on it is to be deleted if anything fails. */
		claim_of(b)->object = b->current;
		if (cached_tree_held(b->current, b->arena, &claim_of(b)->tree, &why) < 0) {
			bind_fail(b, &why);
			return;
		}
		(void)dra_state_stored(b->plugin->services->dra, b->current, STR_NULL, true);
		attempt(b);
		break;
	case STEP_FINALIZER:
	case STEP_REFRESH:
		attempt(b);
		break;
	case STEP_STATUS:
		written(b);
		break;
	case STEP_VERIFY:
		on_verified(b);
		break;
	case STEP_POD:
		bind_go_on(b);
		break;
	case STEP_HOLDER:
		break;
	}
}

/* --- all claims ----------------------------------------------------------------------------- */

static void bind_create(struct dra_bind *b)
{
	struct json *tree, *meta;
	struct error err;

	if (json_copy(b->arena, b->cycle->chosen->claim, &tree, &err) < 0) {
		bind_fail(b, &err);
		return;
	}
	meta = json_need_object(b->arena, tree, "metadata");
	(void)json_remove(meta, STR("name"));
	(void)json_remove(meta, STR("uid"));
	b->step = STEP_CREATE;
	client_create(b->plugin->services->client, &b->request, &dra_claims_resource, b->pod->ns,
		      tree);
}

static void next_claim(struct dra_bind *b)
{
	struct dra_cycle *d = b->cycle;

	for (; b->at < d->n; b->at++) {
		struct dra_pod_claim *c = claim_of(b);
		bool needless = is_special(b) && (!d->chosen || !d->chosen->claim);

		if (!needless && !dra_reserved_for(c->tree, b->pod->uid))
			break;
	}
	if (b->at == d->n) {
		await_conditions(b);
		return;
	}
	b->tries = 0;
	cached_unref(b->current);
	b->current = claim_of(b)->object ? cached_ref(claim_of(b)->object) : NULL;
	if (b->current)
		attempt(b);
	else
		bind_create(b);
}

void dra_pre_bind(struct plugin *p, struct binding *binding)
{
	struct dra_cycle *d = dra_cycle_of(binding_cycle(binding), p);
	struct dra_bind *b;
	struct error err;

	if (!d) {
		binding_done(binding, VERDICT_OK);
		return;
	}
	if (!p->services->client) {
		(void)error_set(&err, ERR_UNAVAILABLE, "there is no API server to write claims to");
		binding_failed(binding, &err);
		return;
	}
	b = XNEW(struct dra_bind);
	b->plugin = p;
	b->binding = binding;
	b->cycle = d;
	b->arena = d->arena;
	b->pod = binding_pod(binding);
	d->binding = binding;
	b->request = (struct client_request){ .on_done = bind_on_done, .arg = b };
	loop_timer_init(&b->timer, p->services->loop, bind_on_timer);
	d->bind = b;
	binding_on_cancel(binding, on_cancel, b);
	next_claim(b);
}
