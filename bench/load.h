/*
 * load - what programs that make load have in common: commands, watches, and percentiles.
 *
 * Such a program obeys commands, one per line of standard input, and answers each with one line
 * that begins with its name; the next is read when it has answered. It ends with its input.
 */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/compiler.h"
#include "base/core/vec.h"
#include "client/api/client.h"
#include "client/informer/watch_event.h"
#include "net/loop/loop.h"

struct json;

enum { LOAD_WORDS_MAX = 8 };

struct load_command {
	const char *name;
	size_t words; /* its name included */
	void (*run)(void *arg, char **words); /* words are borrowed until return */
};

struct load_input {
	const struct load_command *table;
	size_t n;
	void *arg;
	const char *running; /* name of the command, or NULL */
	int64_t begun_ns;

	struct loop_timer timer;
	struct buf text;
};

/* Begins to read. `table` ends with a row without a name and must outlive it. */
void load_input_start(struct load_input *in, struct loop *l, const struct load_command *table,
		      void *arg);

/* The running command's answer, behind its name; NULL: nothing more. The next one may come. */
void load_answer(struct load_input *in, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A loop, and a client on it for the server of this kubeconfig; dies when there can be none. */
void load_connect(const char *kubeconfig, const char *role, struct loop **ret_loop,
		  struct client **ret_client);

/* A watch of the API server, for the caller to embed. */
struct load_watch {
	/* For the caller, to set. */
	const char *path; /* "/api/v1/pods" */
	void (*on_object)(void *arg, const struct json *object); /* borrowed until return */
	void (*on_piece)(void *arg); /* after all objects of one read; or NULL */
	void *arg;
	/* Begins anew when the server ends it, telling all there is; without, the program ends. */
	bool again;

	struct client *client;
	struct client_request request;
	struct event_lines lines;
	struct arena arena; /* of one event */
};

/* A failure ends the program. */
void load_watch_start(struct load_watch *w, struct client *c);

NORETURN void load_die(const char *what);
int64_t load_now_ns(void);
double load_since_ms(int64_t ns);
size_t load_number(const char *word);

/* Times in ms. Zeroed memory is an empty one. */
struct load_times {
	double *v;
	size_t n, cap;
	bool sorted;
};

void load_times_add(struct load_times *t, double ms);
/* Of what is not empty: 50 is the median, 100 the longest. */
double load_times_percentile(struct load_times *t, size_t percent);

#endif
