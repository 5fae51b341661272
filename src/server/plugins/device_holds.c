/*
 * Most changes of an allocated claim leave its results alone (conditions of devices,
 * reservedFor). A hash of the results' text, kept per claim, detects that: it needs one scan of
 * the text and no parsing. Data from a server without this rule may have several claims on one
 * device: the index keeps all of them.
 */
#include "server/plugins/device_holds.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/json/cursor.h"
#include "base/json/json.h"
#include "server/engine/state.h"

struct device_holds {
	struct map devices; /* name -> struct device */
	struct map claims; /* "namespace/name" -> struct claim; only allocated ones */
	uint64_t seed;
};

/* A device may have many shares. A new share is compared only with exclusive holds. */
struct device {
	struct list exclusive, shares; /* struct device_hold */
	struct str name; /* stored after the struct */
};

struct claim {
	uint64_t results; /* hash of the results' text */
	struct device_hold *holds;
	struct str key; /* stored after the struct */
};

/* --- reading claims ----------------------------------------------------------------------- */

const struct json *device_results(const struct json *claim)
{
	const struct json *allocation = json_getz(json_getz(claim, "status"), "allocation");

	return json_getz(json_getz(allocation, "devices"), "results");
}

size_t device_uses(const struct json *results, struct arena *a, struct device_use **ret_uses)
{
	struct device_use *uses = ARENA_ARRAY(a, struct device_use, json_count(results) + 1);
	size_t n = 0, place = 0;

	JSON_FOREACH (it, results) {
		bool admin = false;
		struct str driver = json_text_at(it, "driver"), pool = json_text_at(it, "pool");
		struct str device = json_text_at(it, "device");

		(void)json_bool(json_getz(it, "adminAccess"), &admin);
		if (!admin)
			uses[n++] = (struct device_use){
				.device = str_from(arena_printf(a, "%.*s/%.*s/%.*s",
								STR_ARG(driver), STR_ARG(pool),
								STR_ARG(device))),
				.share = json_text_at(it, "shareID"),
				.place = place,
			};
		place++;
	}
	*ret_uses = uses;
	return n;
}

/* The text of a claim's results; empty if it has none. */
static struct str results_text(const struct object *claim)
{
	struct json_cursor c;
	enum json_cursor_type type;
	struct str raw;

	if (!claim)
		return STR("");
	c = json_cursor_of(bytes_str(claim->json));
	if (json_cursor_find(&c, STR("status")) && json_cursor_find(&c, STR("allocation")) &&
	    json_cursor_find(&c, STR("devices")) && json_cursor_find(&c, STR("results")) &&
	    json_cursor_value(&c, &raw, &type) && type == JSON_CURSOR_NESTED)
		return raw;
	return STR("");
}

/* --- the index ---------------------------------------------------------------------------- */

static char *device_holds_put_text(void *behind, struct str text)
{
	str_put(behind, text);
	return behind;
}

static struct device *device_of(struct device_holds *h, struct str name)
{
	struct device *d = map_get(&h->devices, name);

	if (d)
		return d;
	d = xcalloc(1, sizeof(*d) + name.n);
	list_init(&d->exclusive);
	list_init(&d->shares);
	d->name = str_of(device_holds_put_text(d + 1, name), name.n);
	(void)map_put(&h->devices, d->name, d);
	return d;
}

static void add_hold(struct device_holds *h, struct claim *c, const struct device_use *use)
{
	struct device *d = device_of(h, use->device);
	struct device_hold *hold = XNEW(struct device_hold);

	hold->claim = c->key;
	hold->device = d;
	hold->next = c->holds;
	c->holds = hold;
	list_push_back(use->share.n ? &d->shares : &d->exclusive, &hold->link);
}

static void drop_hold(struct device_holds *h, struct device_hold *hold)
{
	struct device *d = hold->device;

	list_remove(&hold->link);
	free(hold);
	if (list_empty(&d->exclusive) && list_empty(&d->shares)) {
		(void)map_remove(&h->devices, d->name);
		free(d);
	}
}

static void claim_free(struct device_holds *h, struct claim *c)
{
	for (struct device_hold *hold = c->holds, *next; hold; hold = next) {
		next = hold->next;
		drop_hold(h, hold);
	}
	free(c);
}

static void claim_add(struct device_holds *h, struct str key, struct str text, uint64_t hash)
{
	CLEANUP(arena_release) struct arena a;
	struct claim *c = xcalloc(1, sizeof(*c) + key.n);
	struct json *results = NULL;
	struct device_use *uses;
	char block[2048] UNZEROED;
	size_t n;

	c->results = hash;
	c->key = str_of(device_holds_put_text(c + 1, key), key.n);
	(void)map_put(&h->claims, c->key, c);
	arena_init_in(&a, SIZE_MAX, block, sizeof(block));
	(void)json_parse(&a, text, NULL, &results, NULL);
	n = device_uses(results, &a, &uses);
	for (size_t i = 0; i < n; i++)
		add_hold(h, c, &uses[i]);
}

static void changed(void *arg, struct object *now, struct object *before)
{
	struct device_holds *h = arg;
	struct str key = now ? now->key : before->key, text = results_text(now);
	struct claim *c = map_get(&h->claims, key);
	uint64_t hash = text.n ? hash_bytes(text, h->seed) : 0;

	if (c ? text.n && c->results == hash : !text.n)
		return;
	if (c)
		claim_free(h, map_remove(&h->claims, key));
	if (text.n)
		claim_add(h, key, text, hash);
}

static void reset(void *arg)
{
	struct device_holds *h = arg;
	struct str key;
	size_t at = 0;
	void *c;

	while (map_next(&h->claims, &at, &key, &c))
		claim_free(h, c);
	map_clear(&h->claims);
}

struct device_holds *device_holds_new(void)
{
	struct device_holds *h = XNEW(struct device_holds);

	map_init(&h->devices);
	map_init(&h->claims);
	h->seed = hash_process_seed();
	return h;
}

void device_holds_free(struct device_holds *h)
{
	if (!h)
		return;
	reset(h);
	map_release(&h->devices);
	map_release(&h->claims);
	free(h);
}

struct state_observer device_holds_observer(struct device_holds *h)
{
	return (struct state_observer){ .group = STR("resource.k8s.io"),
					.resource = STR("resourceclaims"),
					.changed = changed,
					.reset = reset,
					.arg = h };
}

static const struct device_hold *other_than(const struct list *holds, struct str claim)
{
	LIST_FOREACH (node, holds) {
		const struct device_hold *hold = LIST_ENTRY(node, struct device_hold, link);

		if (!str_eq(hold->claim, claim))
			return hold;
	}
	return NULL;
}

const struct device_hold *device_holds_find(const struct device_holds *h,
					    const struct device_use *use, struct str claim)
{
	const struct device *d = map_get(&h->devices, use->device);
	const struct device_hold *other = d ? other_than(&d->exclusive, claim) : NULL;

	return d && !other && !use->share.n ? other_than(&d->shares, claim) : other;
}
