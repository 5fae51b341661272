/*
 * A caller of etcd_reads_current() may be answered by a request that was sent after its call, never
 * by one already in flight: a write acknowledged in between might be missing from that answer. So
 * there are two lists, and at most one request in flight, whatever their length.
 */
#include "store/etcd/read.h"

#include "base/core/arena.h"
#include "base/core/mem.h"
#include "store/etcd/key.h"
#include "store/etcd/stamp.h"
#include "store/store_limits.h"

/* If a full page arrives within this time, twice as many keys will arrive in time, too. */
enum { QUICK_MS = ETCD_CALL_MS / 10 };

static void tell_ended(struct etcd_reads *rs)
{
	if (rs->ended)
		loop_defer(etcd_client_loop(rs->client), rs->ended);
}

/* --- ranges -------------------------------------------------------------------------------- */

struct range_job {
	struct etcd_call call;
	struct etcd_reads *reads;
	struct loop_task fail; /* reports `err` at the end of the turn */
	struct buf from, end;
	size_t limit; /* SIZE_MAX: no limit */
	size_t page;
	int64_t asked_at; /* ms: when the page was requested */
	size_t room; /* number of allocated items */
	struct arena *arena;
	struct store_range_result result;
	struct error err;
	void (*done)(void *arg, const struct store_range_result *result, const struct error *err);
	void *arg;
};

static void end_range(struct range_job *job, const struct error *err)
{
	job->reads->ranges--;
	job->done(job->arg, err ? NULL : &job->result, err);
	tell_ended(job->reads);
	buf_release(&job->from);
	buf_release(&job->end);
	free(job);
}

static void fail_later(struct loop_task *t)
{
	struct range_job *job = CONTAINER_OF(t, struct range_job, fail);

	end_range(job, &job->err);
}

static void on_page(struct etcd_call *c, const struct etcd_answer *a);

static void ask_page(struct range_job *job)
{
	Etcd__RangeRequest request = ETCD__RANGE_REQUEST__INIT;

	request.key = etcd_data(buf_str(&job->from));
	request.range_end = etcd_data(buf_str(&job->end));
	request.limit = (int64_t)MIN(job->page, job->limit - job->result.n);
	request.revision = job->result.revision;
	job->asked_at = loop_now(etcd_client_loop(job->reads->client));
	job->call = (struct etcd_call){ .op = ETCD_RANGE, .repeatable = true, .done = on_page };
	etcd_client_call(job->reads->client, &job->call, &request.base);
}

/* Allocates the items. etcd's first page has the number of all keys of the range. */
static int read_make_room(struct range_job *job, int64_t count, struct error *err)
{
	size_t n = MIN(job->limit, count > 0 ? (size_t)count : 0);

	if (job->result.items)
		return 0;
	job->room = n;
	if (n > 0 && n <= SIZE_MAX / sizeof(struct store_item))
		job->result.items = arena_try_alloc(job->arena, n * sizeof(struct store_item));
	return n == 0 || job->result.items
		       ? 0
		       : error_set(err, ERR_TOO_LARGE, "a range of %zu keys is too large", n);
}

static int add_item(struct range_job *job, const Etcd__KeyValue *kv, struct error *err)
{
	struct store_item item = { .revision = kv->mod_revision };
	struct store_key key;
	struct str value;
	size_t nkey = kv->key.len, n;
	char *copy;

	/* Below our prefix but not an object: another program's key. */
	if (!etcd_key_parse(job->reads->prefix, etcd_str(kv->key), &key))
		return 0;
	if (job->result.n == job->room)
		return error_set(err, ERR_UNAVAILABLE, "etcd sent more keys than it counted");
	(void)etcd_stamp_split(etcd_str(kv->value), &value);
	n = nkey + value.n;
	copy = arena_try_alloc(job->arena, n + 1);
	if (!copy)
		return error_set(err, ERR_TOO_LARGE, "a range does not fit into %zu bytes",
				 job->arena->max);
	memcpy(copy, kv->key.data, nkey);
	str_put(copy + nkey, value);
	copy[n] = '\0';
	(void)etcd_key_parse(job->reads->prefix, str_of(copy, nkey), &item.key);
	item.value = slice_static(str_of(copy + nkey, value.n));
	job->result.items[job->result.n++] = item;
	return 0;
}

/* Returns 1 if another page is needed. */
static int add_page(struct range_job *job, const Etcd__RangeResponse *reply, struct error *err)
{
	int r;

	if (!reply->header)
		return error_set(err, ERR_UNAVAILABLE, "etcd answered without a revision");
	if (!job->result.revision)
		job->result.revision = reply->header->revision;
	r = read_make_room(job, reply->count, err);
	for (size_t i = 0; i < reply->n_kvs && r == 0; i++)
		r = add_item(job, reply->kvs[i], err);
	if (r < 0)
		return r;
	job->result.more = reply->more;
	if (!reply->more || reply->n_kvs == 0 || job->result.n == job->limit)
		return 0;
	/* The next key is the last one with a zero byte appended. */
	buf_clear(&job->from);
	(void)buf_add_str(&job->from, etcd_str(reply->kvs[reply->n_kvs - 1]->key));
	(void)buf_addc(&job->from, '\0');
	return 1;
}

