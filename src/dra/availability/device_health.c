/*
 * A speaker (a pod, a node or a claim) has a list of its reports. A device has lists of the reports
 * about it, by health. A put compares the speaker's new reports with its earlier ones, and calls
 * `changed` only for differences. A health that stays the same keeps its `since`. Reports are kept
 * sorted, so a lookup usually reads the first.
 *
 * Which speakers are believed depends on slices and claims, which change independently. A lookup
 * reads them, so nothing has to be recomputed when they change.
 */
#include "dra/availability/device_health.h"

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/time/timestamp.h"
#include "dra/dra_limits.h"
#include "dra/inventory/content.h"

/* "driver/pool/device": 63, 253 and 63 bytes are allowed. */
enum { ID_MAX = 512 };

struct subject {
	struct str id, driver, pool, device;
	struct list reports[DEVICE_HEALTHS]; /* in the order of goes_before() */
	size_t n;
	char text[]; /* the id */
};

/*
 * The first byte of a speaker's key; then a pod's uid, a node's name, a claim's namespace/name.
 * Among reports of equal health, lower kinds come first.
 */
enum speaker_kind { OF_POD = 1, OF_NODE, OF_CLAIM };

struct speaker {
	struct str key;
	struct str source;
	struct str namespace; /* of a pod or claim */
	struct list reports;
	size_t n;
	/* During a put: its reports by ID, and how many were made or repeated. */
	struct map by_id;
	size_t met;
	enum speaker_kind kind;
};

struct report {
	struct list of_subject, of_speaker;
	struct subject *subject;
	struct speaker *speaker;
	struct device_health_report is;
	int64_t dated; /* the start time that the speaker gives, or 0 */
	struct str
		/* For a pod: the claim by which it has the device; for a claim: its own name. */
		claim;
	/* During a put: the new report; the speaker's object owns the text. */
	struct device_health_report next;
	int64_t next_dated;
	struct str next_claim;
	bool met; /* the speaker has made or repeated this report */
};

struct device_health_book {
	struct map subjects, speakers;
	size_t n; /* reports */
	void (*changed)(void *arg, struct str driver, struct str pool, struct str device);
	void *arg;
};

/* A report that is being put. */
struct said {
	struct str id, driver, pool, device;
	struct device_health_report is;
	int64_t dated; /* as in struct report */
	struct str claim;
};

/* --- words ----------------------------------------------------------------------------------- */

static const char *const names[] = {
	[DEVICE_NOT_REPORTED] = "NotReported",
	[DEVICE_HEALTHY] = "Healthy",
	[DEVICE_UNKNOWN] = "Unknown",
	[DEVICE_UNHEALTHY] = "Unhealthy",
};

const char *device_health_name(enum device_health h)
{
	return names[h];
}

enum device_health device_health_of_name(struct str name)
{
	for (enum device_health h = DEVICE_HEALTHY; h < DEVICE_HEALTHS; h++)
		if (str_eqz(name, names[h]))
			return h;
	return DEVICE_NOT_REPORTED;
}

bool device_health_split_id(struct str id, struct str *ret_driver, struct str *ret_pool,
			    struct str *ret_device)
{
	ptrdiff_t first = str_chr(id, '/');
	size_t last = id.n;

	while (last > 0 && id.p[last - 1] != '/')
		last--;
	if (id.n > ID_MAX || first < 1 || last < (size_t)first + 3 || last == id.n)
		return false;
	*ret_driver = str_of(id.p, (size_t)first);
	*ret_pool = str_of(id.p + first + 1, last - (size_t)first - 2);
	*ret_device = str_skip(id, last);
	return true;
}

/* --- reports --------------------------------------------------------------------------------- */

static struct subject *need_subject(struct device_health_book *b, const struct said *said)
{
	struct subject *s = map_get(&b->subjects, said->id);

