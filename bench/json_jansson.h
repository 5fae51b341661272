/*
 * json_jansson - jansson's side of the JSON benchmark.
 *
 * Apart, because jansson's header and ours use some names for different things.
 */
#ifndef BENCH_JSON_JANSSON_H
#define BENCH_JSON_JANSSON_H

#include <stdbool.h>
#include <stddef.h>

/* The document as jansson's tree, or NULL; free with jansson_release(). */
void *jansson_parse(const char *text, size_t n);
void jansson_release(void *tree);

/* Prints compactly into `room`; false when it does not fit. */
bool jansson_print(const void *tree, char *room, size_t size);

#endif
