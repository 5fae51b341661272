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
	bool overdue; /* calls have waited there for a long time; used by the client's tick */
	int64_t avoid_until; /* ms: other members are preferred until then */
	struct error failure; /* why the last attempt to connect failed */
};

/*
 * Loads the CAs and the certificate for https. *ret_tls is NULL if no endpoint uses https.
 * -ERR_INVALID for a certificate without a key (or the reverse), and for malformed certificates.
 */
int etcd_tls_new(const struct store_etcd_opts *opts, struct tls **ret_tls, struct error *err);

/*
 * Starts to connect, and reconnects whenever the connection is lost. Calls `on_state` with the
 * endpoint as its argument. *e must be zeroed. -ERR_INVALID: malformed URL.
 */
int etcd_endpoint_init(struct etcd_endpoint *e, struct loop *l, const char *url, struct tls *tls,
		       void (*on_state)(void *arg, enum grpc_channel_state state,
					const struct error *err),
		       struct error *err);
void etcd_endpoint_release(struct etcd_endpoint *e);

#endif
