/*
 * log_reader - a container's log as a reader of it wants it: bytes of the file in, text out. Pure.
 *
 * A file has a record per line, "TIME STREAM TAG TEXT"; a tag that begins with P says that the line
 * which the container wrote goes on in the next record. Words and quirks are kubelet's: a count of
 * lines is one of records, a time stamp is put before a record when the one before it ended its
 * line, whichever stream that was, and what is no record is passed over.
 *
 * Text is handed on as it comes, so a record may be of any length and nothing is kept but its
 * beginning.
 */
#ifndef NODE_LOGS_READER_H
#define NODE_LOGS_READER_H

#include "base/core/buf.h"
#include "base/time/timestamp.h"

struct log_reader_opts {
	struct timestamp since; /* with has_since: records before it are left out */
	int64_t limit_bytes; /* that are written at most; 0: no limit */
	int64_t records; /* that are read at most; -1: no limit */
	bool has_since, timestamps;
	bool no_stdout, no_stderr; /* streams that are left out */
};

enum { LOG_READER_HEAD_MAX = 128 };

/* Private but for its size. */
struct log_reader {
	struct log_reader_opts opts;
	int state;
	int64_t remain, records; /* still to be written, to be read */
	size_t nhead;
	unsigned spaces; /* in the head */
	bool partial; /* the record's tag says so */
	bool text; /* the record has some */
	bool begins; /* the next record is at the beginning of a line */
	char head[LOG_READER_HEAD_MAX]; /* "TIME STREAM TAG " as far as it has come */
};

void log_reader_init(struct log_reader *r, const struct log_reader_opts *opts);

/*
 * The next bytes of the file; appends what is to be written, at most twice as much and
 * LOG_READER_HEAD_MAX more. True when nothing can follow: a limit is reached.
 */
bool log_reader_feed(struct log_reader *r, struct str bytes, struct buf *out);

/* Between two records: what comes next may be of another file. */
bool log_reader_between(const struct log_reader *r);
/* Another file begins: what was begun of a record is forgotten. */
void log_reader_restart(struct log_reader *r);

#endif
