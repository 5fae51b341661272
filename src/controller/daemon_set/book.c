/*
 * The pods of a DaemonSet are in an ordered map by "node NUL key", so that they can be merged with
 * the nodes in one walk.
 */
#include "controller/daemon_set/book.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/time/timestamp.h"
#include "client/informer/cached.h"
#include "controller/pods/owned.h"

enum { NODE_MAX = MIB };

struct daemon_book_pod {
	struct arena arena; /* begins in `room`, which is enough for most pods */
	char room[480];
	struct str key, set_uid, place; /* place: the key in the set's map */
	struct daemon_pod pod;
};

struct daemon_book_set {
	struct str uid;
	struct omap pods; /* "node NUL key" to struct daemon_book_pod */
};

void daemon_book_init(struct daemon_book *b)
{
	omap_init(&b->nodes);
	map_init(&b->pods);
	map_init(&b->sets);
}

static void book_pod_free(struct daemon_book_pod *p)
{
	arena_release(&p->arena);
	free(p);
}

static void book_set_free(struct daemon_book_set *s)
{
	omap_release(&s->pods);
	free((char *)s->uid.p);
	free(s);
}

void daemon_book_release(struct daemon_book *b)
{
	struct omap_cursor c;
	size_t at = 0;
	struct str key;
	void *v;

	for (bool ok = omap_first(&b->nodes, &c); ok; ok = omap_next(&c))
		daemon_book_node_free(omap_value(&c));
	omap_release(&b->nodes);
	while (map_next(&b->sets, &at, &key, &v))
		book_set_free(v);
	map_release(&b->sets);
	at = 0;
	while (map_next(&b->pods, &at, &key, &v))
		book_pod_free(v);
	map_release(&b->pods);
}

/* --- nodes ----------------------------------------------------------------------------------- */

static const struct json *field_tree(const struct cached *o, const char *path, struct arena *a)
{
	struct str text = cached_field(o, path, a);
	struct json *tree = NULL;

	if (text.n == 0 || json_parse(a, arena_str(a, text), NULL, &tree, NULL) < 0)
		return NULL;
	return tree;
}

struct daemon_book_node *daemon_book_node_read(const struct cached *o)
{
	struct daemon_book_node *n = XNEW(struct daemon_book_node);

	arena_init(&n->arena, NODE_MAX);
	n->node = (struct daemon_node){
		.name = arena_str(&n->arena, cached_name(o)),
		.labels = field_tree(o, "metadata.labels", &n->arena),
		.taints = field_tree(o, "spec.taints", &n->arena),
	};
	return n;
}

void daemon_book_node_free(struct daemon_book_node *n)
{
	if (!n)
		return;
	arena_release(&n->arena);
	free(n);
}

struct daemon_book_node *daemon_book_node_put(struct daemon_book *b, struct daemon_book_node *n)
{
	return omap_put(&b->nodes, n->node.name, n);
}

struct daemon_book_node *daemon_book_node_remove(struct daemon_book *b, struct str name)
{
	return omap_remove(&b->nodes, name);
}

/* --- reading pods ---------------------------------------------------------------------------- */

static int64_t book_time(struct str text)
{
	int64_t ns = 0;

	return text.n > 0 && timestamp_parse(text, &ns, NULL) == 0 ? ns : 0;
}

static struct str pod_place(const struct cached *o, struct arena *a)
{
	struct json *spec = json_make_object(a), *affinity;
	struct str bound = cached_field(o, "spec.nodeName", a);

	if (bound.n > 0)
		return bound;
	affinity = (struct json *)field_tree(o, "spec.affinity", a);
	if (affinity)
		json_setz(spec, "affinity", affinity);
	return daemon_pod_node(spec);
}

static void read_ready(const struct cached *o, struct arena *a, struct daemon_pod *pod)
{
	const struct json *list = field_tree(o, "status.conditions", a);
	const struct json *c = json_find(list, "type", STR("Ready"));

	pod->ready = str_eqz(json_text_at(c, "status"), "True");
	pod->ready_ns = pod->ready ? book_time(json_text_at(c, "lastTransitionTime")) : 0;
}

