/*
 * state_writer_fixture - for tests: a client that writes.
 *
 * It counts up counters that all writers share, by reading one and writing it back
 * on the condition that nobody else was first, and now and then it makes, changes and deletes
 * pods. What became of each increment is kept in a tally: acknowledged, or
 * unknown when the answer was lost. At the end a counter must hold at least the
 * former and at most both: no update is lost, none is made twice. A read must see whatever was
 * acknowledged to anybody before it began, whichever server is asked.
 */
#ifndef SERVER_TESTING_STATE_WRITER_FIXTURE_H
#define SERVER_TESTING_STATE_WRITER_FIXTURE_H

#include "base/core/buf.h"
#include "net/http/client.h"
#include "server/testing/state_world.h"

enum { STATE_COUNTERS = 3, STATE_PODS = 12 };

struct state_tally {
	int64_t acked[STATE_COUNTERS], unknown[STATE_COUNTERS];
	int64_t newest[STATE_COUNTERS]; /* revision that anybody was acknowledged */
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
	struct loop_timer patience; /* a lost connection may never tell */
	struct buf body; /* of the answer */
	enum state_writer_step step;
	size_t counter; /* at hand */
	int64_t value, revision;
	int64_t floor; /* the newest when the read began: it must be seen */
	int status;
	size_t left; /* steps to make */
	bool stopped;
};

void state_writer_init(struct state_writer *w, struct loop *l, struct state_world **servers,
		       size_t nservers, struct state_tally *tally, size_t steps, uint64_t seed);
void state_writer_release(struct state_writer *w);

/* Compares the counters with the tally. */
void state_tally_check(const struct state_tally *t, struct state_world *w);

#endif
