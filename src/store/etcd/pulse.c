/*
 * At most one probe is in flight per member. A stopped process answers it when it resumes, so
 * nothing else has to be sent meanwhile. The deadline is for a probe that was lost.
 */
#include "store/etcd/pulse.h"

#include "base/core/mem.h"
#include "grpc/channel.h"
#include "net/loop/loop.h"

enum { PROBE_MS = 5000 };

void etcd_pulse_heard(struct etcd_pulse *p, const Etcd__ResponseHeader *header)
{
	bool changed = !etcd_pulse_alive(p) || (header && p->leaderless);

	p->heard = true;
	p->silent = false;
	p->heard_at = loop_now(p->loop);
	if (header) {
		p->leaderless = false;
		p->term = header->raft_term;
	}
	if (changed)
		p->on_change(p->arg);
}

/* Whether the member itself has sent this status, rather than our side of the connection. */
static bool is_theirs(const struct grpc_status *st)
{
	switch (st->code) {
	case GRPC_UNAVAILABLE:
	case GRPC_CANCELLED:
	case GRPC_DEADLINE_EXCEEDED:
	case GRPC_INTERNAL:
		return str_starts(st->message, STR("etcdserver: "));
	default:
		return true;
	}
}

void etcd_pulse_failed(struct etcd_pulse *p, const struct grpc_status *st)
{
	if (!is_theirs(st))
		return;
	if (str_starts(st->message, STR("etcdserver: no leader")))
		p->leaderless = true;
	etcd_pulse_heard(p, NULL);
}

/* --- probes -------------------------------------------------------------------------------- */

static void pulse_on_message(struct grpc_call *c, const void *message)
{
	struct etcd_pulse *p = grpc_call_data(c);
	const Etcd__RangeResponse *reply = message;

	if (p)
		etcd_pulse_heard(p, reply->header);
}

static void pulse_on_end(struct grpc_call *c, const struct grpc_status *st)
{
	struct etcd_pulse *p = grpc_call_data(c);

	if (!p)
		return;
	p->probe = NULL;
	if (st->code != GRPC_OK)
		etcd_pulse_failed(p, st);
}

void etcd_pulse_probe(struct etcd_pulse *p)
{
	static const struct grpc_call_ops ops = { .on_message = pulse_on_message,
						  .on_end = pulse_on_end };
	/* With this, a member that is cut off from the others reports that. */
	static const struct grpc_metadata has_leader = { { "hasleader", 9 }, { "true", 4 } };
	static const struct grpc_call_opts opts = { .deadline_ms = PROBE_MS,
						    .metadata = &has_leader,
						    .nmetadata = 1 };
	Etcd__RangeRequest range = ETCD__RANGE_REQUEST__INIT;

	if (p->probe)
		return;
	range.key = etcd_data(STR("\0"));
	range.serializable = range.count_only = true;
	p->probed_at = loop_now(p->loop);
	p->probe = grpc_channel_call(p->channel, &etcd_ops[ETCD_RANGE].method, &opts, &ops, p);
	(void)grpc_call_send(p->probe, &range.base);
	(void)grpc_call_half_close(p->probe);
}

/* --- judging ------------------------------------------------------------------------------- */

void etcd_pulse_reset(struct etcd_pulse *p)
{
	struct grpc_call *probe = TAKE(p->probe);

	p->heard = p->silent = p->leaderless = false;
	if (!probe)
		return;
	grpc_call_set_data(probe, NULL);
	grpc_call_cancel(probe);
}

void etcd_pulse_judge(struct etcd_pulse *p)
{
	int64_t last = MAX(p->probed_at, p->heard_at);

	last = MAX(last, grpc_channel_input_at(p->channel));
	if (p->probe && loop_now(p->loop) - last >= ETCD_SILENT_MS)
		p->silent = true;
}

void etcd_pulse_forgive(struct etcd_pulse *p)
{
	p->probed_at = loop_now(p->loop);
}