/* NULL: it is not a DaemonSet's. `scratch` is the caller's. */
static struct daemon_book_pod *read_pod(const struct cached *o, struct arena *scratch)
{
	struct owned_ref ref = owned_ref_of(o, scratch);
	struct str phase = cached_field(o, "status.phase", scratch);
	struct daemon_book_pod *p;
	struct arena *a;

	if (ref.uid.n == 0 || !str_eqz(ref.kind, "DaemonSet"))
		return NULL;
	p = XNEW(struct daemon_book_pod);
	a = &p->arena;
	arena_init_in(a, NODE_MAX, p->room, sizeof(p->room));
	p->key = arena_str(a, o->key);
	p->set_uid = arena_str(a, ref.uid);
	p->pod = (struct daemon_pod){
		.name = cached_name(o),
		.uid = arena_str(a, o->uid),
		.node = arena_str(a, pod_place(o, scratch)),
		.revision = arena_str(a, cached_label(o, DAEMON_HASH_LABEL, scratch)),
		.created_ns = book_time(cached_field(o, "metadata.creationTimestamp", scratch)),
		.bound = cached_field(o, "spec.nodeName", scratch).n > 0,
		.deleting = o->deleting,
		.failed = str_eqz(phase, "Failed"),
		.succeeded = str_eqz(phase, "Succeeded"),
	};
	p->pod.name = str_skip(p->key, p->key.n - p->pod.name.n);
	read_ready(o, scratch, &p->pod);
	return p;
}

static void set_place(struct daemon_book_pod *p)
{
	size_t n = p->pod.node.n + 1 + p->key.n;
	char *text = arena_alloc(&p->arena, n), *at;

	at = str_put(text, p->pod.node);
	*at++ = '\0';
	(void)str_put(at, p->key);
	p->place = str_of(text, n);
}

static bool same_pod(const struct daemon_book_pod *x, const struct daemon_book_pod *y)
{
	const struct daemon_pod *a = &x->pod, *b = &y->pod;

	return str_eq(x->set_uid, y->set_uid) && str_eq(a->uid, b->uid) &&
	       str_eq(a->node, b->node) && str_eq(a->revision, b->revision) &&
	       a->created_ns == b->created_ns && a->ready_ns == b->ready_ns &&
	       a->bound == b->bound && a->ready == b->ready && a->deleting == b->deleting &&
	       a->failed == b->failed && a->succeeded == b->succeeded;
}

/* --- pods ------------------------------------------------------------------------------------ */

static void set_remove(struct daemon_book *b, const struct daemon_book_pod *p)
{
	struct daemon_book_set *s = map_get(&b->sets, p->set_uid);

	if (!s)
		return;
	(void)omap_remove(&s->pods, p->place);
	if (s->pods.n > 0)
		return;
	(void)map_remove(&b->sets, p->set_uid);
	book_set_free(s);
}

static void set_add(struct daemon_book *b, struct daemon_book_pod *p)
{
	struct daemon_book_set *s = map_get(&b->sets, p->set_uid);

	if (!s) {
		s = XNEW(struct daemon_book_set);
		s->uid = str_of(str_dup(p->set_uid), p->set_uid.n);
		omap_init(&s->pods);
		(void)map_put(&b->sets, s->uid, s);
	}
	(void)omap_put(&s->pods, p->place, p);
}

void daemon_book_pod_remove(struct daemon_book *b, struct str key)
{
	struct daemon_book_pod *p = map_remove(&b->pods, key);

	if (!p)
		return;
	set_remove(b, p);
	book_pod_free(p);
}

bool daemon_book_pod_put(struct daemon_book *b, const struct cached *o)
{
	const struct daemon_book_pod *old = map_get(&b->pods, o->key);
	struct daemon_book_pod *p;
	struct arena scratch;
	bool same;

	arena_init(&scratch, NODE_MAX);
	p = read_pod(o, &scratch);
	arena_release(&scratch);
	same = old && p && same_pod(old, p);
	if (same || (!old && !p)) {
		if (p)
			book_pod_free(p);
		return false;
	}
	daemon_book_pod_remove(b, o->key);
	if (p) {
		set_place(p);
		(void)map_put(&b->pods, p->key, p);
		set_add(b, p);
	}
	return true;
}

