/*
 * The devices that a pod uses are read once into a list with their health. Each view (a container's
 * entries, the pod's own entries, the condition) picks from that list. Text is copied, because the
 * status outlives the records that the text comes from.
 */
#include "node/status/device_status.h"

#include "base/core/map.h"
#include "base/json/json.h"
#include "base/time/timestamp.h"
#include "node/claims/claims.h"
#include "node/pod/pod_condition.h"
#include "node/status/device_evidence.h"

/* Limit of the condition's message; after it comes the number of devices left out. */
enum { MESSAGE_MAX = 1024 };

struct device {
	const struct assign_use *use;
	struct str id, message;
	enum assign_health health;
	bool named; /* a container names it */
	/* An entry shows evidence instead of the present health. */
	bool kept;
	enum assign_health kept_health;
	struct str kept_message;
};

struct fill {
	struct arena *arena;
	const struct pod *pod;
	const struct device_status_opts *opts;
	struct device *devices;
	size_t n;
	const struct json *before; /* or NULL */
	bool over; /* the pod's containers have all ended */
	const struct json *evidence; /* evidence for the list that is being built, or NULL */
};

static bool of_claim(const struct device *d)
{
	return d->use->pod_claim.n > 0;
}

/* --- devices --------------------------------------------------------------------------------- */

static void device_status_read_device(struct fill *f, struct device *d)
{
	const struct assign_claim_device *c = &d->use->device;
	struct health_device health;
	struct str message = STR_NULL;

	if (!of_claim(d)) {
		d->id = d->use->id;
		d->health = ASSIGN_UNKNOWN;
		(void)assign_device_health(f->opts->assign, d->use->resource, d->id, &d->health,
					   &message);
	} else {
		d->id = str_from(arena_printf(f->arena, "%.*s/%.*s/%.*s", STR_ARG(c->driver),
					      STR_ARG(c->pool), STR_ARG(c->device)));
		(void)health_get(f->opts->health, c->driver, c->pool, c->device, &health);
		d->health = health.health;
		message = health.message;
	}
	if (f->opts->messages && message.n > 0)
		d->message = arena_str(f->arena, message);
}

static int cmp_devices(const void *a, const void *b)
{
	return str_cmp(((const struct device *)a)->id, ((const struct device *)b)->id);
}

static void read_devices(struct fill *f)
{
	const struct assign_use *uses = f->opts->uses;

	f->n = f->opts->nuses;
	if (!uses)
		f->n = assign_uses(f->opts->assign, f->pod->uid, f->arena, &uses);
	f->devices = ARENA_ARRAY(f->arena, struct device, f->n);
	for (size_t i = 0; i < f->n; i++) {
		f->devices[i].use = &uses[i];
		device_status_read_device(f, &f->devices[i]);
	}
	if (f->n > 0)
		qsort(f->devices, f->n, sizeof(*f->devices), cmp_devices);
}

/* --- entries --------------------------------------------------------------------------------- */

/* Returns the entry of that name; creates it at its place in the order. */
static struct json *need_entry(struct fill *f, struct json *list, struct str name)
{
	struct json *entry = json_find(list, "name", name);
	size_t at = 0;

	if (entry)
		return entry;
	JSON_FOREACH (it, list) {
		if (str_cmp(json_text_at(it, "name"), name) > 0)
			break;
		at++;
	}
	entry = json_make_object(f->arena);
	json_put_str(f->arena, entry, "name", arena_str(f->arena, name));
	json_setz(entry, "resources", json_make_array(f->arena));
	json_insert(list, at, entry);
	return entry;
}

/* The condition counts evidence, too. Before the pod has ended, only evidence of a fault counts. */
static void note_kept(struct fill *f, struct device *d, enum assign_health health,
		      struct str message)
{
	if (!f->over && health != ASSIGN_UNHEALTHY)
		return;
	if (d->kept && d->kept_health == ASSIGN_UNHEALTHY)
		return;
	d->kept = true;
	d->kept_health = health;
	d->kept_message = message;
}