/* Enlarges the page again once the connection is fast. */
static void note_pace(struct range_job *job, const Etcd__RangeResponse *reply)
{
	struct etcd_reads *rs = job->reads;
	int64_t took = loop_now(etcd_client_loop(rs->client)) - job->asked_at;

	if (reply->n_kvs >= rs->page && took <= QUICK_MS)
		rs->page = MIN(2 * rs->page, (size_t)ETCD_PAGE_MAX);
}

static void on_page(struct etcd_call *c, const struct etcd_answer *a)
{
	struct range_job *job = CONTAINER_OF(c, struct range_job, call);
	struct error err = a->err;
	int r;

	if (a->outcome == ETCD_ANSWERED) {
		note_pace(job, a->reply);
		r = add_page(job, a->reply, &err);
	} else if (a->err.code == ERR_TOO_LARGE && job->page > 1) {
		/*
		 * A smaller page fits, because few objects are large. A slow connection stays slow,
		 * so later reads start with the smaller page.
		 */
		job->page = MAX(job->page / 8, 1);
		if (a->outcome == ETCD_UNKNOWN)
			job->reads->page = MIN(job->reads->page, job->page);
		r = 1;
	} else {
		if (a->outcome == ETCD_UNKNOWN)
			err.code = ERR_UNAVAILABLE;
		r = -(int)err.code;
	}
	if (r > 0)
		ask_page(job);
	else
		end_range(job, r < 0 ? &err : NULL);
}

void etcd_reads_range(struct etcd_reads *rs, const struct store_range *range, struct arena *arena,
		      void (*done)(void *arg, const struct store_range_result *result,
				   const struct error *err),
		      void *arg)
{
	struct range_job *job = XNEW(struct range_job);

	job->reads = rs;
	job->arena = arena;
	job->limit = range->limit ? range->limit : SIZE_MAX;
	job->page = rs->page;
	job->result.revision = range->revision;
	job->done = done;
	job->arg = arg;
	buf_init(&job->from, 2UL * ETCD_KEY_MAX);
	buf_init(&job->end, 2UL * ETCD_KEY_MAX);
	loop_task_init(&job->fail, fail_later);
	rs->ranges++;
	if (etcd_key_range(rs->prefix, range, &job->from, &job->end, &job->err) < 0)
		loop_defer(etcd_client_loop(rs->client), &job->fail);
	else
		ask_page(job);
}

/* --- the current revision ------------------------------------------------------------------ */

struct waiter {
	struct list link;
	void (*done)(void *arg, int64_t revision, const struct error *err);
	void *arg;
};

static void on_revision(struct etcd_call *c, const struct etcd_answer *a);

static void ask_revision(struct etcd_reads *rs)
{
	Etcd__RangeRequest request = ETCD__RANGE_REQUEST__INIT;

	list_splice_back(&rs->asked, &rs->late);
	rs->asking = true;
	request.key = etcd_data(rs->prefix);
	request.count_only = true;
	rs->call = (struct etcd_call){ .op = ETCD_RANGE, .repeatable = true, .done = on_revision };
	etcd_client_call(rs->client, &rs->call, &request.base);
}

static void on_revision(struct etcd_call *c, const struct etcd_answer *a)
{
	struct etcd_reads *rs = CONTAINER_OF(c, struct etcd_reads, call);
	const Etcd__RangeResponse *reply = a->reply;
	struct error err = a->err;
	int64_t revision = reply && reply->header ? reply->header->revision : 0;
	struct list now, *node;

	list_init(&now);
	list_splice_back(&now, &rs->asked);
	rs->asking = false;
	if (!list_empty(&rs->late))
		ask_revision(rs);
	if (!revision)
		err.code = ERR_UNAVAILABLE;
	while ((node = list_pop_front(&now))) {
		struct waiter *waiter = LIST_ENTRY(node, struct waiter, link);

		waiter->done(waiter->arg, revision, revision ? NULL : &err);
		free(waiter);
	}
	tell_ended(rs);
}

void etcd_reads_current(struct etcd_reads *rs,
			void (*done)(void *arg, int64_t revision, const struct error *err),
			void *arg)
{
	struct waiter *waiter = XNEW(struct waiter);

	waiter->done = done;
	waiter->arg = arg;
	list_push_back(&rs->late, &waiter->link);
	if (!rs->asking)
		ask_revision(rs);
}

/* --- life ---------------------------------------------------------------------------------- */

void etcd_reads_init(struct etcd_reads *rs, struct etcd_client *client, struct str prefix)
{
	*rs = (struct etcd_reads){ .client = client, .prefix = prefix, .page = ETCD_PAGE_MAX };
	list_init(&rs->asked);
	list_init(&rs->late);
}

bool etcd_reads_busy(const struct etcd_reads *rs)
{
	return rs->ranges > 0 || rs->asking;
}
