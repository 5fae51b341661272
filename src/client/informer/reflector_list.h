/*
 * reflector_list - a list's text, cut into objects.
 *
 * Private to the reflector. Lists of built-in kinds have items without apiVersion and
 * kind: they are given those that the list's own tell.
 */
#ifndef CLIENT_INFORMER_REFLECTOR_LIST_H
#define CLIENT_INFORMER_REFLECTOR_LIST_H

#include "client/informer/cache.h"

struct reflector_page {
	struct str rv; /* resourceVersion of the list */
	struct str next; /* continue token; empty: this is the last page */
	size_t n; /* objects in it */
};

/* Puts the objects into `to`. Text of the page is borrowed from `text`. -ERR_PROTOCOL. */
int reflector_list_parse(struct str text, bool slim, struct cache *to,
			 struct reflector_page *ret_page, struct error *err);

#endif