/* Devices come sorted, so if two shares of a claim have the same device, it was added last. */
static void device_status_add_device(struct fill *f, struct json *list, struct str name,
				     struct device *d)
{
	struct json *resources = json_getz(need_entry(f, list, name), "resources");
	const struct json *old = json_getz(json_find(f->evidence, "name", name), "resources");
	enum assign_health health = d->health;
	struct str message = d->message;
	struct json *entry;

	if (device_evidence_holds(json_find(old, "resourceID", d->id), d->health, &health,
				  &message))
		note_kept(f, d, health, message);
	if (str_eq(json_text_at(resources->last, "resourceID"), d->id))
		return;
	entry = json_make_object(f->arena);
	json_put_str(f->arena, entry, "resourceID", arena_str(f->arena, d->id));
	json_put_str(f->arena, entry, "health", str_from(assign_health_name(health)));
	if (message.n > 0)
		json_put_str(f->arena, entry, "message", arena_str(f->arena, message));
	json_append(resources, entry);
}

/* The server rejects a status with resource names that the container does not request. */
static void add_plugin_devices(struct fill *f, const struct json *container, struct json *list)
{
	const struct json *requests = json_getz(json_getz(container, "resources"), "requests");
	struct str name = json_text_at(container, "name");

	for (size_t i = 0; i < f->n; i++) {
		struct device *d = &f->devices[i];

		if (!of_claim(d) && str_eq(d->use->container, name) &&
		    json_get(requests, d->use->resource))
			device_status_add_device(f, list, d->use->resource, d);
	}
}

static struct str ref_name(struct fill *f, const struct claims_refs *r)
{
	struct str claim = r->pod_claim;

	if (str_eqz(claim, CLAIMS_EXTENDED))
		claim = json_text_at(json_getz(f->pod->status, "extendedResourceClaimStatus"),
				     "resourceClaimName");
	return str_from(arena_printf(f->arena, "claim:%.*s%s%.*s", STR_ARG(claim),
				     r->request.n > 0 ? "/" : "", STR_ARG(r->request)));
}

static void add_claim_devices(struct fill *f, const struct json *container, struct json *list)
{
	struct claims_refs r = claims_refs(f->pod, container);

	while (claims_refs_next(&r)) {
		struct str name = ref_name(f, &r);
		bool again = json_find(list, "name", name);

		for (size_t i = 0; !again && i < f->n; i++) {
			struct device *d = &f->devices[i];

			if (!str_eq(d->use->pod_claim, r.pod_claim) ||
			    !claims_device_fits(&d->use->device, r.request))
				continue;
			d->named = true;
			device_status_add_device(f, list, name, d);
		}
	}
}

/* Evidence about devices that are otherwise unknown is kept unchanged. */
static void put_list(struct fill *f, struct json *status, struct json *list)
{
	if (json_count(list) == 0 && f->evidence)
		(void)json_copy(f->arena, f->evidence, &list, NULL);
	if (json_count(list) > 0)
		json_setz(status, "allocatedResourcesStatus", list);
	f->evidence = NULL;
}

static void fill_containers(struct fill *f, struct json *status_of_pod, const char *key)
{
	const struct json *before = json_getz(f->before, key);

	JSON_FOREACH (status, json_getz(status_of_pod, key)) {
		const struct json *container = pod_container(f->pod, json_text_at(status, "name"),
							     NULL);
		struct json *list = json_make_array(f->arena);
		const struct json *old = json_find(before, "name", json_text_at(status, "name"));

		f->evidence = device_evidence_of(old, status, f->over);
		add_plugin_devices(f, container, list);
		add_claim_devices(f, container, list);
		put_list(f, status, list);
	}
}

/* Containers that have no status yet name claims, too. */
static void find_named(struct fill *f)
{
	struct pod_containers c = pod_containers(f->pod);

	while (pod_containers_next(&c)) {
		struct json *unused = json_make_array(f->arena);

		if (c.kind != POD_EPHEMERAL)
			add_claim_devices(f, c.container, unused);
	}
}

