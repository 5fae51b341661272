/*
 * The remembered state of a pod, and the view of it. There is one item per container that the pod
 * has had, so the spec limits their number. Probe results are dropped with their containers.
 */
#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/time/timestamp.h"
#include "node/lifecycle/lifecycle_impl.h"

enum {
	ITEMS_MAX = 4096,
	OUTCOMES_MAX = 4096,
	DEADLINE_UNITS = 1000 * 1000 * 1000,
};

/* --- text --------------------------------------------------------------------------- */

struct str lifecycle_text(const char *z)
{
	return str_from(z);
}

void lifecycle_set_text(char **text, struct str s)
{
	char *copy;

	if (*text && str_eqz(s, *text))
		return;
	copy = s.p ? str_dup(s) : NULL;
	free(*text);
	*text = copy;
}

/* --- life --------------------------------------------------------------------------- */

struct lifecycle *lifecycle_new(void)
{
	struct lifecycle *l = XNEW(struct lifecycle);

	vec_init(&l->items, ITEMS_MAX);
	vec_init(&l->outcomes, OUTCOMES_MAX);
	buf_init(&l->last, REQUEST_WORK_MAX);
	return l;
}

static void item_release(struct lifecycle_item *i)
{
	free(i->name);
	free(i->crash_id);
	free(i->granted);
	free(i->pull_error);
	free(i->reason);
	free(i->message);
	free(i->bound);
	free(i->restart_id);
	free(i->stop_id);
}

void lifecycle_free(struct lifecycle *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->items.n; i++)
		item_release(&l->items.v[i]);
	for (size_t i = 0; i < l->outcomes.n; i++)
		free(l->outcomes.v[i].id);
	vec_release(&l->items);
	vec_release(&l->outcomes);
	buf_release(&l->last);
	free(l->stop_reason);
	free(l->stop_message);
	free(l->noted_sandbox);
	free(l);
}

/* --- items -------------------------------------------------------------------------- */

const struct lifecycle_item *lifecycle_find_item(const struct lifecycle *l, struct str name)
{
	for (size_t i = 0; i < l->items.n; i++) {
		if (str_eqz(name, l->items.v[i].name))
			return &l->items.v[i];
	}
	return NULL;
}

struct lifecycle_item *lifecycle_item(struct lifecycle *l, struct str name)
{
	const struct lifecycle_item *found = lifecycle_find_item(l, name);
	struct lifecycle_item item = { 0 };

	if (found)
		return &l->items.v[found - l->items.v];
	if (!vec_reserve(&l->items, 1))
		return NULL;
	item.name = str_dup(name);
	l->items.v[l->items.n] = item;
	return &l->items.v[l->items.n++];
}

/* The image has changed: the remembered state does not apply to it. */
static void item_reset(struct lifecycle_item *i, uint32_t hash)
{
	char *name = TAKE(i->name);

	item_release(i);
	*i = (struct lifecycle_item){ .name = name, .hash = hash };
}

struct lifecycle_item *lifecycle_item_now(struct lifecycle_view *v, const struct json *container,
					  struct str name)
{
	struct lifecycle_item *i = lifecycle_item(v->l, name);
	const struct runtime_container *newest = lifecycle_seen(v->in, name, 0);
	struct str id = newest ? newest->id : STR("");
	uint32_t hash = lifecycle_container_hash(container);

	if (!i)
		return NULL;
	if (i->hash != 0 && i->hash != hash)
		item_reset(i, hash);
	i->hash = hash;
	if (!i->reason)
		return i;
	if (!i->bound)
		lifecycle_set_text(&i->bound, id);
	if (str_eqz(id, i->bound))
		return i;
	lifecycle_set_text(&i->reason, STR_NULL);
	lifecycle_set_text(&i->message, STR_NULL);
	lifecycle_set_text(&i->bound, STR_NULL);
	i->retry_ms = 0;
	return i;
}

/* --- events ------------------------------------------------------------------------- */

static bool is_pull(struct str reason)
{
	return str_eqz(reason, "ErrImagePull") || str_eqz(reason, "RegistryUnavailable") ||
	       str_eqz(reason, "SignatureValidationFailed");
}

static void pull_failed(struct lifecycle_item *i, struct str reason, struct str message,
			int64_t mono_ms)
{
	struct buf b = BUF_INIT(REQUEST_WORK_MAX);

	if (i->pull_ms == 0 || mono_ms - i->pull_failed_ms > 2 * LIFECYCLE_BACKOFF_MAX_MS)
		i->pull_ms = LIFECYCLE_BACKOFF_MS;
	else
		i->pull_ms = MIN(i->pull_ms * 2, LIFECYCLE_BACKOFF_MAX_MS);
	i->pull_failed_ms = mono_ms;
	i->retry_ms = mono_ms + i->pull_ms;
	(void)buf_printf(&b, "%.*s: %.*s", STR_ARG(reason), STR_ARG(message));
	lifecycle_set_text(&i->pull_error, buf_str(&b));
	buf_release(&b);
}