	if (s)
		return s;
	s = xcalloc(1, sizeof(*s) + said->id.n);
	str_put(s->text, said->id);
	s->id = str_of(s->text, said->id.n);
	(void)device_health_split_id(s->id, &s->driver, &s->pool, &s->device);
	for (size_t i = 0; i < ARRAY_SIZE(s->reports); i++)
		list_init(&s->reports[i]);
	(void)map_put(&b->subjects, s->id, s);
	return s;
}

static void device_health_tell(struct device_health_book *b, const struct subject *s)
{
	if (b->changed)
		b->changed(b->arg, s->driver, s->pool, s->device);
}

/* Compares the content of reports, never the order in which they arrived. */
static bool goes_before(const struct report *a, const struct report *b)
{
	int by_name = str_cmp(a->is.source, b->is.source);

	if (a->speaker->kind != b->speaker->kind)
		return a->speaker->kind < b->speaker->kind;
	if (a->dated != b->dated)
		return a->dated > b->dated;
	/* Pods of the same name differ in their uids. */
	return by_name != 0 ? by_name < 0 : str_cmp(a->speaker->key, b->speaker->key) < 0;
}

/*
 * Tries the front first, because a claim's new time is usually the newest, then searches from the
 * back, because an initial list arrives sorted by name.
 */
static void sort_in(struct report *r)
{
	struct list *head = &r->subject->reports[r->is.health], *at = head->prev;

	if (!list_empty(head) && goes_before(r, LIST_ENTRY(head->next, struct report, of_subject)))
		at = head;
	while (at != head && goes_before(r, LIST_ENTRY(at, struct report, of_subject)))
		at = at->prev;
	list_insert_after(at, &r->of_subject);
}

static void device_health_set_text(struct str *to, struct str text)
{
	free((char *)to->p);
	*to = str_of(str_dup(text), text.n);
}

/* Creates a report without content; report_update() fills it in. */
static struct report *report_new(struct device_health_book *b, struct speaker *by,
				 const struct said *said)
{
	struct report *r = XNEW(struct report);

	r->subject = need_subject(b, said);
	r->speaker = by;
	r->is.source = by->source;
	r->subject->n++;
	by->n++;
	b->n++;
	list_init(&r->of_subject);
	list_push_back(&by->reports, &r->of_speaker);
	(void)map_put(&by->by_id, r->subject->id, r);
	return r;
}

static void report_free(struct device_health_book *b, struct report *r)
{
	struct subject *s = r->subject;

	list_remove(&r->of_subject);
	list_remove(&r->of_speaker);
	r->speaker->n--;
	b->n--;
	device_health_tell(b, s);
	if (--s->n == 0) {
		(void)map_remove(&b->subjects, s->id);
		free(s);
	}
	free((char *)r->is.message.p);
	free((char *)r->claim.p);
	free(r);
}

/* An equal health keeps its `since`, unless the speaker gives another start time. */
static void report_update(struct device_health_book *b, struct report *r)
{
	const struct device_health_report *next = &r->next;
	bool goes_on = r->is.health == next->health && r->dated == r->next_dated;

	if (goes_on && str_eq(r->is.message, next->message) && str_eq(r->claim, r->next_claim))
		return;
	device_health_set_text(&r->is.message, next->message);
	device_health_set_text(&r->claim, r->next_claim);
	if (!goes_on) {
		list_remove(&r->of_subject);
		r->is.health = next->health;
		r->is.since = next->since;
		r->dated = r->next_dated;
		sort_in(r);
	}
	device_health_tell(b, r->subject);
}

/* Containers of a pod should report the same about a device. If they differ, the worst counts. */
static void device_health_say(struct device_health_book *b, struct speaker *by, struct said *said)
{
	struct report *r;

	if (said->is.health == DEVICE_NOT_REPORTED ||
	    !device_health_split_id(said->id, &said->driver, &said->pool, &said->device))
		return;
	said->is.message = str_cut(said->is.message, RESOURCE_HEALTH_MESSAGE_MAX);
	r = map_get(&by->by_id, said->id);
	if (by->met == DEVICE_HEALTH_REPORTS_MAX && !(r && r->met))
		return;
	if (!r)
		r = report_new(b, by, said);
	if (r->met && r->next.health >= said->is.health)
		return;
	by->met += !r->met;
	r->met = true;
	r->next = said->is;
	r->next_dated = said->dated;
	r->next_claim = said->claim;
}