static void fill_pod(struct fill *f, struct json *status)
{
	struct json *list = json_make_array(f->arena);

	find_named(f);
	f->evidence = f->over ? json_getz(f->before, "allocatedResourcesStatus") : NULL;
	for (size_t i = 0; i < f->n; i++) {
		struct device *d = &f->devices[i];

		if (of_claim(d) && !d->named && !str_eqz(d->use->pod_claim, CLAIMS_EXTENDED))
			device_status_add_device(f, list,
						 str_from(arena_printf(f->arena, "claim:%.*s",
								       STR_ARG(d->use->pod_claim))),
						 d);
	}
	put_list(f, status, list);
}

/* --- the condition --------------------------------------------------------------------------- */

static enum assign_health worst(const struct fill *f)
{
	enum assign_health health = ASSIGN_HEALTHY;

	for (size_t i = 0; i < f->n; i++) {
		if (f->devices[i].health == ASSIGN_UNHEALTHY)
			return ASSIGN_UNHEALTHY;
		if (f->devices[i].health == ASSIGN_UNKNOWN)
			health = ASSIGN_UNKNOWN;
	}
	return health;
}

/* "gpu.example.com/pool/gpu-0: too hot; .., and 3 more" */
static struct str name_devices(struct fill *f, enum assign_health health)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4 * MESSAGE_MAX);
	size_t more = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct device *d = &f->devices[i];

		if (d->health != health ||
		    (i > 0 && of_claim(d) && of_claim(d - 1) && str_eq(d->id, (d - 1)->id)))
			continue;
		if (b.n + d->id.n + d->message.n > MESSAGE_MAX && b.n > 0) {
			more++;
			continue;
		}
		(void)buf_printf(&b, "%s%.*s%s%.*s", b.n > 0 ? "; " : "", STR_ARG(d->id),
				 d->message.n > 0 ? ": " : "", STR_ARG(d->message));
	}
	if (more > 0)
		(void)buf_printf(&b, "; and %zu more", more);
	return arena_str(f->arena, buf_str(&b));
}

/* Uses the kept health of devices whose entries show evidence. */
static void use_kept(struct fill *f)
{
	for (size_t i = 0; i < f->n; i++) {
		struct device *d = &f->devices[i];

		if (d->kept && (f->over || d->health != ASSIGN_UNHEALTHY)) {
			d->health = d->kept_health;
			d->message = d->kept_message;
		}
	}
}

/* The condition is evidence as well, for devices that no entry shows. */
static bool condition_holds(const struct fill *f, const struct json *was)
{
	return f->over && was &&
	       (f->n == 0 ||
		(str_eqz(json_text_at(was, "status"), "False") && worst(f) != ASSIGN_UNHEALTHY));
}

static struct json *make_condition(struct fill *f, const struct json *was)
{
	static const char *const values[] = { "True", "False", "Unknown" };
	static const char *const reasons[] = { "DevicesHealthy", "DeviceUnhealthy",
					       "DeviceHealthUnknown" };
	struct json *now = json_make_object(f->arena);
	enum assign_health health = worst(f);
	struct str since = json_text_at(was, "lastTransitionTime");
	char text[TIMESTAMP_SIZE];

	if (!str_eqz(json_text_at(was, "status"), values[health]) || since.n == 0)
		since = timestamp_print(f->opts->wall_ns, TIMESTAMP_SECONDS, text);
	json_put_str(f->arena, now, "type", STR(DEVICES_HEALTHY_CONDITION));
	json_put_str(f->arena, now, "status", str_from(values[health]));
	json_setz(now, "lastProbeTime", json_make_null(f->arena));
	json_put_str(f->arena, now, "lastTransitionTime", arena_str(f->arena, since));
	json_put_str(f->arena, now, "reason", str_from(reasons[health]));
	if (health != ASSIGN_HEALTHY)
		json_put_str(f->arena, now, "message", name_devices(f, health));
	return now;
}

static void put_condition(struct fill *f, struct json *status)
{
	const struct json *was = json_find(json_getz(f->before, "conditions"), "type",
					   STR(DEVICES_HEALTHY_CONDITION));
	struct json *now = NULL, *list, *old;

	if (f->n == 0 && !was)
		return;
	list = json_need_array(f->arena, status, "conditions");
	old = json_find(list, "type", STR(DEVICES_HEALTHY_CONDITION));
	if (condition_holds(f, was))
		(void)json_copy(f->arena, was, &now, NULL);
	else if (f->n > 0)
		now = make_condition(f, was);
	if (old)
		(void)json_unlink(list, old);
	if (now)
		json_append(list, now);
}