void lifecycle_failed(struct lifecycle *l, struct str container, struct str reason,
		      struct str message, int64_t mono_ms)
{
	struct lifecycle_item *i;

	if (container.n == 0) {
		l->sandbox_retry_ms = mono_ms + LIFECYCLE_RETRY_MS;
		return;
	}
	i = lifecycle_item(l, container);
	if (!i)
		return;
	lifecycle_set_text(&i->reason, reason);
	lifecycle_set_text(&i->message, message.p ? message : STR(""));
	lifecycle_set_text(&i->bound, STR_NULL);
	lifecycle_set_text(&i->granted, STR_NULL);
	i->retry_ms = mono_ms + LIFECYCLE_RETRY_MS;
	if (is_pull(reason))
		pull_failed(i, reason, message, mono_ms);
}

static struct lifecycle_outcome *find_outcome(const struct lifecycle *l, struct str id)
{
	for (size_t i = 0; i < l->outcomes.n; i++) {
		if (str_eqz(id, l->outcomes.v[i].id))
			return &l->outcomes.v[i];
	}
	return NULL;
}

static struct lifecycle_outcome *need_outcome(struct lifecycle *l, struct str id)
{
	struct lifecycle_outcome *o = find_outcome(l, id);

	if (o || !vec_reserve(&l->outcomes, 1))
		return o;
	o = &l->outcomes.v[l->outcomes.n++];
	*o = (struct lifecycle_outcome){ .id = str_dup(id) };
	return o;
}

void lifecycle_probed(struct lifecycle *l, struct str id, enum lifecycle_probe probe, bool good,
		      struct str message)
{
	struct lifecycle_outcome *o = need_outcome(l, id);

	(void)message;
	if (o)
		o->result[probe] = good ? 1 : -1;
}

void lifecycle_device_failed(struct lifecycle *l, struct str id)
{
	struct lifecycle_outcome *o = need_outcome(l, id);

	if (o)
		o->bad_device = true;
}

bool lifecycle_bad_device(const struct lifecycle *l, struct str id)
{
	const struct lifecycle_outcome *o = find_outcome(l, id);

	return o && o->bad_device;
}

int lifecycle_outcome(const struct lifecycle *l, struct str id, enum lifecycle_probe probe)
{
	const struct lifecycle_outcome *o = find_outcome(l, id);

	return o ? o->result[probe] : 0;
}

/* Drops probe results of containers that the runtime no longer has. */
static void forget_outcomes(struct lifecycle *l, const struct lifecycle_input *in)
{
	for (size_t i = 0; i < l->outcomes.n;) {
		struct lifecycle_outcome *o = &l->outcomes.v[i];
		bool there = false;

		for (size_t k = 0; in->seen && k < in->seen->ncontainers && !there; k++)
			there = str_eqz(in->seen->containers[k].id, o->id);
		if (there || !o->seen) {
			o->seen = there;
			i++;
			continue;
		}
		free(o->id);
		vec_remove_swap(&l->outcomes, i);
	}
}

/* --- the runtime's state ------------------------------------------------------------ */

const struct runtime_container *lifecycle_seen(const struct lifecycle_input *in, struct str name,
					       size_t nth)
{
	for (size_t i = 0; in->seen && i < in->seen->ncontainers; i++) {
		if (str_eq(in->seen->containers[i].name, name) && nth-- == 0)
			return &in->seen->containers[i];
	}
	return NULL;
}

const struct runtime_container *lifecycle_newest(const struct lifecycle_view *v, struct str name,
						 enum pod_container_kind kind)
{
	const struct runtime_container *c = lifecycle_seen(v->in, name, 0);
	const struct json *old = lifecycle_old_status(v, name, kind);

	if (c && c->state == RUNTIME_CREATED && c->attempt < json_i64_at(old, "restartCount", 0))
		return NULL;
	return c;
}

const struct runtime_container *lifecycle_seen_dead(const struct lifecycle_input *in,
						    struct str name)
{
	for (size_t i = 0; in->seen && i < in->seen->ncontainers; i++) {
		const struct runtime_container *c = &in->seen->containers[i];

		if (c->state == RUNTIME_EXITED && str_eq(c->name, name))
			return c;
	}
	return NULL;
}

const struct runtime_container *lifecycle_seen_active(const struct lifecycle_view *v,
						      struct str name)
{
	const struct runtime_container *c;

