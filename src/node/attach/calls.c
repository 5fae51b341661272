/*
 * There is one call at a time: the meaning of its reply depends on when it began, and more calls do
 * not help a slow kubelet.
 */
#include "base/report/log.h"
#include "node/attach/attach_impl.h"
#include "node/book/methods.h"

enum { CALL_MS = 10 * 1000 };

static const struct {
	const struct grpc_method *method;
	const char *name;
} asks[] = {
	[ATTACH_ASK_LIST] = { &podres_method_list, "List" },
	[ATTACH_ASK_GET] = { &podres_method_get, "Get" },
	[ATTACH_ASK_ALLOCATABLE] = { &podres_method_allocatable, "GetAllocatableResources" },
};

static int64_t calls_now_ms(const struct attach *a)
{
	return loop_now(a->opts.loop);
}

static void problem(struct attach *a, const char *text)
{
	(void)snprintf(a->problem, sizeof(a->problem), "%s", text);
}

/* --- replies -------------------------------------------------------------------------- */

/* Calls on_known when both a List and allocatable were received for the first time. */
static void tell_known(struct attach *a)
{
	if (a->known || !a->listed || !a->allocatable)
		return;
	a->known = true;
	if (a->opts.on_known)
		a->opts.on_known(a->opts.arg);
}

static void taken(struct attach *a, bool list)
{
	struct str uid = STR_NULL;

	a->problem[0] = '\0';
	attach_poll_answered(&a->poll, &a->poll_ops, calls_now_ms(a));
	while (list && attach_merge_next_unsettled(a->merge, &uid))
		attach_poll_expect(&a->poll, uid, calls_now_ms(a));
	tell_known(a);
}

static void torn(struct attach *a, const struct attach_outcome *out)
{
	log_debug(a->opts.log, "the kubelet's reply is inconsistent", LOG_Z("what", out->why));
	if (a->torn)
		metrics_counter_add(a->torn, 1);
	problem(a, out->why);
	attach_poll_failed(&a->poll, loop_prng(a->opts.loop), calls_now_ms(a));
}

/*
 * Whether a reply may be applied. A reply with devices that the node was not known to have is
 * discarded once: allocatable is requested, then the same again.
 */
static bool may_tell(struct attach *a, Podresources__PodResources *const *v, size_t n)
{
	if (a->surprised || attach_merge_foresees(a->merge, v, n)) {
		a->surprised = false;
		return true;
	}
	a->surprised = true;
	attach_poll_failed(&a->poll, loop_prng(a->opts.loop), calls_now_ms(a));
	attach_poll_resume(&a->poll);
	attach_poll_allocatable(&a->poll, calls_now_ms(a));
	return false;
}

static void take_list(struct attach *a, const void *reply)
{
	const Podresources__ListResponse *list = reply;
	struct attach_outcome out;

	if (!may_tell(a, list->pod_resources, list->n_pod_resources))
		return;
	attach_merge_list(a->merge, list, calls_now_ms(a), &out);
	if (out.applied) {
		a->listed = true;
		a->unknown_ms = out.unknown > 0 ? MIN(a->unknown_ms, calls_now_ms(a)) : INT64_MAX;
	}
	if (out.verdict == ATTACH_TORN) {
		torn(a, &out);
		tell_known(a);
		return;
	}
	taken(a, true);
}

/* `reply` NULL: the kubelet does not know the pod. */
static void take_get(struct attach *a, const void *reply)
{
	const Podresources__GetResponse *answer = reply;
	struct attach_outcome out;

	if (answer && answer->pod_resources && !may_tell(a, &answer->pod_resources, 1))
		return;
	attach_merge_get(a->merge, str_from(a->poll.asking_uid),
			 answer ? answer->pod_resources : NULL, calls_now_ms(a), &out);
	taken(a, false);
	if (out.verdict == ATTACH_NEEDS_LIST)
		attach_poll_list(&a->poll, calls_now_ms(a));
}

static void take_allocatable(struct attach *a, const void *reply)
{
	attach_merge_allocatable(a->merge, reply);
	a->allocatable = true;
	taken(a, false);
}

/* --- failures ------------------------------------------------------------------------- */

/* Codes that do not depend on the method: the kubelet is busy, away, or too slow. */
static bool passes(enum grpc_code code)
{
	return code == GRPC_RESOURCE_EXHAUSTED || code == GRPC_UNAVAILABLE ||
	       code == GRPC_CANCELLED || code == GRPC_DEADLINE_EXCEEDED;
}

