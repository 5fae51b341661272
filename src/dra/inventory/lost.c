/*
 * A lost node counts as missing wherever it matters which nodes exist; only its name is kept, with
 * the reason.
 */
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/time/timestamp.h"
#include "dra/inventory/content.h"
#include "dra/inventory/store.h"

#define LOST_WHO "node "

struct inventory_lost {
	int64_t since;
	char text[]; /* "node NAME" */
};

void inventory_put_lost_node(struct inventory *inv, struct str name, int64_t since)
{
	struct inventory_lost *lost;
	char *at;

	inventory_remove_node(inv, name);
	lost = xcalloc(1, sizeof(*lost) + sizeof(LOST_WHO) + name.n);
	at = str_put(lost->text, STR(LOST_WHO));
	str_put(at, name);
	lost->since = since;
	(void)map_put(&inv->lost, str_of(at, name.n), lost);
	inv->nodes_version++;
}

void inventory_found_node(struct inventory *inv, struct str name)
{
	struct inventory_lost *lost = map_remove(&inv->lost, name);

	if (!lost)
		return;
	free(lost);
	inv->nodes_version++;
}

void inventory_lost_release(struct inventory *inv)
{
	struct str name;
	size_t at = 0;
	void *lost;

	while (map_next(&inv->lost, &at, &name, &lost))
		free(lost);
	map_release(&inv->lost);
}

int64_t inventory_nodes_lost(const struct inventory *inv, const struct inventory_nodes *nodes,
			     struct str *ret_who)
{
	const struct inventory_lost *lost;

	if (nodes->kind != INVENTORY_NODES_NAME)
		return 0;
	lost = map_get(&inv->lost, nodes->name);
	if (!lost)
		return 0;
	if (ret_who)
		*ret_who = str_of(lost->text, STR(LOST_WHO).n + nodes->name.n);
	return lost->since;
}

static int64_t time_in(const struct json *object, const char *key)
{
	struct str text = json_text_at(object, key);
	int64_t ns;

	return text.n > 0 && timestamp_parse(text, &ns, NULL) == 0 && ns > 0 ? ns : 0;
}

int64_t inventory_node_lost_since(const struct json *node)
{
	const struct json *ready = json_find(json_getz(json_getz(node, "status"), "conditions"),
					     "type", STR("Ready"));
	int64_t since = 0, added;
	bool lost = false;

	JSON_FOREACH (it, json_getz(json_getz(node, "spec"), "taints")) {
		struct str key = json_text_at(it, "key");

		if (!str_eqz(key, "node.kubernetes.io/unreachable") &&
		    !str_eqz(key, "node.kubernetes.io/out-of-service"))
			continue;
		lost = true;
		added = time_in(it, "timeAdded");
		if (added > 0 && (since == 0 || added < since))
			since = added;
	}
	if (lost && since == 0)
		since = MAX(time_in(ready, "lastTransitionTime"), 1);
	return lost ? since : 0;
}

void inventory_put_node_object(struct inventory *inv, const struct json *node)
{
	const struct json *meta = json_getz(node, "metadata");
	int64_t lost = inventory_node_lost_since(node);

	if (lost)
		inventory_put_lost_node(inv, json_text_at(meta, "name"), lost);
	else
		inventory_put_node(inv, json_text_at(meta, "name"), json_getz(meta, "labels"));
}