	for (size_t i = 0; v->sandbox && (c = lifecycle_seen(v->in, name, i)); i++) {
		if (str_eq(c->sandbox_id, v->sandbox->id))
			return c;
	}
	return NULL;
}

bool lifecycle_main_created(const struct lifecycle_input *in)
{
	struct pod_containers c = pod_containers(in->pod);

	while (pod_containers_next(&c)) {
		const struct runtime_container *newest = c.kind == POD_MAIN
								 ? lifecycle_seen(in, c.name, 0)
								 : NULL;

		if (newest && newest->state != RUNTIME_UNKNOWN)
			return true;
	}
	return false;
}

static bool runs(const struct runtime_pod *seen)
{
	for (size_t i = 0; seen && i < seen->ncontainers; i++) {
		if (seen->containers[i].state == RUNTIME_RUNNING)
			return true;
	}
	return false;
}

static bool any_main_active(const struct lifecycle_view *v)
{
	struct pod_containers c = pod_containers(v->in->pod);

	while (pod_containers_next(&c)) {
		if (c.kind == POD_MAIN && lifecycle_seen_active(v, c.name))
			return true;
	}
	return false;
}

/* Whether a new sandbox is needed, by upstream's rules and with its messages. */
static const char *why_sandbox(const struct lifecycle_input *in)
{
	const struct runtime_sandbox *newest;
	size_t ready = 0;

	if (!in->seen || in->seen->nsandboxes == 0)
		return "no pod sandbox exists";
	newest = &in->seen->sandboxes[0];
	for (size_t i = 0; i < in->seen->nsandboxes; i++)
		ready += in->seen->sandboxes[i].ready;
	if (ready > 1)
		return "multiple pod sandboxes are ready and need to be reconciled";
	if (!newest->ready)
		return "pod sandbox is not ready";
	if (!pod_host_network(in->pod) && newest->nips == 0)
		return "pod sandbox has no IP address";
	return NULL;
}

/* --- the previous status ------------------------------------------------------------ */

const char *lifecycle_list_of(enum pod_container_kind kind)
{
	static const char *const lists[] = {
		[POD_INIT] = "initContainerStatuses",
		[POD_SIDECAR] = "initContainerStatuses",
		[POD_MAIN] = "containerStatuses",
		[POD_EPHEMERAL] = "ephemeralContainerStatuses",
	};

	return lists[kind];
}

const struct json *lifecycle_old_status(const struct lifecycle_view *v, struct str name,
					enum pod_container_kind kind)
{
	return json_find(json_getz(v->old, lifecycle_list_of(kind)), "name", name);
}

const struct json *lifecycle_state(const struct json *status, const char *state)
{
	return json_getz(json_getz(status, "state"), state);
}

const struct json *lifecycle_last_ended(const struct json *status)
{
	return json_getz(json_getz(status, "lastState"), "terminated");
}

static const struct json *old_status(const struct lifecycle *l, const struct lifecycle_input *in,
				     struct arena *a)
{
	struct json *tree = NULL;

	if (l->last.n == 0 || json_parse(a, arena_str(a, buf_str(&l->last)), NULL, &tree, NULL) < 0)
		return in->pod->status;
	return tree;
}

int64_t lifecycle_deadline_ns(const struct lifecycle_view *v)
{
	int64_t seconds = json_i64_at(v->in->pod->spec, "activeDeadlineSeconds", -1), start, end;

	if (seconds < 0 || timestamp_parse(json_text_at(v->old, "startTime"), &start, NULL) < 0 ||
	    __builtin_mul_overflow(seconds, (int64_t)DEADLINE_UNITS, &end) ||
	    __builtin_add_overflow(end, start, &end))
		return INT64_MAX;
	return end;
}

/* --- the view ----------------------------------------------------------------------- */

static void lifecycle_settle(struct lifecycle *l, struct str reason, struct str message)
{
	if (l->stop_reason)
		return;
	lifecycle_set_text(&l->stop_reason, reason);
	lifecycle_set_text(&l->stop_message, message.p ? message : STR(""));
}

static struct str rejection(struct arena *a, struct str message)
{
	if (str_starts(message, STR("Pod was rejected: ")))
		return message;
	return str_from(arena_printf(a, "Pod was rejected: %.*s", STR_ARG(message)));
}

