/*
 * There is one entry per sandbox and container, found by id, each with all its text in one block: a
 * node has a few hundred of them, and most never change. The view for callers is built from the
 * entries on request, and kept until something changes.
 */
#include "node/runtime/cri_state.h"

#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/core/vec.h"
#include "node/runtime/cri_log.h"
#include "node/runtime/cri_messages.h"

/* Common to both kinds. */
struct entry {
	struct str id, uid, ns, pod;
	unsigned look; /* the last read whose list had it */
	bool ask; /* its status is needed */
	bool asked; /* its status was requested in this read */
	bool known; /* its status was read once */
	bool gone; /* its status call returned "not found" */
	char *text; /* the block with all its text */
};

struct container {
	struct entry e;
	struct runtime_container view;
	enum runtime_state listed;
};

struct sandbox {
	struct entry e;
	struct runtime_sandbox view;
	struct str ips[2]; /* at most one of each family */
	bool listed_ready;
};

struct cri_state {
	struct map containers, sandboxes; /* by id */
	unsigned look;
	size_t at; /* position in the walk of questions */
	bool at_containers;
	struct arena changed_arena; /* uids of pods that changed in this read */
	struct map changed;
	struct arena view_arena;
	struct runtime_pods view;
	bool view_good;
};

struct cri_state *cri_state_new(void)
{
	struct cri_state *s = XNEW(struct cri_state);

	map_init(&s->containers);
	map_init(&s->sandboxes);
	map_init(&s->changed);
	arena_init(&s->changed_arena, SIZE_MAX);
	arena_init(&s->view_arena, SIZE_MAX);
	return s;
}

static void cri_state_entry_free(struct entry *e)
{
	free(e->text);
	free(e);
}

static void entries_free(struct map *m)
{
	size_t at = 0;
	struct str key;
	void *value;

	while (map_next(m, &at, &key, &value))
		cri_state_entry_free(value);
	map_release(m);
}

void cri_state_free(struct cri_state *s)
{
	if (!s)
		return;
	entries_free(&s->containers);
	entries_free(&s->sandboxes);
	map_release(&s->changed);
	arena_release(&s->changed_arena);
	arena_release(&s->view_arena);
	free(s);
}

/* The entry's pod has changed. */
static void cri_state_mark(struct cri_state *s, const struct entry *e)
{
	s->view_good = false;
	if (!map_get(&s->changed, e->uid))
		(void)map_put(&s->changed, arena_str(&s->changed_arena, e->uid), s);
}

/* Moves the texts, including the map's key, into one new block of the entry. */
static void keep_text(struct map *m, struct entry *e, struct str *const *texts, size_t n)
{
	char *before = e->text, *at;
	size_t total = 1;

	for (size_t i = 0; i < n; i++)
		total += texts[i]->n;
	e->text = at = xmalloc(total);
	for (size_t i = 0; i < n; i++) {
		if (texts[i]->n > 0)
			str_put(at, *texts[i]);
		texts[i]->p = at;
		at += texts[i]->n;
	}
	(void)map_put(m, e->id, e);
	free(before);
}

/* --- the lists ------------------------------------------------------------------------------ */

static void keep_sandbox(struct cri_state *s, struct sandbox *b)
{
	struct str *texts[] = { &b->e.id, &b->e.uid, &b->e.ns, &b->e.pod, &b->ips[0], &b->ips[1] };

	keep_text(&s->sandboxes, &b->e, texts, ARRAY_SIZE(texts));
	b->view.id = b->e.id;
	b->view.ips = b->ips;
}

static void keep_container(struct cri_state *s, struct container *c)
{
	struct runtime_container *v = &c->view;
	struct str *texts[] = { &c->e.id,       &c->e.uid, &c->e.ns,     &c->e.pod,  &v->name,
				&v->sandbox_id, &v->image, &v->image_id, &v->reason, &v->message,
				&v->log_path,   &v->hash,  &v->devices };

	keep_text(&s->containers, &c->e, texts, ARRAY_SIZE(texts));
	v->id = c->e.id;
}

