/*
 * state_writer_fixture - for tests: a client that writes.
 *
 * It increments counters that all writers share: it reads one and writes it back on the condition
 * that nobody else has changed it. From time to time it creates, changes and deletes pods. A
 * tally records the outcome of each increment: acknowledged, or unknown if the reply was lost. At
 * the end a counter must be at least the number of acknowledged increments, and at most that of
 * both: no update is lost or applied twice. A read from any server must see every write that was
 * acknowledged to any client before the read began.
 */
#ifndef SERVER_TESTING_STATE_WRITER_FIXTURE_H
#define SERVER_TESTING_STATE_WRITER_FIXTURE_H

#include "base/core/buf.h"
#include "net/http/client.h"
#include "server/testing/state_world.h"

enum { STATE_COUNTERS = 3, STATE_PODS = 12 };

struct state_tally {
	int64_t acked[STATE_COUNTERS], unknown[STATE_COUNTERS];
	int64_t newest[STATE_COUNTERS]; /* newest revision acknowledged to any client */
	size_t conflicts;
};

enum state_writer_step { WRITER_IDLE, WRITER_READ, WRITER_COUNT, WRITER_CHURN };

struct state_writer {
	struct state_world **servers;
	size_t nservers;
	struct state_tally *tally;
	struct loop *loop;
	struct prng prng;
	struct http_client *client;
	struct http_stream *stream;
	struct loop_timer next;
	struct loop_timer patience; /* ends connections that were lost silently */
	struct buf body; /* of the reply */
	enum state_writer_step step;
	size_t counter; /* the current one */
	int64_t value, revision;
	int64_t floor; /* the newest revision when the read began: the read must see it */
	int status;
	size_t left; /* remaining steps */
	bool stopped;
};

void state_writer_init(struct state_writer *w, struct loop *l, struct state_world **servers,
		       size_t nservers, struct state_tally *tally, size_t steps, uint64_t seed);
void state_writer_release(struct state_writer *w);

/* Compares the counters with the tally. */
void state_tally_check(const struct state_tally *t, struct state_world *w);

#endif
