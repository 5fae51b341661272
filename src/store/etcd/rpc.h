/*
 * etcd_rpc - the methods of etcd's v3 API that we call, and what its refusals mean.
 */
#ifndef STORE_ETCD_RPC_H
#define STORE_ETCD_RPC_H

#include "etcd.pb-c.h"
#include "grpc/grpc.h"

enum etcd_op {
	ETCD_RANGE,
	ETCD_TXN,
	ETCD_COMPACT,
	ETCD_LEASE_GRANT, /* tests only, as the next */
	ETCD_LEASE_REVOKE,
	ETCD_OPS,
};

struct etcd_op_row {
	const char *name; /* in metrics: "range" */
	struct grpc_method method;
};

extern const struct etcd_op_row etcd_ops[ETCD_OPS];
extern const struct grpc_method etcd_watch_method;

/*
 * How far a call got. The difference between the last two is what a writer must
 * know: after ETCD_REFUSED nothing was done and nothing will be, after
 * ETCD_UNKNOWN it may have been done, or may still be: a member that went silent
 * can have passed the proposal on to the others.
 */
enum etcd_outcome {
	ETCD_ANSWERED,
	ETCD_RETRY, /* refused, but by this member or at this moment only */
	ETCD_REFUSED,
	ETCD_UNKNOWN,
};

/*
 * What a status means, and the failure in plain words: the error reaches clients
 * of the API, who know neither etcd nor gRPC. The status itself is for those who
 * look after the server (etcd_client_health()). `sent`: the request may have left
 * this process. Errors of etcd_op's own:
 *   -ERR_EXPIRED      the revision is compacted
 *   -ERR_TIMEOUT      the revision lies in the future; or the outcome is unknown
 *   -ERR_TOO_LARGE    the request, or our limit on the response
 *   -ERR_UNAVAILABLE  everything else
 */
enum etcd_outcome etcd_outcome_of(const struct grpc_status *st, bool sent, struct error *err);

/* Bytes as protobuf-c has them; borrowed. */
static inline ProtobufCBinaryData etcd_data(struct str s)
{
	return (ProtobufCBinaryData){ s.n, (uint8_t *)(uintptr_t)s.p };
}

static inline struct str etcd_str(ProtobufCBinaryData d)
{
	return str_of(d.data, d.len);
}

#endif
