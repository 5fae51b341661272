/*
 * The nodes that exist, and which of them each node selector of the slices matches.
 *
 * Labels are kept as text, since they are only read when a node or a selector is new.
 */
#include <assert.h>

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "dra/inventory/store.h"

struct inventory_existing {
	struct str name;
	struct str labels; /* JSON, on the heap */
	char text[];
};

/* --- selectors ---------------------------------------------------------------------- */

static bool choice_matches(const struct inventory_choice *c, const struct inventory_existing *node)
{
	struct json *labels = NULL;
	bool matches;
	struct arena a;
	char block[4096] UNZEROED;

	arena_init_in(&a, SIZE_MAX, block, sizeof(block));
	if (node->labels.n > 0 && json_parse(&a, node->labels, NULL, &labels, NULL) < 0)
		labels = NULL;
	matches = node_selector_matches(&c->selector, node->name, labels);
	arena_release(&a);
	return matches;
}

static void choice_set(struct inventory *inv, struct inventory_choice *c,
		       struct inventory_existing *node, bool matches)
{
	if (matches == (map_get(&c->matched, node->name) != NULL))
		return;
	if (matches)
		(void)map_put(&c->matched, node->name, node);
	else
		(void)map_remove(&c->matched, node->name);
	c->version++;
	inv->matches_version++;
}

static struct inventory_choice *choice_new(struct inventory *inv, struct str text)
{
	struct inventory_choice *c = XNEW(struct inventory_choice);
	struct json *tree = NULL;
	struct str name;
	size_t at = 0;
	void *node;

	arena_init(&c->arena, SIZE_MAX);
	map_init(&c->matched);
	c->text = arena_str(&c->arena, text);
	/* The slice was read with this selector, so it is valid. */
	if (json_parse(&c->arena, text, NULL, &tree, NULL) < 0 ||
	    node_selector_read(&c->arena, tree, &c->selector, NULL) < 0)
		assert(false);
	(void)map_put(&inv->choices, c->text, c);
	while (map_next(&inv->existing, &at, &name, &node))
		choice_set(inv, c, node, choice_matches(c, node));
	return c;
}

static void choice_free(struct inventory_choice *c)
{
	map_release(&c->matched);
	arena_release(&c->arena);
	free(c);
}

static void use_choice(struct inventory *inv, const struct inventory_nodes *nodes)
{
	struct inventory_choice *c;

	if (nodes->kind != INVENTORY_NODES_SELECTOR)
		return;
	c = map_get(&inv->choices, nodes->selector_text);
	if (!c)
		c = choice_new(inv, nodes->selector_text);
	c->users++;
}

static void drop_choice(struct inventory *inv, const struct inventory_nodes *nodes)
{
	struct inventory_choice *c;

	if (nodes->kind != INVENTORY_NODES_SELECTOR)
		return;
	c = map_get(&inv->choices, nodes->selector_text);
	if (--c->users > 0)
		return;
	(void)map_remove(&inv->choices, c->text);
	choice_free(c);
}

void inventory_choices_add(struct inventory *inv, const struct inventory_slice *slice)
{
	use_choice(inv, &slice->nodes);
	for (size_t i = 0; slice->nodes.kind == INVENTORY_NODES_PER_DEVICE && i < slice->ndevices;
	     i++)
		use_choice(inv, slice->devices[i].nodes);
}

void inventory_choices_remove(struct inventory *inv, const struct inventory_slice *slice)
{
	drop_choice(inv, &slice->nodes);
	for (size_t i = 0; slice->nodes.kind == INVENTORY_NODES_PER_DEVICE && i < slice->ndevices;
	     i++)
		drop_choice(inv, slice->devices[i].nodes);
}

const struct inventory_choice *inventory_choice(const struct inventory *inv,
						const struct inventory_nodes *nodes)
{
	return nodes->kind == INVENTORY_NODES_SELECTOR
		       ? map_get(&inv->choices, nodes->selector_text)
		       : NULL;
}

/* --- nodes -------------------------------------------------------------------------- */

