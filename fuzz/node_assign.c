/*
 * Programs of changes to a node's assignment log: plugins list devices, pods are admitted, end and
 * are forgotten, claims are prepared, and the agent restarts at any time.
 *
 * An input has a step per line: a letter, a digit for the pod, resource or claim, and text. Any
 * other byte counts as some letter or digit.
 *
 *   r0hhu?  the plugin of resource 0 lists four devices: healthy, healthy, unhealthy, unknown
 *   g0 G0   that plugin has gone; its resource is dropped
 *   a1..    pod 1 is admitted; a container for each part between commas, with letters: 0 to 2 is a
 *           device of that resource, c a whole CPU, i makes it an init container, s a sidecar
 *   s1      plugins answer all requests of pod 1
 *   e1 f1   pod 1 ends; is forgotten
 *   k12 u12 pod 1 uses claim 2; no longer uses it
 *   p2      the driver has prepared claim 2
 *   R       the agent is started again from its checkpoint
 *
 * After each step no device and no CPU is held by two pods, no pod has a reserved CPU, a refused
 * pod has changed nothing, and revisions have only grown. A restart loses nothing. When all pods
 * are gone, nothing is left.
 */
#include <stdio.h>
#include <string.h>

#include "assign_target.h"
#include "base/core/limits.h"
#include "base/text/cpu_set.h"

enum {
	STEPS_MAX = 64,
	PODS = 4,
	RESOURCES = 3,
	CLAIMS = 3,
	DEVICES_MAX = 8,
	CPUS = 6,
	HOLDS_MAX = 1024
};

struct world {
	struct machine machine;
	struct assign *s;
	struct assign_watcher watcher;
	uint64_t revision; /* of the last reported change */
	struct arena a; /* of one step */
};

struct step {
	char verb;
	unsigned n;
	struct str text;
};

/* The holders of all resources, for comparisons. */
struct hold {
	struct str pod, resource, id;
};

static void on_change(struct assign_watcher *watcher, const struct assign_change *c)
{
	struct world *w = CONTAINER_OF(watcher, struct world, watcher);

	require(c->revision >= w->revision && c->revision <= assign_revision(w->s));
	w->revision = c->revision;
}

static struct str name_of(struct world *w, const char *what, unsigned n)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%s%u", what, n);
	return str_from(arena_strdup(&w->a, str_from(text)));
}

/* --- plugins -------------------------------------------------------------------------------- */

static struct str resource_of(struct world *w, unsigned n)
{
	return name_of(w, "example.com/r", n % RESOURCES);
}

static void list_devices(struct world *w, const struct step *s)
{
	struct assign_device v[DEVICES_MAX];
	size_t n = MIN(s->text.n, (size_t)DEVICES_MAX);

	for (size_t i = 0; i < n; i++)
		v[i] = (struct assign_device){ .id = name_of(w, "d", (unsigned)i),
					       .health = s->text.p[i] == 'h'   ? ASSIGN_HEALTHY
							 : s->text.p[i] == 'u' ? ASSIGN_UNHEALTHY
									       : ASSIGN_UNKNOWN };
	assign_set_resource(w->s, resource_of(w, s->n), v, n);
}

static void answer(struct world *w, struct str uid)
{
	struct assign_request r;

	for (unsigned i = 0; i < HOLDS_MAX && assign_next_request(w->s, uid, &w->a, &r); i++)
		assign_set_answer(w->s, uid, r.container, r.resource, STR("answer"));
	require(!assign_next_request(w->s, uid, &w->a, &r));
}

/* --- pods ----------------------------------------------------------------------------------- */

static void add_container(struct buf *b, struct str part, unsigned n, bool sidecar)
{
	unsigned count[RESOURCES] = { 0 }, cpus = 0;

	for (size_t i = 0; i < part.n; i++)
		if (part.p[i] >= '0' && part.p[i] < '0' + RESOURCES)
			count[part.p[i] - '0']++;
		else if (part.p[i] == 'c')
			cpus++;
	(void)buf_printf(b,
			 "{\"name\":\"c%u\",\"image\":\"i\",%s\"resources\":{\"limits\":{\"cpu\":"
			 "\"%u\",\"memory\":\"1Mi\"",
			 n, sidecar ? "\"restartPolicy\":\"Always\"," : "", MAX(cpus, 1U));
	for (unsigned i = 0; i < RESOURCES; i++)
		if (count[i])
			(void)buf_printf(b, ",\"example.com/r%u\":\"%u\"", i, count[i]);
	(void)buf_printf(b, "},\"requests\":{\"cpu\":\"%u\",\"memory\":\"1Mi\"}}}", MAX(cpus, 1U));
}