/* --- questions ------------------------------------------------------------------------------- */

static bool at_node(const struct omap_cursor *c, struct str node)
{
	const struct daemon_book_pod *p = omap_value(c);

	return str_eq(p->pod.node, node);
}

bool daemon_book_has_pod(const struct daemon_book *b, struct str set_uid, struct str node)
{
	const struct daemon_book_set *s = map_get(&b->sets, set_uid);
	struct omap_cursor c;

	if (!s)
		return false;
	for (bool ok = omap_seek(&s->pods, &c, node); ok && at_node(&c, node); ok = omap_next(&c)) {
		const struct daemon_book_pod *p = omap_value(&c);

		if (!p->pod.deleting)
			return true;
	}
	return false;
}

bool daemon_book_uses(const struct daemon_book *b, struct str set_uid, struct str revision)
{
	const struct daemon_book_set *s = map_get(&b->sets, set_uid);
	struct omap_cursor c;

	if (!s)
		return false;
	for (bool ok = omap_first(&s->pods, &c); ok; ok = omap_next(&c)) {
		const struct daemon_book_pod *p = omap_value(&c);

		if (str_eq(p->pod.revision, revision))
			return true;
	}
	return false;
}

/* --- places ---------------------------------------------------------------------------------- */

/* The walk over a DaemonSet's pods, beside that over the nodes. */
struct seats {
	const struct daemon_book_set *set; /* or NULL */
	struct omap_cursor at;
	bool more;
	const struct daemon_pod **room; /* for the pods of all places */
};

static const struct daemon_pod *seat(const struct seats *s)
{
	return s->more ? &((const struct daemon_book_pod *)omap_value(&s->at))->pod : NULL;
}

/* Those that have ended and are being deleted do not count. */
static void take_pods(struct seats *s, struct daemon_place *place)
{
	const struct daemon_pod *pod;

	place->pods = s->room;
	while ((pod = seat(s)) && str_eq(pod->node, place->node)) {
		if (!(pod->deleting && (pod->failed || pod->succeeded)))
			place->pods[place->n++] = pod;
		s->more = omap_next(&s->at);
	}
	s->room += place->n;
	daemon_pods_sort(place->pods, place->n);
}

/* Places before this node that are not nodes. Pods without any node are left alone. */
static void add_strange(struct seats *s, const struct str *before, struct daemon_place *places,
			size_t *n)
{
	const struct daemon_pod *pod;

	while ((pod = seat(s)) && (!before || str_cmp(pod->node, *before) < 0)) {
		struct daemon_place *place = &places[*n];

		*place = (struct daemon_place){ .node = pod->node };
		take_pods(s, place);
		*n += place->n > 0 && place->node.n > 0;
	}
}

size_t daemon_book_places(const struct daemon_book *b, struct arena *a, struct str set_uid,
			  const struct daemon_rules *rules, struct daemon_place **ret_places)
{
	struct seats s = { .set = map_get(&b->sets, set_uid) };
	size_t pods = s.set ? s.set->pods.n : 0, n = 0;
	struct daemon_place *places = ARENA_ARRAY(a, struct daemon_place, b->nodes.n + pods);
	struct omap_cursor c;

	s.more = s.set && omap_first(&s.set->pods, &s.at);
	s.room = ARENA_ARRAY(a, const struct daemon_pod *, pods);
	for (bool ok = omap_first(&b->nodes, &c); ok; ok = omap_next(&c)) {
		const struct daemon_book_node *node = omap_value(&c);
		struct daemon_place *place;

		add_strange(&s, &node->node.name, places, &n);
		place = &places[n++];
		*place = (struct daemon_place){ .node = node->node.name,
						.exists = true,
						.fit = daemon_rules_fit(rules, &node->node) };
		take_pods(&s, place);
	}
	add_strange(&s, NULL, places, &n);
	*ret_places = places;
	return n;
}