static struct inventory_existing *existing_new(struct inventory *inv, struct str name)
{
	struct inventory_existing *node = xcalloc(1, sizeof(*node) + name.n);

	str_put(node->text, name);
	node->name = str_of(node->text, name.n);
	(void)map_put(&inv->existing, node->name, node);
	inv->nodes_version++;
	return node;
}

static void existing_free(struct inventory_existing *node)
{
	free((char *)node->labels.p);
	free(node);
}

static void set_labels(struct inventory *inv, struct inventory_existing *node, struct str labels)
{
	struct str text;
	size_t at = 0;
	void *choice;

	free((char *)node->labels.p);
	node->labels = labels.n ? str_from(str_dup(labels)) : STR_NULL;
	while (map_next(&inv->choices, &at, &text, &choice))
		choice_set(inv, choice, node, choice_matches(choice, node));
}

void inventory_put_node(struct inventory *inv, struct str name, const struct json *labels)
{
	struct inventory_existing *node = map_get(&inv->existing, name);
	struct buf text = BUF_INIT(OBJECT_MAX);
	bool anew = !node;

	inventory_found_node(inv, name);
	if (anew)
		node = existing_new(inv, name);
	/* Labels that no API server stores count as none. */
	if (labels && json_print(&text, labels, NULL) < 0)
		buf_clear(&text);
	if (anew || !str_eq(node->labels, buf_str(&text)))
		set_labels(inv, node, buf_str(&text));
	buf_release(&text);
}

void inventory_remove_node(struct inventory *inv, struct str name)
{
	struct inventory_existing *node = map_remove(&inv->existing, name);
	struct str text;
	size_t at = 0;
	void *choice;

	inventory_found_node(inv, name);
	if (!node)
		return;
	inv->nodes_version++;
	while (map_next(&inv->choices, &at, &text, &choice))
		choice_set(inv, choice, node, false);
	existing_free(node);
}

void inventory_know_nodes(struct inventory *inv)
{
	inv->nodes_known = true;
	inv->nodes_version++;
}

/* --- asking ------------------------------------------------------------------------- */

bool inventory_nodes_gone(const struct inventory *inv, const struct inventory_nodes *nodes)
{
	return inv->nodes_known && nodes->kind == INVENTORY_NODES_NAME &&
	       !map_get(&inv->existing, nodes->name) && !map_get(&inv->lost, nodes->name);
}

bool inventory_nodes_none(const struct inventory *inv, const struct inventory_nodes *nodes)
{
	const struct inventory_choice *c;

	if (!inv->nodes_known || nodes->kind != INVENTORY_NODES_SELECTOR)
		return false;
	c = inventory_choice(inv, nodes);
	return !c || c->matched.n == 0;
}

bool inventory_only_node(const struct inventory *inv, const struct inventory_nodes *nodes,
			 struct str node)
{
	const struct inventory_choice *c = inventory_choice(inv, nodes);

	return c && c->matched.n == 1 && map_get(&c->matched, node);
}

/* --- sizes, end --------------------------------------------------------------------- */

size_t inventory_existing_bytes(const struct inventory *inv)
{
	size_t bytes = 0, at = 0;
	struct str key;
	void *value;

	while (map_next(&inv->existing, &at, &key, &value)) {
		const struct inventory_existing *node = value;

		bytes += sizeof(*node) + key.n + node->labels.n + 1;
	}
	at = 0;
	while (map_next(&inv->choices, &at, &key, &value)) {
		const struct inventory_choice *c = value;

		bytes += sizeof(*c) + 2 * key.n +
			 c->matched.n * (sizeof(struct str) + sizeof(void *));
	}
	return bytes;
}

void inventory_existing_release(struct inventory *inv)
{
	struct str key;
	size_t at = 0;
	void *value;

	while (map_next(&inv->choices, &at, &key, &value))
		choice_free(value);
	map_release(&inv->choices);
	at = 0;
	while (map_next(&inv->existing, &at, &key, &value))
		existing_free(value);
	map_release(&inv->existing);
}