static struct sandbox *make_sandbox(struct cri_state *s, const Cri__PodSandbox *m)
{
	struct sandbox *b = XNEW(struct sandbox);

	b->e.id = str_from(m->id);
	b->e.uid = str_from(m->metadata->uid);
	b->e.ns = str_from(m->metadata->namespace_);
	b->e.pod = str_from(m->metadata->name);
	b->view.created_ns = m->created_at;
	b->view.attempt = m->metadata->attempt;
	keep_sandbox(s, b);
	cri_state_mark(s, &b->e);
	return b;
}

static void list_sandbox(struct cri_state *s, const Cri__PodSandbox *m)
{
	struct sandbox *b = map_get(&s->sandboxes, str_from(m->id));
	bool ready = m->state == CRI__POD_SANDBOX_STATE__SANDBOX_READY;

	if (!m->metadata || m->metadata->uid[0] == '\0')
		return;
	if (!b)
		b = make_sandbox(s, m);
	b->e.look = s->look;
	b->e.asked = false;
	b->listed_ready = ready;
	/* The runtime no longer returns addresses of an ended sandbox: keep those that we know. */
	b->e.ask = ready && !b->e.known;
	if (!ready && b->view.ready) {
		b->view.ready = false;
		cri_state_mark(s, &b->e);
	}
}

static enum runtime_state cri_state_of(Cri__ContainerState state)
{
	switch (state) {
	case CRI__CONTAINER_STATE__CONTAINER_CREATED:
		return RUNTIME_CREATED;
	case CRI__CONTAINER_STATE__CONTAINER_RUNNING:
		return RUNTIME_RUNNING;
	case CRI__CONTAINER_STATE__CONTAINER_EXITED:
		return RUNTIME_EXITED;
	default:
		return RUNTIME_UNKNOWN;
	}
}

static struct str label(const Cri__Container *m, const char *key)
{
	return cri_pair(m->labels, m->n_labels, key);
}

static struct container *make_container(struct cri_state *s, const Cri__Container *m)
{
	struct container *c = XNEW(struct container);

	c->e.id = str_from(m->id);
	c->e.uid = label(m, RUNTIME_LABEL_POD_UID);
	c->e.ns = label(m, RUNTIME_LABEL_POD_NAMESPACE);
	c->e.pod = label(m, RUNTIME_LABEL_POD_NAME);
	c->view.name = label(m, RUNTIME_LABEL_CONTAINER_NAME);
	c->view.sandbox_id = str_from(m->pod_sandbox_id);
	c->view.image = str_from(m->image ? m->image->image : "");
	c->view.image_id = str_from(m->image_ref);
	c->view.hash = cri_pair(m->annotations, m->n_annotations, CRI_ANNOTATION_HASH);
	c->view.devices = cri_pair(m->annotations, m->n_annotations, RUNTIME_PLUGIN_DEVICES);
	c->view.created_ns = m->created_at;
	c->view.attempt = m->metadata ? m->metadata->attempt : 0;
	c->view.state = RUNTIME_UNKNOWN;
	keep_container(s, c);
	cri_state_mark(s, &c->e);
	return c;
}

static void list_container(struct cri_state *s, const Cri__Container *m)
{
	struct container *c = map_get(&s->containers, str_from(m->id));

	if (label(m, RUNTIME_LABEL_POD_UID).n == 0)
		return;
	if (!c)
		c = make_container(s, m);
	c->e.look = s->look;
	c->e.asked = false;
	c->listed = cri_state_of(m->state);
	c->e.ask = !c->e.known || c->listed != c->view.state;
}

/* Drops entries that the lists no longer have, or whose status call returned "not found". */
static void sweep(struct cri_state *s, struct map *m)
{
	VEC(struct entry *) gone;
	size_t at = 0;
	struct str key;
	void *value;

	vec_init(&gone, SIZE_MAX);
	while (map_next(m, &at, &key, &value)) {
		struct entry *e = value;

		if (e->look != s->look || e->gone)
			(void)vec_push(&gone, e);
	}
	for (size_t i = 0; i < gone.n; i++) {
		cri_state_mark(s, gone.v[i]);
		(void)map_remove(m, gone.v[i]->id);
		cri_state_entry_free(gone.v[i]);
	}
	vec_release(&gone);
}

