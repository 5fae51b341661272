/*
 * audit_webhook - sends events to a server, as upstream's webhook backend does.
 *
 * A POST has an EventList with a batch of events. Its address and the credentials are in a
 * kubeconfig. A failed POST is repeated with back-off, five tries in all; then its events are lost
 * and counted. Events wait in a bounded buffer. While it is full, new ones are lost and counted;
 * no request waits. Batches are sent in parallel, so they may arrive in another order.
 */
#ifndef SERVER_AUDIT_WEBHOOK_H
#define SERVER_AUDIT_WEBHOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/error.h"

struct audit_webhook;
struct bytes;
struct log;

struct audit_webhook_opts {
	const char *config_file; /* a kubeconfig */
	bool single; /* mode "blocking": each event is sent at once, alone */
	int64_t batch_max_size; /* events in a POST; at least 1 */
	int64_t batch_max_bytes; /* after so many, nothing is added; 0: AUDIT_BATCH_BYTES */
	int64_t batch_max_wait_ms; /* how long an event waits for others */
	int64_t buffer_size; /* events that may wait, or be under way; at least 1 */
	int64_t initial_backoff_ms; /* before the first repetition */
	double qps, burst; /* POSTs per second, and at once; 0: no limit */
	int64_t timeout_ms; /* of a POST */
	int64_t stop_ms; /* how long audit_webhook_free() waits for deliveries */
	/* So many events were lost for good. Called on the webhook's thread. */
	void (*lost)(void *arg, size_t events);
	void *arg;
	const struct log *log;
};

int audit_webhook_new(const struct audit_webhook_opts *opts, struct audit_webhook **ret_webhook,
		      struct error *err);

/* Sends what waits, for a limited time; the rest is lost. NULL allowed. */
void audit_webhook_free(struct audit_webhook *w);

/*
 * Any thread; never waits. The line is one of audit_event_print(). Returns false if the buffer is
 * full.
 */
bool audit_webhook_send(struct audit_webhook *w, struct bytes *line);

#endif
