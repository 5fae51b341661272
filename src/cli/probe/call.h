/*
 * probe_call - one call of the probe's services, and the counting of what came.
 *
 * The command is in probe/command_call.c; here are the rows of its methods.
 */
#ifndef CLI_PROBE_CALL_H
#define CLI_PROBE_CALL_H

#include "base/json/writer.h"
#include "grpc/channel.h"
#include "net/loop/loop.h"

/* What to ask for. */
struct probe_ask {
	uint64_t count; /* messages: sent by Upload and Chat, asked of Download */
	uint32_t size; /* bytes of data in each */
	uint32_t interval_ms, delay_ms; /* of Download, of Echo */
	uint32_t rest_ms; /* asked of the server after the first chunk */
	int fail_code; /* how the server is to end; 0: well */
	char *fail_message;
	char *service; /* whose health */
	bool echo_metadata;
	int64_t slow_ms; /* the reader rests after each message */
	uint64_t cancel_after; /* messages received; 0: never */
};

struct probe_call {
	const struct probe_ask *ask;
	struct grpc_call *call;
	struct loop_timer timer; /* rests */
	char *data; /* what every chunk bears */
	uint64_t sent, received, bytes;
	struct buf reply; /* JSON: what the last message said beside its data */
	void (*on_end)(struct probe_call *p, const struct grpc_status *st);
	const struct probe_method *method;
};

/* One row: a word for the command line, and how the call goes. */
struct probe_method {
	const char *word;
	const struct grpc_method *method;
	void (*begin)(struct probe_call *p);
	/* Counts the message; may write members into w. */
	void (*count)(struct probe_call *p, const void *message, struct json_writer *w);
};

/* The row of that word, in any case of letters; NULL when there is none. */
const struct probe_method *probe_method_find(struct str word);

/* "echo, download, ...": for messages. */
const char *probe_method_words(void);

/* Begins the call; p->ask, p->method and p->on_end are set, the rest is zero. */
void probe_call_start(struct probe_call *p, struct loop *l, struct grpc_channel *ch,
		      const struct grpc_call_opts *opts);
void probe_call_release(struct probe_call *p);

#endif
