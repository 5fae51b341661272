/*
 * Input is looked at by a timer, and only while no command runs: what is measured is not disturbed.
 */
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/api_limits.h"
#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "client/kubeconfig/kubeconfig.h"

enum { TICK_MS = 5, TIMES_FIRST = 1024, TREE_BLOCK = 256 * 1024 };

NORETURN void load_die(const char *what)
{
	(void)fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
	exit(1);
}

int64_t load_now_ns(void)
{
	return clock_monotonic(clock_system());
}

double load_since_ms(int64_t ns)
{
	return (double)(load_now_ns() - ns) / (double)CLOCK_MS;
}

size_t load_number(const char *word)
{
	return strtoul(word, NULL, 10);
}

/* --- times -------------------------------------------------------------------------- */

void load_times_add(struct load_times *t, double ms)
{
	if (t->n == t->cap) {
		t->cap = t->cap ? t->cap * 2 : TIMES_FIRST;
		t->v = xrealloc(t->v, t->cap * sizeof(*t->v));
	}
	t->v[t->n++] = ms;
	t->sorted = false;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double load_times_percentile(struct load_times *t, size_t percent)
{
	if (!t->sorted)
		qsort(t->v, t->n, sizeof(*t->v), compare);
	t->sorted = true;
	return t->v[(t->n * percent + 99) / 100 - 1];
}

/* --- commands ----------------------------------------------------------------------- */

static void obey(struct load_input *in, char *line)
{
	char *words[LOAD_WORDS_MAX] = { NULL }, *rest = line;
	size_t n = 0;

	while (n < LOAD_WORDS_MAX && (words[n] = strsep(&rest, " ")))
		n++;
	for (const struct load_command *c = in->table; c->name; c++) {
		if (strcmp(c->name, words[0]) != 0 || n != c->words)
			continue;
		in->running = c->name;
		in->begun_ns = load_now_ns();
		c->run(in->arg, words);
		return;
	}
	load_die("no such command");
}

static void on_input(struct loop_timer *t)
{
	struct load_input *in = CONTAINER_OF(t, struct load_input, timer);
	char piece[4096];
	ptrdiff_t end;
	ssize_t n;

	while ((n = read(STDIN_FILENO, piece, sizeof(piece))) > 0)
		(void)buf_add(&in->text, piece, (size_t)n);
	end = str_chr(buf_str(&in->text), '\n');
	if (end >= 0) {
		in->text.p[end] = '\0';
		obey(in, in->text.p);
		buf_consume(&in->text, (size_t)end + 1);
	} else if (n == 0) {
		exit(0); /* the kernel closes what is open */
	}
	if (!in->running)
		loop_timer_start(t, TICK_MS);
}

void load_input_start(struct load_input *in, struct loop *l, const struct load_command *table,
		      void *arg)
{
	*in = (struct load_input){ .table = table, .arg = arg };
	buf_init(&in->text, MIB);
	loop_timer_init(&in->timer, l, on_input);
	(void)fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	loop_timer_start(&in->timer, 0);
}

void load_answer(struct load_input *in, const char *format, ...)
{
	va_list args;

	(void)printf("%s ", TAKE(in->running));
	va_start(args, format);
	(void)vprintf(format, args);
	va_end(args);
	(void)puts("");
	(void)fflush(stdout);
	loop_timer_start(&in->timer, 0);
}

void load_connect(const char *kubeconfig, const char *role, struct loop **ret_loop,
		  struct client **ret_client)
{
	CLEANUP(kubeconfig_release) struct kubeconfig config = { 0 };
	struct kubeconfig_opts from = { .path = kubeconfig };
	struct client_opts opts = { .config = &config, .role = role };
	struct error err;

	if (kubeconfig_load(&config, &from, &err) < 0 || loop_new(ret_loop, &err) < 0 ||
	    client_new(*ret_loop, &opts, ret_client, &err) < 0)
		load_die(err.msg);
}

/* --- watches ------------------------------------------------------------------------ */

static void on_event(struct load_watch *w, struct str line)
{
	struct watch_event event;
	struct json *object;
	struct error err;

	if (watch_event_parse(line, &event, &err) < 0 ||
	    json_parse(&w->arena, event.object, NULL, &object, &err) < 0)
		load_die(err.msg);
	if (event.type == WATCH_EVENT_ERROR)
		load_die("a watch failed");
	w->on_object(w->arg, object);
	arena_clear(&w->arena);
}

static void on_data(struct client_request *r, struct str piece)
{
	struct load_watch *w = r->arg;
	struct error err;
	struct str line;
	int more;

	while ((more = event_lines_next(&w->lines, &piece, &line, &err)) > 0)
		on_event(w, line);
	if (more < 0)
		load_die(err.msg);
	if (w->on_piece)
		w->on_piece(w->arg);
}

static void begin(struct load_watch *w);

static void on_watch_end(struct client_request *r, const struct client_answer *a UNUSED,
			 const struct error *err)
{
	struct load_watch *w = r->arg;

	if (err || !w->again)
		load_die(err ? err->msg : "a watch ended");
	event_lines_release(&w->lines);
	begin(w);
}

static void begin(struct load_watch *w)
{
	event_lines_init(&w->lines);
	w->request = (struct client_request){ .path = str_from(w->path),
					      .query = STR("watch=true"),
					      .timeout_ms = -1,
					      .on_data = on_data,
					      .on_done = on_watch_end,
					      .arg = w };
	client_send(w->client, &w->request);
}

void load_watch_start(struct load_watch *w, struct client *c)
{
	/* Trees of common objects are built in one block, which is kept. */
	arena_init_in(&w->arena, REQUEST_WORK_MAX, xmalloc(TREE_BLOCK), TREE_BLOCK);
	w->client = c;
	begin(w);
}
