/*
 * etcd_endpoint - one member of an etcd cluster, and the connection to it.
 */
#ifndef STORE_ETCD_ENDPOINT_H
#define STORE_ETCD_ENDPOINT_H

#include "base/core/error.h"
#include "grpc/channel.h"
#include "store/etcd/pulse.h"

struct etcd_client;
struct loop;
struct store_etcd_opts;
struct tls;

struct etcd_endpoint {
	struct etcd_client *client;
	char *url; /* as it was given */
	struct grpc_channel *channel;
	bool ready; /* connected */
	struct etcd_pulse pulse;
	bool overdue; /* calls have waited there for long; for the client's tick */
	int64_t avoid_until; /* ms: others are preferred until then */
	struct error failure; /* why the last attempt to connect failed */
};

/*
 * The trust and the certificate for https; NULL when no endpoint has that
 * scheme. -ERR_INVALID for half a pair or what is no certificate.
 */
int etcd_tls_new(const struct store_etcd_opts *opts, struct tls **ret_tls, struct error *err);

/*
 * Begins to connect, and again whenever the connection is lost; `on_state` with
 * the endpoint as its argument. *e is zeroed memory. -ERR_INVALID: no URL.
 */
int etcd_endpoint_init(struct etcd_endpoint *e, struct loop *l, const char *url, struct tls *tls,
		       void (*on_state)(void *arg, enum grpc_channel_state state,
					const struct error *err),
		       struct error *err);
void etcd_endpoint_release(struct etcd_endpoint *e);

#endif
