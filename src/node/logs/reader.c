/*
 * State machine per record: its prefix is collected, then its text is written (WRITE), dropped
 * because it was not requested (DROP), or skipped because the record is invalid (PASS).
 */
#include "node/logs/reader.h"

enum { HEAD, WRITE, DROP, PASS, DONE };

void log_reader_init(struct log_reader *r, const struct log_reader_opts *opts)
{
	*r = (struct log_reader){ .opts = *opts,
				  .remain = opts->limit_bytes > 0 ? opts->limit_bytes : INT64_MAX,
				  .records = opts->records >= 0 ? opts->records : INT64_MAX,
				  .begins = true };
	if (r->records == 0)
		r->state = DONE;
}

void log_reader_restart(struct log_reader *r)
{
	if (r->state == DONE)
		return;
	r->state = HEAD;
	r->nhead = 0;
	r->spaces = 0;
}

static void reader_put(struct log_reader *r, struct str text, struct buf *out)
{
	if ((int64_t)text.n > r->remain)
		text.n = (size_t)r->remain;
	(void)buf_add_str(out, text);
	r->remain -= (int64_t)text.n;
	if (r->remain == 0)
		r->state = DONE;
}

/* With nine decimals, and the original offset. */
static void reader_put_time(struct log_reader *r, struct timestamp t, struct buf *out)
{
	enum { WITHOUT_OFFSET = 19 }; /* "2006-01-02T15:04:05" */
	struct timestamp whole = { .seconds = t.seconds, .offset = t.offset };
	char text[TIMESTAMP_SIZE], line[TIMESTAMP_SIZE + 16];
	struct str s = timestamp_print_wide(whole, text);
	int n;

	n = snprintf(line, sizeof(line), "%.*s.%09u%s ", WITHOUT_OFFSET, text, (unsigned)t.ns,
		     s.n > WITHOUT_OFFSET ? text + WITHOUT_OFFSET : "");
	reader_put(r, str_of(line, (size_t)n), out);
}

static bool is_before(struct timestamp a, struct timestamp b)
{
	return a.seconds != b.seconds ? a.seconds < b.seconds : a.ns < b.ns;
}

/* The prefix is complete: decides what to do with the record. */
static void begin_record(struct log_reader *r, struct buf *out)
{
	struct str head = str_of(r->head, r->nhead), time, stream, tag;
	struct timestamp t;
	bool is_stdout;

	r->nhead = 0;
	r->spaces = 0;
	r->state = PASS;
	if (!str_split(&head, ' ', &time) || !str_split(&head, ' ', &stream) ||
	    !str_split(&head, ' ', &tag) || timestamp_parse_wide(time, &t, NULL) < 0)
		return;
	is_stdout = str_eqz(stream, "stdout");
	if (!is_stdout && !str_eqz(stream, "stderr"))
		return;
	r->partial = str_eqz(tag, "P") || str_starts(tag, STR("P:"));
	r->text = false;
	r->state = DROP;
	if ((r->opts.has_since && is_before(t, r->opts.since)) ||
	    (is_stdout ? r->opts.no_stdout : r->opts.no_stderr))
		return;
	r->state = WRITE;
	if (r->opts.timestamps && r->begins)
		reader_put_time(r, t, out);
}

static void end_record(struct log_reader *r)
{
	bool counts = r->state != PASS;

	if (r->state == DONE)
		return;
	r->state = HEAD;
	if (!counts)
		return;
	r->begins = !r->partial || !r->text;
	if (--r->records == 0)
		r->state = DONE;
}

static size_t feed_head(struct log_reader *r, struct str bytes, struct buf *out)
{
	size_t i = 0;

	while (i < bytes.n) {
		char c = bytes.p[i++];

		if (c == '\n') { /* invalid: it has no text */
			r->nhead = 0;
			r->spaces = 0;
			continue;
		}
		r->head[r->nhead++] = c;
		if (c == ' ' && ++r->spaces == 3) {
			begin_record(r, out);
			break;
		}
		if (r->nhead == sizeof(r->head)) {
			log_reader_restart(r);
			r->state = PASS;
			break;
		}
	}
	return i;
}

static size_t feed_text(struct log_reader *r, struct str bytes, struct buf *out)
{
	ptrdiff_t end = str_chr(bytes, '\n');
	struct str text = end >= 0 ? str_of(bytes.p, (size_t)end) : bytes;

	if (text.n > 0)
		r->text = true;
	if (r->state == WRITE && text.n > 0)
		reader_put(r, text, out);
	if (end < 0)
		return bytes.n;
	if (r->state == WRITE && !r->partial)
		reader_put(r, STR("\n"), out);
	end_record(r);
	return text.n + 1;
}

bool log_reader_feed(struct log_reader *r, struct str bytes, struct buf *out)
{
	while (bytes.n > 0 && r->state != DONE)
		bytes = str_skip(bytes, r->state == HEAD ? feed_head(r, bytes, out)
							 : feed_text(r, bytes, out));
	return r->state == DONE;
}
