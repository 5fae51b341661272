#include "server_facts.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "base/report/metrics.h"
#include "cel/cel_limits.h"
#include "net/sim/sim.h"
#include "server/core/parts.h"
#include "server/http/memory.h"

enum {
	UNSURE_MS = 10 * 1000,
	REVOKED_MS = 30 * 1000, /* until a watch ends */
	HELD_MS = 130 * 1000, /* the same, if its client takes nothing */
	TURNS = 5000, /* of a step, and */
	TURNS_PER_S = 500, /* per second of it */
};

#define HEAP_SLACK (64UL * MIB) /* streams, windows, caches, the client's side */
#define HEAP_KEPT  (16UL * MIB) /* when connections are gone: caches and histories */

/* Ends the program with the sentence that says which fact is broken. */
static void must(bool fact, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void must(bool fact, const char *fmt, ...)
{
	va_list ap;

	if (fact)
		return;
	va_start(ap, fmt);
	(void)fputs("broken: ", stderr);
	(void)vfprintf(stderr, fmt, ap);
	(void)fputc('\n', stderr);
	va_end(ap);
	abort();
}

size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t heap_now(void)
{
	struct mallinfo2 m;

	if (__sanitizer_get_current_allocated_bytes)
		return __sanitizer_get_current_allocated_bytes();
	m = mallinfo2();
	return m.uordblks + m.hblkhd;
}

static int64_t now_of(const struct facts *f)
{
	return sim_elapsed_ms(world_sim(f->w));
}

void facts_name(enum world_kind kind, unsigned name, char *buf, size_t size)
{
	(void)snprintf(buf, size, kind == WORLD_DEFINITIONS ? "n%us.fuzz.example.com" : "n%u",
		       name);
}

/* --- answers -------------------------------------------------------------------------------- */

static bool is_write(const struct facts_ask *k)
{
	return strchr("cpdD", k->verb) != NULL;
}

static int64_t revision_of(const struct json *tree)
{
	int64_t rv = 0;

	(void)str_to_i64(json_str(json_pointer(tree, STR("/metadata/resourceVersion"))), &rv);
	return rv;
}

static bool may(enum world_user user, enum world_kind kind)
{
	switch (user) {
	case WORLD_ADMIN:
		return true;
	case WORLD_ALICE:
		return kind < WORLD_BINDINGS;
	case WORLD_BOB:
	case WORLD_CAROL:
		return kind == WORLD_MAPS || kind == WORLD_PODS || kind == WORLD_CLAIMS;
	default:
		return false;
	}
}

static void check_right(const struct facts_ask *k)
{
	const struct facts_right *now = &k->f->rights[k->user];

	if (k->ask.status / 100 != 2)
		return;
	must(may(k->user, k->kind), "user %d got %d for %c of kind %d, without a right", k->user,
	     k->ask.status, k->verb, k->kind);
	must(!k->right.revoked || now->grants != k->right.grants,
	     "user %d got %d for %c of kind %d, after the right was revoked", k->user,
	     k->ask.status, k->verb, k->kind);
}

static void forget(struct facts_kind *kind, enum facts_there there)
{
	for (unsigned i = 0; i < FACTS_NAMES; i++)
		if (there == FACTS_UNKNOWN || kind->there[i] == there)
			kind->there[i] = FACTS_UNKNOWN;
}

static void learn_object(struct facts_ask *k, const struct json *tree)
{
	struct facts_kind *kind = &k->f->kinds[k->kind];
	struct str uid = json_str(json_pointer(tree, STR("/metadata/uid")));
	struct str name = json_str(json_pointer(tree, STR("/metadata/name")));
	char expected[48];

	facts_name(k->kind, k->name, expected, sizeof(expected));
	if (k->overlapped || !str_eqz(name, expected)) {
		forget(kind, FACTS_UNKNOWN);
		return;
	}
	if (k->ask.status == 201) {
		kind->there[k->name] = FACTS_PRESENT;
		(void)snprintf(kind->uid[k->name], sizeof(kind->uid[0]), "%.*s", STR_ARG(uid));
	}
}

static void learn(struct facts_ask *k, const struct json *tree)
{
	struct facts *f = k->f;
	int64_t rv = revision_of(tree);

	if (k->ask.status == 201)
		must(rv > k->revision,
		     "a new object has resourceVersion %lld, and %lld was acknowledged before",
		     (long long)rv, (long long)k->revision);
	if (k->verb == 'l' && k->plain)
		must(rv >= k->revision,
		     "a list has resourceVersion %lld, and %lld was acknowledged before",
		     (long long)rv, (long long)k->revision);
	if (!is_write(k))
		return;
	f->revision = MAX(f->revision, rv);
	if (k->verb == 'd' && !k->overlapped && str_eqz(json_text_at(tree, "kind"), "Status"))
		f->kinds[k->kind].there[k->name] = FACTS_ABSENT;
	else if (k->verb == 'c' || k->verb == 'p')
		learn_object(k, tree);
}

static void on_over(struct world_ask *ask)
{
	struct facts_ask *k = (struct facts_ask *)ask;
	struct facts_kind *kind = &k->f->kinds[k->kind];
	struct json *tree = NULL;
	struct arena a;

	check_right(k);
	if (is_write(k))
		kind->under_way--;
	if (is_write(k) && (!ask->whole || ask->status >= 500)) {
		forget(kind, FACTS_UNKNOWN);
		kind->unsure_until_ms = now_of(k->f) + UNSURE_MS;
	}
	if (!ask->whole || ask->status / 100 != 2 || k->verb == 'w')
		return;
	arena_init(&a, SIZE_MAX);
	must(json_parse(&a, buf_str(&ask->got), NULL, &tree, NULL) == 0, "an answer is no JSON");
	learn(k, tree);
	arena_release(&a);
}

/* --- watches -------------------------------------------------------------------------------- */

static void see_event(struct facts_ask *k, struct str line)
{
	struct json *tree = NULL, *object;
	struct str type;
	struct arena a;
	int64_t rv;

	arena_init(&a, SIZE_MAX);
	must(json_parse(&a, line, NULL, &tree, NULL) == 0, "an event is no JSON");
	type = json_text_at(tree, "type");
	object = json_getz(tree, "object");
	rv = revision_of(object);
	if (!str_eqz(type, "ADDED"))
		k->changed = true;
	if (str_eqz(type, "BOOKMARK"))
		must(rv >= k->seen, "a bookmark of %lld came after %lld", (long long)rv,
		     (long long)k->seen);
	else if (!str_eqz(type, "ERROR") && k->changed)
		must(rv > k->seen, "event %.*s of %lld came after %lld", STR_ARG(type),
		     (long long)rv, (long long)k->seen);
	k->seen = MAX(k->seen, rv);
	arena_release(&a);
}

static void on_piece(struct world_ask *ask)
{
	struct facts_ask *k = (struct facts_ask *)ask;
	struct str rest = buf_str(&ask->got), line;
	ptrdiff_t end;

	if (ask->status != 200)
		return;
	while ((end = str_chr(rest, '\n')) >= 0) {
		line = str_of(rest.p, (size_t)end);
		see_event(k, line);
		rest = str_skip(rest, (size_t)end + 1);
	}
	buf_consume(&ask->got, ask->got.n - rest.n);
}

/* --- asking --------------------------------------------------------------------------------- */

static void mark_overlap(struct facts_ask *k)
{
	struct facts_kind *kind = &k->f->kinds[k->kind];
	struct facts_ask *other;

	k->overlapped = kind->under_way > 0 || now_of(k->f) < kind->unsure_until_ms;
	LIST_FOREACH (it, world_asks(k->f->w)) {
		other = (struct facts_ask *)LIST_ENTRY(it, struct world_ask, link);
		if (other->ask.on_over == on_over && other->kind == k->kind)
			other->overlapped = true;
	}
	kind->under_way++;
	/* A create's body may name any object; a patch may be an upsert. */
	forget(kind, FACTS_ABSENT);
	if (k->verb == 'D')
		forget(kind, FACTS_UNKNOWN);
	else if (k->verb == 'd')
		kind->there[k->name] = FACTS_UNKNOWN;
	k->f->writes++;
	k->f->definitions += k->kind == WORLD_DEFINITIONS;
}

void facts_sent(struct facts_ask *k, unsigned conn)
{
	struct facts *f = k->f;

	k->ask.on_over = on_over;
	f->used_by[conn] = MAX(f->used_by[conn],
			       k->user == WORLD_ANONYMOUS ? FACTS_STRANGERS : FACTS_USERS);
	if (k->verb == 'w')
		k->ask.on_piece = on_piece;
	k->right = f->rights[k->user];
	k->revision = f->revision;
	if (is_write(k))
		mark_overlap(k);
}

void facts_revoke(struct facts *f, enum world_user user)
{
	struct facts_right *r = &f->rights[user];

	if (!r->revoked)
		*r = (struct facts_right){ .revoked = true,
					   .since_ms = now_of(f),
					   .grants = r->grants };
}

void facts_grant(struct facts *f, enum world_user user)
{
	f->rights[user].revoked = false;
	f->rights[user].grants++;
}

/* --- facts ---------------------------------------------------------------------------------- */

static void check_objects(struct facts *f, enum world_kind kind)
{
	const struct facts_kind *k = &f->kinds[kind];
	char name[48], buf[48];
	struct str uid;

	if (k->under_way || now_of(f) < k->unsure_until_ms)
		return;
	for (unsigned i = 0; i < FACTS_NAMES; i++) {
		if (k->there[i] == FACTS_UNKNOWN)
			continue;
		facts_name(kind, i, name, sizeof(name));
		uid = world_uid(f->w, kind, name, buf, sizeof(buf));
		must(k->there[i] != FACTS_PRESENT || str_eqz(uid, k->uid[i]),
		     "%s of kind %d was acknowledged and is not there", name, kind);
		must(k->there[i] != FACTS_ABSENT || !uid.n,
		     "%s of kind %d was deleted and is there", name, kind);
	}
}

static void check_watches(struct facts *f)
{
	const struct facts_right *r;
	const struct facts_ask *k;
	int64_t limit;

	LIST_FOREACH (it, world_asks(f->w)) {
		k = (const struct facts_ask *)LIST_ENTRY(it, struct world_ask, link);
		if (k->ask.on_over != on_over || k->verb != 'w')
			continue;
		r = &f->rights[k->user];
		limit = REVOKED_MS + (k->ask.held ? HELD_MS : 0);
		must(!r->revoked || now_of(f) - r->since_ms <= limit,
		     "a watch of user %d is open %lld ms after its right was revoked", k->user,
		     (long long)(now_of(f) - r->since_ms));
	}
}

static double gauge_of(const struct metrics_gauge *g)
{
	return atomic_load(&g->value);
}

static double counter_of(const struct metrics_counter *c)
{
	return (double)atomic_load(&c->whole) + atomic_load(&c->part);
}

static void check_memory(const struct facts *f)
{
	double accounted = gauge_of(f->memory), limit = 0;
	size_t heap = heap_now();

	for (unsigned i = 0; i < WORLD_CONNS; i++)
		if (f->used_by[i] != FACTS_NOBODY)
			limit += (double)(f->used_by[i] == FACTS_USERS ? MEMORY_CONN_MAX
								       : MEMORY_STRANGER_MAX);
	must(accounted >= 0 && accounted <= limit, "%.0f bytes are accounted, of at most %.0f",
	     accounted, limit);
	must((double)heap <= (double)f->heap + accounted + (double)HEAP_SLACK,
	     "the heap has %zu bytes, %zu at first, and %.0f are accounted", heap, f->heap,
	     accounted);
}

static void check_work(struct facts *f)
{
	double compiled = counter_of(f->compiled), budget;
	uint64_t turns = sim_turns(world_sim(f->w));
	int64_t ms = now_of(f);

	budget = (double)(f->writes - f->definitions) * (double)CEL_COMPILE_MAX +
		 (double)f->definitions * (double)CEL_COMPILE_CRD_MAX;
	must(compiled - f->compiled_before <= budget, "%u writes took %.0f steps of compiling",
	     f->writes, compiled - f->compiled_before);
	must(turns - f->turns_before <= TURNS + (uint64_t)(ms - f->ms_before) * TURNS_PER_S / 1000,
	     "a step of %lld ms took %llu turns", (long long)(ms - f->ms_before),
	     (unsigned long long)(turns - f->turns_before));
	f->compiled_before = compiled;
	f->turns_before = turns;
	f->ms_before = ms;
	f->definitions = f->kinds[WORLD_DEFINITIONS].under_way;
	f->writes = 0;
	for (unsigned i = 0; i < WORLD_KINDS; i++)
		f->writes += f->kinds[i].under_way;
}

void facts_check(struct facts *f)
{
	for (unsigned i = 0; i < WORLD_KINDS; i++)
		check_objects(f, i);
	check_watches(f);
	check_memory(f);
	check_work(f);
}

/* The sum of all series of a family. */
static double sum_of(struct str text, const char *family)
{
	struct str line, labels;
	double sum = 0;

	/* The text of a buf ends with NUL, so a number at a line's end can be read in place. */
	while (str_split(&text, '\n', &line))
		if (str_starts(line, str_from(family)) && str_split(&line, '}', &labels))
			sum += strtod(line.p, NULL);
	return sum;
}

void facts_check_end(struct facts *f)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * MIB);
	size_t heap = heap_now();

	facts_check(f);
	must(list_empty(world_asks(f->w)), "a request is not over, though its connection is gone");
	must(gauge_of(f->memory) == 0, "%.0f bytes are accounted to nobody", gauge_of(f->memory));
	(void)metrics_print(world_server(f->w)->metrics, &text);
	must(sum_of(buf_str(&text), "apiserver_longrunning_requests") == 0,
	     "a watch outlives its connection");
	must(sum_of(buf_str(&text), "apiserver_current_inflight_requests") == 0,
	     "a request outlives its connection");
	must(sim_conns(world_sim(f->w)) <= 2, "%zu ends of connections are left",
	     sim_conns(world_sim(f->w)));
	must(heap <= f->heap + HEAP_KEPT, "the heap has %zu bytes, and %zu at first", heap,
	     f->heap);
}

void facts_begin(struct facts *f, struct world *w)
{
	struct metrics_spec memory = {
		.name = "devplane_request_memory_bytes",
		.help = "Memory of requests and unsent answers, as it is limited.",
		.type = METRICS_GAUGE
	};
	struct metrics_spec compiled = {
		.name = "devplane_cel_compile_steps_total",
		.help = "Work on expressions of objects that were written.",
		.type = METRICS_COUNTER
	};
	struct metrics *m = world_server(w)->metrics;
	struct metrics_family *family;

	memset(f, 0, sizeof(*f));
	f->w = w;
	f->heap = heap_now();
	must(metrics_register(m, &memory, &family, NULL) == 0,
	     "the server does not account memory");
	f->memory = metrics_gauge_of(family, NULL, 0);
	must(metrics_register(m, &compiled, &family, NULL) == 0,
	     "the server does not count compiling");
	f->compiled = metrics_counter_of(family, NULL, 0);
	f->compiled_before = counter_of(f->compiled);
	f->turns_before = sim_turns(world_sim(w));
	f->ms_before = now_of(f);
}
