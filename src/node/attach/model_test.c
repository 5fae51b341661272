/*
 * A model kubelet whose true state is known. It assigns devices, CPUs and memory at random,
 * restarts, replies with few pods or with a state that never existed at one time, and learns of
 * pods earlier or later than we do. After each message of each reader no thing is with two pods. In
 * the end the book equals the true state.
 */
#include "node/attach/attach_fixture.h"

#include "base/core/limits.h"
#include "base/core/random.h"

enum { NAMES = 10, GPUS = 6, CPUS = 6, STEPS = 400, SEEDS = 150, SLOW = 2 };

/* A pod, as the kubelet has it (if it does) and as the API has it. */
struct model_pod {
	char uid[16], name[8];
	bool there; /* in the API */
	enum attach_life life; /* in the API */
	bool admitted, over; /* by the kubelet */
	uint32_t gpus, cpus; /* bits */
	unsigned memory;
};

struct model {
	struct prng prng;
	struct arena arena;
	struct podres *book;
	struct attach_merge *merge;
	struct fixture_reader fast, slow[SLOW];
	struct model_pod pods[NAMES]; /* the newest of each name; empty uid: none yet */
	struct model_pod left[NAMES]; /* force-deleted, but the kubelet still has it */
	int64_t now;
	unsigned uids, hidden; /* replies that will show few pods */
	unsigned torn, taken;
};

static unsigned draw(struct model *m, unsigned n)
{
	return (unsigned)prng_below(&m->prng, n);
}

/* --- the kubelet --------------------------------------------------------------------------- */

static bool listed(const struct model_pod *p)
{
	return p->uid[0] && p->admitted && !p->over;
}

/* The union of the things of all pods. */
static struct model_pod used(const struct model *m)
{
	struct model_pod sum = { .gpus = 0 };

	for (unsigned i = 0; i < 2 * NAMES; i++) {
		const struct model_pod *p = i < NAMES ? &m->pods[i] : &m->left[i - NAMES];

		if (!listed(p))
			continue;
		assert_true((sum.gpus & p->gpus) == 0 && (sum.cpus & p->cpus) == 0);
		sum.gpus |= p->gpus;
		sum.cpus |= p->cpus;
		sum.memory += p->memory;
	}
	return sum;
}

/* About a quarter of n bits. */
static uint32_t some_bits(struct model *m, unsigned n)
{
	uint32_t half = draw(m, 1U << n);

	return half & draw(m, 1U << n);
}

static void admit(struct model *m, struct model_pod *p)
{
	struct model_pod taken = used(m);

	p->gpus = some_bits(m, GPUS) & ~taken.gpus;
	p->cpus = some_bits(m, CPUS) & ~taken.cpus;
	p->memory = draw(m, 3) ? 0 : draw(m, FIXTURE_MEMORY - taken.memory + 1);
	p->admitted = true;
}

/* As the fixture writes a state. */
static void print_state(struct buf *out, const struct model_pod *p)
{
	const char *comma = "";

	(void)buf_printf(out, "%s=", p->name);
	for (unsigned i = 0; i < GPUS; i++) {
		if (p->gpus & 1U << i) {
			(void)buf_printf(out, "%sgpu%u", comma, i);
			comma = ",";
		}
	}
	for (unsigned i = 0; i < CPUS; i++) {
		if (p->cpus & 1U << i) {
			(void)buf_printf(out, "%s#%u", comma, i);
			comma = ",";
		}
	}
	if (p->memory)
		(void)buf_printf(out, "%sm%u", comma, p->memory);
}

/* The pod that a kubelet lists for a name: the old one as long as it has that. */
static const struct model_pod *entry_of(const struct model *m, unsigned i)
{
	if (listed(&m->left[i]))
		return &m->left[i];
	return listed(&m->pods[i]) ? &m->pods[i] : NULL;
}

/* --- events ---------------------------------------------------------------------------------- */

