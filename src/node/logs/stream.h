/*
 * log_stream - sends a container's log as the body of a reply, to its end or while the container
 * runs.
 *
 * The file is read as fast as the client receives, one piece per turn. Its last lines are searched
 * in small pieces before the reply begins. When following, it waits for a change in the folder, one
 * second at most. A rotated log is read to its end before the new one. The stream ends when the
 * container does not run and everything is read. If a reply cannot continue, it is reset, never
 * just ended.
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
	struct http_stream *http; /* its reply must not have begun; on failure it is not touched */
	const char *path;
	struct log_reader_opts reader;
	int64_t tail; /* lines from the end; -1: all */
	bool follow;
	/* Whether the container runs, as far as known. Used with follow. */
	bool (*running)(void *arg);
	/* The last lines cannot be found: reply on the http stream, which was not touched. */
	void (*failed)(void *arg, const struct error *err);
	void *arg;
};

/*
 * Begins the reply, or the search for the last lines. The caller forwards on_writable, and frees it
 * when the stream is closed.
 */
int log_stream_new(const struct log_stream_opts *opts, struct log_stream **ret_stream,
		   struct error *err);

/* The http stream has room again. */
void log_stream_writable(struct log_stream *s);

void log_stream_free(struct log_stream *s); /* NULL allowed */

#endif