/* The same for a device given by driver, pool and name. */
static void say_of(struct device_health_book *b, struct speaker *by, struct str driver,
		   struct str pool, struct str device, struct said *said)
{
	struct buf id = BUF_INIT(ID_MAX);

	if (str_chr(driver, '/') < 0 && str_chr(device, '/') < 0 &&
	    buf_printf(&id, "%.*s/%.*s/%.*s", STR_ARG(driver), STR_ARG(pool), STR_ARG(device)) ==
		    0) {
		said->id = buf_str(&id);
		device_health_say(b, by, said);
	}
	buf_release(&id);
}

/* --- speakers -------------------------------------------------------------------------------- */

static struct str speaker_key(char out[static ID_MAX], enum speaker_kind kind, struct str name)
{
	size_t n = MIN(name.n, (size_t)ID_MAX - 1);

	out[0] = (char)kind;
	if (n > 0)
		memcpy(out + 1, name.p, n);
	return str_of(out, n + 1);
}

static struct speaker *need_speaker(struct device_health_book *b, struct str key, struct str source)
{
	struct speaker *s = map_get(&b->speakers, key);

	if (s)
		return s;
	s = XNEW(struct speaker);
	device_health_set_text(&s->key, key);
	device_health_set_text(&s->source, source);
	s->kind = (enum speaker_kind)key.p[0];
	list_init(&s->reports);
	map_init(&s->by_id);
	(void)map_put(&b->speakers, s->key, s);
	return s;
}

/* Returns the speaker for a namespaced object, with source "pod NAMESPACE/NAME". */
static struct speaker *need_spaced(struct device_health_book *b, struct str key, const char *what,
				   struct str namespace, struct str name)
{
	struct buf text = BUF_INIT(2 * ID_MAX);
	struct speaker *s;

	(void)buf_printf(&text, "%s %.*s/%.*s", what, STR_ARG(namespace), STR_ARG(name));
	s = need_speaker(b, key, buf_str(&text));
	if (s->namespace.n == 0)
		device_health_set_text(&s->namespace, namespace);
	buf_release(&text);
	return s;
}

static void speaker_free(struct speaker *s)
{
	free((char *)s->key.p);
	free((char *)s->source.p);
	free((char *)s->namespace.p);
	free(s);
}

static void device_health_begin(struct speaker *s)
{
	s->met = 0;
	LIST_FOREACH (it, &s->reports) {
		struct report *r = LIST_ENTRY(it, struct report, of_speaker);

		r->met = false;
		(void)map_put(&s->by_id, r->subject->id, r);
	}
}

/*
 * Ends a put: removes reports that the speaker did not repeat, and the speaker if it has no
 * reports.
 */
static void device_health_end(struct device_health_book *b, struct speaker *s)
{
	map_release(&s->by_id);
	map_init(&s->by_id);
	LIST_FOREACH_SAFE (it, &s->reports) {
		struct report *r = LIST_ENTRY(it, struct report, of_speaker);

		if (r->met)
			report_update(b, r);
		else
			report_free(b, r);
	}
	if (s->n > 0)
		return;
	(void)map_remove(&b->speakers, s->key);
	speaker_free(s);
}

static void silence(struct device_health_book *b, struct str key)
{
	struct speaker *s = map_get(&b->speakers, key);

	if (!s)
		return;
	device_health_begin(s);
	device_health_end(b, s);
}

/* --- pods ------------------------------------------------------------------------------------ */

struct pod_words {
	struct device_health_book *book;
	struct speaker *speaker;
	const struct json *pod;
	int64_t now;
};

