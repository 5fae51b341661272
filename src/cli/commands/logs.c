/*
 * `devplane logs`: the output of the roles of `devplane up`, of one role or of all by time. Files
 * are bounded (up/log.h), so they are read whole. With --follow the files are checked every
 * LOOK_MS: new lines are shown, and a file that replaced another is read from its beginning.
 */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/core/vec.h"
#include "base/system/file.h"
#include "base/text/nearest.h"
#include "base/time/timestamp.h"
#include "cli/commands/commands.h"
#include "cli/output/log_line.h"
#include "cli/program/cli.h"
#include "cli/up/layout.h"
#include "cli/up/log.h"

enum { LOOK_MS = 100, ROLES_MAX = 1024 };
#define LOG_BYTES ((size_t)UP_LOG_MAX + MIB)
#define LINES_MAX 10000000

struct logs_options {
	const char *data_dir, *output;
	int64_t tail, since; /* ns */
	bool follow;
};

static const struct flag flags[] = {
	{ "follow", 'f', FLAG_BOOL(struct logs_options, follow),
	  .help = "print new lines as they are written" },
	{ "tail", 0, FLAG_INT(struct logs_options, tail), .arg = "COUNT", .initial = "-1",
	  .min = -1, .max = LINES_MAX, .help = "maximum number of lines per role; -1: all" },
	{ "since", 0, FLAG_DURATION(struct logs_options, since), .arg = "TIME",
	  .max = 3650 * 86400 * CLOCK_SEC, .help = "only lines newer than this, such as 5m" },
	{ "output", 'o', FLAG_STRING(struct logs_options, output), .choices = "text|json",
	  .initial = "text", .help = "json: print the lines as they were logged" },
	UP_DIR_FLAG(struct logs_options),
	{ NULL },
};

/* The log of one role. */
struct source {
	struct str role;
	const char *path;
	ino_t inode;
	off_t at; /* offset read so far */
};

struct line {
	struct str text, time;
	const struct source *source;
	size_t order; /* among lines of the same time */
};

struct logs {
	struct cli *cli;
	const struct logs_options *options;
	struct up_layout layout;
	struct source *sources;
	size_t n, width;
	VEC(struct line) lines;
	struct arena scratch;
	struct str oldest; /* earlier lines are left out */
};

/* --- which files ----------------------------------------------------------------------------- */

static int is_log(const struct dirent *e)
{
	return str_ends(str_from(e->d_name), STR(".log"));
}

static int find_sources(struct logs *v, struct error *err)
{
	struct dirent **found = NULL;
	int n = scandir(v->layout.logs, &found, is_log, alphasort);

	v->sources = ARENA_ARRAY(&v->cli->arena, struct source, (size_t)MAX(n, 0) + 1);
	for (int i = 0; i < n; i++) {
		struct source *s = &v->sources[v->n++];

		s->role = arena_str(&v->cli->arena,
				    str_of(found[i]->d_name, strlen(found[i]->d_name) - 4));
		s->path = up_layout_log(&v->layout, s->role.p);
		v->width = MAX(v->width, s->role.n);
		free(found[i]);
	}
	free(found);
	if (v->n > 0)
		return 0;
	return error_set(err, ERR_NOT_FOUND,
			 "no logs in %s: `devplane up` has not run there; use --data-dir to name "
			 "another folder",
			 v->layout.logs);
}

static int logs_choose(struct logs *v, struct str role, struct error *err)
{
	CLEANUP(buf_release) struct buf names = BUF_INIT(64 * KIB);

	for (size_t i = 0; i < v->n; i++) {
		if (str_eq(v->sources[i].role, role)) {
			v->sources[0] = v->sources[i];
			v->n = 1;
			v->width = 0;
			return 0;
		}
		(void)buf_printf(&names, "%s%.*s", i ? ", " : "", STR_ARG(v->sources[i].role));
	}
	return error_set(err, ERR_NOT_FOUND, "unknown role %.*s; roles: %s", STR_ARG(role),
			 names.p);
}

/* --- reading --------------------------------------------------------------------------------- */

static void add_lines(struct logs *v, const struct source *s, struct str text)
{
	size_t first = v->lines.n, tail = (size_t)v->options->tail;
	struct str line, last = STR_NULL;

	while (str_split(&text, '\n', &line)) {
		struct str time = log_line_time(line);

		if (line.n == 0)
			continue;
		last = time.n > 0 ? time : last;
		if (v->oldest.n > 0 && str_cmp(last, v->oldest) < 0)
			continue;
		(void)vec_push(&v->lines, (struct line){ .text = line,
							 .time = last,
							 .source = s,
							 .order = v->lines.n });
	}
	if (v->options->tail >= 0 && v->lines.n - first > tail) {
		memmove(&v->lines.v[first], &v->lines.v[v->lines.n - tail],
			tail * sizeof(*v->lines.v));
		v->lines.n = first + tail;
	}
}

/* Reads the old file, then the current one. An unfinished line waits for its end. */
static void read_source(struct logs *v, struct source *s)
{
	struct buf text = BUF_INIT(2 * LOG_BYTES);
	struct stat st;
	size_t before;

	(void)file_read(arena_printf(&v->cli->arena, "%s.1", s->path), &text, NULL);
	before = text.n;
	if (stat(s->path, &st) == 0)
		s->inode = st.st_ino;
	(void)file_read(s->path, &text, NULL);
	while (text.n > before && text.p[text.n - 1] != '\n')
		text.n--;
	s->at = (off_t)(text.n - before);
	add_lines(v, s, arena_str(&v->cli->arena, buf_str(&text)));
	buf_release(&text);
}