static void add_containers(struct buf *b, struct str text, bool init)
{
	unsigned n = 0, listed = 0;
	struct str part;

	while (n < 8 && str_split(&text, ',', &part)) {
		bool sidecar = str_chr(part, 's') >= 0, first = sidecar || str_chr(part, 'i') >= 0;

		n++;
		if (first != init)
			continue;
		if (listed++)
			(void)buf_addc(b, ',');
		add_container(b, part, n, sidecar);
	}
	if (!init && !listed)
		add_container(b, STR(""), 0, false);
}

static struct pod *make_pod(unsigned n, struct str text)
{
	struct buf b = BUF_INIT(64 * KIB);
	struct pod *pod = NULL;

	(void)buf_printf(&b,
			 "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%u\","
			 "\"namespace\":\"n\","
			 "\"uid\":\"pod%u\"},\"spec\":{\"nodeName\":\"node\",\"initContainers\":[",
			 n, n);
	add_containers(&b, text, true);
	(void)buf_addz(&b, "],\"containers\":[");
	add_containers(&b, text, false);
	(void)buf_addz(&b, "]},\"status\":{\"qosClass\":\"Guaranteed\"}}");
	require(pod_parse(buf_str(&b), &pod, NULL) == 0);
	buf_release(&b);
	return pod;
}

static bool wants_preferred(void *arg, struct str resource)
{
	(void)arg;
	return str_ends(resource, STR("r2"));
}

/* A plugin that wishes for the last ones. */
static void admit(struct world *w, const struct step *s)
{
	struct pod *pod = make_pod(s->n % PODS, s->text);
	struct assign_admission io = { .wants_preferred = wants_preferred };
	struct str before = target_assign_text(w->s, &w->a), uid = name_of(w, "pod", s->n % PODS);
	int r = assign_admit(w->s, pod, &w->a, &io, NULL);

	for (unsigned i = 0; i < HOLDS_MAX && r == 0 && io.waiting; i++) {
		size_t n = MIN((size_t)io.wish.size, io.wish.navailable);

		assign_prefer(w->s, uid, &io.wish, io.wish.available + (io.wish.navailable - n), n);
		io = (struct assign_admission){ .wants_preferred = wants_preferred };
		r = assign_admit(w->s, pod, &w->a, &io, NULL);
	}
	require(!io.waiting);
	require(r == 0 || (r == -ERR_INVALID && io.reason));
	require(r == 0 || str_eq(before, target_assign_text(w->s, &w->a)));
	pod_unref(pod);
}

/* --- claims --------------------------------------------------------------------------------- */

static struct str claim_of(struct world *w, unsigned n)
{
	return name_of(w, "claim", n % CLAIMS);
}

static unsigned second(const struct step *s)
{
	return s->text.n ? (unsigned char)s->text.p[0] : 0;
}

static void use_claim(struct world *w, const struct step *s)
{
	static const struct str drivers[] = { { "d.example.com", 13 } };
	struct assign_claim c = { .uid = claim_of(w, second(s)),
				  .ns = STR("n"),
				  .name = claim_of(w, second(s)),
				  .drivers = drivers,
				  .ndrivers = 1 };
	struct pod *pod = make_pod(s->n % PODS, STR(""));

	(void)assign_claim_use(w->s, pod, c.name, &c, NULL);
	pod_unref(pod);
}

static void prepare_claim(struct world *w, const struct step *s)
{
	struct assign_claim_device d = { .driver = STR("d.example.com"),
					 .pool = STR("p"),
					 .device = STR("x") };
	struct assign_claim c;

	if (!assign_claim_get(w->s, claim_of(w, s->n), &w->a, &c) ||
	    c.state != ASSIGN_CLAIM_PREPARING)
		return;
	assign_claim_set_devices(w->s, c.uid, d.driver, &d, 1);
	assign_claim_set_state(w->s, c.uid, ASSIGN_CLAIM_PREPARED);
}

static void unuse_claim(struct world *w, struct str claim, struct str pod)
{
	struct assign_claim c;

	if (!assign_claim_get(w->s, claim, &w->a, &c))
		return;
	if (assign_claim_unuse(w->s, claim, pod)) {
		assign_claim_set_state(w->s, claim, ASSIGN_CLAIM_UNPREPARING);
		assign_claim_forget(w->s, claim);
	}
}

/* --- facts ---------------------------------------------------------------------------------- */

static void restart(struct world *w)
{
	struct assign *next = target_assign_new(&w->machine);
	struct str before = target_assign_text(w->s, &w->a);

	require(assign_decode(next, before, NULL) == 0);
	require(str_eq(before, target_assign_text(next, &w->a)));
	assign_free(w->s);
	w->s = next;
	w->revision = 0;
	assign_add_watcher(w->s, &w->watcher);
}

