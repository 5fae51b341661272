/*
 * probe_call - makes one call of the probe's services, and counts the messages.
 *
 * The command is in probe/command_call.c; the table of its methods is here.
 */
#ifndef CLI_PROBE_CALL_H
#define CLI_PROBE_CALL_H

#include "base/json/writer.h"
#include "grpc/channel.h"
#include "net/loop/loop.h"

/* The parameters of a call. */
struct probe_ask {
	uint64_t count; /* messages: sent by Upload and Chat, requested from Download */
	uint32_t size; /* bytes of data in each */
	uint32_t interval_ms, delay_ms; /* for Download; for Echo */
	uint32_t rest_ms; /* the server must pause that long after the first chunk */
	int fail_code; /* the status with which the server must end; 0: OK */
	char *fail_message;
	char *service; /* whose health to check */
	bool echo_metadata;
	int64_t slow_ms; /* pause of the reader after each message */
	uint64_t cancel_after; /* messages received; 0: never */
};

struct probe_call {
	const struct probe_ask *ask;
	struct grpc_call *call;
	struct loop_timer timer; /* for pauses */
	char *data; /* the content of every chunk */
	uint64_t sent, received, bytes;
	struct buf reply; /* JSON: the other fields of the last message */
	void (*on_end)(struct probe_call *p, const struct grpc_status *st);
	const struct probe_method *method;
};

/* One method: its name on the command line, and how to call it. */
struct probe_method {
	const char *word;
	const struct grpc_method *method;
	void (*begin)(struct probe_call *p);
	/* Counts the message; may write members into w. */
	void (*count)(struct probe_call *p, const void *message, struct json_writer *w);
};

/* Finds a method by its word, in any case. NULL: not found. */
const struct probe_method *probe_method_find(struct str word);

/* "echo, download, ...": for messages. */
const char *probe_method_words(void);

/* Begins the call. p->ask, p->method and p->on_end must be set, the rest zero. */
void probe_call_start(struct probe_call *p, struct loop *l, struct grpc_channel *ch,
		      const struct grpc_call_opts *opts);
void probe_call_release(struct probe_call *p);

#endif