void device_status_fill(struct arena *a, const struct pod *pod, const struct device_status_opts *o,
			struct json *status, const struct json *before)
{
	struct fill f = { .arena = a, .pod = pod, .opts = o, .before = before };

	f.over = device_evidence_over(before, status);
	read_devices(&f);
	if (f.n == 0 && !f.over)
		return;
	fill_containers(&f, status, "initContainerStatuses");
	fill_containers(&f, status, "containerStatuses");
	if (o->pod_level)
		fill_pod(&f, status);
	use_kept(&f);
	put_condition(&f, status);
}

/* --- differences ----------------------------------------------------------------------------- */

struct diff {
	struct arena *arena;
	struct device_status_change *v;
	size_t n;
	struct map seen; /* devices in v */
};

/* Ids of DRA devices are unique; ids of plugin devices are unique only within their resource. */
static bool came_before(struct diff *d, const struct device_status_change *c)
{
	struct str key = c->id;
	char *text;

	if (!str_starts(c->resource, STR("claim:"))) {
		text = arena_printf(d->arena, "%.*s %.*s", STR_ARG(c->resource), STR_ARG(c->id));
		key = str_from(text);
	}
	return map_put(&d->seen, key, d) != NULL;
}

static void diff_device(struct diff *d, struct str resource, const struct json *before,
			const struct json *now)
{
	struct device_status_change c = { .resource = resource,
					  .id = json_text_at(now, "resourceID"),
					  .message = json_text_at(now, "message"),
					  .before = device_evidence_health(before),
					  .now = device_evidence_health(now) };
	bool same = c.before == c.now && str_eq(json_text_at(before, "message"), c.message);

	if (before ? same : c.now != ASSIGN_UNHEALTHY)
		return;
	if (!came_before(d, &c))
		d->v[d->n++] = c;
}

/* Both lists have the same order, so the device is nearly always the next one. */
static const struct json *find_from(const struct json *at, const struct json *list, struct str id)
{
	if (at && str_eq(json_text_at(at, "resourceID"), id))
		return at;
	return json_find(list, "resourceID", id);
}

static void diff_lists(struct diff *d, const struct json *before, const struct json *now)
{
	JSON_FOREACH (entry, now) {
		struct str name = json_text_at(entry, "name");
		const struct json *list = json_getz(json_find(before, "name", name), "resources");
		const struct json *at = json_first(list), *old;

		JSON_FOREACH (health, json_getz(entry, "resources")) {
			old = find_from(at, list, json_text_at(health, "resourceID"));
			diff_device(d, name, old, health);
			at = old ? old->next : at;
		}
	}
}

static size_t device_status_count(const struct json *list)
{
	size_t n = 0;

	JSON_FOREACH (entry, list)
		n += json_count(json_getz(entry, "resources"));
	return n;
}

size_t device_status_diff(struct arena *a, const struct json *before, const struct json *now,
			  const struct device_status_change **ret_changes)
{
	static const char *const lists[] = { "initContainerStatuses", "containerStatuses" };
	static const char field[] = "allocatedResourcesStatus";
	size_t most = device_status_count(json_getz(now, field));
	struct diff d = { .arena = a };

	map_init(&d.seen);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		JSON_FOREACH (status, json_getz(now, lists[i]))
			most += device_status_count(json_getz(status, field));
	}
	d.v = ARENA_ARRAY(a, struct device_status_change, most);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		JSON_FOREACH (status, json_getz(now, lists[i])) {
			const struct json *old = json_find(json_getz(before, lists[i]), "name",
							   json_text_at(status, "name"));

			diff_lists(&d, json_getz(old, field), json_getz(status, field));
		}
	}
	diff_lists(&d, json_getz(before, field), json_getz(now, field));
	map_release(&d.seen);
	*ret_changes = d.v;
	return d.n;
}