static void tell(struct model *m, const struct model_pod *p)
{
	struct attach_pod_info info = { .uid = str_from(p->uid),
					.ns = STR("default"),
					.name = str_from(p->name),
					.life = p->life };

	assert_int_equal(attach_merge_pod(m->merge, &info, m->now, NULL), 0);
}

static void create(struct model *m, unsigned i)
{
	struct model_pod *p = &m->pods[i];

	if (p->uid[0]) {
		/*
		 * The kubelet has one pod of a name at a time, and learns of the next when that is
		 * gone.
		 */
		if (listed(p) && listed(&m->left[i]))
			return;
		if (p->there)
			attach_merge_pod_gone(m->merge, str_from(p->uid));
		if (listed(p))
			m->left[i] = *p;
	}
	*p = (struct model_pod){ .there = true };
	(void)snprintf(p->uid, sizeof(p->uid), "u%u", ++m->uids);
	(void)snprintf(p->name, sizeof(p->name), "p%u", i);
	tell(m, p);
}

/* A step in the pod's life, in the kubelet or in the API. */
static void move(struct model *m, unsigned i)
{
	struct model_pod *p = &m->pods[i];

	if (m->left[i].uid[0] && draw(m, 2))
		m->left[i].over = true;
	if (!p->uid[0] || !p->there)
		return;
	if (!p->admitted && !listed(&m->left[i])) {
		admit(m, p);
	} else if (p->admitted && p->life == ATTACH_COMING) {
		p->life = ATTACH_STARTING;
		tell(m, p);
	} else if (p->life == ATTACH_STARTING) {
		p->life = ATTACH_RUNNING;
		tell(m, p);
	} else if (p->life == ATTACH_RUNNING && !p->over) {
		p->over = draw(m, 3) == 0;
		if (!p->over)
			p->gpus &= (uint32_t)draw(m, 1 << GPUS); /* releases some */
	} else if (p->over && p->life == ATTACH_RUNNING) {
		p->life = ATTACH_ENDED;
		tell(m, p);
	} else if (p->life == ATTACH_ENDED) {
		p->there = false;
		attach_merge_pod_gone(m->merge, str_from(p->uid));
	}
}

static void step(struct model *m)
{
	unsigned i = draw(m, NAMES);

	m->now += draw(m, 400);
	if (draw(m, 60) == 0)
		m->hidden = draw(m, 8);
	else if (draw(m, 6) == 0)
		create(m, i);
	else
		move(m, i);
}

/* --- calls ------------------------------------------------------------------------------------ */

static void read_all(struct model *m, bool to_the_end)
{
	fixture_read(&m->fast);
	for (unsigned i = 0; i < SLOW; i++) {
		if (to_the_end)
			fixture_read(&m->slow[i]);
		else if (draw(m, 3) == 0)
			(void)fixture_read_one(&m->slow[i]);
	}
}

static void print_entry(struct buf *out, const struct model_pod *p)
{
	if (out->n > 0)
		(void)buf_addc(out, ' ');
	print_state(out, p);
}

/* Changes may happen between the pods that it reads, so it may list two pods of a name. */
static void list(struct model *m, bool torn)
{
	struct buf text = BUF_INIT(64 * KIB);
	struct attach_outcome out;
	unsigned few = m->hidden ? draw(m, 3) : NAMES;

	attach_merge_begin(m->merge);
	for (unsigned i = 0; i < NAMES; i++) {
		const struct model_pod *p = entry_of(m, i);
		struct model_pod before = p ? *p : (struct model_pod){ .uid = "" };

		if (p && few-- > 0)
			print_entry(&text, p);
		else if (!p && few == 0)
			break;
		for (unsigned n = torn ? draw(m, 12) : 0; n > 0; n--)
			step(m);
		p = entry_of(m, i);
		if (torn && p && strcmp(p->uid, before.uid) != 0)
			print_entry(&text, p);
	}
	if (m->hidden)
		m->hidden--;
	attach_merge_list(m->merge, fixture_list(&m->arena, text.n > 0 ? text.p : ""), m->now,
			  &out);
	m->torn += out.verdict == ATTACH_TORN;
	m->taken += out.verdict == ATTACH_TAKEN;
	buf_release(&text);
}

