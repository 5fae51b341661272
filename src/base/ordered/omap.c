/*
 * A B+-tree in which every node, leaf or inner, has the same form: sorted keys, each with an item.
 * A leaf's items are the values; an inner node's items are its children, and the key beside a child
 * is always exactly the child's first key. Keys are borrowed, so a separator must never outlive its
 * entry. Keeping it exact guarantees that, and makes splitting, merging and searching the same code
 * on every level.
 *
 * A change is made in the leaf and then carried up to the root. Each parent's key is corrected, a
 * child that was split off is inserted, an empty one is dropped, and one that fits together with
 * its neighbour is merged. Neighbours do not borrow items from each other: merging at three
 * quarters keeps two neighbours from both being small, which is all that the memory bound needs.
 * Nodes of one level are linked, so cursors need no path.
 */
#include "base/ordered/omap.h"

#include <assert.h>

#include "base/core/mem.h"

enum {
	OMAP_WIDTH = 64, /* items of a node */
	OMAP_MERGE = OMAP_WIDTH * 3 / 4, /* neighbours with at most this many items merge */
	OMAP_HEIGHT_MAX = 16, /* neighbours have 24 items on average: beyond any memory */
};

/* Separate arrays, because a struct of these three would pad 20 bytes to 24. */
struct omap_node {
	struct omap_node *next, *prev; /* on the same level */
	uint32_t n;
	uint32_t len[OMAP_WIDTH];
	const char *key[OMAP_WIDTH];
	void *item[OMAP_WIDTH];
};

/* The path from the root: node[0] is the root, at[i] the child taken in node[i]. */
struct path {
	struct omap_node *node[OMAP_HEIGHT_MAX];
	uint32_t at[OMAP_HEIGHT_MAX];
};

static struct str key_at(const struct omap_node *node, uint32_t at)
{
	return str_of(node->key[at], node->len[at]);
}

static void set_key(struct omap_node *node, uint32_t at, struct str key)
{
	node->key[at] = key.p;
	node->len[at] = (uint32_t)key.n;
}

