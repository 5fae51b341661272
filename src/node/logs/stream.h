/*
 * log_stream - a container's log as the body of an answer, to its end or for as long as the
 * container runs.
 *
 * The file is read as fast as the client takes it, be it page by page over hours, a piece per turn;
 * its last lines are searched for in as small pieces before the answer begins. When it is followed,
 * a change in its folder is what it waits for, and a second at most; a log that was rotated is read
 * to its end before the new one is begun. It ends when the container does not run and all is read.
 * An answer that cannot go on is reset, never just ended.
 * Threads: the loop's.
 */
#ifndef NODE_LOGS_STREAM_H
#define NODE_LOGS_STREAM_H

#include "node/logs/reader.h"

struct http_stream;
struct log_stream;
struct loop;

struct log_stream_opts {
	struct loop *loop;
	struct http_stream *http; /* its answer is not begun; on failure it is not touched */
	const char *path;
	struct log_reader_opts reader;
	int64_t tail; /* lines from the end; -1: all */
	bool follow;
	/* Whether the container runs, for all that is known. With follow. */
	bool (*running)(void *arg);
	/* The last lines cannot be found: answer the http stream, which was not touched. */
	void (*failed)(void *arg, const struct error *err);
	void *arg;
};

/*
 * Begins the answer, or the search for the last lines. The caller hands on on_writable and frees it
 * when the stream is closed.
 */
int log_stream_new(const struct log_stream_opts *opts, struct log_stream **ret_stream,
		   struct error *err);

/* There is room in the http stream again. */
void log_stream_writable(struct log_stream *s);

void log_stream_free(struct log_stream *s); /* NULL allowed */

#endif
