/*
 * etcd reports errors as a gRPC code and a fixed text. Several causes share a code, so the text
 * decides. A status that is not in the table below is treated as the worst case: outcome unknown.
 */
#include "store/etcd/rpc.h"
#include "store/store_limits.h"

#define TYPE(name) &etcd__##name##__descriptor

const struct etcd_op_row etcd_ops[ETCD_OPS] = {
	[ETCD_RANGE] = { "range",
			 { .path = "/etcdserverpb.KV/Range",
			   .request = TYPE(range_request),
			   .response = TYPE(range_response),
			   .max_response = ETCD_RESPONSE_MAX } },
	[ETCD_TXN] = { "txn",
		       { .path = "/etcdserverpb.KV/Txn",
			 .request = TYPE(txn_request),
			 .response = TYPE(txn_response) } },
	[ETCD_COMPACT] = { "compact",
			   { .path = "/etcdserverpb.KV/Compact",
			     .request = TYPE(compaction_request),
			     .response = TYPE(compaction_response) } },
	[ETCD_LEASE_GRANT] = { "lease_grant",
			       { .path = "/etcdserverpb.Lease/LeaseGrant",
				 .request = TYPE(lease_grant_request),
				 .response = TYPE(lease_grant_response) } },
	[ETCD_LEASE_REVOKE] = { "lease_revoke",
				{ .path = "/etcdserverpb.Lease/LeaseRevoke",
				  .request = TYPE(lease_revoke_request),
				  .response = TYPE(lease_revoke_response) } },
};

const struct grpc_method etcd_watch_method = {
	.path = "/etcdserverpb.Watch/Watch",
	.kind = GRPC_BIDI_STREAM,
	.request = TYPE(watch_request),
	.response = TYPE(watch_response),
	.max_response = ETCD_RESPONSE_MAX,
};

struct cause {
	enum grpc_code code;
	const char *text; /* prefix of the status message; NULL: any */
	enum etcd_outcome outcome;
	enum error_code error;
	const char *plain; /* the message for clients */
};

static const struct cause causes[] = {
	{ GRPC_OUT_OF_RANGE, "etcdserver: mvcc: required revision has been compacted", ETCD_REFUSED,
	  ERR_EXPIRED, "the revision is no longer stored" },
	{ GRPC_OUT_OF_RANGE, "etcdserver: mvcc: required revision is a future revision",
	  ETCD_REFUSED, ERR_TIMEOUT, "the revision does not exist yet" },
	{ GRPC_INVALID_ARGUMENT, "etcdserver: request is too large", ETCD_REFUSED, ERR_TOO_LARGE,
	  "the object is too large for etcd" },
	{ GRPC_INVALID_ARGUMENT, NULL, ETCD_REFUSED, ERR_UNAVAILABLE,
	  "etcd has rejected the request" },
	/* The member has no leader to propose to; it checks this before anything else. */
	{ GRPC_UNAVAILABLE, "etcdserver: no leader", ETCD_RETRY, ERR_UNAVAILABLE,
	  "etcd has no leader at the moment" },
	{ GRPC_UNAVAILABLE, "etcdserver: not capable", ETCD_RETRY, ERR_UNAVAILABLE,
	  "etcd is not ready yet" },
	{ GRPC_RESOURCE_EXHAUSTED, "etcdserver: too many requests", ETCD_RETRY, ERR_UNAVAILABLE,
	  "etcd is overloaded" },
	{ GRPC_RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded", ETCD_REFUSED,
	  ERR_UNAVAILABLE, "etcd's database is full (space exceeded)" },
	/*
	 * Reported by etcd's gRPC server, before etcd has seen the request; or by us, for a range
	 * that it sent.
	 */
	{ GRPC_RESOURCE_EXHAUSTED, "grpc: received message larger than max", ETCD_REFUSED,
	  ERR_TOO_LARGE, "the object is too large for etcd" },
	{ GRPC_RESOURCE_EXHAUSTED, NULL, ETCD_UNKNOWN, ERR_TOO_LARGE,
	  "the answer of etcd is too large" },
	{ GRPC_UNAUTHENTICATED, NULL, ETCD_REFUSED, ERR_UNAVAILABLE,
	  "etcd does not accept the server's credentials" },
	{ GRPC_PERMISSION_DENIED, NULL, ETCD_REFUSED, ERR_UNAVAILABLE,
	  "etcd does not permit the server to do this" },
	{ GRPC_FAILED_PRECONDITION, NULL, ETCD_REFUSED, ERR_UNAVAILABLE,
	  "etcd has rejected the request" },
	{ GRPC_UNIMPLEMENTED, NULL, ETCD_REFUSED, ERR_UNAVAILABLE,
	  "etcd does not support the request" },
};

/* Anything else. */
static const struct cause unknown = { GRPC_UNKNOWN, NULL, ETCD_UNKNOWN, ERR_TIMEOUT,
				      "etcd did not answer in time" };

static const struct cause *find_cause(const struct grpc_status *st)
{
	for (size_t i = 0; i < ARRAY_SIZE(causes); i++)
		if (causes[i].code == st->code &&
		    (!causes[i].text || str_starts(st->message, str_from(causes[i].text))))
			return &causes[i];
	return &unknown;
}

enum etcd_outcome etcd_outcome_of(const struct grpc_status *st, bool sent, struct error *err)
{
	const struct cause *cause = find_cause(st);

	if (st->code == GRPC_OK)
		return ETCD_ANSWERED;
	if (!sent) {
		(void)error_set(err, ERR_UNAVAILABLE, "the server has no connection to etcd");
		return ETCD_RETRY;
	}
	(void)error_set(err, cause->error, "%s", cause->plain);
	return cause->outcome;
}
