/*
 * reflector_list - splits the text of a list into objects.
 *
 * Private to the reflector. The items of built-in lists have no apiVersion and kind; they get
 * those that follow from the list's own.
 */
#ifndef CLIENT_INFORMER_REFLECTOR_LIST_H
#define CLIENT_INFORMER_REFLECTOR_LIST_H

#include "client/informer/cache.h"

struct reflector_page {
	struct str rv; /* resourceVersion of the list */
	struct str next; /* continue token; empty: this is the last page */
	size_t n; /* objects in it */
};

/*
 * Puts the objects into `to`. Of `defaults`, the kind and the apiVersion are the list's. *ret_page
 * borrows from `text`. Returns -ERR_PROTOCOL if malformed.
 */
int reflector_list_parse(struct str text, const struct cached_defaults *defaults, struct cache *to,
			 struct reflector_page *ret_page, struct error *err);

#endif