/* Index of the first key >= `key`; node->n if not found. */
static uint32_t lower_bound(const struct omap_node *node, struct str key)
{
	uint32_t low = 0, n = node->n, half;

	while (n > 0) {
		half = n / 2;
		if (str_cmp(key_at(node, low + half), key) < 0) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return low;
}

/* The child that has `key` or should: the last whose first key is <= key, or the first. */
static uint32_t child_for(const struct omap_node *inner, struct str key)
{
	uint32_t at = lower_bound(inner, key);

	if (at < inner->n && str_eq(key_at(inner, at), key))
		return at;
	return at ? at - 1 : 0;
}

static bool has_key_at(const struct omap_node *leaf, uint32_t at, struct str key)
{
	return at < leaf->n && str_eq(key_at(leaf, at), key);
}

static struct omap_node *leaf_for(const struct omap *m, struct str key)
{
	struct omap_node *node = m->root;

	for (unsigned level = 0; level < m->height; level++)
		node = node->item[child_for(node, key)];
	return node;
}

/* The same, recording the path. */
static struct omap_node *descend(const struct omap *m, struct str key, struct path *path)
{
	struct omap_node *node = m->root;

	for (unsigned level = 0; level < m->height; level++) {
		path->node[level] = node;
		path->at[level] = child_for(node, key);
		node = node->item[path->at[level]];
	}
	return node;
}

static void move_items(struct omap_node *to, uint32_t to_at, const struct omap_node *from,
		       uint32_t from_at, uint32_t n)
{
	memmove(&to->len[to_at], &from->len[from_at], n * sizeof(from->len[0]));
	memmove(&to->key[to_at], &from->key[from_at], n * sizeof(from->key[0]));
	memmove(&to->item[to_at], &from->item[from_at], n * sizeof(from->item[0]));
}

static void insert_at(struct omap_node *node, uint32_t at, struct str key, void *item)
{
	assert(node->n < OMAP_WIDTH);
	move_items(node, at + 1, node, at, node->n - at);
	set_key(node, at, key);
	node->item[at] = item;
	node->n++;
}

static void remove_at(struct omap_node *node, uint32_t at)
{
	node->n--;
	move_items(node, at, node, at + 1, node->n - at);
}

/* A new node to the right of `left`, with its items from `at` on. */
static struct omap_node *split_at(struct omap_node *left, uint32_t at)
{
	struct omap_node *right = xmalloc(sizeof(*right));

	right->n = left->n - at;
	move_items(right, 0, left, at, right->n);
	left->n = at;
	right->prev = left;
	right->next = left->next;
	if (right->next)
		right->next->prev = right;
	left->next = right;
	return right;
}

static void unlink_and_free(struct omap_node *node)
{
	if (node->prev)
		node->prev->next = node->next;
	if (node->next)
		node->next->prev = node->prev;
	free(node);
}

/*
 * Inserts; when the node is full, splits it and returns the new right one.
 * Appending at the right edge leaves the left node full: loading sorted keys
 * then fills every node.
 */
static struct omap_node *insert_or_split(struct omap_node *node, uint32_t at, struct str key,
					 void *item)
{
	struct omap_node *right;
	uint32_t middle = OMAP_WIDTH / 2;

	if (node->n < OMAP_WIDTH) {
		insert_at(node, at, key, item);
		return NULL;
	}
	if (at == node->n && !node->next)
		middle = node->n;
	right = split_at(node, middle);
	if (at > middle || right->n == 0)
		insert_at(right, at - middle, key, item);
	else
		insert_at(node, at, key, item);
	return right;
}

static struct omap_node *node_new(void)
{
	struct omap_node *node = xmalloc(sizeof(*node));

	node->next = node->prev = NULL;
	node->n = 0;
	return node;
}

static void grow_root(struct omap *m, struct omap_node *right)
{
	struct omap_node *root = node_new();

	assert(m->height + 1 < OMAP_HEIGHT_MAX);
	insert_at(root, 0, key_at(m->root, 0), m->root);
	insert_at(root, 1, key_at(right, 0), right);
	m->root = root;
	m->height++;
}

/* Carries a leaf's new first key, and the node split off it if any, up to the root. */
static void carry_insert(struct omap *m, struct path *path, struct omap_node *right)
{
	for (unsigned level = m->height; level-- > 0;) {
		struct omap_node *parent = path->node[level];
		uint32_t at = path->at[level];

		set_key(parent, at, key_at(parent->item[at], 0));
		if (right)
			right = insert_or_split(parent, at + 1, key_at(right, 0), right);
	}
	if (right)
		grow_root(m, right);
}

/* Merges the child at `at` into its left neighbour when both fit comfortably. */
static bool merge_left(struct omap_node *parent, uint32_t at)
{
	struct omap_node *left, *right = parent->item[at];

	if (at == 0)
		return false;
	left = parent->item[at - 1];
	if (left->n + right->n > OMAP_MERGE)
		return false;
	move_items(left, left->n, right, 0, right->n);
	left->n += right->n;
	remove_at(parent, at);
	unlink_and_free(right);
	return true;
}

/* Carries a removal up: drops an empty child, merges a small one, keeps first keys exact. */
static void carry_remove(struct omap *m, struct path *path)
{
	for (unsigned level = m->height; level-- > 0;) {
		struct omap_node *parent = path->node[level];
		uint32_t at = path->at[level];
		struct omap_node *child = parent->item[at];

		if (child->n == 0) {
			remove_at(parent, at);
			unlink_and_free(child);
			continue;
		}
		set_key(parent, at, key_at(child, 0));
		if (!merge_left(parent, at) && at + 1 < parent->n)
			(void)merge_left(parent, at + 1);
	}
}

static void shrink_root(struct omap *m)
{
	struct omap_node *root = m->root;

	while (m->height > 0 && root->n == 1) {
		m->root = root->item[0];
		m->height--;
		free(root);
		root = m->root;
	}
	if (root->n == 0) {
		free(root);
		omap_init(m);
	}
}

void omap_init(struct omap *m)
{
	*m = (struct omap){ 0 };
}

void omap_clear(struct omap *m)
{
	struct omap_node *node = m->root, *below, *next;

	for (unsigned level = 0; node; level++, node = below) {
		below = level < m->height ? node->item[0] : NULL;
		for (; node; node = next) {
			next = node->next;
			free(node);
		}
	}
	omap_init(m);
}

void omap_release(struct omap *m)
{
	omap_clear(m);
}

void *omap_get(const struct omap *m, struct str key)
{
	const struct omap_node *leaf = m->root ? leaf_for(m, key) : NULL;
	uint32_t at = leaf ? lower_bound(leaf, key) : 0;

	return leaf && has_key_at(leaf, at, key) ? leaf->item[at] : NULL;
}

void *omap_put(struct omap *m, struct str key, void *value)
{
	struct omap_node *leaf, *right = NULL;
	void *before = NULL;
	struct path path;
	uint32_t at;

	assert(value && key.n <= UINT32_MAX);
	if (!m->root)
		m->root = node_new();
	leaf = descend(m, key, &path);
	at = lower_bound(leaf, key);
	if (has_key_at(leaf, at, key)) {
		before = leaf->item[at];
		set_key(leaf, at, key);
		leaf->item[at] = value;
	} else {
		right = insert_or_split(leaf, at, key, value);
		m->n++;
	}
	if (right || at == 0)
		carry_insert(m, &path, right);
	return before;
}

void *omap_remove(struct omap *m, struct str key)
{
	struct omap_node *leaf;
	struct path path;
	void *value;
	uint32_t at;

	if (!m->root)
		return NULL;
	leaf = descend(m, key, &path);
	at = lower_bound(leaf, key);
	if (!has_key_at(leaf, at, key))
		return NULL;
	value = leaf->item[at];
	remove_at(leaf, at);
	m->n--;
	carry_remove(m, &path);
	shrink_root(m);
	return value;
}

/* A position after a leaf's last entry is the next leaf's first, and vice versa. */
static bool omap_settle(struct omap_cursor *c)
{
	if (!c->leaf)
		return false;
	if (c->at < 0 && c->leaf->prev) {
		c->leaf = c->leaf->prev;
		c->at = (int)c->leaf->n - 1;
	} else if (c->at >= (int)c->leaf->n && c->leaf->next) {
		c->leaf = c->leaf->next;
		c->at = 0;
	}
	return c->at >= 0 && c->at < (int)c->leaf->n;
}

bool omap_first(const struct omap *m, struct omap_cursor *c)
{
	return omap_seek(m, c, STR_NULL);
}

bool omap_last(const struct omap *m, struct omap_cursor *c)
{
	struct omap_node *node = m->root;

	for (unsigned level = 0; level < m->height; level++)
		node = node->item[node->n - 1];
	*c = (struct omap_cursor){ .leaf = node, .at = node ? (int)node->n - 1 : 0 };
	return node != NULL;
}

bool omap_seek(const struct omap *m, struct omap_cursor *c, struct str key)
{
	c->leaf = m->root ? leaf_for(m, key) : NULL;
	c->at = c->leaf ? (int)lower_bound(c->leaf, key) : 0;
	return omap_settle(c);
}

bool omap_seek_after(const struct omap *m, struct omap_cursor *c, struct str key)
{
	if (omap_seek(m, c, key) && str_eq(omap_key(c), key))
		return omap_next(c);
	return omap_settle(c);
}

bool omap_next(struct omap_cursor *c)
{
	if (c->leaf && c->at < (int)c->leaf->n)
		c->at++;
	return omap_settle(c);
}

bool omap_prev(struct omap_cursor *c)
{
	if (c->leaf && c->at >= 0)
		c->at--;
	return omap_settle(c);
}

bool omap_seek_prefix(const struct omap *m, struct omap_cursor *c, struct str prefix)
{
	return omap_seek(m, c, prefix) && str_starts(omap_key(c), prefix);
}

bool omap_next_prefix(struct omap_cursor *c, struct str prefix)
{
	return omap_next(c) && str_starts(omap_key(c), prefix);
}

struct str omap_key(const struct omap_cursor *c)
{
	return key_at(c->leaf, (uint32_t)c->at);
}

void *omap_value(const struct omap_cursor *c)
{
	return c->leaf->item[c->at];
}