void cri_state_listed(struct cri_state *s, const Cri__ListPodSandboxResponse *sandboxes,
		      const Cri__ListContainersResponse *containers)
{
	s->look++;
	for (size_t i = 0; i < sandboxes->n_items; i++)
		list_sandbox(s, sandboxes->items[i]);
	for (size_t i = 0; i < containers->n_containers; i++)
		list_container(s, containers->containers[i]);
	sweep(s, &s->sandboxes);
	sweep(s, &s->containers);
	s->at = 0;
	s->at_containers = false;
}

/* --- questions and answers ------------------------------------------------------------------ */

bool cri_state_next_question(struct cri_state *s, struct cri_question *ret_question)
{
	struct str key;
	void *value;

	for (;;) {
		struct map *m = s->at_containers ? &s->containers : &s->sandboxes;
		struct entry *e;

		if (!map_next(m, &s->at, &key, &value)) {
			if (s->at_containers)
				return false;
			s->at_containers = true;
			s->at = 0;
			continue;
		}
		e = value;
		if (!e->ask || e->asked)
			continue;
		e->asked = true;
		*ret_question = (struct cri_question){ .container = s->at_containers, .id = e->id };
		return true;
	}
}

/* The walk is not finished, so the entry is removed at the end of the read. */
static void set_gone(struct cri_state *s, struct entry *e)
{
	cri_state_mark(s, e);
	e->gone = true;
}

void cri_state_sandbox(struct cri_state *s, struct str id, const Cri__PodSandboxStatus *st)
{
	struct sandbox *b = map_get(&s->sandboxes, id);
	const Cri__PodSandboxNetworkStatus *net = st ? st->network : NULL;

	if (!b)
		return;
	if (!st) {
		set_gone(s, &b->e);
		return;
	}
	b->view.nips = 0;
	if (net && net->ip[0] != '\0')
		b->ips[b->view.nips++] = str_from(net->ip);
	if (net && b->view.nips == 1 && net->n_additional_ips > 0)
		b->ips[b->view.nips++] = str_from(net->additional_ips[0]->ip);
	b->view.ready = st->state == CRI__POD_SANDBOX_STATE__SANDBOX_READY;
	b->e.known = true;
	b->e.ask = false;
	keep_sandbox(s, b);
	cri_state_mark(s, &b->e);
}

void cri_state_container(struct cri_state *s, struct str id, const Cri__ContainerStatus *st,
			 struct str message)
{
	struct container *c = map_get(&s->containers, id);
	struct runtime_container *v;

	if (!c)
		return;
	if (!st) {
		set_gone(s, &c->e);
		return;
	}
	v = &c->view;
	v->state = cri_state_of(st->state);
	v->image = str_from(st->image ? st->image->image : "");
	v->image_id = str_from(st->image_id[0] != '\0' ? st->image_id : st->image_ref);
	v->log_path = str_from(st->log_path);
	v->created_ns = st->created_at;
	v->started_ns = v->state == RUNTIME_CREATED ? 0 : st->started_at;
	if (v->state == RUNTIME_EXITED) {
		v->finished_ns = st->finished_at;
		v->exit_code = st->exit_code;
		v->reason = str_from(st->reason);
		v->message = message;
	}
	c->e.known = true;
	c->e.ask = false;
	keep_container(s, c);
	cri_state_mark(s, &c->e);
}

void cri_state_end(struct cri_state *s, void (*changed)(void *arg, struct str pod_uid), void *arg)
{
	struct arena uids;
	struct map pods;
	size_t at = 0;
	struct str key;
	void *value;

	sweep(s, &s->sandboxes);
	sweep(s, &s->containers);
	uids = s->changed_arena;
	pods = s->changed;
	/* The callback may begin another read. */
	arena_init(&s->changed_arena, SIZE_MAX);
	map_init(&s->changed);
	while (map_next(&pods, &at, &key, &value))
		changed(arg, key);
	map_release(&pods);
	arena_release(&uids);
}