static int by_time(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int d = str_cmp(x->time, y->time);

	return d ? d : (x->order > y->order) - (x->order < y->order);
}

static void print_lines(struct logs *v)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(SIZE_MAX);
	struct log_line_style style = { .role_width = v->width, .colour = v->cli->out_colour };

	if (v->n > 1)
		qsort(v->lines.v, v->lines.n, sizeof(*v->lines.v), by_time);
	for (size_t i = 0; i < v->lines.n; i++) {
		const struct line *l = &v->lines.v[i];

		style.role = v->width ? l->source->role : STR_NULL;
		if (strcmp(v->options->output, "json") == 0)
			(void)buf_printf(&out, "%.*s\n", STR_ARG(l->text));
		else
			log_line_print(&out, l->text, &style, &v->scratch);
		(void)fwrite(out.p, 1, out.n, v->cli->out);
		buf_clear(&out);
	}
	v->lines.n = 0;
	(void)fflush(v->cli->out);
}

/* --- following ------------------------------------------------------------------------------- */

/* Reads whole lines, from the current offset. */
static void read_rest(struct source *s, FILE *f, struct buf *text)
{
	char piece[16 * KIB];
	size_t n, before = text->n;

	(void)fseeko(f, s->at, SEEK_SET);
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0 && buf_add(text, piece, n) == 0)
		;
	while (text->n > before && text->p[text->n - 1] != '\n')
		text->n--;
	s->at += (off_t)(text->n - before);
}

/* Reads the rest of the previous file, before another took its place. */
static void read_end_of_old(struct logs *v, struct source *s, struct buf *text)
{
	FILE *f = fopen(arena_printf(&v->scratch, "%s.1", s->path), "re");
	struct stat st;

	if (!f)
		return;
	if (fstat(fileno(f), &st) == 0 && st.st_ino == s->inode)
		read_rest(s, f, text);
	(void)fclose(f);
}

static void read_more(struct logs *v, struct source *s, struct buf *text)
{
	FILE *f = fopen(s->path, "re");
	struct stat st;

	if (!f)
		return;
	if (fstat(fileno(f), &st) == 0 && (st.st_ino != s->inode || st.st_size < s->at)) {
		read_end_of_old(v, s, text);
		s->inode = st.st_ino;
		s->at = 0;
	}
	read_rest(s, f, text);
	(void)fclose(f);
}

static void look_again(struct logs *v)
{
	struct buf *texts = ARENA_ARRAY(&v->scratch, struct buf, v->n);

	for (size_t i = 0; i < v->n; i++) {
		texts[i] = BUF_INIT(2 * LOG_BYTES);
		read_more(v, &v->sources[i], &texts[i]);
		add_lines(v, &v->sources[i], buf_str(&texts[i]));
	}
	print_lines(v);
	for (size_t i = 0; i < v->n; i++)
		buf_release(&texts[i]);
	arena_clear(&v->scratch);
}

static int logs_show(struct logs *v, struct error *err)
{
	char oldest[TIMESTAMP_SIZE];
	int r = find_sources(v, err);

	if (r == 0 && v->cli->operands.n > 0)
		r = logs_choose(v, str_from(v->cli->operands.v[0]), err);
	if (r < 0)
		return r;
	if (v->options->since > 0)
		v->oldest = timestamp_print(clock_wall(clock_system()) - v->options->since,
					    TIMESTAMP_MICRO, oldest);
	for (size_t i = 0; i < v->n; i++)
		read_source(v, &v->sources[i]);
	print_lines(v);
	while (v->options->follow && !ferror(v->cli->out)) {
		(void)nanosleep(&(struct timespec){ .tv_nsec = LOOK_MS * CLOCK_MS }, NULL);
		look_again(v);
	}
	return 0;
}

static int logs_run(struct cli *cli, struct error *err)
{
	struct logs v = { .cli = cli, .options = cli->options };
	int r = up_layout_init(&v.layout, &cli->arena, v.options->data_dir, err);

	if (r < 0)
		return r;
	vec_init(&v.lines, LINES_MAX);
	arena_init(&v.scratch, 64 * MIB);
	r = logs_show(&v, err);
	vec_release(&v.lines);
	arena_release(&v.scratch);
	return r;
}

const struct command cmd_logs = {
	.name = "logs",
	.summary = "show the logs of `devplane up`",
	.usage = "[ROLE] [FLAGS]",
	.group = COMMAND_CLUSTER,
	.about = "Prints the log of one part, or of all parts, sorted by time. Use the names that "
		 "`devplane status` shows; \"up\" is the supervisor itself. Up to 16 MiB of logs "
		 "are kept per part.",
	.examples = "  devplane logs scheduler --tail 20\n"
		    "  devplane logs -f --since 5m\n"
		    "  devplane logs driver-gpu-demo-0 -o json | jq .msg\n",
	.flags = flags,
	.options_size = sizeof(struct logs_options),
	.operands_max = 1,
	.names = "roles",
	.run = logs_run,
};