static void get(struct model *m, unsigned i)
{
	struct buf text = BUF_INIT(64 * KIB);
	const struct model_pod *p = entry_of(m, i);
	struct attach_outcome out;
	struct str ns, name;

	if (!attach_merge_asks_get(m->merge, str_from(m->pods[i].uid), &ns, &name))
		return;
	attach_merge_begin(m->merge);
	if (p)
		print_state(&text, p);
	attach_merge_get(m->merge, str_from(m->pods[i].uid),
			 p ? fixture_pod(&m->arena, buf_str(&text)) : NULL, m->now, &out);
	if (out.verdict == ATTACH_NEEDS_LIST)
		list(m, false);
	buf_release(&text);
}

static void run(struct model *m)
{
	for (unsigned i = 0; i < STEPS; i++) {
		step(m);
		if (draw(m, 3) == 0)
			list(m, draw(m, 5) == 0);
		else if (draw(m, 3) == 0)
			get(m, draw(m, NAMES));
		read_all(m, false);
		arena_clear(&m->arena);
	}
}

/* Nothing changes any more; repeated calls must end in the true state. */
static void settle(struct model *m)
{
	m->hidden = 0;
	for (unsigned i = 0; i < 3; i++) {
		m->now += 10 * 1000;
		list(m, false);
		read_all(m, true);
	}
}

/* --- the true state --------------------------------------------------------------------------- */

/* The pod that the entry of a name belongs to, as far as an observer of the kubelet can know. */
static void expect_truth(struct model *m, struct fixture_reader *r)
{
	size_t n = 0;

	for (unsigned i = 0; i < NAMES; i++) {
		const struct model_pod *p = entry_of(m, i);
		struct buf text = BUF_INIT(KIB);
		const struct fixture_belief *b;

		if (!p)
			continue;
		print_state(&text, p);
		b = fixture_find(r, p->uid);
		/* The rest of a pod that the API has replaced counts as the new one. */
		if (!b && p == &m->left[i])
			b = fixture_find(r, m->pods[i].uid);
		if (b || m->pods[i].there) {
			assert_non_null(b);
			assert_string_equal(b->text, text.p);
			n++;
		}
		buf_release(&text);
	}
	assert_int_equal(r->n, n);
}

static void model_init(struct model *m, uint64_t seed)
{
	*m = (struct model){ .now = 1000 };
	prng_init(&m->prng, seed);
	arena_init(&m->arena, SIZE_MAX);
	m->book = podres_new(2);
	m->merge = attach_merge_new(m->book, 0);
	attach_merge_allocatable(m->merge, fixture_allocatable(&m->arena, FIXTURE_MEMORY));
	fixture_reader_init(&m->fast, m->book);
	m->fast.room = FIXTURE_MEMORY;
	for (unsigned i = 0; i < SLOW; i++) {
		fixture_reader_init(&m->slow[i], m->book);
		m->slow[i].room = FIXTURE_MEMORY;
	}
}

static void model_release(struct model *m)
{
	attach_merge_free(m->merge);
	fixture_reader_release(&m->fast);
	for (unsigned i = 0; i < SLOW; i++)
		fixture_reader_release(&m->slow[i]);
	podres_free(m->book);
	arena_release(&m->arena);
}

static void sums_always_hold_and_the_book_converges(void **state UNUSED)
{
	unsigned torn = 0, taken = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct model m;

		model_init(&m, seed);
		run(&m);
		settle(&m);
		expect_truth(&m, &m.fast);
		for (unsigned i = 0; i < SLOW; i++)
			expect_truth(&m, &m.slow[i]);
		torn += m.torn;
		taken += m.taken;
		model_release(&m);
	}
	print_message("# %u answers taken, %u torn\n", taken, torn);
	assert_true(torn > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_always_hold_and_the_book_converges),
	};

	return cmocka_run_group_tests_name("node/attach_model", tests, NULL, NULL);
}
