/*
 * Most changes of an allocated claim leave its results alone (conditions of devices,
 * reservedFor). Comparing the results' text with the earlier one detects that without parsing.
 * Data from a server without this rule may have several claims on one device: the index keeps all
 * of them.
 */
#include "server/fence/device_holds.h"

#include <stdlib.h>

#include "base/core/arena.h"
#include "base/core/mem.h"
#include "base/json/cursor.h"
#include "base/json/json.h"
#include "dra/inventory/content.h"
#include "server/engine/state.h"
#include "server/fence/device_offers.h"

struct device_holds {
	struct inventory *inventory;
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
		struct device_use use = { .driver = json_text_at(it, "driver"),
					  .pool = json_text_at(it, "pool"),
					  .name = json_text_at(it, "device"),
					  .share = json_text_at(it, "shareID"),
					  .place = place++ };

		if (json_true_at(it, "adminAccess"))
			continue;
		use.device = str_from(arena_printf(a, "%.*s/%.*s/%.*s", STR_ARG(use.driver),
						   STR_ARG(use.pool), STR_ARG(use.name)));
		uses[n++] = use;
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

	if (!claim || !claim->status_at)
		return STR("");
	c = json_cursor_compact(object_from_status(claim));
	if (json_cursor_find(&c, STR("allocation")) && json_cursor_find(&c, STR("devices")) &&
	    json_cursor_find(&c, STR("results")) && json_cursor_value(&c, &raw, &type) &&
	    type == JSON_CURSOR_NESTED)
		return raw;
	return STR("");
}

/* --- the index ---------------------------------------------------------------------------- */

static struct json *holds_claim(struct str ns, struct str name, struct json *results,
				struct arena *a)
{
	struct json *claim = json_make_object(a), *meta = json_need_object(a, claim, "metadata");
	struct json *status = json_need_object(a, claim, "status");
	struct json *allocation = json_need_object(a, status, "allocation");

	json_put_str(a, meta, "namespace", ns);
	json_put_str(a, meta, "name", name);
	json_setz(json_need_object(a, allocation, "devices"), "results", results);
	return claim;
}

static void holds_put(struct device_holds *h, struct str ns, struct str name, struct str text)
{
	CLEANUP(arena_release) struct arena a;
	struct json *results = NULL, *claim;
	char block[4096] UNZEROED;

	arena_init_in(&a, SIZE_MAX, block, sizeof(block));
	if (json_parse(&a, text, NULL, &results, NULL) < 0)
		results = json_make_array(&a);
	claim = holds_claim(ns, name, results, &a);
	if (inventory_put_claim(h->inventory, claim, NULL) == 0)
		return;
	/* More capacities than a device can have: the claim holds its devices all the same. */
	JSON_FOREACH (it, results)
		(void)json_remove(it, STR("consumedCapacity"));
	(void)inventory_put_claim(h->inventory, claim, NULL);
}

static void holds_changed(void *arg, struct object *now, struct object *before)
{
	struct device_holds *h = arg;
	struct str name = now ? now->key : before->key, ns = STR(""), text = results_text(now);

	if (str_eq(text, results_text(before)))
		return;
	(void)str_split(&name, '/', &ns);
	if (text.n)
		holds_put(h, ns, name, text);
	else
		inventory_remove_claim(h->inventory, ns, name);
}

static void holds_reset(void *arg)
{
	struct device_holds *h = arg;

	inventory_remove_claims(h->inventory);
}

struct device_holds *device_holds_new(void)
{
	struct device_holds *h = XNEW(struct device_holds);

	h->inventory = inventory_new(inventory_everything);
	return h;
}

void device_holds_free(struct device_holds *h)
{
	if (!h)
		return;
	inventory_free(h->inventory);
	free(h);
}

void device_holds_observe(struct device_holds *h, struct state_observer *ret_observers)
{
	ret_observers[0] = (struct state_observer){ .group = STR("resource.k8s.io"),
						    .resource = STR("resourceclaims"),
						    .changed = holds_changed,
						    .reset = holds_reset,
						    .arg = h };
	ret_observers[1] = device_offers_observer(h->inventory);
}

struct inventory *device_holds_inventory(const struct device_holds *h)
{
	return h->inventory;
}

struct str device_holds_find(const struct device_holds *h, const struct device_use *use,
			     struct str claim)
{
	const struct inventory_pool *pool = inventory_pool(h->inventory, use->driver, use->pool);
	const struct inventory_use *held = pool ? inventory_use(pool, use->name) : NULL;

	/* A device may have many shares. A new share is compared only with exclusive holds. */
	if (!held || (use->share.n && !held->whole))
		return STR("");
	LIST_FOREACH (node, &held->holders) {
		const struct inventory_holder *it = LIST_ENTRY(node, struct inventory_holder, link);

		if (!it->admin && !(use->share.n && it->share_id.n) &&
		    !str_eq(it->claim->key, claim))
			return it->claim->key;
	}
	return STR("");
}
