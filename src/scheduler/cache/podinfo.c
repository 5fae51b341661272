/*
 * A waiting pod keeps its JSON tree: plugins read it, and there are few such pods. There are very
 * many bound pods, and plugins read little of them. So their tree is temporary, and the values that
 * are kept lie in one block behind the struct. A bound pod is read twice: first to measure the
 * block.
 */
#include "scheduler/cache/podinfo.h"

#include <assert.h>

#include "base/core/mem.h"
#include "base/time/timestamp.h"
#include "client/informer/cached.h"
#include "scheduler/cache/podinfo_impl.h"
#include "scheduler/scheduler_limits.h"

enum {
	BOUND_BLOCK_MAX = 2048, /* block size for bound pods; larger data gets its own memory */
	SCRATCH_SIZE = 16 * 1024,
	STRUCT_SIZE = ALIGN_UP(sizeof(struct podinfo), 16),
};

struct str podinfo_keep(struct podinfo *p, struct str text)
{
	struct str whole = p->object->json;

	if (!text.p || (text.p >= whole.p && text.p + text.n <= whole.p + whole.n))
		return text;
	return arena_str(&p->arena, text);
}

/* Keeps a flat object of texts. Returns NULL if it is absent or empty. */
static const struct json *podinfo_keep_map(struct podinfo *p, const struct json *map)
{
	struct json *copy;

	if (!json_is(map, JSON_OBJECT) || map->n == 0)
		return NULL;
	copy = json_make_object(&p->arena);
	JSON_FOREACH (v, map)
		json_add(copy, podinfo_keep(p, json_key(v)),
			 json_make_str(&p->arena, podinfo_keep(p, json_str(v))));
	return copy;
}

const struct str *podinfo_keep_texts(struct podinfo *p, const struct json *list, size_t *ret_n)
{
	struct str *texts;

	*ret_n = 0;
	if (json_count(list) == 0)
		return NULL;
	texts = ARENA_ARRAY(&p->arena, struct str, json_count(list));
	JSON_FOREACH (v, list)
		texts[(*ret_n)++] = podinfo_keep(p, json_str(v));
	return texts;
}

static int64_t seconds_of(struct str text)
{
	int64_t ns;

	return text.p && timestamp_parse(text, &ns, NULL) == 0 ? ns / 1000000000 : 0;
}

static enum taint_effect effect_of(struct str text)
{
	if (str_eqz(text, "NoSchedule"))
		return TAINT_NO_SCHEDULE;
	if (str_eqz(text, "PreferNoSchedule"))
		return TAINT_PREFER_NO_SCHEDULE;
	return str_eqz(text, "NoExecute") ? TAINT_NO_EXECUTE : TAINT_ANY;
}

static void read_tolerations(struct podinfo_reader *r)
{
	const struct json *list = json_getz(r->spec, "tolerations");
	struct podinfo *p = r->pod;
	struct toleration *v;

	if (json_count(list) == 0)
		return;
	v = ARENA_ARRAY(&p->arena, struct toleration, json_count(list));
	p->tolerations = v;
	JSON_FOREACH (t, list) {
		struct str op = json_text_at(t, "operator");
		bool plain = op.n == 0 || str_eqz(op, "Exists") || str_eqz(op, "Equal");

		v[p->ntolerations++] = (struct toleration){
			.key = podinfo_keep(p, json_text_at(t, "key")),
			.value = podinfo_keep(p, json_text_at(t, "value")),
			.exists = str_eqz(op, "Exists"),
			.operator= plain ? STR_NULL : podinfo_keep(p, op),
			.effect = effect_of(json_text_at(t, "effect")),
		};
	}
}

/* Ports of containers that run as long as the pod, in upstream's order. */
static size_t visit_ports(struct podinfo *p, const struct json *containers, bool sidecars,
			  struct pod_port *to)
{
	size_t n = 0;

	JSON_FOREACH (c, containers) {
		if (sidecars && !str_eqz(json_text_at(c, "restartPolicy"), "Always"))
			continue;
		JSON_FOREACH (v, json_getz(c, "ports")) {
			struct str ip = json_text_at(v, "hostIP");
			struct str protocol = json_text_at(v, "protocol");
			int32_t port = (int32_t)json_i64_at(v, "hostPort", 0);

			if (port > 0 && to)
				to[n] = (struct pod_port){
					ip.n > 0 ? podinfo_keep(p, ip) : STR("0.0.0.0"),
					protocol.n > 0 ? podinfo_keep(p, protocol) : STR("TCP"),
					port,
				};
			n += port > 0;
		}
	}
	return n;
}

