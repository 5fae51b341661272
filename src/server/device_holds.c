/*
 * Nearly all changes of an allocated claim leave its results alone (conditions of devices,
 * reservedFor): then both texts have the same bytes there, and nothing is parsed. What a claim held
 * before is read from its text before the change, so nothing is kept by claim. Data of a server
 * without this rule may have several claims on one device: all are kept.
 */
#include "server/device_holds.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/json_cursor.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"
#include "server/state.h"

struct device_holds {
	struct map devices; /* name -> struct device */
};

/* A device may have many shares, so whoever wants one more looks at the others only. */
struct device {
	struct device_hold *exclusive, *shares;
	struct str name; /* behind the struct */
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

/* The text of a claim's results; empty: it has none. */
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

static char *put_text(void *behind, struct str text)
{
	memcpy(behind, text.p, text.n);
	return behind;
}

static struct device *device_of(struct device_holds *h, struct str name)
{
	struct device *d = map_get(&h->devices, name);

	if (d)
		return d;
	d = xcalloc(1, sizeof(*d) + name.n);
	d->name = str_of(put_text(d + 1, name), name.n);
	(void)map_put(&h->devices, d->name, d);
	return d;
}

static struct device_hold **list_of(struct device *d, const struct device_use *use)
{
	return use->share.n ? &d->shares : &d->exclusive;
}

static void add(struct device_holds *h, struct str claim, const struct device_use *use)
{
	struct device_hold **list = list_of(device_of(h, use->device), use);
	struct device_hold *hold = xcalloc(1, sizeof(*hold) + claim.n);

	hold->claim = str_of(put_text(hold + 1, claim), claim.n);
	hold->next = *list;
	*list = hold;
}

static void drop(struct device_holds *h, struct str claim, const struct device_use *use)
{
	struct device *d = map_get(&h->devices, use->device);
	struct device_hold **at = d ? list_of(d, use) : NULL, *hold;

	if (!d)
		return;
	while (*at && !str_eq((*at)->claim, claim))
		at = &(*at)->next;
	hold = *at;
	if (hold) {
		*at = hold->next;
		free(hold);
	}
	if (!d->exclusive && !d->shares) {
		(void)map_remove(&h->devices, d->name);
		free(d);
	}
}

static void each(struct device_holds *h, struct str claim, struct str text,
		 void (*fn)(struct device_holds *h, struct str claim, const struct device_use *use))
{
	CLEANUP(arena_release) struct arena a;
	struct json *results = NULL;
	struct device_use *uses;
	char block[2048];
	size_t n;

	arena_init_in(&a, SIZE_MAX, block, sizeof(block));
	if (text.n && json_parse(&a, text, NULL, &results, NULL) == 0) {
		n = device_uses(results, &a, &uses);
		for (size_t i = 0; i < n; i++)
			fn(h, claim, &uses[i]);
	}
}

static void changed(void *arg, struct object *now, struct object *before)
{
	struct str was = results_text(before), is = results_text(now);

	if (str_eq(was, is))
		return;
	each(arg, now ? now->key : before->key, was, drop);
	each(arg, now ? now->key : before->key, is, add);
}

static void free_list(struct device_hold *first)
{
	for (struct device_hold *next; first; first = next) {
		next = first->next;
		free(first);
	}
}

static void device_free(struct device *d)
{
	free_list(d->exclusive);
	free_list(d->shares);
	free(d);
}

static void reset(void *arg)
{
	struct device_holds *h = arg;
	struct str name;
	size_t at = 0;
	void *d;

	while (map_next(&h->devices, &at, &name, &d))
		device_free(d);
	map_clear(&h->devices);
}

struct device_holds *device_holds_new(void)
{
	struct device_holds *h = XNEW(struct device_holds);

	map_init(&h->devices);
	return h;
}

void device_holds_free(struct device_holds *h)
{
	if (!h)
		return;
	reset(h);
	map_release(&h->devices);
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

static const struct device_hold *other_than(const struct device_hold *first, struct str claim)
{
	while (first && str_eq(first->claim, claim))
		first = first->next;
	return first;
}

const struct device_hold *device_holds_find(const struct device_holds *h,
					    const struct device_use *use, struct str claim)
{
	const struct device *d = map_get(&h->devices, use->device);
	const struct device_hold *other = d ? other_than(d->exclusive, claim) : NULL;

	return d && !other && !use->share.n ? other_than(d->shares, claim) : other;
}
