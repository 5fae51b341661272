/*
 * etcd_rpc - the methods of etcd's v3 API that we call, and the meaning of its errors.
 */
#ifndef STORE_ETCD_RPC_H
#define STORE_ETCD_RPC_H

#include "etcd.pb-c.h"
#include "grpc/grpc.h"

enum etcd_op {
	ETCD_RANGE,
	ETCD_TXN,
	ETCD_COMPACT,
	ETCD_LEASE_GRANT, /* only in tests, like the next */
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
 * How far a call got. A writer must know the difference between the last two. After ETCD_REFUSED,
 * nothing was done and nothing will be. After ETCD_UNKNOWN, it may have been done, or may still be:
 * a member that went silent can have passed the proposal on to the others.
 */
enum etcd_outcome {
	ETCD_ANSWERED,
	ETCD_RETRY, /* rejected, but only by this member or only at this moment */
	ETCD_REFUSED,
	ETCD_UNKNOWN,
};

/*
 * Classifies a status, and describes the failure in plain words: the error reaches clients of the
 * API, who know neither etcd nor gRPC. Operators find the status itself in etcd_client_health().
 * `sent`: the request may have left this process. Errors:
 *   -ERR_EXPIRED      the revision is compacted
 *   -ERR_TIMEOUT      the revision lies in the future; or the outcome is unknown
 *   -ERR_TOO_LARGE    the request, or the response exceeds our limit
 *   -ERR_UNAVAILABLE  everything else
 */
enum etcd_outcome etcd_outcome_of(const struct grpc_status *st, bool sent, struct error *err);

/* Bytes as protobuf-c represents them; borrowed. */
static inline ProtobufCBinaryData etcd_data(struct str s)
{
	return (ProtobufCBinaryData){ s.n, (uint8_t *)(uintptr_t)s.p };
}

static inline struct str etcd_str(ProtobufCBinaryData d)
{
	return str_of(d.data, d.len);
}

#endif