static void read_ports(struct podinfo_reader *r)
{
	const struct json *init = json_getz(r->spec, "initContainers");
	const struct json *containers = json_getz(r->spec, "containers");
	struct podinfo *p = r->pod;
	struct pod_port *ports;
	size_t n = visit_ports(p, init, true, NULL) + visit_ports(p, containers, false, NULL);

	if (n == 0)
		return;
	ports = ARENA_ARRAY(&p->arena, struct pod_port, n);
	p->nports = visit_ports(p, init, true, ports);
	p->nports += visit_ports(p, containers, false, ports + p->nports);
	p->ports = ports;
}

static void read_images(struct podinfo_reader *r)
{
	const struct json *init = json_getz(r->spec, "initContainers");
	const struct json *containers = json_getz(r->spec, "containers");
	size_t most = json_count(init) + json_count(containers);
	struct podinfo *p = r->pod;
	struct str *images;

	if (most == 0)
		return;
	images = ARENA_ARRAY(&p->arena, struct str, most);
	p->images = images;
	JSON_FOREACH (c, init)
		images[p->nimages++] = podinfo_keep(p, json_text_at(c, "image"));
	JSON_FOREACH (c, containers)
		images[p->nimages++] = podinfo_keep(p, json_text_at(c, "image"));
}

static void read_gates(struct podinfo_reader *r)
{
	const struct json *list = json_getz(r->spec, "schedulingGates");
	struct str *gates;

	if (json_count(list) == 0)
		return;
	gates = ARENA_ARRAY(&r->pod->arena, struct str, json_count(list));
	r->pod->gates = gates;
	JSON_FOREACH (v, list)
		gates[r->pod->ngates++] = podinfo_keep(r->pod, json_text_at(v, "name"));
}

static void read_header(struct podinfo_reader *r)
{
	struct podinfo *p = r->pod;
	struct str phase = json_text_at(r->status, "phase");
	struct str scheduler = json_text_at(r->spec, "schedulerName");

	p->key = p->object->key;
	p->ns = cached_ns(p->object);
	p->name = cached_name(p->object);
	p->uid = p->object->uid;
	p->revision = p->object->revision;
	p->deleting = p->object->deleting;
	p->terminal = str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed");
	p->node = podinfo_keep(p, json_text_at(r->spec, "nodeName"));
	p->scheduler = scheduler.n > 0 ? podinfo_keep(p, scheduler) : STR("default-scheduler");
	p->nominated = podinfo_keep(p, json_text_at(r->status, "nominatedNodeName"));
	p->priority = (int32_t)json_i64_at(r->spec, "priority", 0);
	p->never_preempts = str_eqz(json_text_at(r->spec, "preemptionPolicy"), "Never");
	p->created_s = seconds_of(json_text_at(r->meta, "creationTimestamp"));
	p->started_s = seconds_of(json_text_at(r->status, "startTime"));
	p->generation = json_i64_at(r->meta, "generation", 0);
	p->labels = podinfo_keep_map(p, json_getz(r->meta, "labels"));
	p->annotations = podinfo_keep_map(p, json_getz(r->meta, "annotations"));
}

static int read_pod(struct podinfo *p, const struct json *tree, struct amount_names *names,
		    struct error *err)
{
	struct podinfo_reader r = {
		.pod = p,
		.names = names,
		.tree = tree,
		.meta = json_getz(tree, "metadata"),
		.spec = json_getz(tree, "spec"),
		.status = json_getz(tree, "status"),
	};
	int result;

	if (!json_is(r.spec, JSON_OBJECT))
		return error_set(err, ERR_INVALID, "pod %.*s has no spec", STR_ARG(p->object->key));
	amounts_init(&p->requests);
	read_header(&r);
	r.bound = p->node.n > 0;
	read_ports(&r);
	result = podinfo_read_requests(&r, err);
	if (result == 0)
		result = podinfo_read_affinity(&r, err);
	if (result == 0)
		result = podinfo_read_volumes(&r, err);
	if (result < 0 || r.bound)
		return result;
	read_gates(&r);
	read_tolerations(&r);
	read_images(&r);
	p->node_labels = podinfo_keep_map(p, json_getz(r.spec, "nodeSelector"));
	return podinfo_read_spread(&r, err);
}

/* The memory behind the struct is the arena's first block. */
static struct podinfo *podinfo_make(struct cached *object, size_t block)
{
	struct podinfo *p = xcalloc(1, STRUCT_SIZE + block);

	p->refs = 1;
	p->object = cached_ref(object);
	arena_init_in(&p->arena, POD_WORK_MAX, block > 0 ? (char *)p + STRUCT_SIZE : NULL, block);
	return p;
}

static void keep_names(struct podinfo *p, struct amount_names *names)
{
	amounts_hold(&p->requests, names);
	p->names = names;
}

