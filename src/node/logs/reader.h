/*
 * log_reader - turns bytes of a container's log file into the text that a client requested. Pure.
 *
 * A file has one record per line, "TIME STREAM TAG TEXT". A tag that begins with P means that the
 * container's line continues in the next record. Details are kubelet's: lines are counted as
 * records; a time stamp is put before a record if the record before it, of any stream, ended its
 * line; invalid records are skipped.
 *
 * Text is passed on as it comes, so records may have any length, and only the beginning of a record
 * is stored.
 */
#ifndef NODE_LOGS_READER_H
#define NODE_LOGS_READER_H

#include "base/core/buf.h"
#include "base/time/timestamp.h"

struct log_reader_opts {
	struct timestamp since; /* with has_since: earlier records are left out */
	int64_t limit_bytes; /* limit of output; 0: no limit */
	int64_t records; /* limit of records read; -1: no limit */
	bool has_since, timestamps;
	bool no_stdout, no_stderr; /* streams to leave out */
};

enum { LOG_READER_HEAD_MAX = 128 };

/* Its fields are private. */
struct log_reader {
	struct log_reader_opts opts;
	int state;
	int64_t remain, records; /* bytes still to write, records still to read */
	size_t nhead;
	unsigned spaces; /* in the head */
	bool partial; /* the record's tag begins with P */
	bool text; /* the record has text */
	bool begins; /* the next record begins a line */
	char head[LOG_READER_HEAD_MAX]; /* "TIME STREAM TAG " as far as received */
};

void log_reader_init(struct log_reader *r, const struct log_reader_opts *opts);

/*
 * Passes the next bytes of the file; appends output, at most twice as much plus
 * LOG_READER_HEAD_MAX. Returns true if nothing can follow, because a limit is reached.
 */
bool log_reader_feed(struct log_reader *r, struct str bytes, struct buf *out);

/* Another file begins: drops an unfinished record. */
void log_reader_restart(struct log_reader *r);

#endif
