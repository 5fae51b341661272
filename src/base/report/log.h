/*
 * log - one line per event, with typed fields.
 *
 *	log_info(lg, "listening", LOG_STR("address", address), LOG_INT("port", 6443));
 *	log_warn(lg, "cannot write", LOG_ERR(&err));
 *
 * A message is constant; variable parts go into fields. There are no format strings, so input can
 * never be taken for one. On a terminal a line is text, elsewhere JSON:
 *
 *	2006-01-02T15:04:05.000000Z INFO  listening address=10.0.0.1 port=6443
 *	{"ts":"2006-01-02T15:04:05.000000Z","level":"info","msg":"listening",...}
 *
 * A line is valid UTF-8 (and JSON) for any bytes in the fields, is written by one write(2), is at
 * most LOG_LINE_MAX long (the rest is cut and marked), and never mixes with another thread's. Write
 * errors are ignored: there is nowhere to report them.
 *
 * Secrets: a LOG_SECRET, and any field whose key is or ends in authorization, token, password,
 * secret, client-key-data or cookie, in any case, is shown as "(redacted)".
 *
 * main creates one logger and passes it down; libraries take a `const struct log *` and write
 * nothing above debug.
 */
#ifndef BASE_REPORT_LOG_H
#define BASE_REPORT_LOG_H

#include "base/core/error.h"
#include "base/core/str.h"

struct clock;
struct log_sink;

enum log_level {
	LOG_LEVEL_NONE = -1, /* for a logger that writes nothing */
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
	LOG_LEVEL_TRACE,
};

enum log_format {
	LOG_FORMAT_AUTO, /* text on a terminal, else JSON */
	LOG_FORMAT_TEXT,
	LOG_FORMAT_JSON,
};

enum log_kind {
	LOG_KIND_STR,
	LOG_KIND_I64,
	LOG_KIND_U64,
	LOG_KIND_F64,
	LOG_KIND_BOOL,
	LOG_KIND_DURATION,
	LOG_KIND_SUPPRESSED,
	LOG_KIND_SECRET,
};

struct log_field {
	const char *key; /* a constant of the program, without spaces */
	enum log_kind kind;
	union {
		struct str str;
		int64_t i64;
		uint64_t u64;
		double f64;
		bool boolean;
	};
};

/*
 * Values are borrowed until the call returns, or for the life of a child logger with these fields.
 */
#define LOG_STR(k, v)  ((struct log_field){ .key = (k), .kind = LOG_KIND_STR, .str = (v) })
#define LOG_Z(k, v)    LOG_STR(k, str_from(v))
#define LOG_INT(k, v)  ((struct log_field){ .key = (k), .kind = LOG_KIND_I64, .i64 = (v) })
#define LOG_UINT(k, v) ((struct log_field){ .key = (k), .kind = LOG_KIND_U64, .u64 = (v) })
#define LOG_F64(k, v)  ((struct log_field){ .key = (k), .kind = LOG_KIND_F64, .f64 = (v) })
#define LOG_BOOL(k, v) ((struct log_field){ .key = (k), .kind = LOG_KIND_BOOL, .boolean = (v) })
/* Nanoseconds, shown like a duration in Go: 1.5s. */
#define LOG_NS(k, v) ((struct log_field){ .key = (k), .kind = LOG_KIND_DURATION, .i64 = (v) })
/* The message of a struct error, as "error". */
#define LOG_ERR(e) LOG_STR("error", str_from((e)->msg))
/* Takes the value only to look like the others; it is not kept. */
#define LOG_SECRET(k, v) ((void)(v), (struct log_field){ .key = (k), .kind = LOG_KIND_SECRET })
/* A count from log_limit_allow(), as "suppressed"; omitted if it is 0. */
#define LOG_SUPPRESSED(v) \
	((struct log_field){ .key = "suppressed", .kind = LOG_KIND_SUPPRESSED, .u64 = (v) })

struct log {
	enum log_level level; /* more verbose lines are not written */
	bool json;
	bool colour;
	struct log_sink *sink; /* shared with the children */
	const struct clock *clock;
	const struct log *parent; /* its fields come first */
	const struct log_field *bound;
	size_t bound_n;
};

/* Zero means the default, except for `fd`: errors only, format by the file, the system's clock. */
struct log_options {
	enum log_level level;
	enum log_format format;
	int fd; /* borrowed */
	const struct clock *clock;
};

/*
 * Uses colour for text on a terminal unless NO_COLOR is set in the environment, which is read only
 * here. The logger must not move, and must outlive its children.
 */
void log_init(struct log *lg, const struct log_options *options);
void log_release(struct log *lg);

/* A logger that writes nothing: for tests, and for callers without a logger. */
const struct log *log_null(void);

/*
 * A logger that adds fields to every line. The fields and the parent are borrowed while the child
 * is in use. It needs no release.
 */
void log_child(struct log *child, const struct log *parent, const struct log_field *fields,
	       size_t n);

/* The level for --v N: below 0 warnings, from 2 debug, from 5 trace, else info. */
enum log_level log_level_from_v(int v);

/* For --log-format: "text" or "json". */
bool log_format_parse(struct str text, enum log_format *ret_format);

static inline bool log_enabled(const struct log *lg, enum log_level level)
{
	return level <= lg->level;
}

/* Writes at any level; use the macros. */
void log_write(const struct log *lg, enum log_level level, const char *msg,
	       const struct log_field *fields, size_t n);

/* If the level is disabled, fields are not evaluated, and the cost is one comparison. */
#define log_at(lg, level_, msg, ...)                                                          \
	do {                                                                                  \
		if (log_enabled((lg), (level_)))                                              \
			log_write((lg), (level_), (msg), (struct log_field[]){ __VA_ARGS__ }, \
				  sizeof((struct log_field[]){ __VA_ARGS__ }) /               \
					  sizeof(struct log_field));                          \
	} while (0)

#define log_error(lg, ...) log_at(lg, LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(lg, ...)  log_at(lg, LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(lg, ...)  log_at(lg, LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(lg, ...) log_at(lg, LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_trace(lg, ...) log_at(lg, LOG_LEVEL_TRACE, __VA_ARGS__)

/*
 * log_limit - for lines that may repeat without end.
 *
 *	struct log_limit limit = { .per_s = 10 };  in the object that repeats
 *
 *	if (log_limit_allow(&conn->limit, now, &n))
 *		log_warn(lg, "bad frame", LOG_SUPPRESSED(n));
 * Threads: one at a time.
 */
struct log_limit {
	unsigned per_s; /* lines in a second */
	unsigned n; /* lines in the current second */
	int64_t since; /* its start, monotonic ns; 0: not started */
	uint64_t suppressed; /* suppressed since the last allowed line */
};

/* Returns true if a line may be written now, and the number of lines suppressed before it. */
bool log_limit_allow(struct log_limit *l, int64_t now_ns, uint64_t *ret_suppressed);

#endif