/* How much a bound pod keeps; 0: more than fits a block, or it cannot be read. */
static size_t podinfo_measure(struct cached *object, const struct json *tree,
			      struct amount_names *names)
{
	_Alignas(16) char block[BOUND_BLOCK_MAX];
	struct podinfo draft = { .object = object };
	size_t used = 0;

	arena_init_in(&draft.arena, POD_WORK_MAX, block, sizeof(block));
	if (read_pod(&draft, tree, names, NULL) == 0 && !draft.arena.blocks)
		used = (size_t)(draft.arena.at - block);
	amounts_release(&draft.requests);
	arena_release(&draft.arena);
	return used;
}

static int new_bound(struct cached *object, struct amount_names *names, struct podinfo **ret_pod,
		     struct error *err)
{
	_Alignas(16) char block[SCRATCH_SIZE];
	__attribute__((cleanup(arena_release_cleanup))) struct arena scratch;
	CLEANUP(podinfo_unref) struct podinfo *p = NULL;
	struct json *tree;
	int r;

	arena_init_in(&scratch, POD_WORK_MAX, block, sizeof(block));
	r = cached_tree(object, &scratch, &tree, err);
	if (r < 0)
		return r;
	p = podinfo_make(object, podinfo_measure(object, tree, names));
	r = read_pod(p, tree, names, err);
	if (r < 0)
		return r;
	keep_names(p, names);
	*ret_pod = TAKE(p);
	return 0;
}

static int new_waiting(struct cached *object, struct amount_names *names, struct podinfo **ret_pod,
		       struct error *err)
{
	CLEANUP(podinfo_unref) struct podinfo *p = podinfo_make(object, 0);
	struct json *tree;
	int r = cached_tree(object, &p->arena, &tree, err);

	if (r == 0)
		r = read_pod(p, tree, names, err);
	if (r < 0)
		return r;
	p->tree = tree;
	keep_names(p, names);
	*ret_pod = TAKE(p);
	return 0;
}

int podinfo_new(struct cached *object, struct amount_names *names, struct podinfo **ret_pod,
		struct error *err)
{
	int r = cached_field(object, "spec.nodeName", NULL).n > 0
			? new_bound(object, names, ret_pod, err)
			: new_waiting(object, names, ret_pod, err);

	if (r == 0)
		return 0;
	/* The pod is ignored. Free the numbers of resource names that only it has. */
	amounts_hold(&(struct amounts){ .pods = 0 }, names);
	error_wrap(err, r, "pod %.*s", STR_ARG(object->key));
	if (err)
		err->code = ERR_INVALID;
	return -ERR_INVALID;
}

struct podinfo *podinfo_ref(struct podinfo *p)
{
	p->refs++;
	return p;
}

void podinfo_unref(struct podinfo *p)
{
	if (!p || --p->refs > 0)
		return;
	if (p->names)
		amounts_drop(&p->requests, p->names);
	amounts_release(&p->requests);
	arena_release(&p->arena);
	cached_unref(p->object);
	free(p);
}

static void podinfo_drop(void *pod)
{
	podinfo_unref(pod);
}

struct podinfo *podinfo_assumed(struct podinfo *p, struct str node)
{
	struct podinfo *copy = xcalloc(1, STRUCT_SIZE + 64 + ALIGN_UP(node.n + 1, 16));

	/* All that it points to is the other's, which it holds. */
	*copy = *p;
	copy->refs = 1;
	copy->names = NULL;
	cached_ref(copy->object);
	arena_init_in(&copy->arena, POD_WORK_MAX, (char *)copy + STRUCT_SIZE,
		      64 + ALIGN_UP(node.n + 1, 16));
	arena_hold(&copy->arena, podinfo_drop, podinfo_ref(p));
	copy->node = arena_str(&copy->arena, node);
	amounts_init(&copy->requests);
	amounts_copy(&copy->requests, &p->requests);
	return copy;
}

struct str podinfo_label(const struct podinfo *p, struct str key)
{
	return json_str(json_get(p->labels, key));
}

static bool compares(const struct toleration *t, struct str value)
{
	int64_t given, bound;

	if (!str_to_i64(t->value, &bound) || !str_to_i64(value, &given))
		return false;
	if (str_eqz(t->operator, "Lt"))
		return given < bound;
	return str_eqz(t->operator, "Gt") && given > bound;
}

bool toleration_tolerates(const struct toleration *t, struct str key, struct str value,
			  enum taint_effect effect)
{
	if (t->effect != TAINT_ANY && t->effect != effect)
		return false;
	if (t->key.n > 0 && !str_eq(t->key, key))
		return false;
	if (t->operator.n> 0)
		return compares(t, value);
	return t->exists || str_eq(t->value, value);
}