static void say_once(struct attach *a, bool *said, const char *what, const struct grpc_status *st)
{
	if (!*said)
		log_info(a->opts.log, what, LOG_STR("answer", st->message),
			 LOG_Z("code", grpc_code_name(st->code)));
	*said = true;
}

/* Returns true if the failure is itself a result. */
static bool means_something(struct attach *a, enum attach_ask ask, const struct grpc_status *st)
{
	if (ask == ATTACH_ASK_LIST || passes(st->code))
		return false;
	if (ask == ATTACH_ASK_GET && podres_method_get_found_none(st)) {
		take_get(a, NULL);
		return true;
	}
	if (ask == ATTACH_ASK_GET) {
		say_once(a, &a->said_no_get, "the kubelet does not offer Get: List does", st);
		attach_poll_offer_get(&a->poll, false);
		attach_poll_failed(&a->poll, loop_prng(a->opts.loop), calls_now_ms(a));
		attach_poll_resume(&a->poll);
		return true;
	}
	say_once(a, &a->said_no_allocatable, "the kubelet does not tell what is allocatable", st);
	a->allocatable = true;
	taken(a, false);
	return true;
}

static void on_failure(struct attach *a, enum attach_ask ask, const struct grpc_status *st)
{
	struct error err = { .code = ERR_OK };

	if (means_something(a, ask, st))
		return;
	(void)grpc_status_error(st, &err);
	(void)snprintf(a->problem, sizeof(a->problem), "%s: %s", asks[ask].name, err.msg);
	attach_poll_failed(&a->poll, loop_prng(a->opts.loop), calls_now_ms(a));
}

static void calls_on_done(void *arg, struct grpc_call *c, const struct grpc_status *st,
			  const void *reply)
{
	static void (*const take[])(struct attach * a, const void *reply) = {
		[ATTACH_ASK_LIST] = take_list,
		[ATTACH_ASK_GET] = take_get,
		[ATTACH_ASK_ALLOCATABLE] = take_allocatable,
	};
	struct attach *a = arg;
	enum attach_ask ask = a->poll.asking;

	(void)c;
	a->call = NULL;
	attach_behind_called(a, str_from(asks[ask].name), st->code);
	if (st->code != GRPC_OK)
		on_failure(a, ask, st);
	else
		take[ask](a, reply);
	attach_follow(a);
}

/* --- calls ---------------------------------------------------------------------------- */

static void ask_get(struct attach *a, struct str uid, const struct grpc_call_opts *opts)
{
	Podresources__GetRequest m = PODRESOURCES__GET_REQUEST__INIT;
	CLEANUP(arena_release) struct arena scratch;
	struct str ns, name;

	arena_init(&scratch, SIZE_MAX);
	if (attach_merge_asks_get(a->merge, uid, &ns, &name)) {
		m.pod_namespace = arena_strdup(&scratch, ns);
		m.pod_name = arena_strdup(&scratch, name);
	}
	a->call = grpc_channel_unary(a->channel, &podres_method_get, &m.base, opts, calls_on_done,
				     a);
}

int64_t attach_calls_next(struct attach *a)
{
	static const struct grpc_call_opts opts = { .deadline_ms = CALL_MS };
	Podresources__ListRequest empty = PODRESOURCES__LIST_REQUEST__INIT;
	Podresources__AllocatableRequest bare = PODRESOURCES__ALLOCATABLE_REQUEST__INIT;
	const ProtobufCMessage *m = &empty.base;
	enum attach_ask ask;
	struct str uid;
	int64_t wait;

	if (a->call || !a->ready || !informer_synced(a->pods))
		return -1;
	ask = attach_poll_next(&a->poll, &a->poll_ops, calls_now_ms(a), &uid, &wait);
	if (ask == ATTACH_ASK_NOTHING)
		return wait;
	attach_merge_begin(a->merge);
	if (ask == ATTACH_ASK_ALLOCATABLE)
		m = &bare.base;
	if (ask == ATTACH_ASK_GET)
		ask_get(a, uid, &opts);
	else
		a->call = grpc_channel_unary(a->channel, asks[ask].method, m, &opts, calls_on_done,
					     a);
	return -1;
}

void attach_calls_stop(struct attach *a)
{
	loop_watch_free(TAKE(a->folder));
	if (a->channel)
		grpc_channel_free(TAKE(a->channel));
}
