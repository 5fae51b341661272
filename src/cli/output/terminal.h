/*
 * terminal - a full-screen terminal with keys.
 *
 * While it is open, the terminal shows its alternate screen without a cursor, and delivers keys as
 * they are pressed. A child process restores the screen and the modes however the program ends,
 * even if it is killed. Ctrl-Z suspends the program as usual; when it resumes, on_resize requests
 * a redraw. Threads: the loop's.
 */
#ifndef CLI_OUTPUT_TERMINAL_H
#define CLI_OUTPUT_TERMINAL_H

#include "base/core/error.h"
#include "base/core/str.h"

struct loop;
struct terminal;

/* Keys that are not characters. A character is its own code. */
enum terminal_key {
	TERMINAL_UP = 256,
	TERMINAL_DOWN,
	TERMINAL_PAGE_UP,
	TERMINAL_PAGE_DOWN,
	TERMINAL_HOME,
	TERMINAL_END,
	TERMINAL_ESCAPE, /* the key alone, not the beginning of another */
	TERMINAL_INTERRUPT, /* Ctrl-C */
	TERMINAL_SUSPEND, /* Ctrl-Z; never delivered, the terminal handles it */
	TERMINAL_CLOSED, /* the terminal is gone */
};

struct terminal_opts {
	struct loop *loop;
	int in, out; /* both terminals */
	void (*on_key)(void *arg, int key); /* enum terminal_key, or a byte */
	void (*on_resize)(void *arg); /* the size changed, or the screen is empty: draw */
	void *arg;
};

int terminal_open(const struct terminal_opts *opts, struct terminal **ret_terminal,
		  struct error *err);
void terminal_close(struct terminal *t); /* NULL allowed */

void terminal_size(const struct terminal *t, size_t *ret_columns, size_t *ret_lines);

/* Replaces the screen's content. Draws at most as many lines as the screen has. */
void terminal_draw(struct terminal *t, struct str text);

/*
 * Returns the key at the start of the bytes; *ret_used is its length. Returns 0 if the bytes are
 * incomplete (*ret_used is 0), or if they are a key that has no name here (*ret_used is not 0).
 */
int terminal_key_parse(struct str bytes, size_t *ret_used);

#endif