static size_t add_holds(struct world *w, struct str uid, struct hold *holds, size_t n)
{
	const struct assign_use *uses;
	size_t nuses = assign_uses(w->s, uid, &w->a, &uses);

	for (size_t i = 0; i < nuses && n < HOLDS_MAX; i++)
		if (!uses[i].past && uses[i].resource.n)
			holds[n++] = (struct hold){ uid, uses[i].resource, uses[i].id };
	return n;
}

static void check_devices(struct world *w)
{
	struct hold *holds = ARENA_ARRAY(&w->a, struct hold, HOLDS_MAX);
	struct str uid = STR_NULL;
	size_t n = 0;
	bool ended;

	while (assign_next_pod(w->s, &uid, &ended))
		if (!ended)
			n = add_holds(w, uid, holds, n);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			require(str_eq(holds[i].pod, holds[k].pod) ||
				!str_eq(holds[i].id, holds[k].id) ||
				!str_eq(holds[i].resource, holds[k].resource));
}

static struct cpu_set cpus_of(struct world *w, struct str uid)
{
	struct cpu_set all = { 0 }, own;
	enum pod_container_kind kind;
	struct str name;
	size_t at = 0;

	while (assign_next_container(w->s, uid, &at, &name, &kind)) {
		own = (struct cpu_set){ 0 };
		if (assign_own_cpus(w->s, uid, name, &own))
			cpu_set_or(&all, &own);
	}
	return all;
}

static void check_cpus(struct world *w)
{
	struct cpu_set taken = { 0 }, own, common;
	struct str uid = STR_NULL;
	bool ended;

	while (assign_next_pod(w->s, &uid, &ended)) {
		if (ended)
			continue;
		own = cpus_of(w, uid);
		require(!cpu_set_has(&own, 0));
		common = own;
		cpu_set_and(&common, &taken);
		require(cpu_set_empty(&common));
		cpu_set_or(&taken, &own);
	}
}

static void run_step(struct world *w, const struct step *s)
{
	struct str pod = name_of(w, "pod", s->n % PODS);

	switch (s->verb) {
	case 'r':
		list_devices(w, s);
		break;
	case 'g':
		assign_resource_gone(w->s, resource_of(w, s->n));
		break;
	case 'G':
		assign_drop_resource(w->s, resource_of(w, s->n));
		break;
	case 's':
		answer(w, pod);
		break;
	case 'e':
		assign_end_pod(w->s, pod);
		break;
	case 'f':
		assign_forget_pod(w->s, pod);
		break;
	case 'k':
		use_claim(w, s);
		break;
	case 'u':
		unuse_claim(w, claim_of(w, second(s)), pod);
		break;
	case 'p':
		prepare_claim(w, s);
		break;
	case 'R':
		restart(w);
		break;
	default:
		admit(w, s);
		break;
	}
}

static void run_program(struct world *w, struct str text)
{
	static const char verbs[] = "argGsefkupR";
	struct str line;

	for (unsigned n = 0; n < STEPS_MAX && str_split(&text, '\n', &line); n++) {
		struct step s = { 0 };

		if (!line.n)
			continue;
		s.verb = strchr(verbs, line.p[0]) && line.p[0]
				 ? line.p[0]
				 : verbs[(unsigned char)line.p[0] % (sizeof(verbs) - 1)];
		s.n = line.n > 1 ? (unsigned char)line.p[1] : 0;
		s.text = str_skip(line, MIN(line.n, (size_t)2));
		run_step(w, &s);
		check_devices(w);
		check_cpus(w);
		arena_clear(&w->a);
	}
}

/* All pods end and are forgotten, all resources are dropped. */
static void end_all(struct world *w)
{
	for (unsigned i = 0; i < PODS; i++) {
		assign_end_pod(w->s, name_of(w, "pod", i));
		for (unsigned k = 0; k < CLAIMS; k++)
			unuse_claim(w, claim_of(w, k), name_of(w, "pod", i));
		assign_forget_pod(w->s, name_of(w, "pod", i));
	}
	for (unsigned i = 0; i < RESOURCES; i++)
		assign_drop_resource(w->s, resource_of(w, i));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = { .watcher.on_change = on_change };
	struct assign *fresh;

	arena_init(&w.a, SIZE_MAX);
	machine_make(&w.machine, CPUS, 1 << 30, 1);
	w.s = target_assign_new(&w.machine);
	assign_add_watcher(w.s, &w.watcher);
	run_program(&w, str_of((const char *)data, size));
	end_all(&w);
	fresh = target_assign_new(&w.machine);
	require(str_eq(target_assign_text(fresh, &w.a), target_assign_text(w.s, &w.a)));
	assign_free(fresh);
	assign_free(w.s);
	machine_release(&w.machine);
	arena_release(&w.a);
	return 0;
}