/* --- the view ------------------------------------------------------------------------------- */

static int by_pod(struct str uid_a, struct str uid_b, int64_t created_a, int64_t created_b)
{
	int r = str_cmp(uid_a, uid_b);

	if (r != 0)
		return r;
	return created_a > created_b ? -1 : created_a < created_b; /* newest first */
}

static int by_pod_containers(const void *a, const void *b)
{
	const struct container *x = *(const struct container *const *)a;
	const struct container *y = *(const struct container *const *)b;
	int r = by_pod(x->e.uid, y->e.uid, x->view.created_ns, y->view.created_ns);

	return r != 0 ? r : str_cmp(x->e.id, y->e.id);
}

static int by_pod_sandboxes(const void *a, const void *b)
{
	const struct sandbox *x = *(const struct sandbox *const *)a;
	const struct sandbox *y = *(const struct sandbox *const *)b;
	int r = by_pod(x->e.uid, y->e.uid, x->view.created_ns, y->view.created_ns);

	return r != 0 ? r : str_cmp(x->e.id, y->e.id);
}

static void **cri_state_gather(struct arena *a, const struct map *m,
			       int (*order)(const void *, const void *))
{
	void **v = ARENA_ARRAY(a, void *, (size_t)m->n + 1);
	size_t at = 0, n = 0;
	struct str key;
	void *value;

	while (map_next(m, &at, &key, &value)) {
		if (!((struct entry *)value)->gone)
			v[n++] = value;
	}
	qsort(v, n, sizeof(*v), order);
	return v;
}

/* Takes the pod's part of both sorted lists, from *cs and *bs on; both move behind it. */
static struct runtime_pod view_pod(struct arena *a, struct container ***cs, struct sandbox ***bs)
{
	const struct entry *first = **cs ? &(**cs)->e : &(**bs)->e;
	struct runtime_container *containers;
	struct runtime_sandbox *sandboxes;
	struct runtime_pod p = { 0 };

	if (**bs && str_cmp((**bs)->e.uid, first->uid) <= 0)
		first = &(**bs)->e;
	p.uid = first->uid;
	p.ns = first->ns;
	p.name = first->pod;
	while ((*bs)[p.nsandboxes] && str_eq((*bs)[p.nsandboxes]->e.uid, p.uid))
		p.nsandboxes++;
	while ((*cs)[p.ncontainers] && str_eq((*cs)[p.ncontainers]->e.uid, p.uid))
		p.ncontainers++;
	sandboxes = ARENA_ARRAY(a, struct runtime_sandbox, p.nsandboxes + 1);
	containers = ARENA_ARRAY(a, struct runtime_container, p.ncontainers + 1);
	for (size_t i = 0; i < p.nsandboxes; i++)
		sandboxes[i] = (*(*bs)++)->view;
	for (size_t i = 0; i < p.ncontainers; i++)
		containers[i] = (*(*cs)++)->view;
	p.sandboxes = sandboxes;
	p.containers = containers;
	return p;
}

const struct runtime_pods *cri_state_pods(struct cri_state *s)
{
	struct arena *a = &s->view_arena;
	struct container **cs;
	struct sandbox **bs;
	struct runtime_pod *pods;
	size_t n = 0;

	if (s->view_good)
		return &s->view;
	arena_clear(a);
	cs = (struct container **)cri_state_gather(a, &s->containers, by_pod_containers);
	bs = (struct sandbox **)cri_state_gather(a, &s->sandboxes, by_pod_sandboxes);
	pods = ARENA_ARRAY(a, struct runtime_pod, (size_t)s->containers.n + s->sandboxes.n + 1);
	while (*cs || *bs)
		pods[n++] = view_pod(a, &cs, &bs);
	s->view = (struct runtime_pods){ .v = pods, .n = n };
	s->view_good = true;
	return &s->view;
}