static bool settle_ending(struct lifecycle_view *v)
{
	const struct lifecycle_input *in = v->in;
	struct lifecycle *l = v->l;

	if (pod_terminal(in->pod) || lifecycle_phase_terminal(json_text_at(v->old, "phase")))
		return true;
	if (in->reject_reason.n > 0) {
		l->rejected = l->rejected || !l->stop_reason;
		lifecycle_settle(l, in->reject_reason, rejection(v->arena, in->reject_message));
	} else if (in->stop_reason.n > 0) {
		lifecycle_settle(l, in->stop_reason, in->stop_message);
	} else if (in->wall_ns >= lifecycle_deadline_ns(v)) {
		lifecycle_settle(
			l, STR("DeadlineExceeded"),
			STR("Pod was active on the node longer than the specified deadline"));
	}
	return l->stop_reason || l->ended || in->pod->deleting;
}

void lifecycle_look(struct lifecycle *l, const struct lifecycle_input *in, struct arena *a,
		    struct lifecycle_view *ret_view)
{
	struct lifecycle_view v = { .l = l, .in = in, .arena = a, .old = old_status(l, in, a) };
	const struct runtime_sandbox *newest = in->seen && in->seen->nsandboxes > 0
						       ? &in->seen->sandboxes[0]
						       : NULL;

	forget_outcomes(l, in);
	v.sandbox_message = why_sandbox(in);
	v.sandbox_changed = v.sandbox_message != NULL;
	v.sandbox = newest && newest->ready ? newest : NULL;
	v.sandbox_attempt = newest ? newest->attempt + 1 : 0;
	v.initialized = any_main_active(&v);
	v.idle = !runs(in->seen);
	v.ending = settle_ending(&v);
	lifecycle_look_restart(&v);
	*ret_view = v;
}

/* --- probes ------------------------------------------------------------------------- */

static const char *const probe_fields[] = {
	[LIFECYCLE_STARTUP] = "startupProbe",
	[LIFECYCLE_LIVENESS] = "livenessProbe",
	[LIFECYCLE_READINESS] = "readinessProbe",
};

/* Uses the status, too, which has what an earlier agent knew. */
static bool has_started(const struct lifecycle *l, const struct lifecycle_input *in,
			const struct json *container, const struct runtime_container *c,
			enum pod_container_kind kind)
{
	int known = lifecycle_outcome(l, c->id, LIFECYCLE_STARTUP);
	const struct json *old = json_find(json_getz(in->pod->status, lifecycle_list_of(kind)),
					   "name", c->name);
	struct str id = json_text_at(old, "containerID");

	if (known != 0)
		return known > 0;
	if (!json_getz(container, "startupProbe"))
		return true;
	return json_true_at(old, "started") && id.n > c->id.n &&
	       str_eq(str_skip(id, id.n - c->id.n), c->id);
}

bool lifecycle_wants_probe(const struct lifecycle *l, const struct lifecycle_input *in,
			   struct str container, enum lifecycle_probe probe, struct str *ret_id)
{
	enum pod_container_kind kind = POD_MAIN;
	const struct json *spec = pod_container(in->pod, container, &kind);
	const struct runtime_container *c = lifecycle_seen(in, container, 0);
	bool ending = in->pod->deleting || l->stop_reason || l->ended || in->stop_reason.n > 0;

	if (c)
		*ret_id = c->id;
	if (!c || c->state != RUNTIME_RUNNING || !json_getz(spec, probe_fields[probe]) ||
	    kind == POD_INIT || kind == POD_EPHEMERAL)
		return false;
	if (ending && probe != LIFECYCLE_READINESS)
		return false;
	return has_started(l, in, spec, c, kind) == (probe != LIFECYCLE_STARTUP);
}

/* --- the hash of a container -------------------------------------------------------- */

static void hash_byte(uint32_t *h, char c)
{
	*h = (*h ^ (uint8_t)c) * 16777619u;
}

static void hash_text(uint32_t *h, const char *z)
{
	for (; *z; z++)
		hash_byte(h, *z);
}

/*
 * Upstream prints the bytes of {"image":..,"name":..} as a list of decimal numbers, and computes
 * FNV-1a of that.
 */
uint32_t lifecycle_container_hash(const struct json *container)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(REQUEST_WORK_MAX);
	const struct json_style style = { .html = true };
	uint32_t h = 2166136261u;

	(void)buf_addz(&b, "{\"image\":");
	(void)json_print_str(&b, json_text_at(container, "image"), &style);
	(void)buf_addz(&b, ",\"name\":");
	(void)json_print_str(&b, json_text_at(container, "name"), &style);
	(void)buf_addc(&b, '}');
	hash_text(&h, "([]uint8)[");
	for (size_t i = 0; i < b.n; i++) {
		char digits[8];

		(void)snprintf(digits, sizeof(digits), "%s%u", i ? " " : "",
			       (unsigned)(uint8_t)b.p[i]);
		hash_text(&h, digits);
	}
	hash_byte(&h, ']');
	return h;
}