/* Resolves the pod's "claim:NAME" or "claim:NAME/REQUEST" to the name of the ResourceClaim. */
static struct str claim_of(const struct json *pod, struct str entry)
{
	const struct json *status = json_getz(pod, "status"), *found;
	struct str name = str_skip(entry, sizeof("claim:") - 1), first = name, claim;

	(void)str_split(&name, '/', &first);
	found = json_find(json_getz(status, "resourceClaimStatuses"), "name", first);
	claim = json_text_at(found, "resourceClaimName");
	if (claim.n > 0)
		return claim;
	found = json_find(json_getz(json_getz(pod, "spec"), "resourceClaims"), "name", first);
	claim = json_text_at(found, "resourceClaimName");
	if (claim.n > 0)
		return claim;
	claim = json_text_at(json_getz(status, "extendedResourceClaimStatus"), "resourceClaimName");
	return str_eq(claim, first) ? claim : STR_NULL;
}

static void device_health_read_list(struct pod_words *w, const struct json *list)
{
	JSON_FOREACH (entry, list) {
		struct str name = json_text_at(entry, "name"), claim;

		if (!str_starts(name, STR("claim:")))
			continue;
		claim = claim_of(w->pod, name);
		JSON_FOREACH (v, json_getz(entry, "resources")) {
			struct said said = {
				.id = json_text_at(v, "resourceID"),
				.is = { .health = device_health_of_name(json_text_at(v, "health")),
					.message = json_text_at(v, "message"),
					.since = w->now },
				.claim = claim,
			};

			if (claim.n > 0)
				device_health_say(w->book, w->speaker, &said);
		}
	}
}

static bool has_ended(const struct json *status)
{
	struct str phase = json_text_at(status, "phase");

	return str_eqz(phase, "Failed") || str_eqz(phase, "Succeeded");
}

void device_health_book_put_pod(struct device_health_book *b, const struct json *pod, int64_t now)
{
	static const char *const lists[] = { "initContainerStatuses", "containerStatuses",
					     "ephemeralContainerStatuses" };
	static const char field[] = "allocatedResourcesStatus";
	const struct json *meta = json_getz(pod, "metadata"), *status = json_getz(pod, "status");
	struct pod_words w = { .book = b, .pod = pod, .now = now };
	char key[ID_MAX];

	w.speaker = need_spaced(b, speaker_key(key, OF_POD, json_text_at(meta, "uid")), "pod",
				json_text_at(meta, "namespace"), json_text_at(meta, "name"));
	device_health_begin(w.speaker);
	for (size_t i = 0; i < ARRAY_SIZE(lists) && !has_ended(status); i++) {
		JSON_FOREACH (container, json_getz(status, lists[i]))
			device_health_read_list(&w, json_getz(container, field));
	}
	if (!has_ended(status))
		device_health_read_list(&w, json_getz(status, field));
	device_health_end(b, w.speaker);
}

void device_health_book_remove_pod(struct device_health_book *b, struct str uid)
{
	char key[ID_MAX];

	silence(b, speaker_key(key, OF_POD, uid));
}

/* --- nodes ----------------------------------------------------------------------------------- */

/* Sets the start time from the speaker's time, but not later than now. */
static void date(struct said *said, struct str text, int64_t now)
{
	bool has = timestamp_parse(text, &said->dated, NULL) == 0;

	if (!has)
		said->dated = 0;
	said->is.since = has ? MIN(said->dated, now) : now;
}

static void read_annotation(struct device_health_book *b, struct speaker *by,
			    const struct json *list, int64_t now)
{
	JSON_FOREACH (v, list) {
		struct said said = {
			.id = json_text_at(v, "id"),
			.is = { .health = device_health_of_name(json_text_at(v, "health")),
				.message = json_text_at(v, "message") },
		};

		date(&said, json_text_at(v, "since"), now);
		device_health_say(b, by, &said);
		JSON_FOREACH (device, json_getz(v, "devices"))
			say_of(b, by, json_text_at(v, "driver"), json_text_at(v, "pool"),
			       json_str(device), &said);
	}
}

