/*
 * flow_load - one quiet user: one request at a time, with a pause behind each, and how long they
 * took.
 *
 * 	flow_load KUBECONFIG
 * 	get PATH COUNT		median, 99th percentile and maximum in ms; and how many were refused
 * 	post PATH FILE COUNT	the same for creating what is in the file
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/core/queue.h"
#include "base/system/file.h"
#include "load.h"

enum { PAUSE_MS = 1 };

struct quiet {
	struct loop *loop;
	struct client *client;
	struct load_input input;
	struct client_request request;
	struct load_times times;
	struct loop_timer pause;
	char path[512];
	struct buf body;
	int64_t begun_ns;
	size_t left, refused;
};

static void send_next(struct quiet *q)
{
	q->request.path = str_from(q->path);
	q->request.method = q->body.n ? STR("POST") : STR("GET");
	q->request.body = buf_str(&q->body);
	q->request.no_retry = true;
	q->begun_ns = load_now_ns();
	client_send(q->client, &q->request);
}

static void on_pause(struct loop_timer *t)
{
	send_next(CONTAINER_OF(t, struct quiet, pause));
}

static void on_done(struct client_request *r, const struct client_answer *a UNUSED,
		    const struct error *err)
{
	struct quiet *q = r->arg;

	if (err && err->code != ERR_TOO_MANY_REQUESTS)
		load_die(err->msg);
	q->refused += err != NULL;
	load_times_add(&q->times, load_since_ms(q->begun_ns));
	if (--q->left) {
		loop_timer_start(&q->pause, PAUSE_MS);
		return;
	}
	load_answer(&q->input, "%.3f %.3f %.3f %zu", load_times_percentile(&q->times, 50),
		    load_times_percentile(&q->times, 99), load_times_percentile(&q->times, 100),
		    q->refused);
}

static void begin(struct quiet *q, const char *path, size_t count)
{
	(void)snprintf(q->path, sizeof(q->path), "%s", path);
	q->times.n = 0;
	q->times.sorted = false;
	q->left = count;
	q->refused = 0;
	send_next(q);
}

static void run_get(void *arg, char **words)
{
	struct quiet *q = arg;

	buf_clear(&q->body);
	begin(q, words[1], load_number(words[2]));
}

static void run_post(void *arg, char **words)
{
	struct quiet *q = arg;
	struct error err;

	buf_clear(&q->body);
	if (file_read(words[2], &q->body, &err) < 0)
		load_die(err.msg);
	begin(q, words[1], load_number(words[3]));
}

int main(int argc, char **argv)
{
	static const struct load_command commands[] = {
		{ "get", 3, run_get },
		{ "post", 4, run_post },
		{ NULL, 0, NULL },
	};
	struct quiet *q = XNEW(struct quiet);

	if (argc != 2)
		load_die("usage: flow_load KUBECONFIG");
	thread_be_prompt();
	load_connect(argv[1], "flow_load", &q->loop, &q->client);
	buf_init(&q->body, MIB);
	q->request.on_done = on_done;
	q->request.arg = q;
	loop_timer_init(&q->pause, q->loop, on_pause);
	load_input_start(&q->input, q->loop, commands, q);
	loop_run(q->loop);
	return 0;
}
