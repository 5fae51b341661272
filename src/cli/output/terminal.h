/*
 * terminal - a whole screen to draw on, and keys.
 *
 * While one is open the terminal shows its alternate screen, without a cursor, and hands keys over
 * as they are pressed. However the program ends, also when it is killed, the screen and the modes
 * of before come back: a child process waits for that end and puts them back. Ctrl-Z stops the
 * program as it does others; when it goes on, on_resize asks for a new drawing.
 * Threads: the loop's.
 */
#ifndef CLI_OUTPUT_TERMINAL_H
#define CLI_OUTPUT_TERMINAL_H

#include "base/core/error.h"
#include "base/core/str.h"

struct loop;
struct terminal;

/* Keys that are no characters; characters are themselves. */
enum terminal_key {
	TERMINAL_UP = 256,
	TERMINAL_DOWN,
	TERMINAL_PAGE_UP,
	TERMINAL_PAGE_DOWN,
	TERMINAL_HOME,
	TERMINAL_END,
	TERMINAL_INTERRUPT, /* Ctrl-C */
	TERMINAL_SUSPEND, /* Ctrl-Z; not told, the terminal does it */
	TERMINAL_CLOSED, /* there is nobody any more */
};

struct terminal_opts {
	struct loop *loop;
	int in, out; /* both terminals */
	void (*on_key)(void *arg, int key); /* enum terminal_key, or a byte */
	void (*on_resize)(void *arg); /* the screen is another, or empty: draw */
	void *arg;
};

int terminal_open(const struct terminal_opts *opts, struct terminal **ret_terminal,
		  struct error *err);
void terminal_close(struct terminal *t); /* NULL allowed */

void terminal_size(const struct terminal *t, size_t *ret_columns, size_t *ret_lines);

/* Shows the text instead of what is there: at most as many lines as the screen has. */
void terminal_draw(struct terminal *t, struct str text);

/*
 * The key that the bytes begin with; *ret_used of them are it. 0: they are the beginning of one, or
 * one that has no name here (then *ret_used is not 0).
 */
int terminal_key_parse(struct str bytes, size_t *ret_used);

#endif