static int parse_annotation(struct arena *a, struct str text, struct json **ret_list,
			    struct error *err)
{
	int r = 0;

	*ret_list = NULL;
	if (text.n > DEVICE_HEALTH_ANNOTATION_MAX)
		return error_set(err, ERR_TOO_LARGE, "more than %lu bytes",
				 DEVICE_HEALTH_ANNOTATION_MAX);
	if (text.n > 0 && json_parse(a, text, NULL, ret_list, err) < 0)
		r = -ERR_INVALID;
	else if (*ret_list && !json_is(*ret_list, JSON_ARRAY))
		r = error_set(err, ERR_INVALID, "not a JSON array");
	if (r < 0)
		*ret_list = NULL;
	return r;
}

int device_health_book_put_node(struct device_health_book *b, struct str node, struct str text,
				int64_t now, struct error *err)
{
	struct buf source = BUF_INIT(ID_MAX);
	struct speaker *by;
	struct json *list;
	char key[ID_MAX];
	struct arena a;
	int r;

	arena_init(&a, MIB);
	r = parse_annotation(&a, text, &list, err);
	(void)buf_printf(&source, "node %.*s", STR_ARG(node));
	by = need_speaker(b, speaker_key(key, OF_NODE, node), buf_str(&source));
	device_health_begin(by);
	read_annotation(b, by, list, now);
	device_health_end(b, by);
	buf_release(&source);
	arena_release(&a);
	return r;
}

void device_health_book_remove_node(struct device_health_book *b, struct str node)
{
	char key[ID_MAX];

	silence(b, speaker_key(key, OF_NODE, node));
}

/* --- claims ---------------------------------------------------------------------------------- */

static enum device_health health_of_ready(struct str status)
{
	if (str_eqz(status, "True"))
		return DEVICE_HEALTHY;
	if (str_eqz(status, "False"))
		return DEVICE_UNHEALTHY;
	return str_eqz(status, "Unknown") ? DEVICE_UNKNOWN : DEVICE_NOT_REPORTED;
}

static void read_claim_device(struct device_health_book *b, struct speaker *by,
			      const struct json *device, struct str claim, int64_t now)
{
	const struct json *ready = json_find(json_getz(device, "conditions"), "type", STR("Ready"));
	struct said said = {
		.is = { .health = health_of_ready(json_text_at(ready, "status")),
			.message = json_text_at(ready, "message") },
		.claim = claim,
	};

	date(&said, json_text_at(ready, "lastTransitionTime"), now);
	say_of(b, by, json_text_at(device, "driver"), json_text_at(device, "pool"),
	       json_text_at(device, "device"), &said);
}

void device_health_book_put_claim(struct device_health_book *b, struct str namespace,
				  struct str name, const struct json *devices, int64_t now)
{
	struct buf own = BUF_INIT(2 * ID_MAX);
	struct speaker *by;
	char key[ID_MAX];

	(void)buf_printf(&own, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(name));
	by = need_spaced(b, speaker_key(key, OF_CLAIM, buf_str(&own)), "claim", namespace, name);
	device_health_begin(by);
	JSON_FOREACH (device, devices)
		read_claim_device(b, by, device, name, now);
	device_health_end(b, by);
	buf_release(&own);
}

/* --- lookups --------------------------------------------------------------------------------- */

/* Whether the claim holds the device. `admin`: admin access counts, too. */
static bool holds(const struct inventory_claim *c, const struct inventory_device *d, bool admin)
{
	for (size_t i = 0; d->use && i < c->n; i++)
		if (c->holders[i].use == d->use && (admin || !c->holders[i].admin))
			return true;
	return false;
}

static bool is_reserved_for(const struct inventory_claim *c, struct str uid)
{
	for (size_t i = 0; i < c->nusers; i++)
		if (str_eq(c->users[i], uid))
			return true;
	return false;
}

static bool is_believed(const struct report *r, const struct inventory *inv,
			const struct inventory_device *d)
{
	const struct speaker *by = r->speaker;
	struct str name = str_skip(by->key, 1);
	const struct inventory_claim *c;

	if (by->kind == OF_NODE)
		return inventory_device_on_node(d, name);
	c = inventory_claim(inv, by->namespace, r->claim);
	if (by->kind == OF_CLAIM)
		return c && holds(c, d, false);
	return c && holds(c, d, true) && is_reserved_for(c, name);
}

static struct subject *find_subject(const struct device_health_book *b,
				    const struct inventory_device *d)
{
	const struct inventory_pool *pool = d->slice->pool;
	size_t n = pool->key.n + 1 + d->name.n;
	char id[ID_MAX];

	if (!b || b->n == 0 || n > sizeof(id))
		return NULL;
	str_put(id, pool->key);
	id[pool->key.n] = '/';
	str_put(id + pool->key.n + 1, d->name);
	return map_get(&b->subjects, str_of(id, n));
}

/* Nobody can know any more what was reported from a lost node. */
static struct device_health_report report_of(const struct report *r, const struct inventory *inv,
					     const struct inventory_device *d)
{
	struct device_health_report is = r->is;
	int64_t since = inventory_nodes_lost(inv, inventory_device_nodes(d), &is.source);

	if (since == 0)
		return is;
	is.health = DEVICE_UNKNOWN;
	is.since = since;
	is.message = STR("the node is unreachable");
	return is;
}

static struct device_health_report find_report(const struct device_health_book *b,
					       const struct inventory *inv,
					       const struct inventory_device *d, bool claims)
{
	const struct subject *s = find_subject(b, d);

	for (enum device_health h = DEVICE_UNHEALTHY; s && h > DEVICE_NOT_REPORTED; h--) {
		LIST_FOREACH (it, &s->reports[h]) {
			const struct report *r = LIST_ENTRY(it, struct report, of_subject);

			if ((claims || r->speaker->kind != OF_CLAIM) && is_believed(r, inv, d))
				return report_of(r, inv, d);
		}
	}
	return (struct device_health_report){ .health = DEVICE_NOT_REPORTED };
}

struct device_health_report device_health(const struct device_health_book *b,
					  const struct inventory *inv,
					  const struct inventory_device *d)
{
	return find_report(b, inv, d, true);
}

struct device_health_report device_health_without_claims(const struct device_health_book *b,
							 const struct inventory *inv,
							 const struct inventory_device *d)
{
	return find_report(b, inv, d, false);
}

void device_health_book_recall(struct device_health_book *b, const struct inventory_device *d,
			       enum device_health health, int64_t since)
{
	struct subject *s = find_subject(b, d);

	if (!s)
		return;
	LIST_FOREACH (it, &s->reports[health]) {
		struct report *r = LIST_ENTRY(it, struct report, of_subject);

		if (r->dated == 0)
			r->is.since = MIN(r->is.since, since);
	}
}

/* --- life ------------------------------------------------------------------------------------ */

struct device_health_book *device_health_book_new(void (*changed)(void *arg, struct str driver,
								  struct str pool,
								  struct str device),
						  void *arg)
{
	struct device_health_book *b = XNEW(struct device_health_book);

	b->changed = changed;
	b->arg = arg;
	map_init(&b->subjects);
	map_init(&b->speakers);
	return b;
}

void device_health_book_free(struct device_health_book *b)
{
	struct str key;
	void *value;
	size_t at = 0;

	if (!b)
		return;
	b->changed = NULL;
	while (map_next(&b->speakers, &at, &key, &value)) {
		struct speaker *s = value;

		LIST_FOREACH_SAFE (it, &s->reports)
			report_free(b, LIST_ENTRY(it, struct report, of_speaker));
		speaker_free(s);
	}
	map_release(&b->speakers);
	map_release(&b->subjects);
	free(b);
}

size_t device_health_book_reports(const struct device_health_book *b)
{
	return b->n;
}
